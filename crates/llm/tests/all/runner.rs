//! Logits against a second reading of the model in f64, and attention by cores.

use crate::common::{model, shape};
use flashd_golden::family::{safe_softmax, scores};
use flashd_llm::*;
use flashd_simulator::{ExactResults, Scenario, model_results, prepare};
use flashd_spec::config::{CoreConfig, Datapath, Design, FlashDVariant, Hold};
use flashd_spec::format::Format;
use flashd_workload::{Bias, ScoreScale, TensorScale, Visible};

const TOKENS: [usize; 12] = [1, 70, 100, 3, 261, 261, 40, 17, 259, 70, 100, 4];

/// Logits after the last of `tokens`, in f64, layer by layer over the whole sequence.
fn logits_in_f64(m: &Checkpoint, tokens: &[usize]) -> Vec<f64> {
    let c = m.config;
    let size = c.head_size();
    let wide = |x: &[f32]| -> Vec<f64> { x.iter().map(|&x| x.into()).collect() };
    let times = |matrix: &[f32], x: &[f64]| scores(x, &wide(matrix), x.len(), 1.0);
    let norm = |x: &[f64], weight: &[f32]| -> Vec<f64> {
        let root = (x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64 + 1e-5).sqrt();
        x.iter().zip(weight).map(|(x, &w)| x * f64::from(w) / root).collect()
    };
    let rotated = |x: Vec<f64>, position: usize| -> Vec<f64> {
        let mut x = x;
        for (i, pair) in x.chunks_exact_mut(2).enumerate() {
            let exponent = (2 * i % size) as f64 / size as f64;
            let (sin, cos) = (position as f64 / 10_000f64.powf(exponent)).sin_cos();
            (pair[0], pair[1]) = (pair[0] * cos - pair[1] * sin, pair[0] * sin + pair[1] * cos);
        }
        x
    };
    let mut xs: Vec<Vec<f64>> = tokens.iter().map(|t| wide(&m.embedding[t * c.dim..][..c.dim])).collect();
    for l in 0..c.layers {
        let part = |x: &'_ [f32], rows: usize, columns: usize| -> Vec<f32> {
            x[l * rows * columns..][..rows * columns].to_vec()
        };
        let (wq, wk) = (part(&m.wq, c.dim, c.dim), part(&m.wk, c.kv_dim(), c.dim));
        let (wv, wo) = (part(&m.wv, c.kv_dim(), c.dim), part(&m.wo, c.dim, c.dim));
        let normed: Vec<Vec<f64>> = xs.iter().map(|x| norm(x, &part(&m.rms_att, 1, c.dim))).collect();
        let k: Vec<Vec<f64>> = normed.iter().enumerate().map(|(p, x)| rotated(times(&wk, x), p)).collect();
        let v: Vec<Vec<f64>> = normed.iter().map(|x| times(&wv, x)).collect();
        for (p, x) in xs.iter_mut().enumerate() {
            let q = rotated(times(&wq, &normed[p]), p);
            let mut out = Vec::new();
            for head in 0..c.heads {
                let shared = head / (c.heads / c.kv_heads) * size;
                let rows =
                    |x: &[Vec<f64>]| x[..=p].iter().flat_map(|x| x[shared..][..size].to_vec()).collect();
                let (k, v): (Vec<f64>, Vec<f64>) = (rows(&k), rows(&v));
                let s = scores(&q[head * size..][..size], &k, size, 1.0 / (size as f64).sqrt());
                out.extend(safe_softmax(&s, &v, size).o);
            }
            x.iter_mut().zip(times(&wo, &out)).for_each(|(x, y)| *x += y);
            let normed = norm(x, &part(&m.rms_ffn, 1, c.dim));
            let gate = times(&part(&m.w3, c.hidden, c.dim), &normed);
            let hidden: Vec<f64> = times(&part(&m.w1, c.hidden, c.dim), &normed)
                .iter()
                .zip(gate)
                .map(|(h, g)| h / (1.0 + (-h).exp()) * g)
                .collect();
            x.iter_mut().zip(times(&part(&m.w2, c.dim, c.hidden), &hidden)).for_each(|(x, y)| *x += y);
        }
    }
    let x = norm(&xs[xs.len() - 1], &m.rms_final);
    times(m.classifier.as_ref().unwrap_or(&m.embedding), &x)
}

