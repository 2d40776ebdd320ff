//! Pipeline charts: which step of a run is in which stage in which cycle.
//!
//! A key that a core meets is a row, a query a thread. [`PipelineRecorder`] observes a lock-step run and notes when keys are offered
//! and taken; everything else follows from the workload, the model's steps and the latencies of the design. [`Pipeline`] is the chart,
//! which is written as a Kanata log for the viewer Konata, or as a page for a browser.
//!
//! | file | what |
//! | --- | --- |
//! | `record` | when keys are taken, and when the array of a wrapper or a unit is frozen |
//! | `stages` | the stage of a step in each cycle after that |
//! | `rows`, `unit` | whose steps these are |
//! | `kanata` | the log |
//! | `page` | the page |

mod kanata;
mod page;
mod record;
mod rows;
mod stages;
mod unit;

pub use record::PipelineRecorder;
pub use stages::Span;

use flashd_golden::Action;
use std::path::Path;

/// A step in the chart.
#[derive(Clone, Debug, PartialEq)]
pub struct PipelineStep {
    /// Its query, of all queries of the run.
    pub query: usize,
    /// Where it runs: 0 but in an array or a split.
    pub core: usize,
    /// Its place in the query.
    pub step: usize,
    /// Its key; None for a partial result that the query starts from.
    pub key: Option<usize>,
    /// The cycle in which its key is offered first; before `taken` the key stalls.
    pub offered: u64,
    /// The cycle in which its key is taken.
    pub taken: u64,
    /// Its effect on the output.
    pub action: Action,
    /// Which of [`Pipeline::shapes`] it has.
    pub shape: usize,
    /// Score, argument, weight and action, as text.
    pub text: String,
}

/// The chart of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Pipeline {
    /// Name of the design.
    pub design: String,
    /// The stages' names.
    pub stages: Vec<String>,
    /// The ways of steps through the stages, in cycles after their keys were taken.
    pub shapes: Vec<Vec<Span>>,
    /// Steps in the order in which their keys are taken.
    pub steps: Vec<PipelineStep>,
    /// Times in which a wrapper's or a unit's array is frozen, and so every step: the first cycle, and the first that moves again.
    pub frozen: Vec<(u64, u64)>,
    /// A unit's bursts, by kind.
    pub memory: Vec<MemoryLane>,
}

/// The bursts of one kind at the memory port of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryLane {
    /// Its kind: `keys`.
    pub kind: &'static str,
    /// For each burst: the cycle in which its address is taken, the cycle after its last beat or its answer, and its beats.
    pub bursts: Vec<[u64; 3]>,
}

/// The formats of charts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PipelineFormat {
    /// A Kanata log, version 4, for the viewer Konata.
    Kanata,
    /// A page for a browser.
    Page,
}

impl PipelineFormat {
    /// Chooses the format of a file by the ending of its name.
    ///
    /// # Errors
    /// An unknown ending.
    pub fn of(path: &Path) -> Result<PipelineFormat, String> {
        let ending = path.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
        match ending.as_deref() {
            Some("log") => Ok(PipelineFormat::Kanata),
            Some("html") => Ok(PipelineFormat::Page),
            _ => Err(format!(
                "{}: not a name for a pipeline chart; give one that ends in .log, for Konata, or .html",
                path.display()
            )),
        }
    }
}

impl Pipeline {
    /// A step's way through the stages, in cycles of the run.
    pub fn spans<'a>(&'a self, step: &'a PipelineStep) -> impl Iterator<Item = Span> + 'a {
        self.shapes[step.shape].iter().map(|span| Span {
            from: span.from + step.taken,
            to: span.to + step.taken,
            ..*span
        })
    }

    /// The cycle in which a step leaves the last stage.
    fn end(&self, step: &PipelineStep) -> u64 {
        self.spans(step).last().map_or(step.taken, |span| span.to)
    }

    /// Writes the chart to a file of this format.
    ///
    /// # Errors
    /// If writing fails.
    pub fn write(&self, format: PipelineFormat, out: &mut impl std::io::Write) -> std::io::Result<()> {
        match format {
            PipelineFormat::Kanata => kanata::write(self, out),
            PipelineFormat::Page => page::write(self, out),
        }
    }
}
