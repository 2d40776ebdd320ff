//! Mean and largest errors of all designs against f64 attention, by group of traces, as fractions of
//! max|v|: `cargo run --release -p flashd-simulator --example accuracy -- FOLDER`.

use flashd_hwmodel::config::{CoreConfig, Design, Fa2Variant, WeightUnit};
use flashd_hwmodel::format::Format;
use flashd_simulator::evaluate::{Accuracy, Reference, Scenario, model_results, prepare};
use flashd_workload::TensorScale;
use std::collections::BTreeMap;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("a folder of traces is needed")?;
    let traces = flashd_workload::load_dir(folder.as_ref())?;
    for format in [Format::BF16, Format::FP8_E4M3] {
        let mut groups: BTreeMap<&str, Vec<Vec<Accuracy>>> = BTreeMap::new();
        for trace in &traces {
            // Heads shorter than 16 are padded with zeros, their score scale stays.
            let d = trace.attention.d.max(16);
            let scenario = Scenario {
                attention: trace.attention.clone(),
                causal: trace.causal,
                score_scale: trace.score_scale(),
                tensor_scale: TensorScale::Auto,
            };
            let reference = Reference::new(&scenario);
            let flash_d = CoreConfig::new(Design::FlashD, d, format);
            let fa2 = CoreConfig::new(Design::Fa2, d, format);
            let designs = [
                flash_d.clone(),
                CoreConfig { weight: WeightUnit::Paper, ..flash_d },
                fa2.clone(),
                CoreConfig { fa2: Fa2Variant::Literal, ..fa2 },
            ];
            let mut row = Vec::new();
            for config in &designs {
                let prepared = prepare(config, &scenario, &reference)?;
                row.push(reference.accuracy(&prepared, &model_results(&prepared)));
            }
            groups.entry(&trace.group).or_default().push(row);
        }
        println!("{format}                 mean error                               largest error");
        println!(
            "{:16}heads  lse     paper   fa2     literal lse/fa2   lse     paper   fa2     literal",
            "group"
        );
        for (group, rows) in groups {
            let mean = |i: usize| rows.iter().map(|r| r[i].mean).sum::<f64>() / rows.len() as f64;
            let max = |i: usize| rows.iter().map(|r| r[i].max).fold(0.0, f64::max);
            print!("{group:16}{:5}", rows.len());
            (0..4).for_each(|i| print!("  {:.4}", 100.0 * mean(i)));
            print!("  {:.3}  ", mean(0) / mean(2));
            (0..4).for_each(|i| print!("  {:6.2}", 100.0 * max(i)));
            println!("  %");
        }
    }
    Ok(())
}
