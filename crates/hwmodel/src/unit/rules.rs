//! How writes, jobs and descriptors change the host's registers.

use super::registers::*;
use crate::function;
use crate::rtl::{Pins, Tag, VectorFunction};
use crate::word::{Word, ones};

function! {
    /// The commands of a write to CTRL.
    pub struct CommandFunction {}
    name(this) = "job_commands";
    doc = "START and QUEUE are without effect while BUSY; SOFT_RESET goes first, then START.";
    inputs { select: 1, data: 32, mask: 32, busy: 1, irq_en: 1 }
    outputs { start: 1, queue: 1, soft_reset: 1, next_irq_en: 1 }
    eval<W> {
        let writes = |bit| select.and(&mask.bit(bit));
        let commands = |bit| writes(bit).and(&data.bit(bit));
        let soft_reset = commands(SOFT_RESET_BIT).named("resets");
        let may_start = busy.or(&soft_reset).not().named("may_start");
        let start = commands(START_BIT).and(&may_start).named("starts");
        let queue = commands(QUEUE_BIT).and(&may_start).and(&start.not());
        [start, queue, soft_reset, writes(IRQ_EN_BIT).select(&data.bit(IRQ_EN_BIT), &irq_en)]
    }
}
function! {
    /// Next state of DONE, INTERRUPT and ERROR.
    pub struct StatusRulesFunction {}
    name(this) = "status_rules";
    doc = "An event goes before a clear. The first error's code and address stay until ERROR is cleared.";
    inputs { select: 1, data: 32, mask: 32, soft_reset: 1, ends: 1, raise: 1, failed: 1, done: 1, pending: 1, error: 1 }
    outputs { next_done: 1, next_pending: 1, next_error: 1, take: 1, forget: 1 }
    eval<W> {
        let keeps = |bit| select.and(&mask.bit(bit)).and(&data.bit(bit)).or(&soft_reset).not();
        let keeps_done = keeps(DONE_BIT).named("keeps_done");
        let kept_error = error.and(&keeps(ERROR_BIT)).named("kept_error");
        [
            ends.or(&done.and(&keeps_done)),
            ends.and(&raise).or(&pending.and(&keeps_done)),
            failed.or(&kept_error),
            failed.and(&kept_error.not()),
            kept_error.not(),
        ]
    }
}
function! {
    /// Next contents of the record of an error.
    pub struct RecordFunction { width: u32 }
    name(this) = format!("record_{}", this.width);
    doc = "take ? new : forget ? 0 : old";
    inputs { take: 1, forget: 1, news: this.width, old: this.width }
    outputs { following: this.width }
    eval<W> { [take.select(&news, &forget.select(&W::zero(this.width), &old))] }
}
function! {
    /// STATUS as it is read.
    pub struct StatusWordFunction {}
    name(this) = "status_word";
    doc = "STATUS as it is read.";
    inputs { busy: 1, done: 1, pending: 1, error: 1, code: CODE_BITS }
    outputs { word: 32, raised: 1 }
    eval<W> {
        let raised = pending.or(&error).named("interrupt");
        let low = raised.concat(&error).concat(&done).concat(&busy).zext(CODE_BIT);
        [code.concat(&low).zext(32), raised]
    }
}
function! {
    /// CTRL as it is read.
    pub struct ControlWordFunction {}
    name(this) = "control_word";
    doc = "CTRL as it is read: the interrupt enable.";
    inputs { irq_en: 1 }
    outputs { word: 32 }
    eval<W> { [irq_en.append_zeros(IRQ_EN_BIT).zext(32)] }
}
function! {
    /// A write of the job: of the host, or of a descriptor's word.
    pub struct JobWriteFunction {}
    name(this) = "job_write";
    doc = "A word of a descriptor is written whole.";
    inputs { load: 1, load_data: 32, data: 32, mask: 32 }
    outputs { job_data: 32, job_mask: 32 }
    eval<W> { [load.select(&load_data, &data), mask.or(&load.repeat(32))] }
}
function! {
    /// A write of FLAGS, also by CFG.
    pub struct FlagsWriteFunction {}
    name(this) = "flags_write";
    doc = "CFG has CAUSAL alone, and clears the others.";
    inputs { causal: 1, load: 1, data: 32, mask: 32 }
    outputs { flags_data: 32, flags_mask: 32 }
    eval<W> {
        let alone = causal.and(&load.not()).named("causal_alone");
        [alone.select(&data.bit(0).zext(32), &data), alone.select(&mask.bit(0).repeat(32), &mask)]
    }
}
function! {
    /// FLAGS as CFG returns it.
    pub struct CausalWordFunction { width: u32 }
    name(this) = "causal_word";
    doc = "CAUSAL alone.";
    inputs { flags: this.width }
    outputs { word: 32 }
    eval<W> { [flags.bit(0).zext(32)] }
}
function! {
    /// Bits of a word.
    pub struct BitsFunction { from: u32, low: u32, width: u32 }
    name(this) = format!("bits_{}_{}_of_{}", this.low, this.width, this.from);
    doc = format!("y = x[{} +: {}].", this.low, this.width);
    inputs { x: this.from }
    outputs { y: this.width }
    eval<W> { [x.slice(this.low, this.width)] }
}
function! {
    /// Two words of 32 bits as one of 64.
    pub struct HalvesFunction {}
    name(this) = "halves";
    doc = "y = {high, low}.";
    inputs { low: 32, high: 32 }
    outputs { y: 64 }
    eval<W> { [high.concat(&low)] }
}

