//! The bit-exact model: queries against keys, through the scalar recurrence and the output lanes.

use crate::carrier::Carrier;
use crate::lanes::{BLOCK, Block, LaneOp, Lanes, dot};
use crate::recurrence::{Recurrence, State};
use crate::round::{Rounder, decode, encode, pow2};
use flashd_hwmodel::config::CoreConfig;
use flashd_hwmodel::format::{Format, Subnormals};
use flashd_hwmodel::numerics::{Numerics, difference_format};
use rayon::prelude::*;

/// What a step did to the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// `o = v`: a first key (`lse` and FA2 turn a -0 into +0), or the paper's static rule.
    Load,
    /// `o` was updated.
    Update,
    /// `o` stayed and the value was not read.
    Hold,
}

/// One step of a query, as recorded on request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Score: an integer with FS fraction bits (`lse`, FA2), or an encoding (`paper`, `literal`).
    pub s: i64,
    /// Argument of the weight function, 0 for the first key. `lse`: `s - L` with FL fraction bits; FA2:
    /// `s - m` with FS fraction bits; `paper`: the encoding of `D + ln w`, 0 when the static rule skipped it;
    /// `literal`: the encoding of `s - m`, `m` the new maximum.
    pub x: i64,
    /// Encoding of the lanes' factor. `lse`: the smaller one of `w` and `1 - w` (0 for first keys and where it
    /// holds); `paper`: `w`; FA2: the exponential. Other than in `lse`, one for first keys.
    pub w: u64,
    /// `lse`: the factor is `1 - w` and scales the old output (`x >= 0`). FA2: the maximum moved, with the
    /// same effect. False for first keys, and always in `paper` and `literal`.
    pub upper: bool,
    /// What happened to the output.
    pub action: Action,
}

/// Result of one query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryResult {
    /// Output encodings, d of them.
    pub o: Vec<u64>,
    /// Some operand that was read is Inf or NaN.
    pub invalid: bool,
    /// Every step, if recording was asked for.
    pub steps: Vec<Step>,
    /// Roundings in the output lanes (update and result) that saturated.
    pub saturated: u64,
}

/// The bit-exact model of one core: FLASH-D or FA2 in any variant, format and width.
#[derive(Clone, Debug)]
pub struct Model {
    d: usize,
    numerics: Numerics,
    recurrence: Recurrence,
}

/// Which machine float carries the dot product (first) and the output lanes (second).
type Carriers = (bool, bool);

impl Model {
    /// The model of a core; the configuration must be valid.
    pub fn new(config: &CoreConfig) -> Self {
        let numerics = Numerics::new(config);
        let recurrence = Recurrence::new(config, &numerics);
        Model { d: config.d, numerics, recurrence }
    }

    /// Runs queries against keys and values.
    ///
    /// `q` holds `queries * d` encodings, `k` and `v` `keys * d`. Query `i` uses keys `0..lengths[i]`:
    /// causal attention is `lengths[i] = i + 1`. A query without keys gives zeros. With `record` every step
    /// is kept. Queries are spread over the threads of the current rayon pool.
    ///
    /// # Panics
    /// If the lengths of the slices do not fit each other or a length exceeds the number of keys.
    pub fn run(&self, q: &[u64], k: &[u64], v: &[u64], lengths: &[usize], record: bool) -> Vec<QueryResult> {
        self.run_in(q, k, v, lengths, record, self.carriers(v))
    }

    /// Whether f32 carries the dot product and the lanes exactly (see [`crate::carrier`]); otherwise f64.
    fn carriers(&self, v: &[u64]) -> Carriers {
        let format = self.numerics.format;
        let p = format.precision();
        let small_range = |f: Format| f.exponent_bits <= 5;
        let dot = 2 * p + 2 <= f32::PRECISION;
        let longest = self.recurrence.intermediate().precision().max(self.numerics.accumulator.precision());
        let lanes = if small_range(format) {
            p + longest <= f32::PRECISION
        } else {
            // One bit less, so that a product next to the smallest normal number is still exact; and values
            // so small that neither a difference nor FA2's growing sum (which gets stuck at 2^(p+1) values)
            // leaves f32.
            let limit = encode(format, pow2(100));
            let magnitude = format.sign_bit() - 1;
            p + longest < f32::PRECISION && v.iter().all(|&x| x & magnitude < limit || format.is_special(x))
        };
        (dot, lanes)
    }

