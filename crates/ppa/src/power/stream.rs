//! One machine among those that a netlist is simulated for: what its inputs carry, and what must come out.

use super::workload::Feed;
use crate::Target;
use flashd_golden::{Model, QueryResult};
use flashd_simulator::array::{ArrayDriver, ArrayInputs, ArrayOffer, ArrayOutputs, ArrayRules, Disturbance};
use flashd_simulator::{CoreDriver, Gaps};
use flashd_spec::numerics::Numerics;
use std::collections::VecDeque;

/// What offers queries and keys.
enum PortDriver<'a> {
    Core(Box<CoreDriver<'a>>),
    Array { driver: Box<ArrayDriver<'a>>, rules: ArrayRules, offer: ArrayOffer },
}

/// A result to come.
struct Due {
    cycle: usize,
    /// Place in its block, and whether it is the last there; of an array.
    place: (usize, bool),
}

/// A machine and what it still owes.
pub(super) struct PowerStream<'a> {
    source: PortDriver<'a>,
    /// Of a core, only what it has.
    pub inputs: ArrayInputs,
    /// The same.
    pub outputs: ArrayOutputs,
    results: VecDeque<QueryResult>,
    due: VecDeque<Due>,
    latency: usize,
}

impl<'a> PowerStream<'a> {
    pub(super) fn new(target: &Target, feed: &'a Feed) -> Self {
        let model = Model::new(target.core());
        let (source, results) = match (target, feed) {
            (Target::Array(config), Feed::Array(workload)) => {
                let driver = ArrayDriver::new(config, workload, &Disturbance::gaps(Gaps::None));
                let rules = ArrayRules::new(config.queries);
                let source =
                    PortDriver::Array { driver: Box::new(driver), rules, offer: ArrayOffer::default() };
                (source, workload.single().results(&model, false))
            }
            (_, Feed::Core(workload)) => {
                let driver = CoreDriver::new(target.core(), workload, Gaps::None);
                (PortDriver::Core(Box::new(driver)), workload.results(&model, false))
            }
            (Target::Core(_), Feed::Array(_)) => unreachable!("the feeds are made for the target"),
        };
        PowerStream {
            source,
            inputs: ArrayInputs::default(),
            outputs: ArrayOutputs::default(),
            results: results.into(),
            due: VecDeque::new(),
            latency: Numerics::new(target.core()).latency() as usize,
        }
    }

    /// The inputs of a cycle.
    pub(super) fn drive(&mut self, cycle: usize) {
        match &mut self.source {
            PortDriver::Core(driver) => {
                if driver.next(&self.outputs.core, &mut self.inputs.core).last {
                    self.due.push_back(Due { cycle: cycle + self.latency, place: (0, false) });
                }
            }
            PortDriver::Array { driver, offer, .. } => {
                *offer = driver.next(cycle as u64, &self.outputs, &mut self.inputs);
            }
        }
    }

    /// Compares a cycle's outputs with the model; gives the number of comparisons.
    pub(super) fn check(&mut self, cycle: usize) -> Result<u64, String> {
        let mut checked = 0;
        let mut equal = |name: &str, actual: u64, expected: u64| {
            checked += 1;
            match actual == expected {
                true => Ok(()),
                false => Err(format!("{name} is {actual:#x}, expected {expected:#x}")),
            }
        };
        let o = &self.outputs.core;
        let is_array = matches!(self.source, PortDriver::Array { .. });
        if let PortDriver::Array { rules, .. } = &self.source {
            let (q_ready, k_ready) = rules.ready(cycle as u64, self.inputs.core.k_last);
            equal("q_ready", self.outputs.q_ready.into(), q_ready.into())?;
            equal("k_ready", self.outputs.k_ready.into(), k_ready.into())?;
        }
        let due = self.due.front().is_some_and(|due| due.cycle == cycle);
        equal("o_valid", o.o_valid.into(), due.into())?;
        if let Some(due) = if due { self.due.pop_front() } else { None } {
            let result = self.results.pop_front().ok_or("a result too many")?;
            equal("o_invalid", o.o_invalid.into(), result.invalid.into())?;
            equal("o_saturated", o.o_saturated.into(), result.score_saturated.into())?;
            equal("o_overflow", o.o_overflow.into(), result.overflow.into())?;
            for (j, (actual, expected)) in o.o.iter().zip(&result.o).enumerate() {
                equal(&format!("o[{j}]"), *actual, *expected)?;
            }
            if is_array {
                equal("o_index", self.outputs.o_index, due.place.0 as u64)?;
                equal("o_last", self.outputs.o_last.into(), due.place.1.into())?;
            }
        }
        self.advance(cycle);
        Ok(checked)
    }

    /// What of an array's offer was taken.
    fn advance(&mut self, cycle: usize) {
        let PortDriver::Array { driver, rules, offer } = &mut self.source else { return };
        let taken = rules.advance(cycle as u64, offer.query, offer.key.map(|(_, last)| last));
        driver.advance(taken.query, taken.key.is_some());
        if let (true, Some(queries)) = (taken.end, &taken.key) {
            let n = queries.len();
            let due =
                |place: usize| Due { cycle: cycle + self.latency + place, place: (place, place + 1 == n) };
            self.due.extend((0..n).map(due));
        }
    }
}
