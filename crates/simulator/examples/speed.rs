//! Cycles per second of the cycle engine, lock-step check included: `cargo run --release -p flashd-simulator --example speed`.
use flashd_simulator::{Gaps, Workload, run};
use flashd_spec::{config::*, format::Format};
use flashd_workload::{ScoreScale, TensorScale, choose_scaling, quantise, round_value, synthetic};
fn main() {
    for (design, d) in [(Design::FlashD, 16), (Design::FlashD, 64), (Design::Fa2, 64), (Design::FlashD, 256)]
    {
        let mut config = CoreConfig::new(design, d, Format::BF16);
        let a = synthetic::attention_like(1, 16, 128, d);
        let s = choose_scaling(config.format, &a, ScoreScale::Auto, TensorScale::Auto, &|x| {
            round_value(config.format, x)
        })
        .unwrap();
        config.score_shift = Some(s.score_shift);
        let q = quantise(config.format, s, &a);
        let w = Workload::new(config.format, d, &q.q, &q.k, &q.v);
        let t = std::time::Instant::now();
        let r = run(&config, &w, Gaps::None, &mut []).unwrap();
        println!(
            "{} {} cycles, {:.0} cycles/s",
            config.name(),
            r.counters.cycles,
            r.counters.cycles as f64 / t.elapsed().as_secs_f64()
        );
    }
}
