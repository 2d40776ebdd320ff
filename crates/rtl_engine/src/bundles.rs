//! What is equal side by side: instances of one kind at one level, registers under one control, the words of a port.
//!
//! The elements of a bundle lie beside each other in memory, so that vector instructions take many at once. In which order they
//! do is free, and chosen by who reads them: the two halves of a level of a tree are the two operands of the next one.

use crate::job::reduction;
use crate::network::Network;
use flashd_hwmodel::rtl::{Design, Register};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// What the elements of a bundle are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// Instances of a kind, by their places.
    Instances(usize, Vec<usize>),
    /// Registers, by their places. What they take is their first input; the second one, if there is one, are their enables.
    Registers(Vec<usize>),
    /// Words that come from outside, or from nowhere.
    Free,
}

/// Elements side by side.
#[derive(Clone, Debug)]
pub(crate) struct Bundle {
    pub(crate) what: What,
    /// Of each output pin, the net of each element.
    pub(crate) outputs: Vec<Vec<u32>>,
    /// Of each input pin likewise.
    pub(crate) inputs: Vec<Vec<u32>>,
}

impl Bundle {
    pub(crate) fn elements(&self) -> usize {
        match &self.what {
            What::Instances(_, list) => list.len(),
            What::Registers(list) => list.len(),
            What::Free => self.outputs[0].len(),
        }
    }

    fn reorder(&mut self, order: &[u32]) {
        let by = |list: &mut Vec<u32>| *list = order.iter().map(|&i| list[i as usize]).collect();
        self.outputs.iter_mut().chain(&mut self.inputs).for_each(by);
        if let What::Instances(_, list) | What::Registers(list) = &mut self.what {
            *list = order.iter().map(|&i| list[i as usize]).collect();
        }
    }
}

/// All bundles of a network, those of instances by their levels; and in which order their elements should stand.
pub(crate) fn bundles(design: &Design, network: &Network, levels: &[u32]) -> Vec<Bundle> {
    let mut bundles: Vec<Bundle> = Vec::new();
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
        bundles.push(Bundle { what: What::Instances(kind, list), outputs, inputs });
    }
    for port in design.ports.iter().filter(|port| !port.output && !port.nets.is_empty()) {
        bundles.push(Bundle { what: What::Free, outputs: vec![port.nets.clone()], inputs: Vec::new() });
    }
    add_registers(network, &mut bundles);
    let mut driven = vec![false; network.widths.len()];
    bundles
        .iter()
        .flat_map(|bundle| bundle.outputs.iter().flatten())
        .for_each(|&net| driven[net as usize] = true);
    for net in (0..network.same.len() as u32).filter(|&net| network.same[net as usize] == net) {
        if !driven[net as usize] {
            bundles.push(Bundle { what: What::Free, outputs: vec![vec![net]], inputs: Vec::new() });
        }
    }
    put_in_order(network, &mut bundles);
    bundles
}

/// What registers have in common that stand beside each other.
#[derive(PartialEq, Eq, Hash)]
struct Alike {
    width: u32,
    /// Controls; of an enable of its own, none.
    register: Register,
    /// Bundle and pin of what they take, and of enables that each has for itself.
    takes: Option<(usize, usize)>,
    enables: Option<(usize, usize)>,
}

/// Enables so many, of so few registers each, are a vector: a look at each of them would take longer.
const MANY: usize = 8;
const FEW: usize = 4;