    fn run_in(
        &self,
        q: &[u64],
        k: &[u64],
        v: &[u64],
        lengths: &[usize],
        record: bool,
        carriers: Carriers,
    ) -> Vec<QueryResult> {
        assert_eq!(q.len(), lengths.len() * self.d, "q must hold one query for each length");
        assert_eq!(k.len(), v.len(), "k and v must hold the same number of vectors");
        assert_eq!(k.len() % self.d, 0, "k must hold whole vectors");
        let keys = k.len() / self.d;
        assert!(lengths.iter().all(|&n| n <= keys), "a query has more keys than there are");
        let input = Input { q, k, v, lengths, record };
        match (carriers, self.numerics.format.subnormals) {
            ((true, true), Subnormals::Flushed) => self.run_as::<true, f32, f32>(input),
            ((true, false), Subnormals::Flushed) => self.run_as::<true, f32, f64>(input),
            (_, Subnormals::Flushed) => self.run_as::<true, f64, f64>(input),
            ((true, true), Subnormals::Supported) => self.run_as::<false, f32, f32>(input),
            ((true, false), Subnormals::Supported) => self.run_as::<false, f32, f64>(input),
            (_, Subnormals::Supported) => self.run_as::<false, f64, f64>(input),
        }
    }

    fn run_as<const FLUSH: bool, S: Carrier, L: Carrier>(&self, input: Input) -> Vec<QueryResult> {
        let format = self.numerics.format;
        let special = |x: &[u64]| x.chunks(self.d).map(|x| x.iter().any(|&b| format.is_special(b))).collect();
        let run = Run::<S, L> {
            model: self,
            score: Rounder::new(format),
            lanes: Lanes {
                accumulator: Rounder::new(self.numerics.accumulator),
                intermediate: Rounder::new(self.recurrence.intermediate()),
            },
            k: carry(format, input.k),
            v: carry(format, input.v),
            k_special: special(input.k),
            v_special: special(input.v),
            record: input.record,
        };
        debug_assert_eq!(run.score.flushes(), FLUSH);
        let blocks: Vec<_> = input
            .lengths
            .par_chunks(BLOCK)
            .zip(input.q.par_chunks(BLOCK * self.d))
            .map(|(lengths, q)| run.block::<FLUSH>(lengths, q))
            .collect();
        blocks.into_iter().flatten().collect()
    }
}

#[derive(Clone, Copy)]
struct Input<'a> {
    q: &'a [u64],
    k: &'a [u64],
    v: &'a [u64],
    lengths: &'a [usize],
    record: bool,
}

fn carry<C: Carrier>(format: Format, bits: &[u64]) -> Vec<C> {
    bits.iter().map(|&b| C::from_f64(decode(format, b))).collect()
}

/// One call of [`Model::run`] with its operands decoded: `S` carries the score, `L` the output lanes.
struct Run<'a, S, L> {
    model: &'a Model,
    score: Rounder<S>,
    lanes: Lanes<L>,
    k: Vec<S>,
    v: Vec<L>,
    k_special: Vec<bool>,
    v_special: Vec<bool>,
    record: bool,
}

/// A query in progress.
struct Query<L> {
    state: Option<State>,
    o: Vec<L>,
    invalid: bool,
    steps: Vec<Step>,
    saturated: u64,
}

