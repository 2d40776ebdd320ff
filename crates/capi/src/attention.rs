//! Attention of whole heads.

use crate::error::{input, kept, size, slice, slice_mut, text};
use crate::types::{FlashdCore, FlashdCounts, handle};
use flashd_api::{AttentionOperands, Error, Lengths, RawHead, ScoreScale, Settings, Watch};
use std::ffi::c_char;

/// Heads in float32.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FlashdHeads {
    /// Heads of q.
    pub heads: usize,
    /// Heads of k and v; each serves heads / key_heads heads of q in a row.
    pub key_heads: usize,
    /// Queries of a head.
    pub queries: usize,
    /// Keys of a head.
    pub keys: usize,
    /// [heads, queries, d].
    pub q: *const f32,
    /// [key_heads, keys, d].
    pub k: *const f32,
    /// [key_heads, keys, dv].
    pub v: *const f32,
    /// Queries see only keys up to their own position, the last query being at the last key.
    pub causal: bool,
    /// Factor between q . k and the score; 0 for 1 / sqrt(d).
    pub scale: f64,
    /// [heads, queries, keys], true for keys that a query sees; NULL for all. Takes a core with masks.
    pub mask: *const bool,
    /// [heads, queries, keys], biases of scores, in natural units; NULL for none. Takes a core with a bias; minus infinity hides
    /// the key, in a core with masks. Rows of k and v that no query sees may be anything, here and in the mask.
    pub bias: *const f32,
}

/// One head in encodings, each in the low bits of its word.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FlashdRawHead {
    /// Rows of q.
    pub queries: usize,
    /// Rows of k and v.
    pub keys: usize,
    /// [queries, query_words]: a row is d elements, followed by the words of its scales in a core whose queries have scales.
    pub q: *const u32,
    /// [keys, key_words].
    pub k: *const u32,
    /// [keys, value_words].
    pub v: *const u32,
    /// Number of keys that each query meets, from the first; NULL for all.
    pub lengths: *const usize,
    /// [queries, keys], true for keys that a query sees; NULL for all. Takes a core with masks.
    pub mask: *const bool,
    /// [queries, keys], biases of scores, in bf16; NULL for none. Takes a core with a bias.
    pub bias: *const u32,
    /// The exponent to which fixed-point lanes scale values; -1 for the largest value's.
    pub v_exponent: i32,
}

/// Booleans from C, which may hold any byte: true is whatever is not 0.
///
/// # Safety
/// `data` is null or points to `length` bytes.
unsafe fn hidden(data: *const bool, length: usize) -> Result<Option<Vec<bool>>, Error> {
    if data.is_null() {
        return Ok(None);
    }
    let seen = unsafe { slice("mask", data.cast::<u8>(), length) }?;
    Ok(Some(seen.iter().map(|&seen| seen == 0).collect()))
}

/// Writes counts unless the caller passes NULL.
///
/// # Safety
/// `to` is null or can be written.
unsafe fn tell(to: *mut FlashdCounts, counts: FlashdCounts) {
    if let Some(to) = unsafe { to.as_mut() } {
        *to = counts;
    }
}

/// Attention of heads in float32 into o, [heads, queries, dv]: scaled and rounded to the core's format as `flashd simulate` does, bit for bit.
/// counts may be NULL. All processors are used.
///
/// # Safety
/// Pointers are null or valid for the documented shapes, o for heads * queries * dv floats.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashd_attention(
    core: *const FlashdCore,
    heads: *const FlashdHeads,
    o: *mut f32,
    counts: *mut FlashdCounts,
) -> bool {
    kept(|| {
        let (core, h) = (&unsafe { handle(core) }?.core, unsafe { handle(heads) }?);
        let Lengths { k: d, v: dv } = core.config().lengths();
        let q = size(&[h.heads, h.queries, d])?;
        let (k, v) = (size(&[h.key_heads, h.keys, d])?, size(&[h.key_heads, h.keys, dv])?);
        let operands = AttentionOperands {
            shape: [h.heads, h.key_heads, h.queries, h.keys],
            q: unsafe { slice("q", h.q, q) }?,
            k: unsafe { slice("k", h.k, k) }?,
            v: unsafe { slice("v", h.v, v) }?,
        };
        let o = unsafe { slice_mut("o", o, size(&[h.heads, h.queries, dv])?) }?;
        let settings = Settings {
            causal: h.causal,
            hidden: unsafe { hidden(h.mask, size(&[h.heads, h.queries, h.keys])?) }?,
            bias: match h.bias.is_null() {
                true => None,
                false => {
                    Some(unsafe { slice("bias", h.bias, size(&[h.heads, h.queries, h.keys])?) }?.to_vec())
                }
            },
            score_scale: if h.scale == 0.0 { ScoreScale::Auto } else { ScoreScale::Value(h.scale) },
            ..Settings::default()
        };
        let run = core.attention(&operands, &settings, &Watch::default())?;
        o.copy_from_slice(&run.o);
        let mut all = FlashdCounts::default();
        for head in &run.heads {
            let c = &head.counters;
            all.cycles += c.cycles;
            all.queries += c.queries;
            all.keys += c.keys;
            all.held += c.held;
            all.masked += c.masked;
            all.values_read += c.v_reads;
            all.overflowed += head.overflowed as u64;
            all.empty += head.empty as u64;
        }
        unsafe { tell(counts, all) };
        Ok(())
    })
    .is_some()
}