#[test]
fn logits_agree_with_f64() {
    for (shared_classifier, seed) in [(true, 1), (false, 2)] {
        let model = model(shape(shared_classifier), seed);
        let mut runner = Runner::new(&model, F32Attention);
        for (i, &token) in TOKENS.iter().enumerate() {
            let exact = logits_in_f64(&model, &TOKENS[..=i]);
            for (a, b) in runner.step(token).iter().zip(&exact) {
                assert!((f64::from(*a) - b).abs() <= 2e-4, "position {i}: {a} is not {b}");
            }
        }
        // A second sequence does not remember the first.
        let last = runner.logits().to_vec();
        runner.reset();
        TOKENS.iter().for_each(|&token| {
            runner.step(token);
        });
        assert_eq!(runner.logits(), last);
    }
}

fn recorded(model: &Checkpoint) -> RecordHeads {
    let mut runner = Runner::new(model, RecordHeads::default());
    TOKENS.iter().for_each(|&token| {
        runner.step(token);
    });
    runner.into_attention()
}

#[test]
fn a_core_agrees_with_the_bit_exact_model() {
    let model = model(shape(true), 3);
    let heads = recorded(&model);
    let size = model.config.head_size();
    for (design, format, d) in [
        (Design::FlashD, Format::BF16, size),
        (Design::FlashD, Format::FP8_E4M3, 16),
        (Design::Fa2, Format::FP16, size),
    ] {
        // The range of a fixed-point lane follows the values so far here, all values of the head there.
        let datapath = match design {
            Design::FlashD => FlashDVariant::Rounded.into(),
            Design::Fa2 => Datapath::shipped(design, format),
        };
        let core =
            CoreConfig { datapath, hold: Some(Hold::Below(2.0)), ..CoreConfig::new(design, d, format) };
        let mut attention = CoreAttention::new(&core, &model.config, &heads).unwrap();
        for layer in 0..model.config.layers {
            let recorded = heads.layer(layer);
            let prepared: Vec<_> = recorded
                .iter()
                .map(|head| {
                    let (score_scale, tensor_scale) = (ScoreScale::Auto, TensorScale::Auto);
                    let scenario = Scenario {
                        softcap: None,
                        bias: Bias::None,
                        sink: None,
                        attention: head.clone().into(),
                        visible: Visible::new(true),
                        score_scale,
                        tensor_scale,
                        scale_rule: Default::default(),
                    };
                    prepare(&core, &scenario, &ExactResults::new(&scenario)).unwrap()
                })
                .collect();
            let results: Vec<_> = prepared.iter().map(model_results).collect();
            for p in 0..TOKENS.len() {
                let q: Vec<f32> = recorded.iter().flat_map(|head| head.query(p).to_vec()).collect();
                // Each head with its keys and values.
                let rows = |x: &[f32]| x[..(p + 1) * size].to_vec();
                let keys: Vec<Vec<f32>> = recorded.iter().map(|head| rows(&head.k)).collect();
                let values: Vec<Vec<f32>> = recorded.iter().map(|head| rows(&head.v)).collect();
                let mut out = vec![0.0; q.len()];
                attention
                    .attend(LayerPosition { layer, size, q: &q, keys: &keys, values: &values }, &mut out);
                for (head, out) in out.chunks_exact(size).enumerate() {
                    let scaling = prepared[head].scaling;
                    for (out, &bits) in out.iter().zip(&results[head][p].o) {
                        assert_eq!(*out, scaling.result(format, bits) as f32);
                    }
                }
            }
            let held = attention.held()[layer];
            assert_eq!(held.steps as usize, recorded.len() * TOKENS.len() * (TOKENS.len() + 1) / 2);
            assert!(held.held > 0 && held.held < held.steps);
        }
        attention.clear_held();
        assert!(attention.held().iter().all(|held| held.steps == 0));
    }
}

