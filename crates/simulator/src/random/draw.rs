//! A legal configuration from a seed.
//!
//! Every option is drawn independently; options that the datapath does not have are dropped. Only [`CoreConfig::validate`] and the
//! like decide whether a configuration is legal; illegal ones are drawn again.

use flashd_spec::config::{
    Accumulator, ArrayConfig, BUDGET_FRACTIONS, CoreConfig, D_RANGE, DEFAULT_MAX_KEYS,
    DEFAULT_SCORE_INTEGER_BITS, Hold, INTERLEAVE_RANGE, KEY_INDEX_BITS_RANGE, KINDS, LaneBits, Lengths,
    PARTS_RANGE, QUERIES_RANGE, SCORE_INTEGER_RANGE, SCORE_SHIFT_RANGE, Scale, SplitConfig,
    VALUE_LATENCY_RANGE, Values, WEIGHT_BITS_RANGE, WIDEST_LANE_SUM, WIDEST_LANE_VALUE, WIDEST_LANE_WEIGHT,
    WrapperConfig,
};
use flashd_spec::format::{Format, Formats};
use flashd_spec::machine::Machine;
use flashd_spec::numerics::SCORE_BITS;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// The longest vectors that are drawn.
pub const LONGEST: usize = 64;
/// The longest vectors of most configurations.
const USUAL: usize = 20;
/// Most elements of all cores' vectors: more take long in every tool and show nothing else.
const MOST_ELEMENTS: usize = 192;

/// A legal configuration with vectors of up to `longest` elements, 2 to [`LONGEST`].
pub fn draw(rng: &mut ChaCha8Rng, longest: usize) -> Machine {
    let longest = longest.clamp(D_RANGE.0, LONGEST);
    let kind = rng.random_range(0..DESIGNS);
    loop {
        let drawn = propose(rng, kind, longest);
        if drawn.validate().is_ok() {
            return drawn;
        }
    }
}

/// One of them.
fn any<T: Copy>(rng: &mut ChaCha8Rng, of: &[T]) -> T {
    of[rng.random_range(0..of.len())]
}

/// A value other than the default, in one of `n` draws.
fn seldom<T>(rng: &mut ChaCha8Rng, n: u32, value: impl FnOnce(&mut ChaCha8Rng) -> T) -> Option<T> {
    rng.random_ratio(1, n).then(|| value(rng))
}

/// Cores are most of them, wrappers a fifth.
const DESIGNS: u32 = 5;

/// A configuration that may not be legal.
fn propose(rng: &mut ChaCha8Rng, kind: u32, longest: usize) -> Machine {
    let core = core(rng, longest);
    match kind {
        0 | 1 => Machine::Core(core),
        2 => {
            let array = array(rng, core);
            let (fewest, most) = INTERLEAVE_RANGE;
            let turns: Vec<usize> =
                (fewest..=most).filter(|&turns| array.queries.is_multiple_of(turns)).collect();
            let interleave = if array.core.partial { 1 } else { any(rng, &turns) };
            Machine::Array(ArrayConfig { interleave, ..array })
        }
        3 => {
            let (most, any_number) = (PARTS_RANGE.1.ilog2(), rng.random_ratio(1, 8));
            let parts = 1 << rng.random_range(PARTS_RANGE.0.ilog2()..=if any_number { most } else { 2 });
            // It is the cores' masks and partial results that split keys are made of.
            Machine::Split(SplitConfig { core: short_enough(rng, core, parts), parts })
        }
        _ => {
            let array = array(rng, core);
            let values = any(rng, &[Values::Requested, Values::All]);
            let wrapper = WrapperConfig { array, beat_bits: None, values };
            // Only a legal array has choices of beats.
            if wrapper.array.validate().is_err() {
                return Machine::Wrapper(wrapper);
            }
            let beat_bits = seldom(rng, 2, |rng| any(rng, &wrapper.beat_choices().collect::<Vec<_>>()));
            Machine::Wrapper(WrapperConfig { beat_bits, ..wrapper })
        }
    }
}