/// Registers are beside each other where what they take is, under one enable or under enables that are beside each other.
fn add_registers(network: &Network, bundles: &mut Vec<Bundle>) {
    let mut home: FxHashMap<u32, (usize, usize)> = FxHashMap::default();
    for (b, bundle) in bundles.iter().enumerate() {
        for (pin, nets) in bundle.outputs.iter().enumerate() {
            home.extend(nets.iter().map(|&net| (net, (b, pin))));
        }
    }
    let holds: FxHashMap<u32, usize> =
        network.registers.iter().enumerate().map(|(i, register)| (register.q, i)).collect();
    let mut under: FxHashMap<u32, usize> = FxHashMap::default();
    network
        .registers
        .iter()
        .filter_map(|register| register.enable)
        .for_each(|net| *under.entry(net).or_default() += 1);
    let mut found: FxHashMap<Alike, usize> = FxHashMap::default();
    for first in 0..network.registers.len() {
        // Those that feed each other, the one that feeds all of them last.
        let mut chain = vec![first];
        while let Some(&next) = chain.last().and_then(|&i| holds.get(&network.registers[i].d)) {
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
            let own = register.enable.filter(|net| register.reset.is_none() && under[net] <= FEW);
            let many =
                |bundle: &Bundle| matches!(bundle.what, What::Instances(..)) && bundle.elements() >= MANY;
            let enables = own.and_then(|net| home.get(&net).copied()).filter(|&(b, _)| many(&bundles[b]));
            let alike = Alike {
                width,
                register: Register {
                    d: 0,
                    q: 0,
                    enable: register.enable.filter(|_| enables.is_none()),
                    ..register
                },
                takes: home.get(&register.d).copied(),
                enables,
            };
            let pins = 1 + usize::from(enables.is_some());
            let b = *found.entry(alike).or_insert(bundles.len());
            if b == bundles.len() {
                let what = What::Registers(Vec::new());
                bundles.push(Bundle { what, outputs: vec![Vec::new()], inputs: vec![Vec::new(); pins] });
            }
            let bundle = &mut bundles[b];
            if let What::Registers(list) = &mut bundle.what {
                list.push(i);
            }
            bundle.outputs[0].push(register.q);
            bundle.inputs[0].push(register.d);
            if let (Some(list), Some(net)) = (bundle.inputs.get_mut(1), register.enable) {
                list.push(net);
            }
            home.insert(register.q, (b, 0));
        }
    }
}

/// Chooses the order of each bundle: what has few elements first, and then what it reads, as it reads it.
fn put_in_order(network: &Network, bundles: &mut [Bundle]) {
    // Bundle, pin and element that drive each net.
    let mut home = vec![(u32::MAX, 0, 0); network.widths.len()];
    for (b, bundle) in bundles.iter().enumerate() {
        for (pin, nets) in bundle.outputs.iter().enumerate() {
            for (i, &net) in nets.iter().enumerate() {
                home[net as usize] = (b as u32, pin as u32, i as u32);
            }
        }
    }
    let joins: Vec<bool> = network.kinds.iter().map(|kind| reduction(&kind.steps).is_some()).collect();
    let mut wanted: Vec<Vec<u32>> = vec![Vec::new(); bundles.len()];
    let mut is_wanted: Vec<Vec<bool>> = bundles.iter().map(|bundle| vec![false; bundle.elements()]).collect();
    // Of those that are decided, the place of each element.
    let mut decided: Vec<Option<Vec<u32>>> = vec![None; bundles.len()];
    let mut by_size: Vec<usize> = (0..bundles.len()).collect();
    by_size.sort_by_key(|&b| bundles[b].elements());
    let mut next = by_size.into_iter();
    let mut ready: Vec<usize> = Vec::new();
    while let Some(b) = ready.pop().or_else(|| next.next()) {
        if decided[b].is_some() {
            continue;
        }
        let count = bundles[b].elements();
        let mut order = std::mem::take(&mut wanted[b]);
        if order.is_empty() {
            order = as_read(&bundles[b], &home, &decided);
        }
        let mut is_there = vec![false; count];
        order.iter().for_each(|&i| is_there[i as usize] = true);
        order.extend((0..count as u32).filter(|&i| !is_there[i as usize]));
        let mut places = vec![0; count];
        order.iter().zip(0..).for_each(|(&i, place)| places[i as usize] = place);
        decided[b] = Some(places);
        // To what joins all of them it is the same in which order they are.
        let free = matches!(bundles[b].what, What::Instances(kind, _) if joins[kind]);
        if count > 1 && !free {
            for nets in &bundles[b].inputs {
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
                if wanted[from].len() == bundles[from].elements() {
                    ready.push(from);
                }
            }
        }
        bundles[b].reorder(&order);
        for (pin, nets) in bundles[b].outputs.iter().enumerate() {
            for (i, &net) in nets.iter().enumerate() {
                home[net as usize] = (b as u32, pin as u32, i as u32);
            }
        }
    }
}

/// The order in which the elements stand that one of the pins reads, where that is decided and they are one each.
fn as_read(bundle: &Bundle, home: &[(u32, u32, u32)], decided: &[Option<Vec<u32>>]) -> Vec<u32> {
    for nets in &bundle.inputs {
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