/// Attention of one head in encodings into o, [queries, dv]; nothing is scaled. counts may be NULL.
///
/// # Safety
/// Pointers are null or valid for the documented shapes, o for queries * dv words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashd_attention_raw(
    core: *const FlashdCore,
    head: *const FlashdRawHead,
    o: *mut u32,
    counts: *mut FlashdCounts,
) -> bool {
    kept(|| {
        let (core, h) = (&unsafe { handle(core) }?.core, unsafe { handle(head) }?);
        let row = core.config().port_words();
        let words = |name, data, length| -> Result<Vec<u64>, Error> {
            Ok(unsafe { slice::<u32>(name, data, length) }?.iter().copied().map(u64::from).collect())
        };
        let q = words("q", h.q, size(&[h.queries, row.q])?)?;
        let k = words("k", h.k, size(&[h.keys, row.k])?)?;
        let v = words("v", h.v, size(&[h.keys, row.v])?)?;
        let o = unsafe { slice_mut("o", o, size(&[h.queries, core.config().dv()])?) }?;
        let lengths = match h.lengths.is_null() {
            true => None,
            false => Some(unsafe { slice("lengths", h.lengths, h.queries) }?),
        };
        let hidden = unsafe { hidden(h.mask, size(&[h.queries, h.keys])?) }?;
        let bias = match h.bias.is_null() {
            true => None,
            false => Some(words("bias", h.bias, size(&[h.queries, h.keys])?)?),
        };
        let v_exponent = match h.v_exponent {
            -1 => None,
            n => Some(u64::try_from(n).map_err(|_| input(format!("v_exponent: {n} is below -1")))?),
        };
        let (hidden, bias) = (hidden.as_deref(), bias.as_deref());
        let head = RawHead { q: &q, k: &k, v: &v, lengths, hidden, bias, v_exponent };
        let run = core.attention_raw(&head, &Watch::default())?;
        for (to, &word) in o.iter_mut().zip(run.results.iter().flat_map(|result| &result.o)) {
            *to = word as u32;
        }
        let c = &run.counters;
        let all = FlashdCounts {
            cycles: c.cycles,
            queries: c.queries,
            keys: c.keys,
            held: c.held,
            masked: c.masked,
            values_read: c.v_reads,
            invalid: run.results.iter().filter(|result| result.invalid).count() as u64,
            overflowed: run.results.iter().filter(|result| result.overflow).count() as u64,
            empty: run.results.iter().filter(|result| result.empty).count() as u64,
            saturated: run.results.iter().filter(|result| result.score_saturated).count() as u64,
            too_long: (0..h.queries)
                .filter(|&query| lengths.map_or(h.keys, |all| all[query]) > core.config().max_keys)
                .count() as u64,
        };
        unsafe { tell(counts, all) };
        Ok(())
    })
    .is_some()
}

/// Numbers as encodings of an operand, "q", "k", "v" or "o": rows of d (v and o: dv) numbers become rows of query_words (k: key_words,
/// v: value_words, o: dv) words. Each number is rounded to nearest, ties to even, and saturates; where rows have scales, a row is
/// followed by the words of its scale. Nothing else is scaled.
///
/// # Safety
/// Pointers are null or valid for the documented shapes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashd_encode(
    core: *const FlashdCore,
    operand: *const c_char,
    rows: usize,
    numbers: *const f32,
    encodings: *mut u32,
) -> bool {
    kept(|| {
        let (core, operand) = (&unsafe { handle(core) }?.core, unsafe { text("operand", operand) }?);
        let row = core.rows(operand)?;
        let numbers = unsafe { slice("numbers", numbers, size(&[rows, row.elements])?) }?;
        let encodings = unsafe { slice_mut("encodings", encodings, size(&[rows, row.words])?) }?;
        for (to, word) in encodings.iter_mut().zip(core.encode(operand, numbers)?) {
            *to = word as u32;
        }
        Ok(())
    })
    .is_some()
}

/// The numbers of an operand's encodings, elements times the scale of their row: the inverse of flashd_encode.
///
/// # Safety
/// Pointers are null or valid for the documented shapes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashd_decode(
    core: *const FlashdCore,
    operand: *const c_char,
    rows: usize,
    encodings: *const u32,
    numbers: *mut f64,
) -> bool {
    kept(|| {
        let (core, operand) = (&unsafe { handle(core) }?.core, unsafe { text("operand", operand) }?);
        let row = core.rows(operand)?;
        let encodings = unsafe { slice("encodings", encodings, size(&[rows, row.words])?) }?;
        let numbers = unsafe { slice_mut("numbers", numbers, size(&[rows, row.elements])?) }?;
        let words: Vec<u64> = encodings.iter().copied().map(u64::from).collect();
        numbers.copy_from_slice(&core.decode(operand, &words)?);
        Ok(())
    })
    .is_some()
}
