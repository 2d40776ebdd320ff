//! Names of designs.

use super::*;
use sha2::{Digest as _, Sha256};
use std::fmt::Write;

/// The longest name of a module, as Verilator encodes it. It hashes longer names, and then finds neither a top nor a file by them.
pub const LONGEST_NAME: usize = 127;
/// Suffixes of a design's name have at most the length of `_sva`.
const ADDED: usize = 4;
/// Bytes of the digest in a name, two digits each.
const DIGEST_BYTES: usize = 4;
/// Letters by which Verilator's code for the second of two `_` is longer.
const CODE_OF_UNDERSCORES: usize = 4;

/// The length of a name in Verilator.
pub fn encoded_length(name: &str) -> usize {
    name.len() + CODE_OF_UNDERSCORES * name.matches("__").count()
}

/// `name`, `_` and a digest of `text`, the name cut where both would have more than [`LONGEST_NAME`] letters.
pub fn with_digest(name: &str, text: &str) -> String {
    digested(name, text, LONGEST_NAME)
}

/// The name of a design: `name`, or if benches and assertions had names longer than [`LONGEST_NAME`], its beginning and a digest of the whole.
pub fn design_name(name: String) -> String {
    match encoded_length(&name) <= LONGEST_NAME - ADDED {
        true => name,
        false => digested(&name, &name, LONGEST_NAME - ADDED),
    }
}

fn digested(name: &str, text: &str, longest: usize) -> String {
    let room = longest - 2 * DIGEST_BYTES - 1;
    // Two underscores in a row would be longer in Verilator.
    let fits = |end: &usize| encoded_length(&name[..*end]) <= room && !name[..*end].ends_with('_');
    let end = (0..=name.len()).rev().find(fits).unwrap_or(0);
    let mut digested = format!("{}_", &name[..end]);
    for byte in &Sha256::digest(text)[..DIGEST_BYTES] {
        let _ = write!(digested, "{byte:02x}");
    }
    digested
}

/// A name without the digest that [`with_digest`] added; other names as they are.
pub fn without_digest(name: &str) -> &str {
    match name.rsplit_once('_') {
        Some((stem, end)) if end.len() == 2 * DIGEST_BYTES && end.bytes().all(|b| b.is_ascii_hexdigit()) => {
            stem
        }
        _ => name,
    }
}

impl CoreConfig {
    /// Module and file name: non-default options are suffixes in the order of [`OPTIONS`], then formats and lengths: `flash_d_bf16_d64`,
    /// `flash_d_paper_bf16_d64`, `fa2_literal_fp8_e4m3_d16`, `fa2_k_fp8_e4m3_v_fp8_e4m3_bf16_dk192_dv128`. Of many options' suffixes the last give way to a digest ([`design_name`]).
    pub fn name(&self) -> String {
        design_name(self.whole_name())
    }

    /// [`Self::name`] of any length.
    pub(super) fn whole_name(&self) -> String {
        let mut parts = vec![value::word(&self.design()).replace('-', "_")];
        if self.datapath != Datapath::shipped(self.design(), self.encodings()) {
            parts.push(self.kind().suffix.into());
        }
        let other = |option: &&CoreOption| option.in_force(self) != option.in_force(&option.reset(self));
        let options = OPTIONS.into_iter().filter(|option| option.applies_to(self)).filter(other);
        parts.extend(options.filter_map(|option| (option.suffix)(self)));
        parts.join("_") + &self.shape()
    }

    /// The end of a name, formats and lengths: `_bf16_d64`.
    pub fn shape(&self) -> String {
        let lengths = match self.dv() == self.d {
            true => format!("d{}", self.d),
            false => format!("dk{}_dv{}", self.d, self.dv()),
        };
        format!("_{}_{lengths}", self.formats().ident())
    }
}
