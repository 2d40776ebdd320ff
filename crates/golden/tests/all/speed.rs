//! Time per query and key: printed, not asserted.

use crate::common::{cores, normal, rng, variants};
use flashd_golden::{Head, Model};
use flashd_spec::config::{Accumulator, CoreConfig};
use flashd_spec::format::Format;
use std::hint::black_box;
use std::time::Instant;

#[test]
#[ignore = "prints timings"]
fn time_per_query_and_key() {
    let (d, keys, queries) = (64, 1024, 512);
    let mut rng = rng(81);
    for (_, format) in Format::NAMED {
        let operands = |rng: &mut _, deviation, n| normal(rng, format, deviation, n * d);
        let (q, k) = (operands(&mut rng, 1.0, queries), operands(&mut rng, 1.0, keys));
        let v = operands(&mut rng, 1.0, keys);
        let [lse, paper, _, literal] = cores(d, format);
        let wide = CoreConfig { accumulator: Some(Accumulator::Fraction(23)), ..lse };
        for config in variants(d, format).into_iter().chain([wide, paper, literal]) {
            let model = Model::new(&config);
            let start = Instant::now();
            black_box(model.run(Head::new(&q, &k, &v, &vec![keys; queries])));
            let each = start.elapsed().as_secs_f64() / (keys * queries) as f64;
            println!("{:32} {:6.1} ns", config.name(), each * 1e9);
        }
    }
}
