//! Attention in a language model: f32, or a core's bit-exact model.

use crate::checkpoint::Config;
use crate::error::LlmError;
use crate::products::dot;
use flashd_golden::{Action, Model};
use flashd_simulator::{ExactResults, Scenario, prepare};
use flashd_spec::config::CoreConfig;
use flashd_spec::format::{Format, Scale};
use flashd_workload::{Attention as Head, Bias, FormatRounding, Scaling, ScoreScale, TensorScale, Visible};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;

/// One position of one layer: the queries of all heads, keys and values of all positions up to this one.
#[derive(Clone, Copy, Debug)]
pub struct LayerPosition<'a> {
    /// The layer.
    pub layer: usize,
    /// Length of a head's vectors.
    pub size: usize,
    /// Queries of all heads, rotated; 1/sqrt(size) is not folded in.
    pub q: &'a [f32],
    /// Keys of each kv head, rotated, `[position, size]`.
    pub keys: &'a [Vec<f32>],
    /// Values of each kv head, `[position, size]`.
    pub values: &'a [Vec<f32>],
}

impl<'a> LayerPosition<'a> {
    /// Query heads.
    pub fn len(&self) -> usize {
        self.q.len() / self.size
    }

    /// Whether there is no head.
    pub fn is_empty(&self) -> bool {
        self.q.is_empty()
    }

    /// Query of a head, and the keys and values that it shares with its neighbours.
    pub fn head(&self, head: usize) -> (&'a [f32], &'a [f32], &'a [f32]) {
        let shared = head * self.keys.len() / self.len();
        (&self.q[head * self.size..][..self.size], &self.keys[shared], &self.values[shared])
    }
}

/// Computes attention for a [`Runner`](crate::Runner).
pub trait AttentionBackend {
    /// The outputs of all heads, `[heads, size]`, to `out`.
    fn attend(&mut self, heads: LayerPosition, out: &mut [f32]);

    /// A new sequence begins.
    fn reset(&mut self) {}
}

impl<A: AttentionBackend + ?Sized> AttentionBackend for &mut A {
    fn attend(&mut self, heads: LayerPosition, out: &mut [f32]) {
        (**self).attend(heads, out);
    }

    fn reset(&mut self) {
        (**self).reset();
    }
}

/// Safe softmax in f32, every operation rounded.
#[derive(Clone, Copy, Debug, Default)]
pub struct F32Attention;

impl AttentionBackend for F32Attention {
    fn attend(&mut self, heads: LayerPosition, out: &mut [f32]) {
        let root = (heads.size as f32).sqrt();
        for (head, out) in out.chunks_exact_mut(heads.size).enumerate() {
            let (q, k, v) = heads.head(head);
            let mut s: Vec<f32> = k.chunks_exact(heads.size).map(|k| dot(q, k) / root).collect();
            let m = s.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            s.iter_mut().for_each(|s| *s = (*s - m).exp());
            let sum: f32 = s.iter().sum();
            out.fill(0.0);
            for (e, v) in s.iter().zip(v.chunks_exact(heads.size)) {
                out.iter_mut().zip(v).for_each(|(out, v)| *out += e / sum * v);
            }
        }
    }
}

/// [`F32Attention`] that keeps the Q, K and V of every head of the current sequence.
#[derive(Clone, Debug, Default)]
pub struct RecordHeads {
    layers: BTreeMap<usize, Vec<Head>>,
}

impl RecordHeads {
    /// The heads of a layer.
    pub fn layer(&self, layer: usize) -> &[Head] {
        self.layers.get(&layer).map_or(&[], Vec::as_slice)
    }
}

impl AttentionBackend for RecordHeads {
    fn attend(&mut self, heads: LayerPosition, out: &mut [f32]) {
        let empty = Head::new(heads.size, vec![], vec![], vec![]);
        let recorded = self.layers.entry(heads.layer).or_insert_with(|| vec![empty; heads.len()]);
        for (i, head) in recorded.iter_mut().enumerate() {
            let (q, k, v) = heads.head(i);
            let seen = head.keys * head.d;
            head.q.extend(q);
            head.k.extend(&k[seen..]);
            head.v.extend(&v[seen..]);
            head.queries += 1;
            head.keys = k.len() / head.d;
        }
        F32Attention.attend(heads, out);
    }

    fn reset(&mut self) {
        self.layers.clear();
    }
}

/// Steps of a core, and its held steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Holds {
    /// Pairs of a query and a key.
    pub steps: u64,
    /// Steps that left the output as it was and read no value.
    pub held: u64,
}

/// Attention by the bit-exact model of a core: each head's query against all keys of the sequence so far.
///
/// Q, K and V are scaled and rounded to the core's format, results go back to f32 exactly or by one rounding. Where
/// the format has a narrow range, the powers of two of every head are fixed beforehand, from recorded heads, as a
/// deployed core's would be.
pub struct CoreAttention {
    config: CoreConfig,
    /// By score shift, which is part of a core.
    models: BTreeMap<i32, Model>,
    /// By layer and head.
    heads: Vec<Vec<HeadState>>,
    /// By layer.
    held: Vec<Holds>,
}

/// One head's scaling, and its keys and values as the core has them.
struct HeadState {
    scaling: Scaling,
    k: Vec<u64>,
    v: Vec<u64>,
}

