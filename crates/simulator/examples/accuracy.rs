//! Mean errors by group of traces.
use flashd_hwmodel::{config::*, format::Format};
use flashd_simulator::evaluate::*;
use flashd_workload::TensorScale;
use std::collections::BTreeMap;
fn main() {
    let dir = std::env::args().nth(1).unwrap();
    let traces = flashd_workload::load_dir(dir.as_ref()).unwrap();
    for fmt in [Format::BF16, Format::FP8_E4M3] {
        let mut groups: BTreeMap<String, Vec<[f64; 7]>> = BTreeMap::new();
        for t in &traces {
            let d = t.attention.d.max(16);
            let s = Scenario { attention: t.attention.clone(), causal: t.causal, score_scale: t.score_scale(), tensor_scale: TensorScale::Auto };
            let reference = Reference::new(&s);
            let cfg = CoreConfig::new(Design::FlashD, d, fmt);
            let designs = [cfg.clone(), CoreConfig { weight: WeightUnit::Paper, ..cfg.clone() }, CoreConfig::new(Design::Fa2, d, fmt), CoreConfig { fa2: Fa2Variant::Literal, ..CoreConfig::new(Design::Fa2, d, fmt) }];
            let mut row = [0.0; 7];
            for (i, c) in designs.iter().enumerate() {
                let p = prepare(c, &s, &reference).unwrap();
                let a = reference.accuracy(&p, &model_results(&p));
                row[i] = a.mean;
                if i < 3 { row[4 + i] = a.max; }
            }
            groups.entry(t.group.clone()).or_default().push(row);
        }
        println!("{fmt}: group, heads, mean lse, paper, fa2, literal; max lse paper fa2; ratio lse/fa2");
        for (g, rows) in groups {
            let n = rows.len() as f64;
            let m: Vec<f64> = (0..4).map(|i| rows.iter().map(|r| r[i]).sum::<f64>() / n).collect();
            let x: Vec<f64> = (4..7).map(|i| rows.iter().map(|r| r[i]).fold(0.0, f64::max)).collect();
            println!("{g:20} {:3} {:.5} {:.5} {:.5} {:.5}  {:.4} {:.4} {:.4}  {:.3}", rows.len(), m[0], m[1], m[2], m[3], x[0], x[1], x[2], m[0] / m[2]);
        }
    }
}
