//! Errors of all variants against f64 attention, as percentages of max|v|: on recorded heads, by group, and on
//! equal scores.
//!
//! `cargo run --release -p flashd-golden --example variants -- FOLDER [EVERY] [O,V,W ...]`
//!
//! FOLDER holds traces. Every EVERY-th query is used (8 when absent). Each O,V,W adds the fixed-point variants with
//! lanes of these widths.

use flashd_golden::f64_attention::safe_softmax;
use flashd_golden::units::round_from_f64;
use flashd_golden::{Model, QueryResult, decode};
use flashd_hwmodel::config::{CoreConfig, Design, Fa2Variant, LaneBits, Update, WeightUnit};
use flashd_hwmodel::format::Format;
use flashd_workload::quantise::{round_to, round_value};
use flashd_workload::synthetic::equal_scores;
use flashd_workload::{Attention, Scaling, TensorScale, Trace, choose_scaling, quantise, v_candidates};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::error::Error;

/// Queries of a head and their exact results.
struct Rows {
    d: usize,
    queries: Vec<usize>,
    lengths: Vec<usize>,
    exact: Vec<Vec<f64>>,
    largest: f64,
}

/// Mean and largest error, fractions of max|v|.
#[derive(Clone, Copy, Default)]
struct Errors {
    mean: f64,
    max: f64,
}

impl Rows {
    fn new(trace: &Trace, every: usize) -> Rows {
        let a = &trace.attention;
        let wide = |x: &[f32]| -> Vec<f64> { x.iter().map(|&x| x.into()).collect() };
        let (q, k, v) = (wide(&a.q), wide(&a.k), wide(&a.v));
        let queries: Vec<usize> = (0..a.queries).rev().step_by(every).collect();
        let before = a.keys.saturating_sub(a.queries);
        let length = |&i: &usize| if trace.causal { (before + i + 1).min(a.keys) } else { a.keys };
        let lengths: Vec<usize> = queries.iter().map(length).collect();
        let scale = trace.score_scale().factor(a.d);
        let exact = |(&i, &n): (&usize, &usize)| {
            safe_softmax(&q[i * a.d..][..a.d], &k[..n * a.d], &v[..n * a.d], a.d, scale)
        };
        let exact = queries.iter().zip(&lengths).map(exact).collect();
        Rows { d: a.d, queries, lengths, exact, largest: a.max_abs_v() }
    }

    fn errors(&self, format: Format, scaling: &Scaling, results: &[QueryResult]) -> Errors {
        let mut errors = Errors::default();
        for (result, exact) in results.iter().zip(&self.exact) {
            for (&o, exact) in result.o.iter().zip(exact) {
                let error = (scaling.result(format, o) - exact).abs() / self.largest;
                errors.mean += error / (results.len() * self.d) as f64;
                errors.max = errors.max.max(error);
            }
        }
        errors
    }
}

/// A head in the encodings of a format, its values with every power of two worth trying.
struct Head {
    q: Vec<u64>,
    k: Vec<u64>,
    v: Vec<(Scaling, Vec<u64>)>,
    shift: i32,
}

impl Head {
    fn new(format: Format, trace: &Trace, rows: &Rows) -> Result<Head, Box<dyn Error>> {
        let a = &trace.attention;
        let round = |x: f64| round_value(format, x);
        let scaling = choose_scaling(format, a, trace.score_scale(), TensorScale::Auto, &round)?;
        let rounded = quantise(format, scaling, a);
        let candidates = v_candidates(a.max_abs_v(), format).into_iter().map(|exponent| {
            let scaling = scaling.with_v_exponent(exponent);
            (scaling, a.v.iter().map(|&v| round_to(format, scaling.scale_v(v))).collect())
        });
        Ok(Head {
            q: rows.queries.iter().flat_map(|&i| rounded.query(i).to_vec()).collect(),
            v: candidates.collect(),
            k: rounded.k,
            shift: scaling.score_shift,
        })
    }

    /// Errors with the power of two that suits the core best.
    fn errors(&self, config: &CoreConfig, rows: &Rows) -> Errors {
        let config = CoreConfig { d: rows.d, score_shift: Some(self.shift), ..config.clone() };
        let model = Model::new(&config);
        let candidates = self.v.iter().map(|(scaling, v)| {
            let results = model.run(&self.q, &self.k, v, &rows.lengths, false);
            rows.errors(config.format, scaling, &results)
        });
        candidates.min_by(|a, b| a.mean.total_cmp(&b.mean)).unwrap_or_default()
    }
}

