//! What limits the error: accumulator widths for both designs.
use flashd_hwmodel::{config::*, format::Format};
use flashd_simulator::evaluate::*;
use flashd_workload::TensorScale;
fn main() {
    let dir = std::env::args().nth(1).unwrap();
    let traces: Vec<_> = flashd_workload::load_dir(dir.as_ref()).unwrap().into_iter().filter(|t| !t.name.contains("stories") && !t.name.contains("code-d16") && !t.name.contains("minilm_math")).collect();
    for fmt in [Format::BF16, Format::FP8_E4M3] {
    for extra in [0, 1, 2, 3, 4, 8] {
        let mut sums = std::collections::BTreeMap::new();
        for t in &traces {
            let d = t.attention.d.max(16);
            let s = Scenario { attention: t.attention.clone(), causal: t.causal, score_scale: t.score_scale(), tensor_scale: TensorScale::Auto };
            let reference = Reference::new(&s);
            let e = sums.entry(t.group.clone()).or_insert([0.0, 0.0, 0.0]);
            for (i, design) in [Design::FlashD, Design::Fa2].into_iter().enumerate() {
                let p = prepare(&CoreConfig { accumulator: Some(Accumulator::Fraction(fmt.fraction_bits + extra), ..CoreConfig::new(design, d, fmt) }, &s, &reference).unwrap();
                e[i] += reference.accuracy(&p, &model_results(&p)).mean;
            }
            e[2] += 1.0;
        }
        print!("{fmt} +{extra}");
        for (g, [a, b, n]) in &sums { print!("  {g} {:.5}/{:.5} {:.3}", a / n, b / n, a / b); }
        println!();
    }}
}
