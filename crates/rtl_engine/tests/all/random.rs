//! Port activity that follows nothing but the widths.

use flashd_hwmodel::netlist::Steps;
use flashd_hwmodel::rtl::{Circuit, Design, DesignPort, PortPlace};
use flashd_rtl_engine::{Backend, Compiled};
use flashd_spec::bits::ones;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A difference between two engines.
#[derive(Debug)]
pub struct Difference(pub String);

/// The same circuit in both engines.
pub struct Pair {
    circuit: Circuit,
    compiled: Compiled,
    design: Design,
    /// In how many of eight cycles each port of one bit is high.
    often: Vec<u32>,
    rng: ChaCha8Rng,
}

impl Pair {
    pub fn new(circuit: Circuit, backend: Backend, seed: u64) -> Pair {
        Pair::changed(circuit, backend, seed, &|_, steps| steps)
    }

    pub fn changed(
        circuit: Circuit,
        backend: Backend,
        seed: u64,
        changed: &dyn Fn(usize, Steps) -> Steps,
    ) -> Pair {
        let design = circuit.design();
        let compiled = Compiled::with_steps(&design, backend, changed).expect("no loop");
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let often = design.ports.iter().map(|_| [1, 4, 7][rng.random_range(0..3)]).collect();
        Pair { circuit, compiled, design, often, rng }
    }

    /// Both before their first cycle, after the engine has run.
    pub fn another(self, circuit: Circuit) -> Pair {
        Pair { circuit, compiled: self.compiled.another(), ..self }
    }

    fn drive(&mut self, cycle: usize) {
        let Pair { circuit, compiled, design, often, rng } = self;
        let driven = design.ports.iter().zip(often).enumerate();
        for (place, (port, often)) in driven.filter(|(_, (port, _))| !port.output && !port.nets.is_empty()) {
            // What stays for a cycle or two happens too.
            if rng.random_ratio(1, 6) {
                continue;
            }
            let words = words(rng, port, cycle, *often);
            circuit.set_words(&port.name, &words);
            compiled.drive(PortPlace(place), &words);
        }
    }

    /// Compares output ports, or all nets.
    fn compare(&self, cycle: usize, moment: &str, ports_alone: bool) -> Result<(), Difference> {
        let outputs = self.design.ports.iter().filter(|port| port.output).flat_map(|port| &port.nets);
        let all = 0..self.design.widths.len() as u32;
        let nets: Vec<u32> = if ports_alone { outputs.copied().collect() } else { all.collect() };
        for net in nets {
            let (expected, actual) = (self.circuit.value(net), self.compiled.value(net));
            if expected != actual {
                let width = self.design.widths[net as usize];
                let from = self.design.leaves.iter().find(|leaf| leaf.outputs.contains(&net));
                let from = from
                    .map_or("a register or port".to_string(), |instance| instance.leaf.tag().name.clone());
                let name = self.circuit.name();
                let text = format!(
                    "{name}, cycle {cycle}, {moment}: net {net} of {width} bits, from {from}: {expected:#x}, compiled {actual:#x}"
                );
                return Err(Difference(text));
            }
        }
        Ok(())
    }

    /// Runs both, every net compared before and after each edge; behind a clock gate in some cycles only ports.
    pub fn run(&mut self, cycles: usize) -> Result<(), Difference> {
        let gated = self.design.registers.iter().any(|register| register.gate.is_some());
        for cycle in 0..cycles {
            let mut ports_alone = false;
            // Inputs may also move again before the edge.
            for moment in ["settled", "settled again"].iter().take(1 + usize::from(cycle % 5 == 4)) {
                self.drive(cycle);
                self.circuit.settle();
                ports_alone = gated && self.rng.random();
                if ports_alone {
                    self.compiled.settle_ports();
                    self.compare(cycle, moment, true)?;
                    ports_alone = self.rng.random();
                }
                if !ports_alone {
                    self.compiled.settle();
                    self.compare(cycle, moment, false)?;
                }
            }
            self.circuit.clock();
            self.compiled.clock();
            self.compare(cycle, "clocked", ports_alone)?;
        }
        Ok(())
    }
}

/// Runs a design in all engines, with the steps of its leaves changed: every net is the same in all of them, in every cycle.
pub fn same_in_all_engines<C: Fn(usize, Steps) -> Steps>(
    modules: &Design,
    seed: u64,
    cycles: usize,
    changed: impl Fn() -> C,
) {
    let mut engines: Vec<Compiled> = (Backend::available().into_iter())
        .map(|backend| Compiled::with_steps(modules, backend, &changed()).expect("no loop"))
        .collect();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    for cycle in 0..cycles {
        for (place, port) in modules.ports.iter().enumerate().filter(|(_, port)| !port.output) {
            let words = words(&mut rng, port, cycle, 4);
            engines.iter_mut().for_each(|engine| engine.drive(PortPlace(place), &words));
        }
        engines.iter_mut().for_each(Compiled::settle);
        for net in 0..modules.widths.len() as u32 {
            let values: Vec<u64> = engines.iter().map(|engine| engine.value(net)).collect();
            assert!(
                values.windows(2).all(|pair| pair[0] == pair[1]),
                "{}, seed {seed:#x}, cycle {cycle}, net {net}: {values:x?}",
                modules.name
            );
        }
        engines.iter_mut().for_each(Compiled::clock);
    }
}

/// The words of a port in a cycle; of one bit, so often of eight times it is high.
pub fn words(rng: &mut ChaCha8Rng, port: &DesignPort, cycle: usize, often: u32) -> Vec<u64> {
    let close = rng.random_ratio(1, 2);
    let one = |rng: &mut ChaCha8Rng| match port.name.as_str() {
        "rst" => u64::from(cycle < 2 || rng.random_ratio(1, 200)),
        "aresetn" => u64::from(cycle >= 2 && !rng.random_ratio(1, 200)),
        _ if port.width == 1 => u64::from(rng.random_ratio(often, 8)),
        _ => word(rng, port.width, close),
    };
    port.nets.iter().map(|_| one(rng)).collect()
}

/// Some word: any, the ends of the range, or what most formats read as a number close to one.
pub fn word(rng: &mut ChaCha8Rng, width: u32, close: bool) -> u64 {
    let all = ones(width);
    let any = rng.random::<u64>() & all;
    match rng.random::<u32>() % 16 {
        0 => 0,
        1 => all & !1,
        2 => 1 << (rng.random::<u32>() % width),
        _ if close && width >= 8 => {
            let high = ones(width / 4) << (width - 2 - width / 4);
            any & !(1 << (width - 2)) | high
        }
        _ => any,
    }
}