/// Which words of the job a write of the host or of a descriptor writes.
pub struct JobSelect {
    /// For each register that writes the job the words that it writes.
    pub writes: Vec<Vec<usize>>,
    /// The words' places in a descriptor, in words.
    pub places: Vec<u32>,
}

impl VectorFunction for JobSelect {
    fn header(&self) -> (Tag, Vec<Pins>, Vec<Pins>) {
        let tag = Tag::module("job_select", "The host does not write the job while BUSY.");
        let inputs = vec![
            Pins::vector("select", self.writes.len(), 1),
            Pins::vector("busy", 1, 1),
            Pins::vector("load", 1, 1),
            Pins::vector("load_word", 1, LOAD_WORD_BITS),
        ];
        (tag, inputs, vec![Pins::vector("word", self.places.len(), 1)])
    }

    fn eval<W: Word>(&self, inputs: &[Vec<W>]) -> Vec<Vec<W>> {
        let (select, busy, load, load_word) = (&inputs[0], &inputs[1][0], &inputs[2][0], &inputs[3][0]);
        let idle = busy.not().named("idle");
        let word = |(word, &place): (usize, &u32)| {
            let here = load_word.eq(&W::constant(LOAD_WORD_BITS, place.into()));
            let loads = load.and(&here).label(|| format!("loads_{place}"));
            let writers = self.writes.iter().zip(select).filter(|(words, _)| words.contains(&word));
            let writes = writers.map(|(_, select)| select.clone()).reduce(|any, one| any.or(&one));
            writes.map_or(loads.clone(), |writes| loads.or(&writes.and(&idle)))
        };
        vec![self.places.iter().enumerate().map(word).collect()]
    }
}

/// Words that do not change.
pub struct Constants {
    /// The words.
    pub words: Vec<u32>,
}

impl VectorFunction for Constants {
    fn header(&self) -> (Tag, Vec<Pins>, Vec<Pins>) {
        let tag = Tag::module("capabilities", "Identification and capabilities.");
        (tag, Vec::new(), vec![Pins::vector("word", self.words.len(), 32)])
    }

    fn eval<W: Word>(&self, _: &[Vec<W>]) -> Vec<Vec<W>> {
        vec![self.words.iter().map(|&word| W::constant(32, u64::from(word) & ones(32))).collect()]
    }
}
