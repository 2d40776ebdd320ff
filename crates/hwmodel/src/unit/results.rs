//! Results on their way to memory: with partial results, a row of the result, one of its state and one of its log-sum-exp.

use super::align::words_of;
use super::bursts::ROW_BYTES_BITS;
use super::fields::Flags;
use super::lse::lse_unit;
use super::operands::Readers;
use super::places::{places, row_address};
use super::requests::KindFunction;
use super::writer::{RowWriter, WriteAnswers, WrittenRow, row_writer};
use crate::function;
use crate::rtl::{Module, Pins, Tag, VectorFunction, VectorLeaf, Wire};
use crate::word::{Word, index_bits};
use crate::wrapper::around::{Shapes, Sources};
use crate::wrapper::logic::BothFunction;
use flashd_spec::config::{Carried, StreamWords};
use flashd_spec::numerics::Numerics;
use flashd_spec::unit::LSE_BYTES;

/// Width of the number of a part: the result, its state, the scalars of its log-sum-exp, the log-sum-exp.
const PART_BITS: u32 = 2;

function! {
    /// The bytes of a row.
    pub struct RowBytesFunction { bytes: u32 }
    name(this) = format!("row_bytes_{}", this.bytes);
    doc = "A constant.";
    inputs {}
    outputs { bytes: ROW_BYTES_BITS }
    eval<W> { [W::constant(ROW_BYTES_BITS, this.bytes.into())] }
}

function! {
    /// The parts of a result, one after another.
    pub struct PartRulesFunction { state_beats: u64, scalars: u64 }
    name(this) = format!("part_rules_{}_{}", this.state_beats, this.scalars);
    doc = "0 the result; 1 its state; 2 the scalars of its log-sum-exp; 3 the log-sum-exp. Beats that the job does not ask for are dropped,\n\
           when the row before has been written.";
    inputs {
        part: PART_BITS, count: this.count_bits(), valid: 1, states: 1, lses: 1, taken: 1, row_ends: 1, ready: 1
    }
    outputs { offered: 1, take: 1, loads: 1, next_part: PART_BITS, next_count: this.count_bits(), ends: 1 }
    eval<W> {
        let is = |number: u64| part.eq(&W::constant(PART_BITS, number));
        let to = |number: u64| W::constant(PART_BITS, number);
        let (result, state, scalars) = (is(0), is(1).named("at_state"), is(2).named("at_scalars"));
        let lse = is(3).named("at_lse");
        let written = result.or(&state.and(&states)).named("is_written");
        let dropped = state.and(&states.not()).and(&valid).named("is_dropped");
        let loads = scalars.and(&valid).named("loaded");
        let last = |beats: u64| count.eq(&W::constant(count.width(), beats - 1));
        let state_passed = state.and(&states).and(&row_ends).or(&dropped.and(&last(this.state_beats))).named("state_passed");
        let loaded = loads.and(&last(this.scalars)).named("all_loaded");
        let ends = loaded.and(&lses.not()).or(&lse.and(&row_ends)).named("result_ends");
        let next = result.and(&row_ends).select(&to(1), &part);
        let next = state_passed.select(&to(2), &next);
        let next = loaded.select(&to(3), &next);
        let following = count.add(&W::constant(count.width(), 1)).named("following");
        let counts = dropped.or(&loads).named("counts");
        let restarts = state_passed.or(&loaded).named("restarts");
        [
            written.and(&valid).or(&lse.and(&ready)),
            written.and(&taken).or(&counts),
            loads,
            ends.select(&to(0), &next),
            restarts.not().repeat(count.width()).and(&counts.select(&following, &count)),
            ends,
        ]
    }
}

impl PartRulesFunction {
    fn count_bits(&self) -> u32 {
        index_bits(self.state_beats.max(self.scalars) as usize)
    }
}

function! {
    /// The row of a part.
    pub struct PartRowFunction { address: u32, result: u32, state: u32 }
    name(this) = format!("part_row_{}_{}_{}", this.address, this.result, this.state);
    doc = "Address and bytes of the result, its state or its log-sum-exp.";
    inputs { part: PART_BITS, result: this.address, state: this.address, lse: this.address }
    outputs { address: this.address, bytes: ROW_BYTES_BITS }
    eval<W> {
        let (of_lse, of_state) = (part.bit(1), part.bit(0));
        let bytes = |value: u32| W::constant(ROW_BYTES_BITS, value.into());
        let choose = |result: &W, state: &W, lse: &W| of_lse.select(lse, &of_state.select(state, result));
        [choose(&result, &state, &lse), choose(&bytes(this.result), &bytes(this.state), &bytes(LSE_BYTES))]
    }
}

