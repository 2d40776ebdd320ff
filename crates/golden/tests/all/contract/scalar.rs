//! The scalar units' contract in wide integers, written directly from its formulas.

use super::integers::{floor_and_bit, look_up, round_down, round_half_up, significand};
use super::scales::operands;
use crate::common::Dyadic;
use flashd_spec::config::{CoreConfig, Design, Fa2Variant, Hold, Update};
use flashd_spec::numerics::{BIAS, LOG2E, LOG2E_FRACTION, Numerics};

/// Action of a step in the lanes.
#[derive(Clone, Copy, Debug)]
pub enum Lane {
    Hold,
    /// FLASH-D, with a factor rounded to the format, as an encoding.
    Rounded {
        u: u64,
        upper: bool,
    },
    /// FLASH-D, with a factor `m 2^-(WM-1) 2^-right`, at `x = s - L`.
    Blend {
        m: i128,
        right: i128,
        upper: bool,
        x: i128,
    },
    /// FA2: `o + v e` or, `moved`, `o e + v`, with `e = m 2^-shift`.
    Scale {
        m: i128,
        shift: i128,
        moved: bool,
    },
    /// FA2 in fixed point.
    Sum {
        m: i128,
        right: i128,
        delta: i128,
    },
}

/// A step as recorded, without the action, which follows from `lane`.
#[derive(Debug)]
pub struct Outcome {
    pub s: i128,
    pub x: i128,
    pub w: i128,
    pub upper: bool,
    pub lane: Lane,
    pub overflow: bool,
}

/// The scalar part of a query.
pub struct Scalar<'a> {
    pub config: &'a CoreConfig,
    pub n: &'a Numerics,
    /// Log-sum-exp, maximum, or the reference's exponent.
    reference: Option<i128>,
    pub l: i128,
    /// The remaining budget of the hold rule, `room 2^-R` of the whole.
    room: i128,
    /// A score has saturated.
    pub saturated: bool,
}

/// A number within limits, and whether it was beyond.
pub(super) fn within(x: i128, limit: i128) -> (i128, bool) {
    (x.clamp(-limit, limit), x.abs() > limit)
}

impl<'a> Scalar<'a> {
    pub fn new(config: &'a CoreConfig, n: &'a Numerics) -> Self {
        Scalar { config, n, reference: None, l: 0, room: 0, saturated: false }
    }

    pub(super) fn score_fraction(&self) -> u32 {
        self.n.score_fraction
    }

    /// The natural score, and whether it saturates.
    fn natural(&self, q: &[u64], k: &[u64]) -> (i128, bool) {
        let n = self.n;
        let (formats, fraction) = (n.formats, n.natural_fraction() as i32);
        let limit = (1i128 << (n.score_integer as i32 + fraction)) - 1;
        let pairs = || q.iter().zip(k).map(|(&q, &k)| Dyadic::of(formats.q, q).mul(Dyadic::of(formats.k, k)));
        let guard = n.dot_guard as i32;
        let width = n.term_bits() as i32 - 1;
        let shift = n.score_shift + fraction + guard;
        let biases = formats.q.bias + formats.k.bias;
        let fractions = (formats.q.fraction_bits + formats.k.fraction_bits) as i32;
        // The largest sum of fields whose product, below 4, can be placed in the term and its spare bits.
        let top = width + n.term_spare() as i32 - 2 + biases - shift;
        let (mut total, mut large) = (0, false);
        for Dyadic { mantissa, exponent } in pairs() {
            if mantissa == 0 {
                continue;
            }
            let excess = (exponent + biases + fractions - top).max(0);
            let (mut m, g) = floor_and_bit(mantissa.abs(), exponent + shift - excess);
            if m >= 1 << width || excess > 0 {
                m = (m % (1 << width)) | (1 << (width - 1));
                large = true;
            }
            total += mantissa.signum() * (m + g);
        }
        let natural = round_half_up(total, guard);
        match large {
            true if natural < 0 => (-limit, true),
            true => (limit, true),
            false => within(natural, limit),
        }
    }

