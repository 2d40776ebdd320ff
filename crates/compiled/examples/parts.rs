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
        let time = |f: &mut dyn FnMut(), n: usize| {
            let mut best = f64::MAX;
            for _ in 0..300 {
                let t = Instant::now();
                for _ in 0..n {
                    f();
                }
                best = best.min(t.elapsed().as_secs_f64() * 1e9 / n as f64);
            }
            best
        };
        let a = time(&mut || core.settle(), 100);
        let b = time(&mut || core.clock(), 100);
        let k = core.port("k").unwrap();
        let o = core.port("o").unwrap();
        let words = vec![1u64; d];
        let mut out = Vec::new();
        let e = time(&mut || core.drive(k, &words), 100);
        let f = time(
            &mut || {
                out.clear();
                core.read_into(o, &mut out)
            },
            100,
        );
        print!("{design:?} {d} compile {start:?} settle {a:.0} ns clock {b:.0} ns drive {e:.0} read {f:.0};");
        for runs in [8, 16, 64] {
            let mut batch = Batch::new(&c.design(), runs).unwrap();
            let a = time(&mut || batch.settle(), 10) / runs as f64;
            let b = time(&mut || batch.clock(), 10) / runs as f64;
            let e = time(&mut || (0..runs).for_each(|r| batch.drive(r, k, &words)), 10) / runs as f64;
            let f = time(
                &mut || {
                    (0..runs).for_each(|r| {
                        out.clear();
                        batch.read_into(r, o, &mut out)
                    })
                },
                10,
            ) / runs as f64;
            print!(" {runs} runs settle {a:.0} clock {b:.0} drive {e:.0} read {f:.0};");
        }
        println!();
    }
}