function! {
    /// Whether a scalar is loaded.
    pub struct LoadFunction { bits: u32, number: u64 }
    name(this) = format!("load_{}_of_{}", this.number, 1u64 << this.bits);
    doc = format!("Scalar {} comes.", this.number);
    inputs { loads: 1, count: this.bits }
    outputs { y: 1 }
    eval<W> { [loads.and(&count.eq(&W::constant(this.bits, this.number)))] }
}

function! {
    /// The bytes of a row that ends.
    pub struct EndedBytesFunction {}
    name(this) = "ended_bytes";
    doc = "The bytes of a row, with its last beat.";
    inputs { ends: 1, bytes: ROW_BYTES_BITS }
    outputs { y: ROW_BYTES_BITS }
    eval<W> { [ends.repeat(ROW_BYTES_BITS).and(&bytes)] }
}

/// The beats of results, or the log-sum-exp in the lowest bytes.
struct PartData {
    words: usize,
    word: u32,
}

impl VectorFunction for PartData {
    fn header(&self) -> (Tag, Vec<Pins>, Vec<Pins>) {
        let (words, word) = (self.words, self.word);
        let tag = Tag::module(
            format!("part_data_{words}x{word}"),
            "A beat of the stream, or the log-sum-exp and zeros.",
        );
        let inputs =
            vec![Pins::vector("x", words, word), Pins::word("lse", 32), Pins::word("part", PART_BITS)];
        (tag, inputs, vec![Pins::vector("y", words, word)])
    }

    fn eval<W: Word>(&self, inputs: &[Vec<W>]) -> Vec<Vec<W>> {
        let (lse, of_lse) = (&inputs[1][0], inputs[2][0].bit(1));
        let lse = match self.word < 32 {
            true => words_of(std::slice::from_ref(lse), self.word),
            false => vec![lse.zext(self.word)],
        };
        // The other words are zeros: the stream's next beat may come while the log-sum-exp waits.
        let none = W::zero(self.word);
        let choose = |(i, x): (usize, &W)| of_lse.select(lse.get(i).unwrap_or(&none), x);
        vec![inputs[0].iter().enumerate().map(choose).collect()]
    }
}

/// The writer of results, and its events.
pub struct Written {
    /// The writer.
    pub writer: RowWriter,
    /// A beat of the stream is taken.
    pub take: Wire,
    /// The last row of the job is taken by the memory.
    pub all: Wire,
    /// A beat is taken by the memory.
    pub beat: Wire,
    /// The bytes of a row, when its last beat is taken by the memory.
    pub bytes: Wire,
}

/// Inputs of the writer.
struct Offered {
    row: WrittenRow,
    valid: Wire,
    data: Vec<Wire>,
}

