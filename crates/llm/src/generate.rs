//! Greedy decoding, perplexity, and two runs side by side.

use crate::attention::AttentionBackend;
use crate::runner::Runner;
use crate::tokenizer::BOS;
use serde::Serialize;

/// A sequence that a model went on with.
#[derive(Clone, Debug, PartialEq)]
pub struct Generation {
    /// The prompt, then the tokens that were chosen. Ends before a token that begins a new text.
    pub tokens: Vec<usize>,
    /// Logits at every position: `logits[i]` follows `tokens[i]`.
    pub logits: Vec<Vec<f32>>,
}

/// Decodes greedily: the prompt's tokens are given, then the one with the largest logit is chosen, the first of
/// equals. Takes `steps` positions at most, prompt included, and no more than the model's context. `progress` hears of
/// each.
pub fn generate<A: AttentionBackend>(
    runner: &mut Runner<A>,
    prompt: &[usize],
    steps: usize,
    progress: &mut dyn FnMut(),
) -> Generation {
    runner.reset();
    let mut tokens = prompt.to_vec();
    let mut logits: Vec<Vec<f32>> = Vec::new();
    let steps = steps.min(runner.model().config.context);
    while logits.len() < steps && logits.len() < tokens.len() {
        let position = logits.len();
        logits.push(runner.step(tokens[position]).to_vec());
        progress();
        if position + 1 == tokens.len() {
            let next = largest(&logits[position]);
            if next == BOS {
                break;
            }
            tokens.push(next);
        }
    }
    Generation { tokens, logits }
}

/// Index of the largest element, the first of equals.
fn largest(x: &[f32]) -> usize {
    (1..x.len()).fold(0, |best, i| if x[i] > x[best] { i } else { best })
}

/// How well a model predicts a text.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Perplexity {
    /// `e^(-mean ln p)` over the predicted tokens.
    pub perplexity: f64,
    /// Tokens predicted.
    pub tokens: usize,
}

/// Perplexity on a text of tokens that begins with [`BOS`], in f64 from the logits. A text longer than the context
/// is cut into pieces that each begin with [`BOS`] and share no token. None for a text without a token to predict.
/// `progress` hears of each position.
pub fn perplexity<A: AttentionBackend>(
    runner: &mut Runner<A>,
    tokens: &[usize],
    progress: &mut dyn FnMut(),
) -> Option<Perplexity> {
    let text = tokens.strip_prefix(&[BOS]).unwrap_or(tokens);
    let (mut sum, mut predicted) = (0.0, 0usize);
    for piece in text.chunks(runner.model().config.context) {
        runner.reset();
        let mut previous = BOS;
        for &token in piece {
            let logits = runner.step(previous);
            sum -= ln_probability(logits, token);
            predicted += 1;
            previous = token;
            progress();
        }
    }
    (predicted > 0).then(|| Perplexity { perplexity: (sum / predicted as f64).exp(), tokens: predicted })
}

/// `ln softmax(logits)_token`.
fn ln_probability(logits: &[f32], token: usize) -> f64 {
    let m = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let difference = |x: f32| f64::from(x) - f64::from(m);
    difference(logits[token]) - logits.iter().map(|&x| difference(x).exp()).sum::<f64>().ln()
}

/// A generation against the reference's, over the positions at which both had met the same tokens.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Positions with the same tokens up to and including them.
    pub common: usize,
    /// Where the tokens chosen differ first.
    pub difference: Option<TokenDifference>,
    /// Largest difference of two logits over the common positions.
    pub max_logit_error: f64,
    /// Mean difference.
    pub mean_logit_error: f64,
}

/// Two different choices after the same tokens.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TokenDifference {
    /// Position of the last common token.
    pub position: usize,
    /// The reference's choice.
    pub reference: usize,
    /// The other one's.
    pub other: usize,
    /// The margin of the reference's logits for its choice.
    pub reference_gap: f64,
    /// The margin of the other logits for the other choice.
    pub other_gap: f64,
}

/// Compares two generations from the same prompt.
pub fn compare(reference: &Generation, other: &Generation) -> Comparison {
    let same = reference.tokens.iter().zip(&other.tokens).take_while(|(a, b)| a == b).count();
    let common = same.min(reference.logits.len()).min(other.logits.len());
    let (mut max, mut sum, mut count) = (0f64, 0.0, 0u64);
    for (a, b) in reference.logits[..common].iter().zip(&other.logits[..common]) {
        for (a, b) in a.iter().zip(b) {
            let error = (f64::from(*a) - f64::from(*b)).abs();
            max = max.max(error);
            sum += error;
            count += 1;
        }
    }
    let differs = same < reference.tokens.len() || same < other.tokens.len();
    let difference = (differs && common > 0).then(|| {
        let position = common - 1;
        let (a, b) = (&reference.logits[position], &other.logits[position]);
        let (first, second) = (largest(a), largest(b));
        let gap = |x: &[f32], i: usize, j: usize| f64::from(x[i]) - f64::from(x[j]);
        TokenDifference {
            position,
            reference: first,
            other: second,
            reference_gap: gap(a, first, second),
            other_gap: gap(b, second, first),
        }
    });
    Comparison { common, difference, max_logit_error: max, mean_logit_error: sum / count.max(1) as f64 }
}
