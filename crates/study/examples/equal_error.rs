//! Judges cores by the rule of equal error: `equal_error KEYS,KEYS.. JSON..`, each JSON a core.
use flashd_spec::config::CoreConfig;
use flashd_study::equal_error::{judge, kinds};
use flashd_study::parts::Parts;

fn main() {
    let mut args = std::env::args().skip(1);
    let lengths: Vec<usize> =
        args.next().expect("lengths").split(',').map(|n| n.parse().expect("number")).collect();
    let verbose = std::env::var("V").is_ok();
    let mut groups: Vec<Vec<CoreConfig>> = Vec::new();
    for text in args {
        let core: CoreConfig = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{text}: {e}"));
        match groups.iter_mut().find(|g| g[0].encodings() == core.encodings()) {
            Some(group) => group.push(core),
            None => groups.push(vec![core]),
        }
    }
    for cores in groups {
        let judged = match judge(cores[0].encodings(), &cores, &kinds(), &lengths, Parts::Whole, &|| ()) {
            Ok(judged) => judged,
            Err(error) => {
                println!("{error}");
                continue;
            }
        };
        for (core, j) in cores.iter().zip(&judged) {
            let of = |pick: &dyn Fn(&str, &str) -> bool| {
                let kinds: Vec<_> = j.kinds.iter().filter(|k| pick(&k.scores, k.values)).collect();
                let gm = (kinds.iter().map(|k| k.mean_ratio.ln()).sum::<f64>() / kinds.len() as f64).exp();
                let mean = kinds.iter().map(|k| k.mean_ratio).fold(0.0, f64::max);
                let max = kinds.iter().map(|k| k.max_ratio).fold(0.0, f64::max);
                format!("{gm:.3} {mean:5.2} {max:5.2}")
            };
            println!(
                "{:44} signed {} | sink {} | gaussian {}",
                core.name(),
                of(&|s, v| s != "sink" && v != "gaussian"),
                of(&|s, v| s == "sink" && v != "gaussian"),
                of(&|_, v| v == "gaussian"),
            );
            println!("ALL {} {:.4} {:.3} {:.3}", core.name(), j.mean, j.worst_mean, j.worst_max);
            for k in j.kinds.iter().filter(|_| verbose) {
                println!(
                    "   {:8} {:12} {:6}: ref {:.5} {:.5} % core {:.5} {:.5} % ratio {:.2} {:.2}",
                    k.scores,
                    k.values,
                    k.keys,
                    100.0 * k.reference_mean,
                    100.0 * k.reference_max,
                    100.0 * k.mean,
                    100.0 * k.max,
                    k.mean_ratio,
                    k.max_ratio
                );
            }
        }
    }
}