    fn score(&self, natural: i128) -> (i128, bool) {
        let places = (LOG2E_FRACTION + self.n.natural_fraction() - self.score_fraction()) as i32;
        let limit = (1i128 << (self.n.score_integer + self.score_fraction())) - 1;
        within(round_half_up(natural * i128::from(LOG2E), places), limit)
    }

    /// Octave k and offset f of a magnitude with `fraction` fraction bits.
    fn argument(&self, magnitude: i128, fraction: u32) -> (u64, u64) {
        let b = self.n.exp.value_fraction;
        let largest = (1i128 << self.n.octave_argument_bits()) - 1;
        let t = round_half_up(magnitude, fraction as i32 - b as i32).min(largest) as u64;
        (t >> b, t & ((1 << b) - 1))
    }

    /// Octave and offset of FLASH-D's argument, which is truncated; a negative x counts as `-1 - x`.
    fn cut_argument(&self, x: i128, fraction: u32) -> (u64, u64) {
        let b = self.n.exp.value_fraction;
        let largest = (1i128 << self.n.octave_argument_bits()) - 1;
        let t = round_down(x.max(-1 - x), b as i32 - fraction as i32).min(largest) as u64;
        (t >> b, t & ((1 << b) - 1))
    }

    /// `bias log2(e)` in units of the score's last place, rounded half away from zero.
    fn bias(&self, bits: u64) -> i128 {
        let Dyadic { mantissa, exponent } = Dyadic::of(BIAS, bits);
        let places = exponent + self.score_fraction() as i32 - LOG2E_FRACTION as i32;
        let (floor, half) = floor_and_bit(mantissa.abs() * i128::from(LOG2E), places.min(60));
        mantissa.signum() * (floor + half)
    }

    pub fn step(&mut self, q: &[u64], k: &[u64], bias: Option<u64>) -> Outcome {
        let [of_q, of_k, _] = operands(self.config);
        let natural = || self.natural(&of_q.products(q), &of_k.products(k));
        let (s, saturated) = if self.n.is_exact() {
            self.exact_score(q, k)
        } else {
            let (natural, beyond) = natural();
            let (s, also) = match self.n.has_significands() {
                true => self.multiplied_score(natural, q, k),
                false => self.score(natural),
            };
            (s, beyond || also)
        };
        let limit = (1i128 << (self.n.score_integer + self.score_fraction())) - 1;
        // The bias saturates before it is added, and so does the score.
        let (bias, of_bias) = within(bias.map_or(0, |bits| self.bias(bits)), limit);
        let (s, of_sum) = within(s + bias, limit);
        self.saturated |= saturated || of_bias || of_sum;
        match (self.config.design(), self.config.fa2()) {
            (Design::FlashD, _) => self.flash_d(s),
            (_, Some(Fa2Variant::LogReference)) => self.log_reference(s),
            (_, Some(Fa2Variant::SharedLogReference | Fa2Variant::Ranged)) => self.shared_log_reference(s),
            _ => self.fa2(s),
        }
    }

    fn holds(&self, distance: i128, fraction: u32) -> bool {
        let align = fraction - self.score_fraction();
        self.n.hold_threshold.is_some_and(|t| distance <= -((t as i128) << align))
    }

    /// The hold rule with a budget, computed from the remaining instead of the spent budget.
    fn budget_holds(&mut self, x: i128) -> bool {
        let Hold::Budget(fraction) = self.config.hold() else {
            return false;
        };
        // b, R and c of the documentation.
        let (b, register, reserve) = (i128::from(fraction) + 2, 16, 2);
        let all = 1i128 << register;
        let floor = x.div_euclid(1 << self.n.state_fraction);
        let charge = (floor + 1 + b + register).max(0);
        if self.room > 0 && charge + reserve <= i128::from(self.room.ilog2()) {
            self.room -= 1 << charge;
            return true;
        }
        self.room = match floor {
            // Far below L nothing comes back, far above it all but a unit.
            ..0 => self.room + (all - self.room).div_euclid(1 << (1 - floor).min(100)),
            _ => all + (self.room - all).div_euclid(1 << floor.clamp(1, 100)),
        };
        false
    }

