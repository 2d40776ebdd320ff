//! The chart of an attention unit: the steps of its array, and the bursts of its memory port.

use super::rows::{MASKED, PipelineChart, StepPlace};
use super::stages::End;
use super::{MemoryLane, Pipeline, PipelineRecorder};
use crate::unit::{Access, ExpectedJobBlock, UnitJob};
use flashd_spec::unit::UnitConfig;
use std::ops::RangeInclusive;

/// The kinds of reads by their identifiers; writes follow.
const KINDS: [&str; 5] = ["descriptors", "queries", "keys", "values", "states"];

impl PipelineRecorder {
    /// The chart of a unit's run: a row for each query that meets a key, and the bursts of each kind.
    pub fn of_unit(
        &self,
        config: &UnitConfig,
        (jobs, expected): (&[UnitJob], &[Vec<ExpectedJobBlock>]),
        accesses: &[Access],
        window: RangeInclusive<u64>,
    ) -> Pipeline {
        let mut chart = PipelineChart::new(&config.array.core, window, &self.frozen);
        let mut times = self.keys.iter();
        let mut first_query = 0;
        let blocks =
            jobs.iter().zip(expected).flat_map(|(job, blocks)| blocks.iter().map(move |block| (job, block)));
        for (job, expected) in blocks {
            let starts = job.states_of(&expected.block);
            let states: Vec<usize> = (0..starts.len()).filter(|&of| starts[of].is_some()).collect();
            // A block without keys has one that no query sees.
            let keys = expected.block.keys.len().max(1);
            for (place, &time) in (0..states.len() + keys).zip(times.by_ref()) {
                for (core, (at, result)) in expected.block.places.iter().zip(&expected.results).enumerate() {
                    let last = place + 1 == states.len() + keys;
                    let end = if last { End::Result(core as u64) } else { End::None };
                    let restores = usize::from(starts.get(core).is_some_and(Option::is_some));
                    let token =
                        place.checked_sub(states.len()).map(|key| expected.block.keys.start + key as u32);
                    let seen = token.filter(|token| at.keys.contains(token));
                    let step = match (states.get(place), seen) {
                        (Some(&of), _) if of == core => &result.steps[0],
                        (None, Some(token)) => &result.steps[restores + (token - at.keys.start) as usize],
                        _ => &MASKED,
                    };
                    let key = token.map(|token| token as usize);
                    chart.add(
                        StepPlace { query: first_query + core, core, step: place, key, time },
                        step,
                        end,
                    );
                }
            }
            first_query += expected.block.places.len();
        }
        Pipeline { memory: lanes(accesses), ..chart.finish(config.name()) }
    }
}

/// The bursts of each kind that has any.
fn lanes(accesses: &[Access]) -> Vec<MemoryLane> {
    let of = |kind: &'static str, is: &dyn Fn(&Access) -> bool| {
        let burst = |access: &Access| [access.cycle, access.ended + 1, access.burst.len + 1];
        let done = accesses.iter().filter(|access| is(access) && access.ended > 0);
        MemoryLane { kind, bursts: done.map(burst).collect() }
    };
    let reads =
        KINDS.iter().zip(0..).map(|(kind, id)| of(kind, &|access| !access.writes && access.burst.id == id));
    let lanes = reads.chain([of("results", &|access| access.writes)]);
    lanes.filter(|lane| !lane.bursts.is_empty()).collect()
}
