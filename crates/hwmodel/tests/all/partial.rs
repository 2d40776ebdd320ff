//! FLASH-D's weight unit continues from a log-sum-exp as if it had never stopped: for all states at the smallest
//! widths, with some scores and tails, and for samples at the default widths.

use flashd_hwmodel::attention::partial::{LogSumExpFunction, LseRestoreFunction};
use flashd_hwmodel::flash_d::lse_step::{ScoreDifferenceFunction, ScoreStepFunction};
use flashd_hwmodel::rtl::Function;
use flashd_hwmodel::word::Num;
use flashd_spec::bits::{ones, signed};
use flashd_spec::config::{CoreConfig, Design, Hold};
use flashd_spec::format::Format;
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

/// The units around the state, without the tables: a test gives the tail, the table's term, as any number.
struct Units {
    n: Arc<Numerics>,
    step: ScoreStepFunction,
    difference: ScoreDifferenceFunction,
    sum: LogSumExpFunction,
    restore: LseRestoreFunction,
}

impl Units {
    fn new(score: (u32, u32), state_fraction: u32) -> Self {
        let config = CoreConfig {
            score_integer_bits: score.0,
            score_fraction_bits: Some(score.1),
            state_fraction_bits: Some(state_fraction),
            hold: Some(Hold::None),
            ..CoreConfig::new(Design::FlashD, 16, Format::FP8_E4M3)
        };
        config.validate().expect("a valid configuration");
        let n = Arc::new(Numerics::new(&config));
        Units {
            step: ScoreStepFunction { numerics: n.clone() },
            difference: ScoreDifferenceFunction { numerics: n.clone() },
            sum: LogSumExpFunction { numerics: n.clone() },
            restore: LseRestoreFunction { numerics: n.clone() },
            n,
        }
    }

    /// The x of score `s` after the state `(previous, x)`, to which `tail` is added if it `grows`.
    fn next(&self, previous: u64, x: u64, tail: u64, grows: bool, s: u64) -> u64 {
        let n = &self.n;
        let bit = |b: bool| Num::new(1, b.into());
        let [base] = self.step.eval([
            Num::new(n.score_bits(), s),
            Num::new(n.score_bits(), previous),
            Num::new(n.state_bits() + 1, x),
            bit(false),
        ]);
        let tail = Num::new(n.state_fraction + 2, tail);
        let [next] = self.difference.eval([base, tail, bit(grows), bit(false)]);
        next.value()
    }

    /// The same x, through the saved and restored log-sum-exp.
    fn next_restored(&self, previous: u64, x: u64, tail: u64, grows: bool, s: u64) -> u64 {
        let n = &self.n;
        let bit = |b: bool| Num::new(1, b.into());
        let wide = n.state_bits() + 1;
        let score = Num::new(n.score_bits(), previous);
        let tail_word = Num::new(n.state_fraction + 2, tail);
        let [lse] = self.sum.eval([score, Num::new(wide, x), tail_word, bit(grows)]);
        // The restore replaces whatever the loop holds.
        let other = [Num::new(wide, x ^ ones(wide)), Num::new(n.score_bits(), s)];
        let [x, previous] = self.restore.eval([other[0], other[1], lse, bit(true)]);
        // A restore is like a first step: nothing grows after it.
        self.next(previous.value(), x.value(), tail, false, s)
    }

    /// Whether a state can have this L: it is not below the smallest score, and fits its width.
    fn possible(&self, previous: u64, x: u64) -> bool {
        let n = &self.n;
        let (score, wide) = (n.score_bits(), n.state_bits() + 1);
        let l = (signed(previous, score) << (n.state_fraction - n.score_fraction)) - signed(x, wide);
        let least = -(1i64 << (n.score_integer + n.state_fraction));
        (least..=-2 * least - 2 * (1 << n.state_fraction)).contains(&l)
    }
}

#[test]
fn exhaustively_at_the_smallest_widths() {
    let units = Units::new((5, 2), 2);
    let n = units.n.clone();
    let mut states = 0u64;
    // x is linear in the score, so the extremes and some scores between them are enough.
    let scores = [0, 1, 0x35, 0x7f, 0x80, 0x81, 0xc7, 0xff];
    for previous in 0..1 << n.score_bits() {
        for x in 0..1 << (n.state_bits() + 1) {
            if !units.possible(previous, x) {
                continue;
            }
            states += 1;
            for (tail, grows) in
                [(0, false), (1, true), (2, true), (3, true), (5, true), (8, true), (8, false)]
            {
                let s = scores[(states % 8) as usize];
                assert_eq!(
                    units.next_restored(previous, x, tail, grows, s),
                    units.next(previous, x, tail, grows, s),
                    "previous {previous:#x}, x {x:#x}, tail {tail}, grows {grows}, s {s:#x}"
                );
            }
        }
    }
    assert!(states > 50_000, "{states} states");
}

#[test]
fn samples_at_the_default_widths() {
    let units = Units::new((9, 10), 18);
    let n = units.n.clone();
    let mut seed = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = |bits: u32| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 20) & ones(bits)
    };
    let mut states = 0;
    while states < 100_000 {
        let (previous, x) = (random(n.score_bits()), random(n.state_bits() + 1));
        if !units.possible(previous, x) {
            continue;
        }
        states += 1;
        let (tail, grows, s) = (random(n.state_fraction + 1), random(1) == 1, random(n.score_bits()));
        assert_eq!(units.next_restored(previous, x, tail, grows, s), units.next(previous, x, tail, grows, s));
    }
}