    fn held(s: i128, x: i128) -> Outcome {
        Outcome { s, x, w: 0, upper: false, lane: Lane::Hold, overflow: false }
    }

    /// Significand bits of the more precise one of v and o.
    fn precision(&self) -> u32 {
        self.n.formats.v.precision().max(self.n.formats.o.precision())
    }

    /// Significand bits of a float lane's weight: by default the larger number of v's and o's.
    pub fn weight_bits(&self) -> u32 {
        self.config.weight_bits.unwrap_or(self.precision())
    }

    /// Significand bits of FA2's shared factor, which is also the reciprocal.
    pub fn shared_bits(&self) -> u32 {
        self.config.weight_bits.unwrap_or(0).max(self.precision() + 3)
    }

    fn flash_d(&mut self, s: i128) -> Outcome {
        let (n, b) = (self.n, self.n.exp.value_fraction);
        let fraction = n.state_fraction;
        let score = s << (fraction - self.score_fraction());
        let wm = match self.config.update() {
            Some(Update::Fixed | Update::Ranged) => self.config.lane_bits().w,
            _ => self.weight_bits(),
        };
        let rounded = self.config.update() == Some(Update::Rounded);
        let Some(l) = self.reference else {
            self.reference = Some(score);
            self.room = 1 << 16;
            let lane = match rounded {
                true => Lane::Rounded { u: 0, upper: true },
                false => Lane::Blend { m: 0, right: 0, upper: true, x: 0 },
            };
            return Outcome { s, x: 0, w: 0, upper: false, lane, overflow: false };
        };
        let x = score - l;
        if self.holds(x, fraction) || self.budget_holds(x) {
            return Self::held(s, x);
        }
        let (k, f) = self.cut_argument(x, fraction);
        let aligned = round_down(look_up(&n.exp.log2p1, k, f), fraction as i32 - b as i32 + 1);
        let tail = round_half_up(aligned >> k.min(100), 1);
        self.reference = Some(score.max(l) + tail);
        let value = look_up(&n.exp.sigmoid, k, f);
        let upper = x >= 0;
        if rounded {
            let u = Dyadic { mantissa: value, exponent: -((b as i32) + k as i32) }.round(n.weight);
            return Outcome { s, x, w: u.into(), upper, lane: Lane::Rounded { u, upper }, overflow: false };
        }
        let (m, right) = significand(value, b + 1, k.into(), wm);
        let lane = Lane::Blend { m, right, upper, x };
        Outcome { s, x, w: right << wm | m, upper, lane, overflow: false }
    }

    fn fa2(&mut self, s: i128) -> Outcome {
        let (n, b, format) = (self.n, self.n.exp.value_fraction, self.n.weight);
        let shared = self.config.fa2() == Some(Fa2Variant::SharedScale);
        let wm = self.shared_bits();
        let one = 1i128 << n.state_fraction;
        let Some(m_old) = self.reference else {
            (self.reference, self.l) = (Some(s), one);
            let w = if shared { 1 << (wm - 1) } else { format.one().into() };
            let lane = Lane::Scale { m: 0, shift: 0, moved: true };
            return Outcome { s, x: 0, w, upper: false, lane, overflow: false };
        };
        let x = s - m_old;
        if self.holds(x, self.score_fraction()) {
            return Self::held(s, x);
        }
        let moved = s > m_old;
        self.reference = Some(s.max(m_old));
        let (k, f) = self.argument(x.abs(), self.score_fraction());
        let value = look_up(&n.exp.exp, 0, f);
        let (m, shift, w) = if shared {
            let (m, right) = significand(value, b + 1, k.into(), wm);
            (m, i128::from(wm) - 1 + right, right << wm | m)
        } else {
            let e = Dyadic { mantissa: value, exponent: -((b as i32) + k as i32) }.round(format);
            let Dyadic { mantissa, exponent } = Dyadic::of(format, e);
            (mantissa, -i128::from(exponent), e.into())
        };
        let times = |l: i128| round_half_up(l * m, shift as i32);
        let l = if moved { times(self.l) + one } else { self.l + times(one) };
        self.l = l.min((1 << n.sum_bits()) - 1);
        Outcome { s, x, w, upper: moved, lane: Lane::Scale { m, shift, moved }, overflow: false }
    }

