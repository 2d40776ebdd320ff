//! The Kanata log, version 4, which the viewer Konata shows: lines of words between tabs, in the order of time.
//!
//! | line | meaning |
//! | --- | --- |
//! | `C=`, `C` | the first cycle; an advance by a number of cycles |
//! | `I id id thread` | a step begins; its query is its thread |
//! | `L id 0 text`, `L id 1 text` | its label, and its tooltip |
//! | `S id lane stage`, `E id lane stage` | it enters a stage, and leaves it; lane 1 is for stalls, and for cycles in which a wrapper's array is frozen |
//! | `W id id 0` | its score meets the state of the previous step |
//! | `R id n kind` | it is done; kind 1, which is drawn pale, if it changed nothing because its key was masked |
//!
//! Konata draws the arrow of a `W` between executing stages: from the end of the producer's to the beginning of the consumer's. A stage
//! executes if its name contains an X (`onikiri_parser.js`). Retirement numbers of kind 0 are consecutive: where steps of kind 1 are
//! hidden, Konata finds rows by these numbers.

use super::record::between;
use super::stages::{RESTORE, WEIGHT};
use super::{Pipeline, PipelineStep};
use flashd_golden::Action;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::{Result, Write};

/// A line that waits for its cycle: that, and its place among the lines of the same cycle.
type Waiting = Reverse<(u64, usize, String)>;

/// Lines in the order of time.
struct Log<'a, W: Write> {
    out: &'a mut W,
    now: Option<u64>,
    waiting: BinaryHeap<Waiting>,
    lines: usize,
}

impl<W: Write> Log<'_, W> {
    fn add(&mut self, cycle: u64, line: String) {
        self.waiting.push(Reverse((cycle, self.lines, line)));
        self.lines += 1;
    }

    /// Writes everything before a cycle.
    fn write_before(&mut self, end: u64) -> Result<()> {
        while self.waiting.peek().is_some_and(|Reverse((cycle, ..))| *cycle < end) {
            let Some(Reverse((cycle, _, line))) = self.waiting.pop() else { break };
            match self.now {
                None => writeln!(self.out, "C=\t{cycle}")?,
                Some(now) if now < cycle => writeln!(self.out, "C\t{}", cycle - now)?,
                Some(_) => {}
            }
            self.now = Some(cycle);
            writeln!(self.out, "{line}")?;
        }
        Ok(())
    }
}

/// A stage's name in the log.
fn stage(name: &str) -> String {
    let executes = name == WEIGHT || name == RESTORE;
    if executes { format!("{name} X") } else { name.to_string() }
}

/// For each step, the cycle of its end and its retirement number.
fn retirements(chart: &Pipeline) -> Vec<(u64, usize)> {
    let mut all: Vec<(u64, usize)> = chart.steps.iter().map(|step| (chart.end(step), 0)).collect();
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|&id| (all[id].0, id));
    let mut retired = 0;
    for id in order {
        all[id].1 = retired;
        retired += usize::from(chart.steps[id].action != Action::Masked);
    }
    all
}

/// Writes a chart.
pub(super) fn write(chart: &Pipeline, out: &mut impl Write) -> Result<()> {
    writeln!(out, "Kanata\t0004")?;
    let retirements = retirements(chart);
    let mut log = Log { out, now: None, waiting: BinaryHeap::new(), lines: 0 };
    // The step before, of each query in each core.
    let mut before: HashMap<(usize, usize), usize> = HashMap::new();
    for (id, step) in chart.steps.iter().enumerate() {
        // Keys are offered in the order in which they are taken.
        log.write_before(step.offered)?;
        log.add(step.offered, format!("I\t{id}\t{id}\t{}", step.query));
        log.add(step.offered, format!("L\t{id}\t0\t{}", step.label()));
        log.add(step.offered, format!("L\t{id}\t1\t{}, {}", chart.design, step.detail()));
        if step.offered < step.taken {
            log.add(step.offered, format!("S\t{id}\t1\tstall"));
            log.add(step.taken, format!("E\t{id}\t1\tstall"));
        }
        for span in chart.spans(step) {
            let name = stage(&chart.stages[span.stage]);
            log.add(span.from, format!("S\t{id}\t0\t{name}"));
            log.add(span.to, format!("E\t{id}\t0\t{name}"));
        }
        for (from, to) in chart.frozen_for(step) {
            log.add(from, format!("S\t{id}\t1\tfrozen"));
            log.add(to, format!("E\t{id}\t1\tfrozen"));
        }
        if let Some(before) = before.insert((step.query, step.core), id) {
            log.add(step.taken, format!("W\t{id}\t{before}\t0"));
        }
        let kind = u8::from(step.action == Action::Masked);
        let (end, retired) = retirements[id];
        log.add(end, format!("R\t{id}\t{retired}\t{kind}"));
    }
    log.write_before(u64::MAX)
}

impl Pipeline {
    /// The frozen cycles between the one in which a step's key is taken and its end.
    fn frozen_for(&self, step: &PipelineStep) -> impl Iterator<Item = (u64, u64)> + '_ {
        let (taken, end) = (step.taken, self.end(step));
        between(&self.frozen, taken, end).iter().map(move |&(from, to)| (from, to.min(end)))
    }
}

impl PipelineStep {
    /// Query, core and key.
    fn place(&self) -> String {
        let key = self.key.map_or("no key".into(), |key| format!("key {key}"));
        format!("query {} core {} {key}", self.query, self.core)
    }

    /// The label next to the row.
    pub(super) fn label(&self) -> String {
        format!("{}: {}", self.place(), self.text)
    }

    /// The tooltip.
    fn detail(&self) -> String {
        let stalls = match self.taken - self.offered {
            0 => String::new(),
            cycles => format!(" after a stall of {cycles} cycles"),
        };
        format!("step {} of its query, taken in cycle {}{stalls}", self.step, self.taken)
    }
}
