//! Hold rules with a budget: they keep an upper bound h of the held mass H, and hold keys while h stays below a constant.
//!
//! ```text
//! first key   h = 0
//! held        h <- h + e^x        allowed while  h + 2^c e^x <= beta
//! kept        h <- h (1 - w)      1 - w = 1 / (1 + e^x) = e^(L_old - L_new)
//! ```
//!
//! Both updates mirror H's recurrence, so `H <= h <= beta` after every key. The error is at most `2 max|v| beta / (1 + beta)` for any
//! scores and any number of keys. The reserve c limits one key to `2^-c` of the remaining budget, so that a few large keys leave room for
//! many small ones. The bound does not depend on c.

use super::hold::HoldRule;
use super::row::sigmoid;
use std::f64::consts::LOG2_E;

/// The budget that keeps the error below half an ulp of an accumulator with `fraction` fraction bits, for max|v| in [1/2, 1): `beta = 2^-(fraction + 2)`,
/// because `2 max|v| beta / (1 + beta) < 2 beta = 2^-(fraction + 1)`.
pub fn budget_of_fraction(fraction: u32) -> f64 {
    (-f64::from(budget_exponent(fraction))).exp2()
}

/// `-log2` of [`budget_of_fraction`].
fn budget_exponent(fraction: u32) -> u32 {
    fraction + 2
}

/// Rounds h up despite f64: exponential, product, sum and x are each off by a few ulps.
const ROUND_UP: f64 = 1.0 + 64.0 * f64::EPSILON;

/// The budget rule in real arithmetic.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    beta: f64,
    reserve: u32,
    decays: bool,
    h: f64,
}

impl Budget {
    /// The rule with budget `beta` and reserve c. Without `decays` a kept key leaves h unchanged.
    pub fn new(beta: f64, reserve: u32, decays: bool) -> Self {
        Budget { beta, reserve, decays, h: 0.0 }
    }
}

impl HoldRule for Budget {
    fn begin(&mut self, _: f64) {
        self.h = 0.0;
    }

    fn holds(&mut self, _: f64, x: f64) -> bool {
        let e = x.exp();
        let charge = e * ROUND_UP;
        // An exponential that underflowed costs nothing, but without a budget no key is held.
        let holds = self.beta > 0.0 && self.h + charge * f64::from(self.reserve).exp2() <= self.beta;
        if holds {
            // The comparison above used the sum before rounding up.
            self.h = ((self.h + charge) * ROUND_UP).min(self.beta);
        } else if self.decays {
            self.h = (self.h * sigmoid(-x) * ROUND_UP).min(self.h);
        }
        holds
    }

    fn lost_mass(&self, _: u64) -> f64 {
        self.beta
    }
}

/// How a kept key reduces h in [`CoarseBudget`], with `X = x log2(e)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoarseDecay {
    /// `X >= 0`: `h <- ceil(h / 2^max(1, floor X))`, as `1 - w < min(1/2, 2^-X)`. Otherwise
    /// `h <- h - floor(h / 2^(1 - floor X))`, as `w >= 2^X / 2`. One shifter and one subtraction.
    Shift,
    /// Only the case `X >= 0` of `Shift`: one shifter.
    Jump,
    /// h is never reduced.
    Never,
}

/// The budget rule as hardware has it: an integer register, and only the integer part of X.
///
/// With `beta = 2^-b` and R register bits, the unit of h is `2^-(b + R)`. A key is charged the power of two above its `e^x`, `2^(floor X + 1)`, and at least
/// one unit, so that h is always an upper bound of H. Up to `2^R` keys of negligible weight can be held.
#[derive(Clone, Copy, Debug)]
pub struct CoarseBudget {
    /// Exponent b of the budget.
    exponent: u32,
    reserve: u32,
    register: u32,
    decay: CoarseDecay,
    h: u64,
}

impl CoarseBudget {
    /// Widest register, in bits.
    pub const WIDEST: u32 = 40;

    /// The rule with the budget of [`budget_of_fraction`], reserve c and a register of `register` bits.
    ///
    /// # Panics
    /// If the register is wider than [`CoarseBudget::WIDEST`].
    pub fn new(fraction: u32, reserve: u32, register: u32, decay: CoarseDecay) -> Self {
        assert!(register <= Self::WIDEST, "a register of {register} bits is wider than {}", Self::WIDEST);
        CoarseBudget { exponent: budget_exponent(fraction), reserve, register, decay, h: 0 }
    }

    /// Cost of a key in units; `None` if it exceeds the budget's largest share.
    fn charge(&self, floor: f64) -> Option<u64> {
        let places = floor + 1.0 + f64::from(self.exponent + self.register);
        let allowed = f64::from(self.register) - f64::from(self.reserve);
        let charged = places.max(0.0);
        (charged <= allowed).then(|| 1 << charged as u32)
    }

    fn shrink(&mut self, floor: f64) {
        // A shift by 63 or more leaves 0.
        let places = |n: f64| n.min(63.0) as u32;
        match self.decay {
            CoarseDecay::Shift | CoarseDecay::Jump if floor >= 0.0 => {
                let places = places(floor.max(1.0));
                self.h = (self.h + (1 << places) - 1) >> places;
            }
            CoarseDecay::Shift => self.h -= self.h >> places(1.0 - floor),
            CoarseDecay::Jump | CoarseDecay::Never => {}
        }
    }
}

impl HoldRule for CoarseBudget {
    fn begin(&mut self, _: f64) {
        self.h = 0;
    }

    fn holds(&mut self, _: f64, x: f64) -> bool {
        let floor = (x * LOG2_E).floor();
        let charge =
            self.charge(floor).filter(|charge| self.h + (charge << self.reserve) <= 1 << self.register);
        match charge {
            Some(charge) => self.h += charge,
            None => self.shrink(floor),
        }
        charge.is_some()
    }

    fn lost_mass(&self, _: u64) -> f64 {
        (-f64::from(self.exponent)).exp2()
    }
}
