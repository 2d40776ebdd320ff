//! Whose steps the keys of a run are.

use super::record::Frozen;
use super::stages::{End, StagePaths};
use super::{Pipeline, PipelineRecorder, PipelineStep};
use crate::array::run::workload_alone;
use crate::array::{ArrayWorkload, BlockStep};
use crate::core::workload::Workload;
use crate::split::SplitWorkload;
use crate::wrapper::{ExpectedBlock, WrapperWorkload};
use flashd_golden::{Action, Model, Step, StepUnits};
use flashd_spec::config::{ArrayConfig, CoreConfig, Design, SplitConfig, WrapperConfig};
use std::ops::RangeInclusive;

/// A chart under way.
pub(super) struct PipelineChart<'a> {
    config: &'a CoreConfig,
    window: RangeInclusive<u64>,
    units: StepUnits,
    shapes: StagePaths,
    steps: Vec<PipelineStep>,
    frozen: &'a Frozen,
}

/// A step whose time is known.
pub(super) struct StepPlace {
    pub(super) query: usize,
    pub(super) core: usize,
    pub(super) step: usize,
    pub(super) key: Option<usize>,
    /// When its key was offered and taken.
    pub(super) time: (u64, u64),
}

/// A key that is none of a query's.
pub(super) const MASKED: Step = Step { s: 0, x: 0, w: 0, upper: false, action: Action::Masked, l: None };

impl<'a> PipelineChart<'a> {
    pub(super) fn new(
        config: &'a CoreConfig,
        window: RangeInclusive<u64>,
        frozen: &'a Frozen,
    ) -> PipelineChart<'a> {
        let (units, shapes) = (StepUnits::new(config), StagePaths::new(config));
        PipelineChart { config, window, units, shapes, steps: Vec::new(), frozen }
    }

    pub(super) fn add(&mut self, place: StepPlace, step: &Step, end: End) {
        let StepPlace { query, core, step: place, key, time: (offered, taken) } = place;
        if !self.window.contains(&taken) {
            return;
        }
        let shape = self.shapes.of(step.action, end);
        let shape = match self.frozen.is_empty() {
            true => shape,
            false => self.shapes.frozen(shape, taken, self.frozen),
        };
        let text = self.text(step);
        let action = step.action;
        self.steps.push(PipelineStep { query, core, step: place, key, offered, taken, action, shape, text });
    }

    /// Score, argument and weight, as far as the step has them.
    fn text(&self, step: &Step) -> String {
        let (s, x, f) = (self.units.score(step), self.units.argument(step), self.units.factor(step));
        let flash_d = self.config.design() == Design::FlashD;
        // The factor is the smaller of w and 1 - w.
        let w = if flash_d && step.upper { 1.0 - f } else { f };
        let weight = if flash_d { "w" } else { "e" };
        match step.action {
            Action::Restore => "restores a partial result".into(),
            Action::Masked => "masked".into(),
            Action::Load => format!("s = {s}, first key"),
            Action::Hold => format!("s = {s}, x = {x}, held"),
            Action::Update if step.upper && !flash_d => {
                format!("s = {s}, x = {x}, {weight} = {w} on the old output")
            }
            Action::Update => format!("s = {s}, x = {x}, {weight} = {w}"),
        }
    }

    pub(super) fn finish(self, design: String) -> Pipeline {
        let StagePaths { stages, shapes, .. } = self.shapes;
        let mut chart =
            Pipeline { design, stages, shapes, steps: self.steps, frozen: Vec::new(), memory: Vec::new() };
        let from = chart.steps.iter().map(|step| step.offered).min().unwrap_or(0);
        let end = chart.steps.iter().map(|step| chart.end(step)).max().unwrap_or(0);
        chart.frozen = self.frozen.times(from, end).to_vec();
        chart
    }
}

