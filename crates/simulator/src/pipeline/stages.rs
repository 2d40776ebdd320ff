//! The stage of a step in each cycle after its key was taken, from the latencies that the lock-step checks use.

use super::record::Frozen;
use flashd_golden::Action;
use flashd_hwmodel::catalogue::Stages;
use flashd_spec::config::{CoreConfig, MERGE_CYCLES, SplitConfig};
use flashd_spec::numerics::Numerics;
use std::collections::HashMap;

/// The stage in which a step's score meets the state of the previous step.
pub(super) const WEIGHT: &str = "weight";
/// The stage that replaces it for a partial result.
pub(super) const RESTORE: &str = "restore";

/// A stage, and the cycles that a step spends there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// Place among the stages' names.
    pub stage: usize,
    /// The first cycle.
    pub from: u64,
    /// The first one that is not.
    pub to: u64,
}

/// The stages after the lanes of a query's last step.
#[derive(Clone, Copy, Debug)]
pub(super) enum End<'a> {
    /// Nothing: other steps follow.
    None,
    /// The result, queued for this number of cycles while results of other queries leave.
    Result(u64),
    /// The merges of a split, and, of its first part, the result.
    Merges(&'a SplitConfig, bool),
}

/// Ways through the stages, each once.
pub(super) struct StagePaths {
    at: Stages,
    /// Stages of the scores' cap.
    cap: u64,
    value_latency: u64,
    latency: u64,
    pub(super) stages: Vec<String>,
    pub(super) shapes: Vec<Vec<Span>>,
    known: HashMap<Vec<Span>, usize>,
}

impl StagePaths {
    /// Starts with no shapes.
    pub(super) fn new(config: &CoreConfig) -> StagePaths {
        StagePaths {
            at: Stages::of(config),
            cap: Numerics::new(config).cap_stages().into(),
            value_latency: config.value_latency.into(),
            latency: Numerics::new(config).latency().into(),
            stages: Vec::new(),
            shapes: Vec::new(),
            known: HashMap::new(),
        }
    }

    /// The shape of a step.
    pub(super) fn of(&mut self, action: Action, end: End) -> usize {
        let Stages { score, argument, value, .. } = self.at;
        let (score, argument, value) = (u64::from(score), u64::from(argument), u64::from(value));
        let mut way: Vec<(String, u64)> = Vec::new();
        match action {
            // A state has neither a key nor a score.
            Action::Restore => way.push((RESTORE.into(), value + 1)),
            _ => {
                let dot = score - self.cap;
                way.extend((1..=dot).map(|n| (format!("dot {n}"), n)));
                way.push(("score".into(), dot + 1));
                way.extend((self.cap > 0).then(|| ("cap".into(), score + 1)));
                // A separate stage only if it is between those of score and weight.
                if argument > score && argument < value {
                    way.push(("argument".into(), argument + 1));
                }
                way.push((WEIGHT.into(), value + 1));
            }
        }
        if self.value_latency > 1 {
            way.push(("wait for v".into(), value + self.value_latency));
        }
        let lanes = match action {
            Action::Hold => "held",
            Action::Masked => "masked",
            Action::Load | Action::Update | Action::Restore => "update",
        };
        way.push((lanes.into(), self.latency));
        match end {
            End::None => {}
            End::Result(behind) => {
                way.push(("queued".into(), self.latency + behind));
                way.push(("result".into(), self.latency + behind + 1));
            }
            End::Merges(split, first) => {
                let merges = 1..=u64::from(split.levels());
                way.extend(
                    merges.map(|n| (format!("merge {n}"), self.latency + u64::from(MERGE_CYCLES) * n)),
                );
                way.push(("merged".into(), split.latency().into()));
                way.extend(first.then(|| ("result".into(), u64::from(split.latency()) + 1)));
            }
        }
        let mut from = 0;
        let mut spans = Vec::new();
        for (name, to) in way {
            // Stages without a cycle are left out.
            if to > from {
                spans.push(Span { stage: self.stage(name), from, to });
                from = to;
            }
        }
        self.place(spans)
    }

    /// The shape of a step taken in cycle `taken`, with the array's frozen cycles.
    pub(super) fn frozen(&mut self, shape: usize, taken: u64, frozen: &Frozen) -> usize {
        // A stage begins in the cycle after the end of the previous stage.
        let at = |moves: u64| moves.checked_sub(1).map_or(0, |n| frozen.after(taken, n) + 1 - taken);
        let spans = self.shapes[shape].iter();
        let spans = spans.map(|span| Span { from: at(span.from), to: at(span.to), ..*span }).collect();
        self.place(spans)
    }

    /// The place of a shape, which is kept once.
    fn place(&mut self, spans: Vec<Span>) -> usize {
        let next = self.shapes.len();
        let shape = *self.known.entry(spans.clone()).or_insert(next);
        if shape == next {
            self.shapes.push(spans);
        }
        shape
    }

    fn stage(&mut self, name: String) -> usize {
        let found = self.stages.iter().position(|known| *known == name);
        found.unwrap_or_else(|| {
            self.stages.push(name);
            self.stages.len() - 1
        })
    }
}
