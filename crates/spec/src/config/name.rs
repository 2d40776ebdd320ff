//! The name of a core.

use super::*;

impl CoreConfig {
    /// Module and file name: non-default options are suffixes in the order of [`OPTIONS`], then formats and lengths: `flash_d_bf16_d64`,
    /// `flash_d_paper_bf16_d64`, `fa2_literal_fp8_e4m3_d16`, `fa2_k_fp8_e4m3_v_fp8_e4m3_bf16_dk192_dv128`.
    pub fn name(&self) -> String {
        let mut parts = vec![value::word(&self.design()).replace('-', "_")];
        if self.datapath != Datapath::shipped(self.design(), self.encodings()) {
            parts.push(self.kind().suffix.into());
        }
        let other = |option: &&CoreOption| option.in_force(self) != option.in_force(&option.reset(self));
        let options = OPTIONS.iter().filter(|option| option.applies_to(self)).filter(other);
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
