//! Stream wrappers whose queries begin from states, and whose vectors have several widths by separate scales, formats and lengths, and biases.

use flashd_simulator::random::streams;
use flashd_simulator::wrapper::{Pace, Paces, WrapperWorkload, run};
use flashd_spec::config::{ArrayConfig, CoreConfig, Design, Hold, KINDS, Scale, Values, WrapperConfig};
use flashd_spec::format::{Format, Formats};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const VALUES: [Values; 2] = [Values::Requested, Values::All];

/// Some blocks of a core in wrappers of one query and of several, with beats of several widths and paces by chance; how many queries
/// began from a state, and from none where others did.
fn check(core: &CoreConfig, seed: u64) -> [usize; 2] {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut counts = [0; 2];
    for (i, queries) in [1, 3].into_iter().enumerate() {
        let values = VALUES[(seed as usize + i) % 2];
        let plain = WrapperConfig {
            beat_bits: None,
            values,
            ..WrapperConfig::new(ArrayConfig::new(core.clone(), queries))
        };
        plain.validate().unwrap_or_else(|e| panic!("{}: {e}", plain.name()));
        let choices: Vec<u32> = plain.beat_choices().collect();
        for beat_bits in [None, Some(choices[rng.random_range(0..choices.len())])] {
            let config = WrapperConfig { beat_bits, ..plain.clone() };
            let w: WrapperWorkload = streams(&config, rng.random_range(0..8), 60, &mut rng);
            let states = w.blocks.iter().flat_map(|block| &block.states);
            states.for_each(|state| counts[usize::from(state.is_none())] += 1);
            for paces in [Paces::free(0), Paces::random(seed)] {
                run(&config, &w, &paces, seed)
                    .unwrap_or_else(|e| panic!("{}, seed {seed}, {paces:?}: {e}", config.name()));
            }
        }
    }
    counts
}

/// Every datapath that has a state, floats and integers, with a hold budget too.
#[test]
fn queries_begin_from_states_and_hand_theirs_out() {
    let mut counts = [0; 2];
    let mut seed = 0;
    for kind in KINDS {
        for (d, format) in [(4, Format::BF16), (5, Format::INT8), (3, Format::FP8_E4M3)] {
            for hold in [None, Some(Hold::Budget(9))] {
                let core = CoreConfig::with_datapath(kind.datapath, d, format);
                let core = CoreConfig { masks: true, partial: true, hold: hold.or(core.hold), ..core };
                if core.validate().is_err() {
                    continue;
                }
                seed += 1;
                let [from, without] = check(&core, seed);
                counts = [counts[0] + from, counts[1] + without];
            }
        }
    }
    assert!(seed >= 20 && counts[0] > 300 && counts[1] > 50, "{seed} cores, {counts:?} queries");
}

/// Vectors that are not alike, also with biases, masks and states.
#[test]
fn vectors_of_several_widths() {
    let (bf16, int8, e4m3) = (Format::BF16, Format::INT8, Format::FP8_E4M3);
    let flash_d = |d, format| CoreConfig::new(Design::FlashD, d, format);
    let fa2 = |d, format| CoreConfig::new(Design::Fa2, d, format);
    let mixed = |core: CoreConfig, k, v, o| {
        let q = core.format;
        core.with_formats(Formats { q, k, v, o })
    };
    let cores = [
        mixed(flash_d(6, bf16), e4m3, e4m3, bf16),
        mixed(fa2(5, bf16), int8, int8, bf16),
        mixed(flash_d(4, e4m3), e4m3, e4m3, Format::FP32),
        CoreConfig { d: 6, dv: Some(3), ..flash_d(6, bf16) },
        CoreConfig { scales: Some(Scale::Mx), ..flash_d(34, e4m3) },
        CoreConfig { scales: Some(Scale::Nvfp4), ..fa2(18, Format::FP4_E2M1) },
        CoreConfig { k_scales: Some(Scale::Row), v_scales: Some(Scale::RowE8m0), ..fa2(4, e4m3) },
        flash_d(8, Format::FP6_E3M2),
        flash_d(3, int8),
    ];
    for (i, core) in cores.into_iter().enumerate() {
        let seed = 100 + i as u64;
        check(&core, seed);
        check(&CoreConfig { bias: true, ..core.clone() }, seed);
        check(&CoreConfig { bias: true, masks: true, partial: core.d > 2, ..core }, seed);
    }
}

/// A source of states may pause as it likes.
#[test]
fn states_come_at_any_pace() {
    let core = CoreConfig { masks: true, partial: true, ..CoreConfig::new(Design::FlashD, 8, Format::BF16) };
    let config = WrapperConfig::new(ArrayConfig::new(core, 2));
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    // Drawn until there are two blocks of which the second begins from states.
    let w = (0..)
        .map(|round| streams(&config, round % 8, 30, &mut rng))
        .find(|w| w.blocks.iter().any(|block| block.states.iter().flatten().count() == 2))
        .unwrap();
    for pace in Pace::ALL {
        let paces = Paces { s: pace, ..Paces::free(0) };
        run(&config, &w, &paces, 1).unwrap_or_else(|e| panic!("{paces:?}: {e}"));
    }
}