fn array(rng: &mut ChaCha8Rng, core: CoreConfig) -> ArrayConfig {
    let (fewest, most) = QUERIES_RANGE;
    let queries = if rng.random_ratio(1, 5) { most } else { 6 };
    let queries = rng.random_range(fewest..=queries);
    ArrayConfig {
        core: short_enough(rng, core, queries),
        queries,
        key_index_bits: seldom(rng, 3, |rng| {
            rng.random_range(KEY_INDEX_BITS_RANGE.0..=KEY_INDEX_BITS_RANGE.1)
        }),
        interleave: 1,
    }
}

/// Shortens the vectors so that `cores` of them fit [`MOST_ELEMENTS`].
fn short_enough(rng: &mut ChaCha8Rng, core: CoreConfig, cores: usize) -> CoreConfig {
    let most = (MOST_ELEMENTS / cores).max(D_RANGE.0);
    let mut of = |d: usize| if d <= most { d } else { rng.random_range(D_RANGE.0..=most) };
    let k = of(core.d);
    let v = core.dv.map_or(k, of);
    core.with_lengths(Lengths { k, v })
}

fn core(rng: &mut ChaCha8Rng, longest: usize) -> CoreConfig {
    let most = if rng.random_ratio(1, 8) { longest } else { longest.min(USUAL) };
    let finest = any(rng, &[6, 20]);
    let score_fraction_bits = rng.random_range(2..=finest);
    let score_fraction_bits = seldom(rng, 3, |_| score_fraction_bits);
    // The widest default.
    let fraction = score_fraction_bits.unwrap_or(12);
    // No field is left out: one that is new is drawn, too.
    let core = CoreConfig {
        datapath: any(rng, &KINDS).datapath,
        d: rng.random_range(D_RANGE.0..=most),
        // Most cores have one format and one length: the others are not made of all datapaths.
        dv: None,
        format: any_format(rng),
        k_format: None,
        v_format: None,
        o_format: None,
        scales: None,
        q_scales: None,
        k_scales: None,
        v_scales: None,
        lane: seldom(rng, 4, |rng| LaneBits {
            o: rng.random_range(8..=WIDEST_LANE_SUM),
            v: rng.random_range(4..=WIDEST_LANE_VALUE),
            w: rng.random_range(3..=WIDEST_LANE_WEIGHT),
        }),
        max_keys: seldom(rng, 3, |rng| 1 << rng.random_range(1..=20)).unwrap_or(DEFAULT_MAX_KEYS),
        value_stage: seldom(rng, 3, |rng| rng.random()),
        masks: rng.random(),
        partial: rng.random_ratio(1, 3),
        softcap: seldom(rng, 4, |rng| any(rng, &[1.0, 2.5, 15.0, 20.0, 30.0, 50.0, 200.0])),
        bias: rng.random_ratio(1, 3),
        value_latency: seldom(rng, 3, |rng| rng.random_range(VALUE_LATENCY_RANGE.0..=VALUE_LATENCY_RANGE.1))
            .unwrap_or(1),
        hold: any_hold(rng),
        accumulator: seldom(rng, 3, any_accumulator),
        weight_bits: seldom(rng, 4, |rng| rng.random_range(WEIGHT_BITS_RANGE.0..=WEIGHT_BITS_RANGE.1)),
        segments: any(rng, &[None, Some(4), Some(8), Some(16), Some(32)]),
        score_shift: any_shift(rng),
        score_integer_bits: seldom(rng, 3, |rng| {
            rng.random_range(SCORE_INTEGER_RANGE.0..=SCORE_INTEGER_RANGE.1)
        })
        .unwrap_or(DEFAULT_SCORE_INTEGER_BITS)
        .min(SCORE_BITS - fraction),
        score_fraction_bits,
        state_fraction_bits: seldom(rng, 3, |rng| rng.random_range(fraction..=26)),
    };
    let core = seldom(rng, 4, |rng| mixed(rng, &core, most)).unwrap_or(core);
    let core = scaled(rng, core);
    core.without_what_does_not_apply()
}