impl<S: Carrier, L: Carrier> Run<'_, S, L> {
    /// Up to [`BLOCK`] queries, one key after the other.
    fn block<const FLUSH: bool>(&self, lengths: &[usize], q: &[u64]) -> Vec<QueryResult> {
        let d = self.model.d;
        let format = self.model.numerics.format;
        let mut transposed = vec![Block::<S>::default(); d];
        let mut queries: Vec<Query<L>> = Vec::with_capacity(lengths.len());
        for (lane, (bits, &length)) in q.chunks(d).zip(lengths).enumerate() {
            for (row, &b) in transposed.iter_mut().zip(bits) {
                row[lane] = S::from_f64(decode(format, b));
            }
            queries.push(Query {
                state: None,
                o: vec![L::default(); d],
                invalid: length > 0 && bits.iter().any(|&b| format.is_special(b)),
                steps: Vec::with_capacity(if self.record { length } else { 0 }),
                saturated: 0,
            });
        }
        let mut work = vec![Block::<S>::default(); d];
        for key in 0..lengths.iter().copied().max().unwrap_or(0) {
            let row = key * d..(key + 1) * d;
            let dots = dot::<FLUSH, S>(&self.score, &transposed, &self.k[row.clone()], &mut work);
            for ((query, &length), dot) in queries.iter_mut().zip(lengths).zip(dots) {
                if key < length {
                    self.step::<FLUSH>(query, key, dot.to_f64(), &self.v[row.clone()]);
                }
            }
        }
        queries.into_iter().map(|query| self.finish(query)).collect()
    }

    /// One key of one query.
    #[inline]
    fn step<const FLUSH: bool>(&self, query: &mut Query<L>, key: usize, dot: f64, v: &[L]) {
        let (state, decision) = self.model.recurrence.step(query.state, dot);
        query.state = Some(state);
        query.invalid |= self.k_special[key];
        if decision.op != LaneOp::Hold {
            query.invalid |= self.v_special[key];
            query.saturated += self.lanes.step::<FLUSH>(decision.op, &mut query.o, v);
        }
        if self.record {
            query.steps.push(Step {
                s: decision.s,
                x: decision.x,
                w: encode(self.model.numerics.format, decision.w),
                upper: matches!(decision.op, LaneOp::Complement(_) | LaneOp::ScaleOutput(_)),
                action: match decision.op {
                    LaneOp::Load | LaneOp::First => Action::Load,
                    LaneOp::Hold => Action::Hold,
                    _ => Action::Update,
                },
            });
        }
    }

    /// The last multiplication, where the core has one, and the rounding to the output's format.
    fn finish(&self, query: Query<L>) -> QueryResult {
        let Model { numerics, recurrence, .. } = self.model;
        let scale = query.state.and_then(|state| recurrence.scale(state));
        let mut saturated = query.saturated;
        let mut output = |o: &L| {
            let exact = scale.map_or(o.to_f64(), |scale| o.to_f64() * scale);
            let (rounded, over) = recurrence.round_output(exact);
            saturated += u64::from(over);
            encode(numerics.format, rounded)
        };
        let o = query.o.iter().map(&mut output).collect();
        QueryResult { o, invalid: query.invalid, steps: query.steps, saturated }
    }
}

/// One lane of FLASH-D's `lse` update. `upper` false: `o + w (v - o)`; true: `v + w (o - v)`, `w` being one
/// minus the weight. `o` and the result are encodings of the accumulator, `v` and `w` of the core's format.
pub fn flash_d_lane(config: &CoreConfig, o: u64, v: u64, w: u64, upper: bool) -> u64 {
    let format = config.format;
    let accumulator = config.accumulator_format();
    // The format of [`Numerics::difference`], without fitting all of the core's tables for one lane.
    let difference = difference_format(format, accumulator);
    let mut lane = [decode(accumulator, o)];
    let value = [decode(format, v)];
    let w = decode(format, w);
    let lanes =
        Lanes::<f64> { accumulator: Rounder::new(accumulator), intermediate: Rounder::new(difference) };
    let op = if upper { LaneOp::Complement(w) } else { LaneOp::Weight(w) };
    match format.subnormals {
        Subnormals::Flushed => lanes.step::<true>(op, &mut lane, &value),
        Subnormals::Supported => lanes.step::<false>(op, &mut lane, &value),
    };
    encode(accumulator, lane[0])
}

#[cfg(test)]
mod tests;
