//! Every kind of core, for tests.

use flashd_spec::config::{CoreConfig, Hold};
use flashd_spec::format::Format;

/// The cores that differ in their signals: both designs in all variants, both dot products, with and without the
/// hold rule, budgets of it, and with a bias.
pub(super) fn variants(d: usize, format: Format) -> Vec<CoreConfig> {
    let mut all = CoreConfig::variants(d, format);
    all.iter_mut().filter(|core| core.dot.is_some()).for_each(|core| core.hold = Some(Hold::None));
    all.extend(CoreConfig::with_hold(d, format, Hold::Below(2.0)));
    let biased = CoreConfig::variants(d, format).into_iter().filter(|core| !core.follows_the_paper());
    all.extend(biased.step_by(2).map(|core| CoreConfig { bias: true, ..core }));
    all
}
