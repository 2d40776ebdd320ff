//! The output of a run: results of queries, their steps, and partial results.

/// The effect of a step on the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// `o = v`: a first key, or the paper's static rule. A -0 becomes +0, except in `paper`, `literal` and FA2's float lanes with one
    /// multiplier. FA2's fixed-point sums load the value times its exponential.
    Load,
    /// `o` was updated.
    Update,
    /// `o` stayed, and the value was not read.
    Hold,
    /// The query does not see the key: nothing happened.
    Masked,
    /// The query was restored from a partial result.
    Restore,
}

/// One recorded step of a query. All numbers are 0 if the key is masked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Score in base 2, an integer with FS fraction bits; in `paper` and `literal` the natural score, an encoding.
    pub s: i64,
    /// Argument of the weight function, 0 for the first key. `lse`: `s - L` with FL fraction bits. FA2, with FS
    /// fraction bits: `s - m` for the old maximum m; `logref` and `sharedlog`: s minus
    /// the old one. `paper`: the encoding of `D + ln w`, 0 when the static rule decided without it; `literal`: the encoding of
    /// `s - m`, `m` the new maximum.
    pub x: i64,
    /// The lanes' factor; 0 if the step holds. A factor rounded to the format is an encoding; any other factor
    /// `m 2^-(bits-1) 2^-right` is `(right << bits) | m`. `lse`: the smaller of `w` and `1 - w`, 0 for first keys;
    /// `paper`: `w`; FA2: the exponential. First keys have a factor of one, except in
    /// `lse` and `logref`.
    pub w: u64,
    /// `lse`: the factor is `1 - w` and scales the old output (`x >= 0`). FA2: the maximum moved, with the same
    /// effect; `logref` and `sharedlog`: the reference moved. False for first keys, and always in `paper` and `literal`.
    pub upper: bool,
    /// Its effect on the output.
    pub action: Action,
    /// FA2's sum after the step, with FL fraction bits, in `literal` an encoding. Only with
    /// [`Model::with_sums`](crate::Model::with_sums); `None` if the step saw no key.
    pub l: Option<u64>,
}

/// Takes the next steps of each query of a run; false ends the run.
pub type Take<'a> = &'a mut dyn FnMut(Vec<Vec<Step>>) -> bool;

/// A partial result as the core's registers hold it. From it, a core continues with more keys as if it had never stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartialState {
    /// The scalars of [`CoreConfig::state_scalars`](flashd_spec::config::CoreConfig::state_scalars); a missing second one is 0.
    /// FLASH-D: the log-sum-exp L (two's complement, FL fraction bits), and the rest of the hold rule's budget. FA2: the maximum
    /// or reference (two's complement, FS fraction bits; in `logref` an integer) and the sum l (FL fraction bits).
    pub scalars: [u64; 2],
    /// The d_v accumulators. Float lanes: encodings of the accumulator's format. Fixed-point lanes: two's complement, relative to
    /// the query's `v_exponent`. Ranged lanes: the lane's own exponent field above the two's complement number.
    pub o: Vec<u64>,
}

/// Result of one query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryResult {
    /// The d_v output encodings.
    pub o: Vec<u64>,
    /// An operand that was read is Inf or NaN.
    pub invalid: bool,
    /// A score of a key that the query saw is beyond the core's range, or a product that it is the sum of, or its bias. Never in
    /// `paper` and `literal`, whose scores are in the format.
    pub score_saturated: bool,
    /// Fixed-point lanes: a value that was read is beyond `v_exponent`, or FA2's fixed-point sum exceeded `2^G` for the core's most keys.
    pub overflow: bool,
    /// The query saw no key, all being masked: `o` is zero, and neither `invalid` nor `overflow` is set.
    pub empty: bool,
    /// Every step, if [`Head::record`](crate::Head::record) is set.
    pub steps: Vec<Step>,
    /// Roundings in the output lanes (update and result) that saturated.
    pub saturated: u64,
    /// The state after the last key, for cores with partial results. `None` if the query is empty.
    pub state: Option<PartialState>,
}
