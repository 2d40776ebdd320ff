//! Packing into vectors: instances of one kind at one level, registers under one control, and the words of a port.
//!
//! The elements of a pack are adjacent in memory, for vector instructions. Their order is chosen by their readers: the two halves of a level
//! of a tree are the two operands of the next level.

use crate::job::reduction;
use crate::network::Network;
use flashd_hwmodel::rtl::{Design, Register};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The elements of a pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PackKind {
    /// Instances of a kind, by their places.
    Instances(usize, Vec<usize>),
    /// Registers, by their places. The first input has the D inputs; a second one, if present, has the enables.
    Registers(Vec<usize>),
    /// Ports, and nets without a driver.
    Undriven,
}

/// Elements of a vector.
#[derive(Clone, Debug)]
pub(crate) struct Pack {
    pub(crate) what: PackKind,
    /// The nets of all elements, for each output pin.
    pub(crate) outputs: Vec<Vec<u32>>,
    /// The same for each input pin.
    pub(crate) inputs: Vec<Vec<u32>>,
}

impl Pack {
    pub(crate) fn elements(&self) -> usize {
        match &self.what {
            PackKind::Instances(_, list) => list.len(),
            PackKind::Registers(list) => list.len(),
            PackKind::Undriven => self.outputs[0].len(),
        }
    }

    fn reorder(&mut self, order: &[u32]) {
        let by = |list: &mut Vec<u32>| *list = order.iter().map(|&i| list[i as usize]).collect();
        self.outputs.iter_mut().chain(&mut self.inputs).for_each(by);
        if let PackKind::Instances(_, list) | PackKind::Registers(list) = &mut self.what {
            *list = order.iter().map(|&i| list[i as usize]).collect();
        }
    }
}

/// Packs a network. Packs of instances are in topological order.
pub(crate) fn packs(design: &Design, network: &Network, levels: &[u32]) -> Vec<Pack> {
    let mut packs: Vec<Pack> = Vec::new();
    let mut by: BTreeMap<(u32, usize, Option<usize>), Vec<usize>> = BTreeMap::new();
    for (i, instance) in network.instances.iter().enumerate() {
        by.entry((levels[i], instance.kind, instance.of)).or_default().push(i);
    }
    for ((_, kind, _), list) in by {
        let of = |i: &usize| &network.instances[*i];
        let pins = |count: usize, net: &dyn Fn(usize, usize) -> u32| -> Vec<Vec<u32>> {
            (0..count).map(|pin| list.iter().map(|&i| net(i, pin)).collect()).collect()
        };
        let first = of(&list[0]);
        let outputs = pins(first.outputs.len(), &|i, pin| of(&i).outputs[pin]);
        let inputs = pins(first.inputs.len(), &|i, pin| of(&i).inputs[pin]);
        packs.push(Pack { what: PackKind::Instances(kind, list), outputs, inputs });
    }
    for port in design.ports.iter().filter(|port| !port.output && !port.nets.is_empty()) {
        packs.push(Pack { what: PackKind::Undriven, outputs: vec![port.nets.clone()], inputs: Vec::new() });
    }
    pack_registers(network, &mut packs);
    let mut driven = vec![false; network.widths.len()];
    packs.iter().flat_map(|pack| pack.outputs.iter().flatten()).for_each(|&net| driven[net as usize] = true);
    for net in
        (0..network.representative.len() as u32).filter(|&net| network.representative[net as usize] == net)
    {
        if !driven[net as usize] {
            packs.push(Pack { what: PackKind::Undriven, outputs: vec![vec![net]], inputs: Vec::new() });
        }
    }
    order_elements(network, &mut packs);
    packs
}

/// Registers with equal keys are in one pack.
#[derive(PartialEq, Eq, Hash)]
struct RegisterKey {
    width: u32,
    /// The controls, without an enable that the pack has a vector of.
    register: Register,
    /// Pack and pin of the D inputs, and of a vector of enables.
    data: Option<(usize, usize)>,
    enables: Option<(usize, usize)>,
}

/// At least [`MANY`] enables, each of at most [`FEW`] registers, are a vector: a test of each would take longer.
const MANY: usize = 8;
const FEW: usize = 4;

