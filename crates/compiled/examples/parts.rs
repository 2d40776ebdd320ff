fn main() {
    use flashd_compiled::*;
    use flashd_spec::{config::*, format::Format};
    use std::time::Instant;
    for (design, d) in [
        (Design::FlashD, 16),
        (Design::FlashD, 64),
        (Design::Fa2, 64),
        (Design::FlashD, 256),
        (Design::Fa2, 256),
    ] {
        let c = flashd_hwmodel::catalogue::build(&CoreConfig::new(design, d, Format::BF16)).unwrap();
        let t = Instant::now();
        let mut core = Compiled::new(&c.design()).unwrap();
        let start = t.elapsed();
        let (mut a, mut b) = (f64::MAX, f64::MAX);
        for _ in 0..400 {
            let n = 200;
            let t = Instant::now();
            for _ in 0..n {
                core.settle();
            }
            a = a.min(t.elapsed().as_secs_f64() * 1e9 / n as f64);
            let t = Instant::now();
            for _ in 0..n {
                core.clock();
            }
            b = b.min(t.elapsed().as_secs_f64() * 1e9 / n as f64);
        }
        println!("{design:?} {d} compile {start:?} settle {a:.0} ns clock {b:.0} ns");
    }
}
