//! Streams for wrappers.

use crate::array::{ArrayWorkload, QueryBlock};
use crate::selftest::{biases, operands};
use crate::wrapper::{Mask, WrapperBlock, WrapperWorkload};
use flashd_golden::{Model, PartialState, values_exponent};
use flashd_spec::bits::ones;
use flashd_spec::config::WrapperConfig;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use std::ops::Range;

/// Queries and keys of blocks, `keys` keys in all or a few more; blocks of one query and key among them.
fn shapes(config: &WrapperConfig, keys: usize, most: usize, rng: &mut ChaCha8Rng) -> Vec<(usize, usize)> {
    let mut shapes = Vec::new();
    let mut left = keys as i64;
    while left > 0 {
        let queries =
            if rng.random() { config.array.queries } else { rng.random_range(1..=config.array.queries) };
        let longest = if rng.random() { 4.min(most) } else { most };
        let keys = rng.random_range(1..=longest);
        shapes.push((queries, keys));
        left -= keys as i64;
    }
    shapes
}

/// A mask whose window a register for places up to `places` can hold.
fn mask(masks: bool, places: u64, rng: &mut ChaCha8Rng) -> Mask {
    match rng.random_range(0..3) {
        1 if masks => Mask::Causal,
        2 if masks => Mask::Window(rng.random_range(1..=places.min(11))),
        _ => Mask::None,
    }
}

/// Stimulus for a wrapper's ports: blocks, each with its keys and values, and random registers.
pub fn streams(config: &WrapperConfig, round: usize, keys: usize, rng: &mut ChaCha8Rng) -> WrapperWorkload {
    let core = &config.array.core;
    let most = keys.clamp(4, 24);
    let [q, k, v] = operands(core, round, most.max(config.array.queries), rng);
    let words = core.port_words();
    let rows = |x: &[u64], words: usize, n: usize| x[..n * words].to_vec();
    let shapes = shapes(config, keys, most, rng);
    let padding = |keys: usize, rng: &mut ChaCha8Rng| -> Vec<bool> {
        (0..keys).map(|_| core.masks && rng.random_ratio(1, 5)).collect()
    };
    let block = |&(queries, keys): &(usize, usize)| WrapperBlock {
        q: rows(&q, words.q, queries),
        k: rows(&k, words.k, keys),
        v: rows(&v, words.v, keys),
        padding: padding(keys, rng),
        biases: biases(core, keys * config.array.queries, &[], rng),
        states: Vec::new(),
    };
    let blocks: Vec<WrapperBlock> = shapes.iter().map(block).collect();
    let low = if rng.random_ratio(1, 4) { rng.random_range(1..4) } else { 0 };
    let places = ones(config.array.key_index_bits());
    let equal = shapes.iter().all(|&(_, keys)| keys == shapes[0].1);
    let mut w = WrapperWorkload {
        blocks,
        v_exponent: values_exponent(core, &v).saturating_sub(low),
        mask: mask(core.masks, places, rng),
        position: if core.masks { rng.random_range(0..=places.min(20)) } else { 0 },
        stride: if core.masks { rng.random_range(0..=1) } else { 0 },
        length: if equal && rng.random() { shapes[0].1 as u64 } else { 0 },
    };
    if core.partial && rng.random() {
        begin_from_states(config, &mut w, rng);
    }
    w
}

/// Initial states of a block's queries: most take the state of the query at their place in the previous block, if it has one.
fn states(
    queries: usize,
    before: impl Fn(usize) -> Option<PartialState>,
    rng: &mut ChaCha8Rng,
) -> Vec<Option<PartialState>> {
    (0..queries).map(|place| before(place).filter(|_| rng.random_ratio(4, 5))).collect()
}

/// Gives the blocks [`states`].
fn begin_from_states(config: &WrapperConfig, w: &mut WrapperWorkload, rng: &mut ChaCha8Rng) {
    let before = w.expected(config);
    for (block, before) in w.blocks.iter_mut().skip(1).zip(&before) {
        let queries = block.q.len() / config.array.core.port_words().q;
        block.states = states(queries, |place| before.results.get(place)?.state.clone(), rng);
    }
}

/// Stimulus for the wrapper's array, converted to the packets of `testbench/axis`. It uses all features that registers control,
/// and no others.
pub fn packets(config: &WrapperConfig, keys: usize, rng: &mut ChaCha8Rng) -> ArrayWorkload {
    let core = &config.array.core;
    let places = ones(config.array.key_index_bits());
    let most = usize::try_from(places).unwrap_or(usize::MAX).min(keys.clamp(4, 24));
    let round = rng.random_range(0..crate::selftest::ROUND_KINDS);
    let pool = most.max(config.array.queries);
    let [q, k, v] = operands(core, round, pool, rng);
    let words = core.port_words();
    let exponent = values_exponent(core, &v);
    let shapes = shapes(config, keys, most, rng);
    let queries: usize = shapes.iter().map(|(queries, _)| queries).sum();
    // Places that a register cannot count to would need one more.
    let mask = if (queries as u64) < places { mask(core.masks, places, rng) } else { Mask::None };
    let mut place = 0;
    let mut sees = |keys: usize| -> Range<usize> {
        place += 1;
        match mask {
            Mask::None => 0..keys,
            Mask::Causal => 0..place,
            Mask::Window(window) => place.saturating_sub(window as usize)..place,
        }
    };
    let block = |&(queries, keys): &(usize, usize)| {
        let rows = q.chunks_exact(words.q).take(queries);
        let mut block = QueryBlock::new(rows.map(|row| (row.to_vec(), exponent)).collect(), keys);
        if core.masks {
            block.first_key = rng.random_range(0..=pool - keys);
            block.ranges = (0..queries).map(|_| sees(keys)).collect();
        }
        block
    };
    let blocks = shapes.iter().map(block).collect();
    let padding = if core.masks { (0..pool).map(|_| rng.random_ratio(1, 6)).collect() } else { Vec::new() };
    let mut w = ArrayWorkload { words, blocks, k: k.into(), v: v.into(), padding };
    if core.bias {
        for block in &mut w.blocks {
            block.biases = block.queries.iter().map(|_| biases(core, block.keys, &[], rng)).collect();
        }
    }
    if core.partial && rng.random() {
        let mut results = w.single().results(&Model::new(core), false).into_iter();
        let mut before: Vec<Option<PartialState>> = Vec::new();
        for block in &mut w.blocks {
            block.states = states(block.queries.len(), |place| before.get(place)?.clone(), rng);
            before = results.by_ref().take(block.queries.len()).map(|result| result.state).collect();
        }
    }
    w
}
