//! Every kind of core, for tests.

use flashd_spec::config::{CoreConfig, Design, Hold};
use flashd_spec::format::Format;

/// The cores that differ in their signals: both designs in all variants, with and without the
/// hold rule, budgets of it, and with a bias.
pub(super) fn variants(d: usize, format: Format) -> Vec<CoreConfig> {
    let mut all = CoreConfig::variants(d, format);
    all.extend(
        [Design::FlashD, Design::Fa2]
            .map(|design| CoreConfig { hold: Some(Hold::None), ..CoreConfig::new(design, d, format) }),
    );
    all.extend(CoreConfig::with_hold(d, format, Hold::Below(2.0)));
    let biased = CoreConfig::variants(d, format).into_iter().filter(|core| !core.follows_the_paper());
    all.extend(biased.step_by(2).map(|core| CoreConfig { bias: true, ..core }));
    all
}