impl PipelineRecorder {
    /// The chart of a core's run: the keys that were taken in a window of cycles.
    pub fn of_core(&self, config: &CoreConfig, workload: &Workload, window: RangeInclusive<u64>) -> Pipeline {
        let results = workload.results(&Model::new(config), true);
        let mut chart = PipelineChart::new(config, window, &self.frozen);
        let of_query = |query: usize| (0..workload.queries[query].steps()).map(move |step| (query, step));
        let steps = (0..workload.queries.len()).flat_map(of_query);
        for ((query, step), &time) in steps.zip(&self.keys) {
            let of = &workload.queries[query];
            let end = if step + 1 == of.steps() { End::Result(0) } else { End::None };
            let place = StepPlace { query, core: 0, step, key: of.key(step), time };
            chart.add(place, &results[query].steps[step], end);
        }
        chart.finish(config.name())
    }

    /// The chart of an array's run: a row for each query that meets a key.
    pub fn of_array(
        &self,
        config: &ArrayConfig,
        workload: &ArrayWorkload,
        window: RangeInclusive<u64>,
    ) -> Pipeline {
        let results = workload_alone(config, workload).results(&Model::new(&config.core), true);
        let mut chart = PipelineChart::new(&config.core, window, &self.frozen);
        let mut times = self.keys.iter();
        let mut first_query = 0;
        for block in &workload.blocks {
            for (place, &time) in (0..block.steps()).zip(times.by_ref()) {
                for core in 0..block.queries.len() {
                    let end = match place + 1 == block.steps() {
                        true => End::Result(core as u64),
                        false => End::None,
                    };
                    let query = first_query + core;
                    let steps = &results[query].steps;
                    let restores = usize::from(block.state(core).is_some());
                    let (key, step) = match block.step(place) {
                        BlockStep::Key(place) => {
                            let key = block.first_key + place;
                            (Some(key), &steps[restores + key])
                        }
                        BlockStep::State(of) if of == core => (None, &steps[0]),
                        // That of another query passes like a masked key.
                        BlockStep::State(_) => (None, &MASKED),
                    };
                    chart.add(StepPlace { query, core, step: place, key, time }, step, end);
                }
            }
            first_query += block.queries.len();
        }
        chart.finish(config.name())
    }

    /// The chart of a wrapper's run: a row for each query that meets a key, while the array moves.
    pub fn of_wrapper(
        &self,
        config: &WrapperConfig,
        workload: &WrapperWorkload,
        expected: &[ExpectedBlock],
        window: RangeInclusive<u64>,
    ) -> Pipeline {
        let core = &config.array.core;
        let mut chart = PipelineChart::new(core, window, &self.frozen);
        let mut times = self.keys.iter();
        let mut first_query = 0;
        for (block, expected) in workload.blocks.iter().zip(expected) {
            for (key, &time) in (0..expected.keys).zip(times.by_ref()) {
                for (of_core, result) in expected.results.iter().enumerate() {
                    let end = if key + 1 == expected.keys { End::Result(of_core as u64) } else { End::None };
                    let query = first_query + of_core;
                    let place = StepPlace { query, core: of_core, step: key, key: Some(key), time };
                    chart.add(place, &result.steps[key], end);
                }
            }
            first_query += block.q.len() / core.d;
        }
        chart.finish(config.name())
    }

    /// The chart of a split's run: a row for each part's key.
    pub fn of_split(
        &self,
        config: &SplitConfig,
        workload: &Workload,
        window: RangeInclusive<u64>,
    ) -> Pipeline {
        let parts = SplitWorkload::new(workload, config.parts);
        let partial = parts.partial_results(&Model::new(&config.core), true);
        let mut chart = PipelineChart::new(&config.core, window, &self.frozen);
        let lengths = parts.lengths().to_vec();
        let steps =
            lengths.iter().enumerate().flat_map(|(query, &n)| (0..n).map(move |step| (query, step, n)));
        for ((query, step, length), &time) in steps.zip(&self.keys) {
            for (core, of_part) in partial[query].iter().enumerate() {
                let end = match step + 1 == length {
                    true => End::Merges(config, core == 0),
                    false => End::None,
                };
                let key = parts.query(query, core).key(step).filter(|_| step < of_part.steps.len());
                let place = StepPlace { query, core, step, key, time };
                // A part that has fewer keys than others ends with masked ones.
                chart.add(place, of_part.steps.get(step).unwrap_or(&MASKED), end);
            }
        }
        chart.finish(config.name())
    }
}
