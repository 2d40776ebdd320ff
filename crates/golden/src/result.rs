//! What comes of a run: results of queries, their steps, and states to go on from.

/// What a step did to the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// `o = v`: a first key (all but `paper`, `literal` and FA2's float lanes with one multiplier turn a -0 into +0), or the paper's static rule. FA2's
    /// fixed-point sums take the value times its exponential.
    Load,
    /// `o` was updated.
    Update,
    /// `o` stayed and the value was not read.
    Hold,
    /// The query does not see the key: nothing happened.
    Masked,
    /// No key, but a partial result that the query starts from.
    Restore,
}

/// One step of a query, as recorded on request. All numbers are 0 where the key is masked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Score: in base 2, an integer with FS fraction bits; for `paper` and `literal` the natural one, an encoding.
    pub s: i64,
    /// Argument of the weight function, 0 for the first key. `lse`: `s - L` with FL fraction bits. FA2, with FS
    /// fraction bits: `s - m` for the old maximum m; `fixed`: s minus the new reference; `logref`, `sharedlog` and `lazy`: s minus
    /// the old one. `paper`: the encoding of `D + ln w`, 0 when the static rule decided without it; `literal`: the encoding of
    /// `s - m`, `m` the new maximum.
    pub x: i64,
    /// The lanes' factor; 0 where a step holds. Rounded to the format: its encoding. Otherwise `(right << bits) | m`
    /// for the factor `m 2^-(bits-1) 2^-right`. `lse`: the smaller one of `w` and `1 - w`, 0 for first keys;
    /// `paper`: `w`; FA2: the exponential, in `lazy` relative to the largest, `2^slack`. One for first keys but in `lse`, `fixed`,
    /// `logref` and `lazy`.
    pub w: u64,
    /// `lse`: the factor is `1 - w` and scales the old output (`x >= 0`). FA2: the maximum moved, with the same
    /// effect; `fixed`, `logref`, `sharedlog` and `lazy`: the reference moved. False for first keys, and always in `paper` and `literal`.
    pub upper: bool,
    /// What happened to the output.
    pub action: Action,
    /// FA2's sum after the step, where the model was asked for it ([`Model::with_sums`](crate::Model::with_sums)): with FL fraction bits, in `literal` an
    /// encoding. None where the step saw no key.
    pub l: Option<u64>,
}

/// What a core has made of some keys, raw: what it needs to go on with others as if it had never stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartialState {
    /// The scalars of [`CoreConfig::state_scalars`](flashd_spec::config::CoreConfig::state_scalars), 0 where there is only one. FLASH-D: the log-sum-exp L (two's
    /// complement, FL fraction bits), and what the hold rule's budget has left; FA2: the maximum m (two's complement, FS
    /// fraction bits) and the sum l (FL fraction bits).
    pub scalars: [u64; 2],
    /// The d_v accumulators: encodings of the accumulator's format, or two's complement in fixed-point lanes, relative
    /// to the query's `v_exponent`; where each lane has an exponent of its own, that stands above the number.
    pub o: Vec<u64>,
}

/// Result of one query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryResult {
    /// Output encodings, d_v of them.
    pub o: Vec<u64>,
    /// Some operand that was read is Inf or NaN.
    pub invalid: bool,
    /// Fixed-point lanes: a value that was read is beyond `v_exponent`, or FA2's fixed sum went beyond 65,536.
    pub overflow: bool,
    /// The query saw no key, all being masked: `o` is zero, and neither `invalid` nor `overflow` is set.
    pub empty: bool,
    /// Every step, if recording was asked for.
    pub steps: Vec<Step>,
    /// Roundings in the output lanes (update and result) that saturated.
    pub saturated: u64,
    /// Of cores with partial results: the state after the last key. None where the query is empty.
    pub state: Option<PartialState>,
}
