use flashd_generator::{elaborate, emit};
use flashd_hwmodel::config::*;
use flashd_hwmodel::format::Format;
use flashd_hwmodel::rtl::Block;
fn text(b: &dyn Block) -> String {
    let e = emit(&elaborate(b).unwrap()).unwrap();
    e.modules.iter().map(|m| m.text.clone()).collect::<Vec<_>>().join("\n")
}
fn main() {
    let base = |f| CoreConfig::new(Design::FlashD, 5, f);
    let mut all = vec![];
    for f in [Format::BF16, Format::FP8_E4M3] {
        for d in [2, 5, 16, 24] {
            for (masks, partial) in [(false, false), (true, false), (true, true)] {
                for update in [Update::Rounded, Update::Fused, Update::Fixed] {
                    for vl in [1, 3] {
                        for vs in [None, Some(true)] {
                            let c = CoreConfig {
                                d,
                                masks,
                                partial,
                                update,
                                value_stage: vs,
                                value_latency: vl,
                                ..base(f)
                            };
                            if c.validate().is_ok() {
                                all.push(c);
                            }
                        }
                    }
                }
            }
        }
        let c = CoreConfig { weight: WeightUnit::Paper, ..base(f) };
        all.push(c);
    }
    for f in [Format::BF16, Format::FP8_E4M3] {
        for d in [2, 5, 16, 24] {
            for (masks, partial) in [(false, false), (true, false), (true, true)] {
                for fa2 in [
                    Fa2Variant::SeparateScale,
                    Fa2Variant::SharedScale,
                    Fa2Variant::Fixed,
                    Fa2Variant::LogReference,
                    Fa2Variant::Literal,
                ] {
                    for value_latency in [1, 3] {
                        let c = CoreConfig {
                            d,
                            masks,
                            partial,
                            fa2,
                            value_latency,
                            ..CoreConfig::new(Design::Fa2, 5, f)
                        };
                        if c.validate().is_ok() {
                            all.push(c);
                        }
                    }
                }
            }
        }
    }
    let mut bad = 0;
    for c in &all {
        let old = text(&*flashd_hwmodel::cores::build(c).unwrap());
        let new = text(&flashd_hwmodel::catalogue::build(c).unwrap());
        if old != new {
            bad += 1;
            if bad <= 3 {
                std::fs::write(format!("/tmp/cmp_{bad}_old.v"), &old).unwrap();
                std::fs::write(format!("/tmp/cmp_{bad}_new.v"), &new).unwrap();
                println!("differs: {}", c.name());
            }
        }
    }
    println!("{} of {} differ", bad, all.len());
}