/// The largest error of an element over several heads of equal scores, as a fraction of max|v|.
fn error_on_equal_scores(config: &CoreConfig, keys: usize) -> f64 {
    let (d, format) = (64, config.format);
    let config = CoreConfig { d, ..config.clone() };
    let errors = (1..=4).into_par_iter().map(|seed| {
        let Attention { q, k, v, .. } = equal_scores(seed, keys, d);
        let bits = |x: &[f32]| -> Vec<u64> { x.iter().map(|&x| round_from_f64(format, x.into())).collect() };
        let v = bits(&v);
        let result = &Model::new(&config).run(&bits(&q), &bits(&k), &v, &[keys], false)[0];
        let value = |i: usize| decode(format, v[i]);
        let largest = (0..v.len()).fold(0f64, |m, i| m.max(value(i).abs()));
        let error = |j: usize| {
            let mean = (0..keys).map(|i| value(i * d + j)).sum::<f64>() / keys as f64;
            (decode(format, result.o[j]) - mean).abs() / largest
        };
        (0..d).map(error).fold(0.0, f64::max)
    });
    errors.reduce(|| 0.0, f64::max)
}

fn configurations(format: Format, widths: &[LaneBits]) -> Vec<CoreConfig> {
    let flash_d = CoreConfig::new(Design::FlashD, 64, format);
    let fa2 = CoreConfig::new(Design::Fa2, 64, format);
    let update = |update| CoreConfig { update, ..flash_d.clone() };
    let variant = |variant| CoreConfig { fa2: variant, ..fa2.clone() };
    let fixed = [update(Update::Fixed), variant(Fa2Variant::Fixed), variant(Fa2Variant::LogReference)];
    let floats = [
        flash_d.clone(),
        update(Update::Fused),
        CoreConfig { weight: WeightUnit::Paper, ..flash_d.clone() },
        fa2.clone(),
        variant(Fa2Variant::SharedScale),
        variant(Fa2Variant::Literal),
    ];
    let mut all: Vec<CoreConfig> = floats.into_iter().chain(fixed.clone()).collect();
    for &lane in widths {
        all.extend(fixed.clone().map(|config| CoreConfig { lane: Some(lane), ..config }));
    }
    all
}

fn widths(text: &str) -> Result<LaneBits, Box<dyn Error>> {
    let numbers: Vec<u32> = text.split(',').map(str::parse).collect::<Result<_, _>>()?;
    match numbers[..] {
        [o, v, w] => Ok(LaneBits { o, v, w }),
        _ => Err(format!("{text}: widths are given as O,V,W").into()),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    let folder = arguments.next().ok_or("a folder of traces is needed")?;
    let every = arguments.next_if(|text| !text.contains(',')).map_or(Ok(8), |text| text.parse())?;
    let widths = arguments.map(|text| widths(&text)).collect::<Result<Vec<_>, _>>()?;
    let traces = flashd_workload::load_dir(folder.as_ref())?;
    let rows: Vec<Rows> = traces.iter().map(|trace| Rows::new(trace, every)).collect();
    for format in [Format::BF16, Format::FP8_E4M3] {
        let heads: Vec<Head> = traces
            .iter()
            .zip(&rows)
            .map(|(trace, rows)| Head::new(format, trace, rows))
            .collect::<Result<_, _>>()?;
        let groups: BTreeMap<&str, usize> = traces.iter().rev().map(|t| (t.group.as_str(), 0)).collect();
        println!("{format}: mean error in % of max|v|; largest error over all heads");
        print!("{:32}", "");
        groups.keys().for_each(|group| print!("{group:>16}"));
        println!("{:>10}", "largest");
        for config in configurations(format, &widths) {
            if let Err(problem) = config.validate() {
                println!("{:32}{problem}", config.name());
                continue;
            }
            let mut means: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
            let mut largest = 0f64;
            for ((trace, rows), head) in traces.iter().zip(&rows).zip(&heads) {
                let errors = head.errors(&config, rows);
                means.entry(&trace.group).or_default().push(errors.mean);
                largest = largest.max(errors.max);
            }
            print!("{:32}", config.name());
            for means in means.values() {
                print!("{:16.5}", 100.0 * means.iter().sum::<f64>() / means.len() as f64);
            }
            println!("{:10.3}", 100.0 * largest);
        }
        println!("{format}: largest error on N equal scores in % of max|v|");
        let counts = [256, 1024, 4096, 16_384, 65_536];
        print!("{:32}", "N");
        counts.iter().for_each(|n| print!("{n:>10}"));
        println!();
        for config in configurations(format, &widths) {
            if config.validate().is_ok() {
                print!("{:32}", config.name());
                counts.iter().for_each(|&n| print!("{:10.4}", 100.0 * error_on_equal_scores(&config, n)));
                println!();
            }
        }
    }
    Ok(())
}
