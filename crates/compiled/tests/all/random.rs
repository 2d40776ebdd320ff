//! Port activity that follows nothing but the widths.

use flashd_compiled::{Backend, Compiled};
use flashd_hwmodel::netlist::Steps;
use flashd_hwmodel::rtl::{Circuit, Design};
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
        Pair { circuit, compiled, design, rng: ChaCha8Rng::seed_from_u64(seed) }
    }

    fn drive(&mut self, cycle: usize) {
        for port in self.design.ports.iter().filter(|port| !port.output && !port.nets.is_empty()) {
            // What is there for a cycle or two in a row happens too.
            let keep = if port.nets.len() > 1 { 4 } else { 8 };
            if self.rng.random_ratio(1, keep) {
                continue;
            }
            let all = ones(port.width);
            let value = |rng: &mut ChaCha8Rng| match (port.name.as_str(), rng.random::<u32>() % 16) {
                ("rst", _) => u64::from(cycle < 2 || rng.random_ratio(1, 100)),
                // Ends of the range: zeros, infinities, and what is beside them.
                (_, 0) => 0,
                (_, 1) => all,
                (_, 2) => all & !1,
                (_, 3) => 1 << (rng.random::<u32>() % port.width),
                _ => rng.random::<u64>() & all,
            };
            let mut words: Vec<u64> = port.nets.iter().map(|_| value(&mut self.rng)).collect();
            // Words of the same size as others: sums that stay in range.
            if words.len() > 1 && self.rng.random_ratio(1, 2) {
                let like = words[0] & all << (port.width / 2);
                words
                    .iter_mut()
                    .for_each(|word| *word = (like | *word & ones((port.width / 2).max(1))) & all);
            }
            self.circuit.set_words(&port.name, &words);
            self.compiled.set_words(&port.name, &words);
        }
    }

    fn compare(&self, cycle: usize, moment: &str) -> Result<(), Difference> {
        for net in 0..self.design.widths.len() as u32 {
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

    /// Runs both, every net compared before and after each edge.
    pub fn run(&mut self, cycles: usize) -> Result<(), Difference> {
        for cycle in 0..cycles {
            self.drive(cycle);
            self.circuit.settle();
            self.compiled.settle();
            self.compare(cycle, "settled")?;
            self.circuit.clock();
            self.compiled.clock();
            self.compare(cycle, "clocked")?;
        }
        Ok(())
    }
}
