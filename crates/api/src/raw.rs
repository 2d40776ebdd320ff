//! Attention of a head in encodings, with nothing scaled and nothing rounded before the core.

use crate::{Core, Error, Watch, guarded};
use flashd_golden::{Monitor, QueryResult};
use flashd_simulator::{Counters, Gaps, Query, Workload, run_model_with};
use flashd_spec::bits::ones;
use flashd_spec::format::{Format, Scale};
use flashd_spec::numerics::BIAS;
use flashd_workload::{Rounded, RowEncoding, ScaleRule};

/// Operands of a head as the core's ports carry them.
#[derive(Clone, Copy, Debug)]
pub struct RawHead<'a> {
    /// `[queries, words]`: rows of d_k elements, followed by the words of their scale in a core whose rows have scales.
    pub q: &'a [u64],
    /// `[keys, words]`.
    pub k: &'a [u64],
    /// `[keys, d_v]`.
    pub v: &'a [u64],
    /// How many keys each query meets, from the first; all for none given.
    pub lengths: Option<&'a [usize]>,
    /// Keys hidden from queries, `[queries, keys]`.
    pub hidden: Option<&'a [bool]>,
    /// Numbers to add to scores, `[queries, keys]` bf16 encodings. Minus infinity hides the key, in a core with masks.
    pub bias: Option<&'a [u64]>,
    /// The exponent to which fixed-point lanes scale values; by default the largest value's.
    pub v_exponent: Option<u64>,
}

/// The results, with their flags and counts.
#[derive(Clone, Debug)]
pub struct RawRun {
    /// The result of each query.
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
        let words = self.config().port_words();
        for (name, data) in [("q", head.q), ("k", head.k), ("v", head.v)] {
            self.check_words(name, self.rows(name)?, data)?;
        }
        let (keys, v) = (head.k.len() / words.k, head.v.len() / words.v);
        if keys != v {
            return Err(Error::Input(format!("v: {v} rows, but k has {keys}")));
        }
        let queries = head.q.len() / words.q;
        self.check_pairs(head, queries, keys)?;
        let masks = self.config().masks;
        let added = |query: usize, key: usize| head.bias.map_or(0, |bias| bias[query * keys + key]);
        let meets = |query: usize, key: usize| head.lengths.is_none_or(|lengths| key < lengths[query]);
        let masked = |query: usize, key: usize| head.hidden.is_some_and(|hidden| hidden[query * keys + key]);
        // Minus infinity hides a key; the core has no such bias.
        let hides = |query: usize, key: usize| added(query, key) == MINUS_INFINITY;
        let pairs = || (0..queries).flat_map(|query| (0..keys).map(move |key| (query, key)));
        if let Some((query, key)) = pairs().find(|&(i, j)| meets(i, j) && !masked(i, j) && hides(i, j))
            && !masks
        {
            return Err(Error::Input(format!(
                "bias: hides key {key} from query {query}, which takes a core with masks; add --masks"
            )));
        }
        let sees = |query: usize, key: usize| meets(query, key) && !masked(query, key) && !hides(query, key);
        // Unseen keys and values may hold anything.
        let everything = head.lengths.is_none() && head.hidden.is_none() && head.bias.is_none();
        let seen: Vec<bool> =
            (0..keys).map(|key| everything || (0..queries).any(|query| sees(query, key))).collect();
        let only = |rows: &[u64], words: usize| -> Vec<u64> {
            let row =
                |(row, &seen): (&[u64], &bool)| row.iter().map(|&word| if seen { word } else { 0 }).collect();
            rows.chunks_exact(words).zip(&seen).flat_map::<Vec<u64>, _>(row).collect()
        };
        let (k, v) = (only(head.k, words.k), only(head.v, words.v));
        let mut workload = Workload::of_core(self.config(), head.q, &k, &v);
        if let Some(lengths) = head.lengths {
            workload = workload.with_lengths(lengths.iter().copied());
        }
        if head.hidden.is_some() || (masks && head.bias.is_some()) {
            workload = workload.with_hidden(|query, key| masked(query, key) || hides(query, key));
        }
        if head.bias.is_some() {
            workload =
                workload.with_biases(|query, key| if sees(query, key) { added(query, key) } else { 0 });
        }
        if let Some(v_exponent) = head.v_exponent {
            workload.queries =
                workload.queries.into_iter().map(|query| Query { v_exponent, ..query }).collect();
        }
        Ok(workload)
    }

    /// Checks lengths, mask, biases and exponent: their sizes and ranges, and that the core has the options that they need.
    fn check_pairs(&self, head: &RawHead, queries: usize, keys: usize) -> Result<(), Error> {
        let refuse = |text: String| Err(Error::Input(text));
        if let Some(lengths) = head.lengths {
            if lengths.len() != queries {
                return refuse(format!("lengths: {} numbers for {queries} queries", lengths.len()));
            }
            if let Some(n) = lengths.iter().find(|&&n| n > keys) {
                return refuse(format!("lengths: {n} is more than the {keys} keys that there are"));
            }
        }
        let sizes = [("mask", head.hidden.map(<[_]>::len)), ("bias", head.bias.map(<[_]>::len))];
        for (name, size) in sizes {
            if let Some(n) = size.filter(|&n| n != queries * keys) {
                return refuse(format!("{name}: {n} elements, [{queries}, {keys}] are needed"));
            }
        }
        if head.hidden.is_some() && !self.config().masks {
            return refuse("mask: takes a core with masks; add --masks".into());
        }
        if let Some(bias) = head.bias {
            if !self.config().bias {
                return refuse("bias: takes a core that adds a bias; add --bias".into());
            }
            if let Some(word) = bias.iter().find(|&&word| word > ones(BIAS.width())) {
                return refuse(format!("bias: {word:#x} has more than the 16 bits of {BIAS}"));
            }
        }
        let format = self.config().products().v;
        let most = format.exponent_mask();
        if let Some(v_exponent) = head.v_exponent.filter(|&v_exponent| v_exponent > most) {
            return refuse(format!("v_exponent: {v_exponent} is beyond {format}'s field, 0 to {most}"));
        }
        Ok(())
    }
}