impl Readers<'_> {
    /// The results of the streams go to memory.
    pub fn results(
        &self,
        m: &mut Module,
        (flags, n): (&Flags, &Numerics),
        shapes: &Shapes,
        sources: &Sources,
        [begin, stop]: [Wire; 2],
    ) -> Written {
        let (config, job) = (self.config, self.job);
        let ends = m.later(1);
        let place = places(m, "result_places", config.array.queries, job, ends);
        let address = |m: &mut Module, name: &str, base: &str, of: &str| {
            let fields = [base, &format!("{of}_ROW"), &format!("{of}_HEAD")].map(|name| job.get(name));
            row_address(m, name, config.address_bits, fields, &place, [begin, ends])
        };
        let result = address(m, "result_address", "O", "O");
        let (taken, row_ends) = (m.later(1), m.later(1));
        let (offered, take) = match flags.states {
            None => {
                let bytes = config.row_bytes(Carried::Result);
                let [bytes] = m.call("result_bytes", RowBytesFunction { bytes }, []);
                m.drive(ends, row_ends);
                let row = WrittenRow { address: result, bytes };
                (Offered { row, valid: sources.o.tvalid, data: sources.o.tdata.clone() }, taken)
            }
            Some([lses, _, states]) => {
                let state = address(m, "state_row_address", "STATE_OUT", "STATE");
                let lse = address(m, "lse_row_address", "LSE", "LSE");
                // A soft reset clears the fields of the job, while a beat that was offered has to stay.
                let [lses, states] = [("writes_lses_q", lses), ("writes_states_q", states)]
                    .map(|(name, flag)| m.register_if(name, begin, flag));
                let flow = [lses, states, taken, row_ends];
                let (offered, take, part_ends) =
                    self.parts(m, n, shapes, sources, [result, state, lse], flow);
                m.drive(ends, part_ends);
                (offered, take)
            }
        };
        // Answers to writes have the identifier of writes.
        let answer = [self.inputs.writes.bvalid, self.inputs.bid];
        let [bvalid] = m.call("answered", KindFunction { id: 0 }, answer);
        let answers = WriteAnswers { bvalid, ..self.inputs.writes };
        let beat = ((config.beat_bits / 8).ilog2(), shapes.o.word_bits());
        let beats = (offered.valid, &offered.data[..]);
        let writer = row_writer(m, "result_rows", beat, offered.row, beats, stop, &answers);
        m.drive_all(&[taken, row_ends], &[writer.take, writer.row_ends]);
        let [all] = m.call("all_written", BothFunction {}, [ends, place.job_ends]);
        let sent = [writer.channels.wvalid, self.inputs.writes.wready];
        let [beat] = m.call("beat_written", BothFunction {}, sent);
        let [bytes] = m.call("bytes_written", EndedBytesFunction {}, [writer.row_ends, offered.row.bytes]);
        Written { writer, take, all, beat, bytes }
    }

    /// The parts of a result. `addresses`: of the result, its state and its log-sum-exp; `flow`: log-sum-exps and states are written, the
    /// writer takes a beat, and the last of a row leaves. Returns also whether a beat of the stream is taken, and the end of a result.
    fn parts(
        &self,
        m: &mut Module,
        n: &Numerics,
        shapes: &Shapes,
        sources: &Sources,
        [result, state, lse]: [Wire; 3],
        [lses, states, taken, row_ends]: [Wire; 4],
    ) -> (Offered, Wire, Wire) {
        let config = self.config;
        let scalars: Vec<StreamWords> = config.result_parts()[2..].iter().map(|part| part[0]).collect();
        let state_beats = config.row_bytes(Carried::State).div_ceil(config.beat_bits / 8);
        let rules = PartRulesFunction { state_beats: state_beats.into(), scalars: scalars.len() as u64 };
        let bits = rules.count_bits();
        let (part, count) = (m.state("part_q", PART_BITS), m.state("part_beat_q", bits));
        let ready = m.later(1);
        let flags = [part, count, sources.o.tvalid, states, lses, taken, row_ends, ready];
        let [offered, take, loads, next_part, next_count, ends] = m.call("part_rules", rules, flags);
        m.next_all(&[part, count], &[next_part, next_count]);

        let (shape, tdata) = (&shapes.o, &sources.o.tdata);
        let of_lse: Vec<[Wire; 2]> = (scalars.iter().enumerate())
            .map(|(i, words)| {
                let parts = (words.room / shape.word_bits()) as usize;
                let scalar = match shape.element((words.bits, parts), true) {
                    Some(join) => m.leaf(format!("scalar_{i}"), VectorLeaf::new(join), &tdata[..parts])[0],
                    None => tdata[0],
                };
                let load = LoadFunction { bits, number: i as u64 };
                [scalar, m.call(format!("scalar_{i}_comes"), load, [loads, count])[0]]
            })
            .collect();
        let [values, loads] = [0, 1].map(|i| of_lse.iter().map(|of| of[i]).collect::<Vec<Wire>>());
        let number = lse_unit(m, "lse", (&config.array.core, n), &values, &loads);
        m.drive(ready, number.ready);

        let rows = PartRowFunction {
            address: config.address_bits,
            result: config.row_bytes(Carried::Result),
            state: config.row_bytes(Carried::State),
        };
        let [address, bytes] = m.call("part_row", rows, [part, result, state, lse]);
        let data = PartData { words: tdata.len(), word: shape.word_bits() };
        let data = m.leaf("part_data", VectorLeaf::new(data), &[&tdata[..], &[number.y, part]].concat());
        (Offered { row: WrittenRow { address, bytes }, valid: offered, data }, take, ends)
    }
}
