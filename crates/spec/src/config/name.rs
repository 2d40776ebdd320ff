//! The name of a core.

use super::*;

impl CoreConfig {
    /// Module and file name: what is not default is a suffix, in the order of [`OPTIONS`], before format and d:
    /// `flash_d_bf16_d64`, `flash_d_paper_bf16_d64`, `fa2_literal_fp8_e4m3_d16`.
    pub fn name(&self) -> String {
        let mut parts = vec![value::word(&self.design()).replace('-', "_")];
        if self.datapath != Datapath::shipped(self.design(), self.format) {
            parts.push(self.kind().suffix.into());
        }
        let other = |option: &&CoreOption| option.in_force(self) != option.in_force(&option.reset(self));
        let options = OPTIONS.iter().filter(|option| option.applies_to(self)).filter(other);
        parts.extend(options.filter_map(|option| (option.suffix)(self)));
        parts.extend([self.format.ident(), format!("d{}", self.d)]);
        parts.join("_")
    }
}