/// Adds scales that the formats allow: one for all operands, or one of each.
fn scaled(rng: &mut ChaCha8Rng, core: CoreConfig) -> CoreConfig {
    let Formats { q, k, v, .. } = core.formats();
    let mut of = |n, formats: &[Format], refused: &[Scale]| {
        seldom(rng, n, |rng| {
            let takes = |scale: &Scale| formats.iter().all(|&format| scale.takes(format));
            let all = SCALES.into_iter().filter(takes).filter(|scale| !refused.contains(scale));
            any(rng, &all.collect::<Vec<_>>())
        })
    };
    // With one scale for all operands, a scale of rows leaves out the values.
    match of(6, &[q, k, v], &[Scale::RowQ16]) {
        Some(scale) => CoreConfig { scales: Some(scale), ..core },
        None => {
            let (q_scales, k_scales) = (of(4, &[q], &[]), of(4, &[k], &[Scale::RowQ16]));
            CoreConfig { q_scales, k_scales, v_scales: of(4, &[v], &[Scale::Row, Scale::RowQ16]), ..core }
        }
    }
}

/// All scales.
const SCALES: [Scale; 6] = [Scale::None, Scale::Row, Scale::RowE8m0, Scale::RowQ16, Scale::Mx, Scale::Nvfp4];

/// The same with other formats or another length of the values.
fn mixed(rng: &mut ChaCha8Rng, core: &CoreConfig, most: usize) -> CoreConfig {
    let mut other = |n, of: Format| seldom(rng, n, any_format).unwrap_or(of);
    let Formats { q, k, v, o } = core.formats();
    let (k, v) = (other(2, k), other(2, v));
    let formats = Formats { q, k, v, o: seldom(rng, 2, any_format).unwrap_or(o) };
    let dv = seldom(rng, 2, |rng| rng.random_range(D_RANGE.0..=most)).unwrap_or(core.d);
    core.clone().with_lengths(Lengths { k: core.d, v: dv }).with_formats(formats)
}

fn any_format(rng: &mut ChaCha8Rng) -> Format {
    match rng.random_range(0..4) {
        0 => any(rng, &Format::fixed_points().collect::<Vec<_>>()),
        _ => any(rng, &Format::named().collect::<Vec<_>>()).1,
    }
}

fn any_hold(rng: &mut ChaCha8Rng) -> Option<Hold> {
    let (fewest, most) = BUDGET_FRACTIONS;
    match rng.random_range(0..6) {
        0 => Some(Hold::None),
        // Steps that are held are seen in short streams where the threshold is low.
        1 => Some(Hold::Below(rng.random_range(4..=32) as f64 / 4.0)),
        2 => Some(Hold::Below(rng.random_range(1.0..=64.0))),
        3 => Some(Hold::Budget(rng.random_range(fewest..=most))),
        4 => Some(Hold::Static),
        _ => None,
    }
}

fn any_accumulator(rng: &mut ChaCha8Rng) -> Accumulator {
    match rng.random_range(0..3) {
        0 => Accumulator::Format,
        1 => Accumulator::Fraction(rng.random_range(0..=23)),
        _ => Accumulator::Float(any(rng, &Format::NAMED).1),
    }
}

/// Often near the shift of 1/sqrt(d), where scores are useful; now and then any.
fn any_shift(rng: &mut ChaCha8Rng) -> Option<i32> {
    match rng.random_range(0..8) {
        0 | 1 => Some(rng.random_range(SCORE_SHIFT_RANGE.0..=SCORE_SHIFT_RANGE.1)),
        2 | 3 => Some(rng.random_range(-5..=3)),
        _ => None,
    }
}
