//! Jobs for attention units.

use crate::selftest::{ROUND_KINDS, operands};
use crate::unit::{FIRST_ROW, Layout, UnitJob};
use flashd_golden::values_exponent;
use flashd_spec::bits::packed;
use flashd_spec::numerics::BIAS;
use flashd_spec::unit::descriptor::Descriptor;
use flashd_spec::unit::{Flag, UnitConfig};
use flashd_workload::round_to;
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// Jobs of about `keys` keys of blocks in all, with any masks, pages, groups and strides, at any addresses; jobs of no query among them.
pub fn jobs(config: &UnitConfig, keys: usize, rng: &mut ChaCha8Rng) -> Vec<UnitJob> {
    let mut layout = Layout::new(first_row(config, rng), 1);
    let (mut jobs, mut left) = (Vec::new(), keys as i64);
    while left > 0 {
        let job = job(config, keys.clamp(4, 40), &mut layout, rng);
        left -= 1 + job
            .job()
            .blocks(config.array.queries as u32)
            .map(|block| block.keys.len() as i64)
            .sum::<i64>();
        jobs.push(job);
    }
    jobs
}

/// The address of the first row: now and then near the port's largest address.
fn first_row(config: &UnitConfig, rng: &mut ChaCha8Rng) -> u64 {
    let room = 1 << 31;
    let last = if config.address_bits < 64 { 1 << config.address_bits } else { u64::MAX } - room;
    if rng.random() { FIRST_ROW } else { rng.random_range(FIRST_ROW..=last) }
}

fn job(config: &UnitConfig, most: usize, layout: &mut Layout, rng: &mut ChaCha8Rng) -> UnitJob {
    let core = &config.array.core;
    let most = most.min(core.max_keys) as u64;
    let few = |rng: &mut ChaCha8Rng, to: u64| if rng.random() { 1 } else { rng.random_range(1..=to) };
    let mut descriptor = Descriptor::default();
    let (heads, group) = (few(rng, 3), few(rng, 4));
    let queries = if rng.random_ratio(1, 20) { 0 } else { few(rng, 2 * config.array.queries as u64) };
    let keys = if core.masks && rng.random_ratio(1, 20) { 0 } else { few(rng, most) };
    let values = [("QUERIES", queries), ("KEYS", keys), ("GROUP", group), ("K_HEADS", heads)];
    values.into_iter().for_each(|(name, value)| descriptor.set(name, value));
    masks(core.masks, &mut descriptor, rng);
    let mut table = Vec::new();
    if rng.random_ratio(1, 3) {
        table = paged(&mut descriptor, rng);
    }
    if core.partial {
        let flags = [Flag::Lse, Flag::StateIn, Flag::StateOut];
        flags.into_iter().for_each(|flag| {
            if rng.random() {
                descriptor.add(flag)
            }
        });
    }
    strides(config, &mut descriptor, layout, rng);
    let rows = (queries * group * heads).max(keys * heads).max(1) as usize;
    let [q, k, v] = operands(core, rng.random_range(0..ROUND_KINDS), rows, rng);
    let words = core.port_words();
    descriptor.set("V_EXPONENT", values_exponent(core, &v));
    let rows = |x: &[u64], words: usize, n: u64| x[..n as usize * words].to_vec();
    let mut q = rows(&q, words.q, queries * group * heads);
    if config.has_scale() {
        // The first query's scale becomes the job's.
        if let Some(first) = q.chunks(words.q).next() {
            descriptor.set("SCALE", packed(&first[core.d..], core.formats().q.width(), 16, 0));
        }
        q = q.chunks(words.q).flat_map(|row| &row[..core.d]).copied().collect();
    }
    let biases = config.array.queries as u64 * if core.bias { keys * heads } else { 0 };
    let mut bias = || round_to(BIAS, rng.random_range(-4.0..4.0));
    let job = UnitJob {
        descriptor,
        q,
        k: rows(&k, words.k, keys * heads),
        v: rows(&v, words.v, keys * heads),
        table,
        biases: (0..biases).map(|_| bias()).collect(),
        states: Vec::new(),
    };
    if !job.descriptor.has(Flag::StateIn) {
        return job;
    }
    // The states that other keys leave; some queries may have seen none.
    let before = earlier(config, &job, rng);
    UnitJob { states: before.states_after(&before.expected(config)), ..job }
}

/// A job of the same queries and the first of the same keys, in another order.
fn earlier(config: &UnitConfig, job: &UnitJob, rng: &mut ChaCha8Rng) -> UnitJob {
    let mut before = UnitJob { table: Vec::new(), ..job.clone() };
    let (keys, heads) = (job.descriptor.get("KEYS"), job.descriptor.get("K_HEADS"));
    before.descriptor.set("FLAGS", job.descriptor.get("FLAGS") & 1 << Flag::Causal as u32);
    before.descriptor.set("POSITION", rng.random_range(-2..=keys as i64) as u64);
    let words = config.array.core.port_words();
    for (rows, words) in [(&mut before.k, words.k), (&mut before.v, words.v)] {
        let shift = rng.random_range(0..=keys * heads) as usize * words;
        rows.rotate_left(shift);
    }
    before
}

/// A mask, with the first query before, at and after the keys.
fn masks(has: bool, descriptor: &mut Descriptor, rng: &mut ChaCha8Rng) {
    if !has || rng.random_ratio(1, 3) {
        return;
    }
    let (queries, keys) = (descriptor.get("QUERIES") as i64, descriptor.get("KEYS") as i64);
    let position = match rng.random_range(0..3) {
        0 => 0,
        1 => keys - queries,
        _ => rng.random_range(-queries - 2..=keys + 2),
    };
    descriptor.set("POSITION", position as u64);
    descriptor.add(Flag::Causal);
    if rng.random() {
        descriptor.add(Flag::Window);
        descriptor.set("WINDOW", rng.random_range(1..=keys.max(1) as u64 + 2));
    }
}

/// Pages in a random order, with some that no key is in: the block table.
fn paged(descriptor: &mut Descriptor, rng: &mut ChaCha8Rng) -> Vec<u32> {
    let tokens = rng.random_range(0..6);
    let used = descriptor.get("KEYS").div_ceil(1 << tokens) as usize;
    let mut pages: Vec<u32> = (0..(used + rng.random_range(0..4)).max(1) as u32).collect();
    pages.shuffle(rng);
    descriptor.add(Flag::Paged);
    descriptor.set("PAGE", tokens);
    descriptor.set("PAGES", pages.len() as u64);
    pages[..used].to_vec()
}

/// Strides of whole rows, or of some bytes more; then addresses.
fn strides(config: &UnitConfig, descriptor: &mut Descriptor, layout: &mut Layout, rng: &mut ChaCha8Rng) {
    let mut packed = descriptor.clone();
    Layout::new(0, 1).complete(config, &mut packed, &|name| name == "PAGES");
    let mut given = vec!["PAGES".to_string()];
    for name in ["Q", "K", "V", "O", "LSE", "STATE"] {
        if rng.random() {
            continue;
        }
        let row = format!("{name}_ROW");
        descriptor.set(&row, packed.get(&row) + rng.random_range(0..100));
        given.push(row);
    }
    layout.take(rng.random_range(0..5000));
    layout.complete(config, descriptor, &|name| given.iter().any(|given| given == name));
}
