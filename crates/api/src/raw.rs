//! Attention of a head in encodings, with nothing scaled and nothing rounded before the core.

use crate::{Core, Error, Watch, guarded};
use flashd_golden::{Monitor, QueryResult};
use flashd_simulator::{Counters, Gaps, Query, Workload, run_model_with};
use flashd_spec::bits::ones;
use flashd_spec::format::Format;

/// Operands of a head as the core's ports carry them.
#[derive(Clone, Copy, Debug)]
pub struct RawHead<'a> {
    /// `[queries, d]`.
    pub q: &'a [u64],
    /// `[keys, d]`.
    pub k: &'a [u64],
    /// `[keys, d]`.
    pub v: &'a [u64],
    /// How many keys each query meets, from the first; all for none given.
    pub lengths: Option<&'a [usize]>,
    /// Keys hidden from queries, `[queries, keys]`.
    pub hidden: Option<&'a [bool]>,
    /// What fixed-point lanes scale values to; the largest value's for none given.
    pub v_exponent: Option<u64>,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct RawRun {
    /// Of each query.
    pub results: Vec<QueryResult>,
    /// Counts and cycles of the core.
    pub counters: Counters,
}

impl Core {
    /// Attention of one head in encodings; the score's factor is the power of two that the core is configured with.
    ///
    /// # Errors
    /// Sizes that do not fit, words that are wider than the format, and masks that the core does not have.
    pub fn attention_raw(&self, head: &RawHead, watch: &Watch) -> Result<RawRun, Error> {
        guarded(|| {
            let workload = self.workload(head)?;
            let model = self.model(self.config().score_shift());
            let progress = |steps: u64| watch.progress(steps);
            let monitor = Monitor { watch: None, progress: Some(&progress) };
            let run = run_model_with(&model, &workload, Gaps::None, monitor);
            let run = run.map_err(|e| Error::Input(e.by_flag()))?;
            Ok(RawRun { results: run.results, counters: run.counters })
        })
    }

    fn workload(&self, head: &RawHead) -> Result<Workload, Error> {
        let (d, formats) = (self.config().d, self.config().formats());
        let operands = [("q", head.q, formats.q), ("k", head.k, formats.k), ("v", head.v, formats.v)];
        for (name, data, format) in operands {
            if data.is_empty() || !data.len().is_multiple_of(d) {
                return Err(Error::Input(format!(
                    "{name}: {} words, whole rows of {d} are needed",
                    data.len()
                )));
            }
            if let Some(at) = data.iter().position(|&word| word > ones(format.width())) {
                let (row, column, bits) = (at / d, at % d, format.width());
                return Err(Error::Input(format!(
                    "{name}: row {row}, column {column} is {:#x}, which has more than the {bits} bits of {format}",
                    data[at]
                )));
            }
        }
        if head.k.len() != head.v.len() {
            let (k, v) = (head.k.len() / d, head.v.len() / d);
            return Err(Error::Input(format!("v: {v} rows, but k has {k}")));
        }
        let mut workload = Workload::new(formats.v, d, head.q, head.k, head.v);
        let (queries, keys) = (workload.queries.len(), head.k.len() / d);
        if let Some(lengths) = head.lengths {
            if lengths.len() != queries {
                return Err(Error::Input(format!(
                    "lengths: {} numbers for {queries} queries",
                    lengths.len()
                )));
            }
            if let Some(n) = lengths.iter().find(|&&n| n > keys) {
                return Err(Error::Input(format!(
                    "lengths: {n} is more than the {keys} keys that there are"
                )));
            }
            workload = workload.with_lengths(lengths.iter().copied());
        }
        if let Some(hidden) = head.hidden {
            if hidden.len() != queries * keys {
                let n = hidden.len();
                return Err(Error::Input(format!("mask: {n} elements, [{queries}, {keys}] are needed")));
            }
            if !self.config().masks {
                return Err(Error::Input("mask: takes a core with masks; add --masks".into()));
            }
            workload = workload.with_hidden(|query, key| hidden[query * keys + key]);
        }
        if let Some(v_exponent) = head.v_exponent {
            let format = formats.v;
            if v_exponent > format.exponent_mask() {
                let most = format.exponent_mask();
                return Err(Error::Input(format!(
                    "v_exponent: {v_exponent} is beyond {format}'s field, 0 to {most}"
                )));
            }
            workload.queries =
                workload.queries.into_iter().map(|query| Query { v_exponent, ..query }).collect();
        }
        Ok(workload)
    }
}

/// The elements of a packed bus, element 0 in the lowest bits of the first word, as Verilog and DPI have it.
///
/// `bits` is at most 64. Words that are missing count as 0.
pub fn unpack(words: &[u32], bits: u32, elements: usize) -> Vec<u64> {
    let element = |i: usize| {
        let place = i * bits as usize;
        let word = |n: usize| u128::from(words.get(place / 32 + n).copied().unwrap_or(0)) << (32 * n);
        ((word(0) | word(1) | word(2)) >> (place % 32)) as u64 & ones(bits)
    };
    (0..elements).map(element).collect()
}

/// Elements as a packed bus; what does not fit in `words` is left out, what is left of them becomes 0.
pub fn pack(elements: &[u64], bits: u32, words: &mut [u32]) {
    words.fill(0);
    for (i, &element) in elements.iter().enumerate() {
        let place = i * bits as usize;
        let shifted = u128::from(element & ones(bits)) << (place % 32);
        for (n, word) in words.iter_mut().skip(place / 32).take(3).enumerate() {
            *word |= (shifted >> (32 * n)) as u32;
        }
    }
}

/// The widest word of a format's encodings, in bytes: 1, 2 or 4.
pub fn word_bytes(format: Format) -> usize {
    (format.width() as usize).div_ceil(8).next_power_of_two()
}