    fn log_reference(&mut self, s: i128) -> Outcome {
        let (n, fs) = (self.n, self.score_fraction());
        let first = self.reference.is_none();
        let old = self.reference.unwrap_or(s >> fs);
        let x = s - (old << fs);
        if !first && self.holds(x, fs) {
            return Self::held(s, x);
        }
        let jump = ((s >> fs) - old).max(0);
        let (k, f) = self.argument(((old + jump + 1) << fs) - s, fs);
        let wm = self.config.lane_bits().w;
        let (m, right) = significand(look_up(&n.exp.exp, 0, f), n.exp.value_fraction + 1, k.into(), wm);
        let addend = round_half_up(m << n.state_fraction, (i128::from(wm) - 2 + right) as i32);
        let sum = (self.l >> jump.min(100)) + addend;
        let carry = i128::from(sum >= 1 << (n.state_fraction + 1));
        self.l = sum >> carry;
        let (delta, right) = (jump + carry, right + carry);
        self.reference = Some(old + delta);
        Outcome {
            s,
            x: if first { 0 } else { x },
            w: right << wm | m,
            upper: delta > 0 && !first,
            lane: Lane::Sum { m, right, delta },
            overflow: false,
        }
    }

    /// Significand bits of the factor of FA2's fixed-point lanes.
    pub fn lane_factor_bits(&self) -> u32 {
        let asked = self.config.lane_bits().w;
        let shared = matches!(self.config.fa2(), Some(Fa2Variant::SharedLogReference | Fa2Variant::Ranged));
        if shared { asked.max(self.precision() + 2) } else { asked }
    }

    fn shared_log_reference(&mut self, s: i128) -> Outcome {
        let (n, fs, wm) = (self.n, self.score_fraction(), self.lane_factor_bits());
        let first = self.reference.is_none();
        let old = self.reference.unwrap_or(s);
        let x = s - old;
        if !first && self.holds(x, fs) {
            return Self::held(s, x);
        }
        // The jump of the reference: x rounded up to whole octaves, at least 0.
        let jump = -((-x).min(0) >> fs);
        let (k, f) = self.argument((jump << fs) - x, fs);
        let (m, right) = significand(look_up(&n.exp.exp, 0, f), n.exp.value_fraction + 1, k.into(), wm);
        let sum =
            (self.l >> jump.min(100)) + round_half_up(m << n.state_fraction, wm as i32 - 1 + right as i32);
        let carry = i128::from(sum >> (n.state_fraction + 1) != 0);
        self.l = sum >> carry;
        let (delta, right) = (jump + carry, right + carry);
        self.reference = Some(old + (delta << fs));
        let w = right << wm | m;
        assert!(!first || w == 1 << (wm - 1), "the exponential of a first key is one");
        Outcome { s, x, w, upper: delta > 0, lane: Lane::Sum { m, right, delta }, overflow: false }
    }

    /// `r` (VR fraction bits) and `top - FL`, with `1/l = r 2^-VR 2^-(top - FL)`.
    pub fn reciprocal(&self) -> (i128, i32) {
        let n = &self.n.reciprocal;
        let bits = n.table.value_fraction;
        let top = self.l.ilog2();
        let m = if top <= bits { self.l << (bits - top) } else { self.l >> (top - bits) };
        let mut r = look_up(&n.table, 0, (m - (1 << bits)) as u64);
        for _ in 0..n.newton_steps {
            let correction = (2i128 << bits) - ((m * r) >> bits);
            r = round_half_up(r * correction, bits as i32).min(1 << bits);
        }
        (r, top as i32 - self.n.state_fraction as i32)
    }
}