#[test]
fn finer_formats_are_nearer_to_f32() {
    let model = model(shape(false), 4);
    let heads = recorded(&model);
    let mut reference = Runner::new(&model, F32Attention);
    let reference = generate(&mut reference, &TOKENS, 30, &mut || ());
    assert_eq!(reference.logits.len(), 30);
    assert_eq!(reference.tokens[..12], TOKENS);
    let error = |format: Format| {
        let core = CoreConfig::new(Design::FlashD, model.config.head_size(), format);
        let attention = CoreAttention::new(&core, &model.config, &heads).unwrap();
        let mut runner = Runner::new(&model, attention);
        let other = generate(&mut runner, &TOKENS, 30, &mut || ());
        let comparison = compare(&reference, &other);
        assert!(comparison.common >= 12);
        comparison.mean_logit_error
    };
    let errors = [Format::FP32, Format::FP16, Format::BF16, Format::FP8_E4M3].map(error);
    assert!(errors[0] > 0.0 && errors.is_sorted() && errors[3] > 4.0 * errors[2], "{errors:?}");
}

#[test]
fn a_head_must_fit_the_core() {
    let model = model(shape(true), 3);
    let heads = recorded(&model);
    let core = CoreConfig::new(Design::Fa2, 4, Format::BF16);
    let problem = CoreAttention::new(&core, &model.config, &heads).err().unwrap().to_string();
    assert!(problem.contains("heads of 6 elements do not fit a core of d = 4"));
    let core = CoreConfig::new(Design::Fa2, 8, Format::BF16);
    assert!(CoreAttention::new(&core, &model.config, &RecordHeads::default()).is_err());
}

#[test]
fn perplexity_of_a_model_that_knows_nothing_is_its_vocabulary() {
    let mut blank = model(shape(false), 6);
    blank.classifier.as_mut().unwrap().fill(0.0);
    let mut runner = Runner::new(&blank, F32Attention);
    // Longer than the context of 40.
    let text: Vec<usize> = std::iter::once(1).chain((0..100).map(|i| 3 + i)).collect();
    let measured = perplexity(&mut runner, &text, &mut || ()).unwrap();
    assert_eq!(measured.tokens, 100);
    assert!((measured.perplexity - blank.config.vocab as f64).abs() < 1e-9);
    assert_eq!(perplexity(&mut runner, &[1], &mut || ()), None);
}

#[test]
fn perplexity_agrees_with_the_logits_in_f64() {
    let model = model(shape(true), 7);
    let mut sum = 0.0;
    for i in 1..TOKENS.len() {
        let logits = logits_in_f64(&model, &TOKENS[..i]);
        let total: f64 = logits.iter().map(|x| x.exp()).sum();
        sum += (total.ln() - logits[TOKENS[i]]) / (TOKENS.len() - 1) as f64;
    }
    let measured = perplexity(&mut Runner::new(&model, F32Attention), &TOKENS, &mut || ()).unwrap();
    assert!((measured.perplexity / sum.exp() - 1.0).abs() < 1e-4);
    assert_eq!(measured.tokens, TOKENS.len() - 1);
}

#[test]
fn comparisons_find_the_first_difference() {
    let generation = |tokens: &[usize], logits: &[[f32; 3]]| Generation {
        tokens: tokens.to_vec(),
        logits: logits.iter().map(|l| l.to_vec()).collect(),
    };
    let a = generation(&[1, 2, 0, 2], &[[0.0, 0.0, 1.0], [3.0, 1.0, 2.0], [0.0, 0.0, 9.0]]);
    let b = generation(&[1, 2, 2, 2], &[[0.0, 0.5, 1.0], [2.0, 1.0, 2.25], [0.0, 0.0, 1.0]]);
    let c = compare(&a, &b);
    assert_eq!((c.common, c.max_logit_error), (2, 1.0));
    assert!((c.mean_logit_error - (0.5 + 1.0 + 0.25) / 6.0).abs() < 1e-12);
    let d = c.difference.unwrap();
    assert_eq!((d.position, d.reference, d.other), (1, 0, 2));
    assert_eq!((d.reference_gap, d.other_gap), (1.0, 0.25));
    let same = compare(&a, &a);
    assert_eq!((same.common, same.max_logit_error, same.difference), (3, 0.0, None));
}