/// Minus infinity as a bias.
const MINUS_INFINITY: u64 = 0xff80;

/// How rows of an operand are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowFormat {
    /// The format of the elements.
    pub format: Format,
    /// Elements of a row.
    pub elements: usize,
    /// Words of a row: the elements, followed by the words of the row's scale, if it has one. Each is as wide as an element.
    pub words: usize,
}

impl Core {
    /// How the rows of q, k, v or o are encoded.
    ///
    /// # Errors
    /// If there is no operand of this name.
    pub fn rows(&self, operand: &str) -> Result<RowFormat, Error> {
        let (elements, words, formats) =
            (self.config().lengths(), self.config().port_words(), self.config().formats());
        let rows = |format, elements, words| Ok(RowFormat { format, elements, words });
        match operand {
            "q" => rows(formats.q, elements.k, words.q),
            "k" => rows(formats.k, elements.k, words.k),
            "v" => rows(formats.v, elements.v, words.v),
            "o" => rows(formats.o, elements.v, elements.v),
            _ => Err(Error::Input(format!("'{operand}' is no operand: q, k, v and o are"))),
        }
    }

    /// Rows of numbers as encodings of an operand. Each number is rounded to nearest, ties to even, and saturates; where rows have scales,
    /// a row is followed by the words of its scale. Nothing else is scaled.
    ///
    /// # Errors
    /// Numbers that are not finite or no whole rows.
    pub fn encode(&self, operand: &str, numbers: &[f32]) -> Result<Vec<u64>, Error> {
        let RowFormat { format, elements, .. } = self.rows(operand)?;
        self.whole(operand, numbers.len(), elements)?;
        if let Some(at) = numbers.iter().position(|x| !x.is_finite()) {
            let (row, column) = (at / elements, at % elements);
            return Err(Error::Input(format!(
                "{operand}: row {row}, column {column} is {}; every element must be finite",
                numbers[at]
            )));
        }
        Ok(Rounded::rows(self.encoding(operand, format), elements, numbers, |_, x| x.into()).words)
    }

    /// The numbers of an operand's encodings: elements times their row's scale.
    ///
    /// # Errors
    /// Words that are wider than the format or no whole rows.
    pub fn decode(&self, operand: &str, encodings: &[u64]) -> Result<Vec<f64>, Error> {
        let rows = self.rows(operand)?;
        self.check_words(operand, rows, encodings)?;
        let encoding = self.encoding(operand, rows.format);
        Ok(encodings.chunks(rows.words).flat_map(|row| encoding.decode(rows.elements, row)).collect())
    }

    fn encoding(&self, operand: &str, format: Format) -> RowEncoding {
        let scales = self.config().scales().by_operand();
        let scale =
            scales.into_iter().find(|(name, _)| *name == operand).map_or(Scale::None, |(_, scale)| scale);
        RowEncoding { format, scale, rule: ScaleRule::default() }
    }

    fn whole(&self, operand: &str, given: usize, row: usize) -> Result<(), Error> {
        match given > 0 && given.is_multiple_of(row) {
            true => Ok(()),
            false => Err(Error::Input(format!("{operand}: {given} words, whole rows of {row} are needed"))),
        }
    }

    fn check_words(&self, operand: &str, rows: RowFormat, encodings: &[u64]) -> Result<(), Error> {
        let RowFormat { format, words, .. } = rows;
        self.whole(operand, encodings.len(), words)?;
        let Some(at) = encodings.iter().position(|&word| word > ones(format.width())) else { return Ok(()) };
        let (row, column, bits) = (at / words, at % words, format.width());
        Err(Error::Input(format!(
            "{operand}: row {row}, column {column} is {:#x}, which has more than the {bits} bits of {format}",
            encodings[at]
        )))
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

/// Packs elements into `words` words: elements beyond them are left out, words beyond the elements are 0.
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
