//! Levelization: the order in which instances are evaluated.

use crate::CompileError;
use crate::network::{FunctionInstance, FunctionKind, Network};
use flashd_hwmodel::netlist::Steps;
use rustc_hash::FxHashMap;

/// The topological level of each instance. Leaves on a false loop, through different outputs of one leaf, are split first.
pub(crate) fn levelize(network: &mut Network) -> Result<Vec<u32>, CompileError> {
    match try_levelize(network) {
        Ok(levels) => Ok(levels),
        Err(stuck) => {
            split_outputs(network, &stuck);
            try_levelize(network).map_err(|_| CompileError::Loop)
        }
    }
}

/// The levels, or the instances on loops and after them.
fn try_levelize(network: &Network) -> Result<Vec<u32>, Vec<usize>> {
    let mut from = vec![usize::MAX; network.widths.len()];
    for (i, instance) in network.instances.iter().enumerate() {
        instance.outputs.iter().for_each(|&net| from[net as usize] = i);
    }
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); network.instances.len()];
    let mut waits = vec![0; network.instances.len()];
    for (i, instance) in network.instances.iter().enumerate() {
        for &net in &instance.inputs {
            if from[net as usize] != usize::MAX {
                readers[from[net as usize]].push(i);
                waits[i] += 1;
            }
        }
    }
    let mut levels = vec![0; network.instances.len()];
    let mut ready: Vec<usize> = (0..waits.len()).filter(|&i| waits[i] == 0).collect();
    let mut placed = 0;
    while let Some(i) = ready.pop() {
        placed += 1;
        for &reader in &readers[i] {
            levels[reader] = levels[reader].max(levels[i] + 1);
            waits[reader] -= 1;
            if waits[reader] == 0 {
                ready.push(reader);
            }
        }
    }
    if placed == waits.len() {
        return Ok(levels);
    }
    Err((0..waits.len()).filter(|&i| waits[i] > 0).collect())
}

/// Splits instances into one for each output, with the inputs that it needs.
fn split_outputs(network: &mut Network, stuck: &[usize]) {
    let mut parts: FxHashMap<usize, Vec<(usize, Vec<u32>)>> = FxHashMap::default();
    let mut added = Vec::new();
    for &i in stuck {
        let FunctionInstance { kind, of, inputs, outputs } = network.instances[i].clone();
        let Network { kinds, .. } = network;
        let parts = parts.entry(kind).or_insert_with(|| {
            let steps = kinds[kind].steps.clone();
            let part = |&output: &u32| {
                let (steps, places) =
                    crate::network::compact(&Steps { outputs: vec![output], ..steps.clone() });
                kinds.push(FunctionKind { steps, gating: None });
                (kinds.len() - 1, places)
            };
            steps.outputs.iter().map(part).collect()
        });
        for (output, (kind, places)) in outputs.into_iter().zip(parts.iter()) {
            let inputs = places.iter().map(|&place| inputs[place as usize]).collect();
            added.push(FunctionInstance { kind: *kind, of, inputs, outputs: vec![output] });
        }
    }
    let mut at = 0;
    network.instances.retain(|_| {
        at += 1;
        stuck.binary_search(&(at - 1)).is_err()
    });
    network.instances.extend(added);
}
