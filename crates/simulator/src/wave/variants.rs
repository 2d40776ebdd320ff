//! Every kind of core, for tests.

use flashd_hwmodel::config::{CoreConfig, Design, Dot, Fa2Variant, Hold, Update, WeightUnit};
use flashd_hwmodel::format::Format;

/// The cores that differ in their signals: both designs in all variants, both dot products, with and without the
/// hold rule.
pub fn variants(d: usize, format: Format) -> Vec<CoreConfig> {
    let flash_d = CoreConfig::new(Design::FlashD, d, format);
    let fa2 = CoreConfig::new(Design::Fa2, d, format);
    let update = |update| CoreConfig { update, ..flash_d.clone() };
    let variant = |variant| CoreConfig { fa2: variant, ..fa2.clone() };
    vec![
        CoreConfig { weight: WeightUnit::Paper, ..flash_d.clone() },
        CoreConfig { dot: Some(Dot::Tree), hold: Some(Hold::None), ..flash_d.clone() },
        update(Update::Rounded),
        update(Update::Fused),
        update(Update::Fixed),
        CoreConfig { dot: Some(Dot::Tree), hold: Some(Hold::None), ..fa2.clone() },
        variant(Fa2Variant::SeparateScale),
        variant(Fa2Variant::Literal),
        variant(Fa2Variant::SharedScale),
        variant(Fa2Variant::Fixed),
        variant(Fa2Variant::LogReference),
    ]
}