/// Packs registers whose D inputs are adjacent, under one enable or under adjacent enables.
fn pack_registers(network: &Network, packs: &mut Vec<Pack>) {
    let mut home: FxHashMap<u32, (usize, usize)> = FxHashMap::default();
    for (b, pack) in packs.iter().enumerate() {
        for (pin, nets) in pack.outputs.iter().enumerate() {
            home.extend(nets.iter().map(|&net| (net, (b, pin))));
        }
    }
    let by_output: FxHashMap<u32, usize> =
        network.registers.iter().enumerate().map(|(i, register)| (register.q, i)).collect();
    let mut fan_out: FxHashMap<u32, usize> = FxHashMap::default();
    for net in network.registers.iter().filter_map(|register| register.enable) {
        *fan_out.entry(net).or_default() += 1;
    }
    let mut found: FxHashMap<RegisterKey, usize> = FxHashMap::default();
    for first in 0..network.registers.len() {
        // A shift register, its first stage last.
        let mut chain = vec![first];
        while let Some(&next) = chain.last().and_then(|&i| by_output.get(&network.registers[i].d)) {
            if chain.contains(&next) || home.contains_key(&network.registers[next].q) {
                break;
            }
            chain.push(next);
        }
        while let Some(i) = chain.pop() {
            let register = network.registers[i];
            if home.contains_key(&register.q) {
                continue;
            }
            let width = network.widths[register.q as usize];
            let own = register.enable.filter(|net| register.reset.is_none() && fan_out[net] <= FEW);
            let many = |pack: &Pack| matches!(pack.what, PackKind::Instances(..)) && pack.elements() >= MANY;
            let enables = own.and_then(|net| home.get(&net).copied()).filter(|&(b, _)| many(&packs[b]));
            let shared = register.enable.filter(|_| enables.is_none());
            let key = RegisterKey {
                width,
                register: Register { d: 0, q: 0, enable: shared, ..register },
                data: home.get(&register.d).copied(),
                enables,
            };
            let pins = 1 + usize::from(enables.is_some());
            let b = *found.entry(key).or_insert(packs.len());
            if b == packs.len() {
                let what = PackKind::Registers(Vec::new());
                packs.push(Pack { what, outputs: vec![Vec::new()], inputs: vec![Vec::new(); pins] });
            }
            let pack = &mut packs[b];
            if let PackKind::Registers(list) = &mut pack.what {
                list.push(i);
            }
            pack.outputs[0].push(register.q);
            pack.inputs[0].push(register.d);
            if let (Some(list), Some(net)) = (pack.inputs.get_mut(1), register.enable) {
                list.push(net);
            }
            home.insert(register.q, (b, 0));
        }
    }
}

/// Chooses the order of each pack: small packs first, then their operands in the order of the reads.
fn order_elements(network: &Network, packs: &mut [Pack]) {
    // Pack, pin and element that drive each net.
    let mut home = vec![(u32::MAX, 0, 0); network.widths.len()];
    let settle = |home: &mut [(u32, u32, u32)], b: usize, pack: &Pack| {
        for (pin, nets) in pack.outputs.iter().enumerate() {
            for (i, &net) in nets.iter().enumerate() {
                home[net as usize] = (b as u32, pin as u32, i as u32);
            }
        }
    };
    packs.iter().enumerate().for_each(|(b, pack)| settle(&mut home, b, pack));
    let joins: Vec<bool> = network.kinds.iter().map(|kind| reduction(&kind.steps).is_some()).collect();
    let mut wanted: Vec<Vec<u32>> = vec![Vec::new(); packs.len()];
    let mut is_wanted: Vec<Vec<bool>> = packs.iter().map(|pack| vec![false; pack.elements()]).collect();
    // The place of each element in packs with a decided order.
    let mut decided: Vec<Option<Vec<u32>>> = vec![None; packs.len()];
    let mut by_size: Vec<usize> = (0..packs.len()).collect();
    by_size.sort_by_key(|&b| packs[b].elements());
    let mut next = by_size.into_iter();
    let mut ready: Vec<usize> = Vec::new();
    while let Some(b) = ready.pop().or_else(|| next.next()) {
        if decided[b].is_some() {
            continue;
        }
        let count = packs[b].elements();
        let mut order = std::mem::take(&mut wanted[b]);
        if order.is_empty() {
            order = read_order(&packs[b], &home, &decided);
        }
        let mut is_there = vec![false; count];
        order.iter().for_each(|&i| is_there[i as usize] = true);
        order.extend((0..count as u32).filter(|&i| !is_there[i as usize]));
        let mut places = vec![0; count];
        order.iter().zip(0..).for_each(|(&i, place)| places[i as usize] = place);
        decided[b] = Some(places);
        // A reduction reads its operands in any order.
        let free = matches!(packs[b].what, PackKind::Instances(kind, _) if joins[kind]);
        if count > 1 && !free {
            for nets in &packs[b].inputs {
                let (from, pin, _) = home[nets[order[0] as usize] as usize];
                let one = |&net: &u32| (home[net as usize].0, home[net as usize].1) == (from, pin);
                if from == u32::MAX || !nets.iter().all(one) || decided[from as usize].is_some() {
                    continue;
                }
                let from = from as usize;
                for &i in &order {
                    let element = home[nets[i as usize] as usize].2;
                    if !std::mem::replace(&mut is_wanted[from][element as usize], true) {
                        wanted[from].push(element);
                    }
                }
                if wanted[from].len() == packs[from].elements() {
                    ready.push(from);
                }
            }
        }
        packs[b].reorder(&order);
        settle(&mut home, b, &packs[b]);
    }
}

/// The order of the elements that a pin reads, if it is decided and each element is read once.
fn read_order(pack: &Pack, home: &[(u32, u32, u32)], decided: &[Option<Vec<u32>>]) -> Vec<u32> {
    for nets in &pack.inputs {
        let (from, pin, _) = home[nets[0] as usize];
        if from == u32::MAX || decided[from as usize].is_none() {
            continue;
        }
        let homes: Vec<(u32, u32, u32)> = nets.iter().map(|&net| home[net as usize]).collect();
        if homes.iter().any(|&(b, p, _)| (b, p) != (from, pin)) {
            continue;
        }
        let mut order: Vec<u32> = (0..nets.len() as u32).collect();
        order.sort_by_key(|&i| homes[i as usize].2);
        if order.windows(2).all(|pair| homes[pair[0] as usize].2 < homes[pair[1] as usize].2) {
            return order;
        }
    }
    Vec::new()
}
