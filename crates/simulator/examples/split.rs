//! Errors of results merged from P parts of the keys, on recorded heads, compared with a core that meets all keys:
//! `cargo run --release -p flashd-simulator --example split -- FOLDER [EVERY]`. Every EVERY-th head of the folder (default 16) is used.

use flashd_simulator::split::split_results;
use flashd_simulator::{ExactResults, Scenario, model_results, prepare};
use flashd_spec::config::{CoreConfig, Design, SplitConfig};
use flashd_spec::format::Format;
use flashd_workload::load_dir;
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let folder = args.next().ok_or("give a folder of traces")?;
    let every: usize = args.next().map_or(Ok(16), |n| n.parse())?;
    let heads = load_dir(Path::new(&folder))?;
    println!("mean and largest error, % of max|v|, over {} heads", heads.iter().step_by(every).count());
    for format in [Format::BF16, Format::FP8_E4M3] {
        for design in [Design::FlashD, Design::Fa2] {
            let mut sums = [(0.0, 0.0f64, 0usize); 7];
            let name = CoreConfig::new(design, 16, format).name().replace("_d16", "");
            for head in heads.iter().step_by(every) {
                let scenario = Scenario::from(head);
                let reference = ExactResults::new(&scenario);
                let core = CoreConfig::new(design, head.attention.d, format);
                let prepared = prepare(&core, &scenario, &reference)?;
                for (level, sum) in sums.iter_mut().enumerate() {
                    let results = match level {
                        0 => model_results(&prepared),
                        _ => split_results(
                            &SplitConfig::new(prepared.config.clone(), 1 << level),
                            &prepared.workload,
                        ),
                    };
                    let a = reference.accuracy(&prepared, &results);
                    sum.0 += a.mean * a.elements as f64;
                    sum.1 = sum.1.max(a.max);
                    sum.2 += a.elements;
                }
            }
            for (level, (sum, max, n)) in sums.into_iter().enumerate() {
                let mean = 100.0 * sum / n as f64;
                println!("{name:24} P = {:2}  mean {mean:.4}  max {:.3}", 1 << level, 100.0 * max);
            }
        }
    }
    Ok(())
}
