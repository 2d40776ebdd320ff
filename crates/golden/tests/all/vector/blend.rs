//! The operands of fixed-point lanes in the vector model against the model's.

use flashd_golden::parts::{Blending, Survey};
use flashd_golden::{Isa, Model, fixed_value};
use flashd_spec::config::{CoreConfig, Design};
use flashd_spec::format::Format;

#[test]
fn values_agree_with_the_reference() {
    for (_, format) in Format::NAMED {
        let config = CoreConfig::new(Design::FlashD, 2, format);
        let Some(core) = Blending::new(&Model::new(&config)) else { continue };
        let high = format.width().saturating_sub(16);
        let v: Vec<u64> = (0..1u64 << format.width().min(16)).map(|bits| bits << high).collect();
        for exponent in [1, 2, format.exponent_mask() / 2, format.exponent_mask() - 1] {
            for isa in Isa::available() {
                let survey = Survey::of_encodings(isa, format, 2, &v);
                let mut values = vec![0; v.len()];
                core.operands(isa, &v, exponent, &mut values);
                let overflow = core.overflow(&survey, exponent);
                for (row, pair) in v.chunks(2).enumerate() {
                    let expected = [0, 1].map(|i| fixed_value(&config, exponent, pair[i]));
                    let operands = expected.map(|(v, _)| v as i32 - 1);
                    assert_eq!(values[2 * row..2 * row + 2], operands, "{format} {exponent} {pair:x?}");
                    let over = expected.iter().any(|&(_, over)| over);
                    assert_eq!(overflow[row], over, "{format} {exponent} {pair:x?}");
                }
            }
        }
    }
}