impl CoreAttention {
    /// A core for a model whose heads are like the recorded ones. Vectors of the core that are longer than a head are
    /// filled with zeros.
    ///
    /// # Errors
    /// A head longer than the core's vectors, no record, and a scale that a core cannot apply.
    pub fn new(core: &CoreConfig, model: &Config, recorded: &RecordHeads) -> Result<CoreAttention, LlmError> {
        let formats = core.formats();
        if let Some((operand, scale)) =
            core.scales().by_operand().into_iter().find(|(_, s)| *s != Scale::None)
        {
            let problem =
                format!("{operand} with scales {}: a model runs with cores without scales", scale.word());
            return Err(LlmError::Core(problem));
        }
        if let Some((operand, format)) = formats.by_operand().into_iter().find(|(_, f)| f.is_integer()) {
            // Their scales follow from whole rows and channels, which grow while a model runs.
            let problem = format!(
                "{operand} in {format}: a model runs with cores of floats only, such as bf16 or fp8-e4m3"
            );
            return Err(LlmError::Core(problem));
        }
        let shortest = core.d.min(core.dv());
        if model.head_size() > shortest {
            let problem =
                format!("heads of {} elements do not fit a core of d = {shortest}", model.head_size());
            return Err(LlmError::Core(problem));
        }
        let mut heads = Vec::new();
        for layer in 0..model.layers {
            let recorded = recorded.layer(layer);
            if recorded.len() != model.heads {
                return Err(LlmError::Core(format!("layer {layer} was not recorded")));
            }
            let scaled = |head: &Head| scaling(core, head);
            heads.push(recorded.par_iter().map(scaled).collect::<Result<Vec<_>, _>>()?);
        }
        let mut models = BTreeMap::new();
        for head in heads.iter().flatten() {
            let shift = head.scaling.score_shift;
            models
                .entry(shift)
                .or_insert_with(|| Model::new(&CoreConfig { score_shift: Some(shift), ..core.clone() }));
        }
        Ok(CoreAttention { config: core.clone(), models, heads, held: vec![Holds::default(); model.layers] })
    }

    /// Steps and holds of every layer, all sequences together.
    pub fn held(&self) -> &[Holds] {
        &self.held
    }

    /// Resets the counts.
    pub fn clear_held(&mut self) {
        self.held.fill(Holds::default());
    }
}

/// The powers of two with which the core does best on a recorded head.
fn scaling(core: &CoreConfig, head: &Head) -> Result<HeadState, LlmError> {
    let scenario = Scenario {
        attention: head.clone().into(),
        visible: Visible::new(true),
        softcap: core.softcap,
        bias: Bias::None,
        sink: None,
        score_scale: ScoreScale::Auto,
        tensor_scale: TensorScale::Auto,
        scale_rule: Default::default(),
    };
    let prepared = prepare(core, &scenario, &ExactResults::new(&scenario));
    let scaling = prepared.map_err(|e| LlmError::Core(e.to_string()))?.scaling;
    Ok(HeadState { scaling, k: Vec::new(), v: Vec::new() })
}

impl HeadState {
    /// Result of the newest query, and its steps.
    fn attend(
        &mut self,
        (core, model): (&CoreConfig, &Model),
        size: usize,
        (q, k, v): (&[f32], &[f32], &[f32]),
        out: &mut [f32],
    ) -> Holds {
        let (formats, lengths) = (core.formats(), core.lengths());
        let scaling = self.scaling;
        let factors = scaling.factors();
        let rounded = |x: &[f32], format: Format, d: usize, scale: &dyn Fn(f32) -> f64| -> Vec<u64> {
            let rounding = FormatRounding::new(format);
            let row = |row: &[f32]| -> Vec<u64> {
                let mut bits: Vec<u64> = row.iter().map(|&x| rounding.bits(scale(x))).collect();
                bits.resize(d, 0);
                bits
            };
            x.chunks_exact(size).flat_map(row).collect()
        };
        let seen = self.k.len() / core.d * size;
        self.k.extend(rounded(&k[seen..], formats.k, lengths.k, &|x| factors.k(x)));
        self.v.extend(rounded(&v[seen..], formats.v, lengths.v, &|x| factors.v(x)));
        let q = rounded(q, formats.q, lengths.k, &|x| factors.q(x));
        let keys = k.len() / size;
        let mut held = Holds::default();
        for result in model.run(flashd_golden::Head::new(&q, &self.k, &self.v, &[keys]).with_steps()) {
            out.iter_mut()
                .zip(&result.o)
                .for_each(|(out, &bits)| *out = scaling.result(formats.o, bits) as f32);
            held.steps += result.steps.len() as u64;
            held.held += result.steps.iter().filter(|step| step.action == Action::Hold).count() as u64;
        }
        held
    }
}

impl AttentionBackend for CoreAttention {
    fn attend(&mut self, heads: LayerPosition, out: &mut [f32]) {
        let CoreAttention { config, models, heads: states, held } = self;
        let one = |(i, (state, out)): (usize, (&mut HeadState, &mut [f32]))| {
            let model = &models[&state.scaling.score_shift];
            state.attend((config, model), heads.size, heads.head(i), out)
        };
        let states = states[heads.layer].par_iter_mut();
        let counted: Vec<Holds> =
            states.zip(out.par_chunks_exact_mut(heads.size)).enumerate().map(one).collect();
        for one in counted {
            held[heads.layer].steps += one.steps;
            held[heads.layer].held += one.held;
        }
    }

    fn reset(&mut self) {
        for head in self.heads.iter_mut().flatten() {
            head.k.clear();
            head.v.clear();
        }
    }
}
