//! Hardware words: the trait over which all arithmetic is generic, and its implementation as numbers.
//!
//! Every function in [`crate::arith`] and every unit of the cores is generic over [`Word`]. With [`Num`] it
//! computes; with [`crate::netlist::Net`] it yields the Verilog of the same unit. Operators never extend or
//! truncate: operands of equal width give a result of that width, so the two readings cannot differ by an
//! implicit extension.

use flashd_spec::bits::signed;
pub(crate) use flashd_spec::bits::{bits_for, index_bits, ones};
use std::fmt::Debug;

/// An unsigned word of a fixed width of 1 to 64 bits; signed values are two's complement.
pub trait Word: Clone + Debug {
    /// The constant `value`, which must fit `width` bits.
    fn constant(width: u32, value: u64) -> Self;
    /// Width in bits.
    fn width(&self) -> u32;
    /// Names the wire that carries this word.
    #[must_use]
    fn named(self, name: &str) -> Self;

    /// [`Word::named`] with a name that is built only if it is needed: numbers ignore it.
    #[must_use]
    fn label(self, name: impl FnOnce() -> String) -> Self {
        self.named(&name())
    }

    /// Bitwise and, equal widths.
    fn and(&self, other: &Self) -> Self;
    /// Bitwise or, equal widths.
    fn or(&self, other: &Self) -> Self;
    /// Bitwise exclusive or, equal widths.
    fn xor(&self, other: &Self) -> Self;
    /// Bitwise complement.
    fn not(&self) -> Self;
    /// Sum modulo `2^width`, equal widths.
    fn add(&self, other: &Self) -> Self;
    /// Difference modulo `2^width`, equal widths.
    fn sub(&self, other: &Self) -> Self;
    /// Unsigned product; the result has the sum of the widths.
    fn mul(&self, other: &Self) -> Self;
    /// Logical shift left by a word; bits beyond the width are lost.
    fn shl(&self, amount: &Self) -> Self;
    /// Logical shift right by a word.
    fn shr(&self, amount: &Self) -> Self;
    /// Bits `low .. low + width`.
    fn slice(&self, low: u32, width: u32) -> Self;
    /// `{self, low}`: `self` above `low`.
    fn concat(&self, low: &Self) -> Self;
    /// Equality, 1 bit.
    fn eq(&self, other: &Self) -> Self;
    /// Unsigned less than, 1 bit.
    fn lt(&self, other: &Self) -> Self;
    /// Signed less than, 1 bit.
    fn slt(&self, other: &Self) -> Self;
    /// OR of all bits: 1 if the word is not zero.
    fn any(&self) -> Self;
    /// AND of all bits.
    fn all(&self) -> Self;
    /// `self ? then : otherwise`; `self` is 1 bit wide.
    fn select(&self, then: &Self, otherwise: &Self) -> Self;
    /// `entries[self]`, each of `width` bits; an index beyond the end gives the last entry.
    fn lookup(&self, entries: &[u64], width: u32) -> Self;

    /// Bit `index`.
    fn bit(&self, index: u32) -> Self {
        self.slice(index, 1)
    }
    /// The most significant bit: the sign of a two's complement word.
    fn msb(&self) -> Self {
        self.bit(self.width() - 1)
    }
    /// The `count` most significant bits.
    fn top(&self, count: u32) -> Self {
        self.slice(self.width() - count, count)
    }
    /// All zeros.
    fn zero(width: u32) -> Self {
        Self::constant(width, 0)
    }
    /// Zero extension to `width` bits.
    fn zext(&self, width: u32) -> Self {
        match width - self.width() {
            0 => self.clone(),
            n => Self::zero(n).concat(self),
        }
    }
    /// Sign extension to `width` bits.
    fn sext(&self, width: u32) -> Self {
        match width - self.width() {
            0 => self.clone(),
            n => self.msb().repeat(n).concat(self),
        }
    }
    /// `{count{self}}`; `self` is 1 bit wide.
    fn repeat(&self, count: u32) -> Self {
        self.select(&Self::constant(count, ones(count)), &Self::zero(count))
    }
    /// Appends `count` zeros below: multiplication by `2^count`.
    fn append_zeros(&self, count: u32) -> Self {
        match count {
            0 => self.clone(),
            n => self.concat(&Self::zero(n)),
        }
    }
    /// Drops the `count` low bits.
    fn drop_low(&self, count: u32) -> Self {
        self.slice(count, self.width() - count)
    }
    /// Set if a bit above the `count` low ones is high.
    fn any_above(&self, count: u32) -> Self {
        match self.width() - count {
            0 => Self::zero(1),
            rest => self.slice(count, rest).any(),
        }
    }
    /// Set if the word, unsigned, is at least `limit`.
    fn at_least(&self, limit: u64) -> Self {
        if limit > ones(self.width()) {
            return Self::zero(1);
        }
        self.lt(&Self::constant(self.width(), limit)).not()
    }
    /// `-self` modulo `2^width`.
    fn negate(&self) -> Self {
        Self::zero(self.width()).sub(self)
    }

    /// Logical shift right; all bits that are shifted out are ORed into bit 0, the sticky bit.
    fn shift_right_sticky(&self, amount: &Self) -> Self {
        let n = self.width();
        let mut x = self.clone();
        let stages = (0..amount.width().min(63)).take_while(|i| (1u64 << i) < u64::from(n)).count() as u32;
        for i in 0..stages {
            let step = 1 << i;
            let lost = x.slice(0, step + 1).any();
            let moved = x.drop_low(step);
            let moved = match n - step {
                1 => lost,
                _ => moved.drop_low(1).concat(&lost),
            };
            x = amount.bit(i).select(&moved.zext(n), &x).label(|| format!("right_by_{step}"));
        }
        let beyond = (stages < amount.width()).then(|| amount.drop_low(stages).any());
        match beyond {
            None => x,
            Some(b) => b.select(&self.any().zext(n), &x),
        }
    }

    /// Shifts left until the most significant bit is set. Returns the shifted word and the number of leading
    /// zeros. For zero the shifted word is zero and the count all ones.
    fn normalise(&self) -> (Self, Self) {
        self.normalise_by(all_stages(self.width()), None, None)
    }

    /// [`Word::normalise`] in `stages` stages, by at most `room`, with `fill` shifted in: see [`crate::arith::normalise`].
    fn normalise_by(&self, stages: u32, room: Option<&Self>, fill: Option<&Self>) -> (Self, Self) {
        normalise_stages(self, stages, room, fill)
    }
}

/// A word as a number, for simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Num {
    value: u64,
    width: u32,
}

impl Num {
    /// `value` as a word of `width` bits.
    #[inline]
    pub fn new(width: u32, value: u64) -> Num {
        debug_assert!((1..=64).contains(&width) && value <= ones(width), "{value:#x} in {width} bits");
        Num { value, width }
    }

    /// The unsigned value.
    #[inline]
    pub fn value(self) -> u64 {
        self.value
    }

    #[inline]
    fn cut(width: u32, value: u64) -> Num {
        // The shift is below 64 because a width is at least 1.
        Num { value: value & u64::MAX >> (64 - width), width }
    }

    #[inline]
    fn same(self, other: Num) {
        debug_assert_eq!(self.width, other.width, "operands of different widths");
    }
}

impl Word for Num {
    #[inline]
    fn constant(width: u32, value: u64) -> Num {
        Num::new(width, value)
    }
    #[inline]
    fn width(&self) -> u32 {
        self.width
    }
    #[inline]
    fn named(self, _name: &str) -> Num {
        self
    }
    #[inline]
    fn label(self, _name: impl FnOnce() -> String) -> Num {
        self
    }
    #[inline]
    fn and(&self, other: &Num) -> Num {
        self.same(*other);
        Num { value: self.value & other.value, ..*self }
    }
    #[inline]
    fn or(&self, other: &Num) -> Num {
        self.same(*other);
        Num { value: self.value | other.value, ..*self }
    }
    #[inline]
    fn xor(&self, other: &Num) -> Num {
        self.same(*other);
        Num { value: self.value ^ other.value, ..*self }
    }
    #[inline]
    fn not(&self) -> Num {
        Num::cut(self.width, !self.value)
    }
    #[inline]
    fn add(&self, other: &Num) -> Num {
        self.same(*other);
        Num::cut(self.width, self.value.wrapping_add(other.value))
    }
    #[inline]
    fn sub(&self, other: &Num) -> Num {
        self.same(*other);
        Num::cut(self.width, self.value.wrapping_sub(other.value))
    }
    #[inline]
    fn mul(&self, other: &Num) -> Num {
        Num::new(self.width + other.width, self.value * other.value)
    }
    #[inline]
    fn shl(&self, amount: &Num) -> Num {
        let shifted = if amount.value < 64 { self.value << amount.value } else { 0 };
        Num::cut(self.width, shifted)
    }
    #[inline]
    fn shr(&self, amount: &Num) -> Num {
        let value = if amount.value < 64 { self.value >> amount.value } else { 0 };
        Num { value, ..*self }
    }
    #[inline]
    fn slice(&self, low: u32, width: u32) -> Num {
        debug_assert!(width >= 1 && low + width <= self.width, "[{low} +: {width}] of {} bits", self.width);
        Num::cut(width, self.value >> low)
    }
    #[inline]
    fn concat(&self, low: &Num) -> Num {
        Num::new(self.width + low.width, self.value << low.width | low.value)
    }
    #[inline]
    fn eq(&self, other: &Num) -> Num {
        self.same(*other);
        Num::new(1, (self.value == other.value) as u64)
    }
    #[inline]
    fn lt(&self, other: &Num) -> Num {
        self.same(*other);
        Num::new(1, (self.value < other.value) as u64)
    }
    #[inline]
    fn slt(&self, other: &Num) -> Num {
        self.same(*other);
        Num::new(1, (signed(self.value, self.width) < signed(other.value, self.width)) as u64)
    }
    #[inline]
    fn any(&self) -> Num {
        Num::new(1, (self.value != 0) as u64)
    }
    #[inline]
    fn all(&self) -> Num {
        Num::new(1, (self.value == ones(self.width)) as u64)
    }
    #[inline]
    fn select(&self, then: &Num, otherwise: &Num) -> Num {
        then.same(*otherwise);
        debug_assert_eq!(self.width, 1);
        if self.value != 0 { *then } else { *otherwise }
    }
    #[inline]
    fn lookup(&self, entries: &[u64], width: u32) -> Num {
        Num::new(width, entries[(self.value as usize).min(entries.len() - 1)])
    }
    #[inline]
    fn shift_right_sticky(&self, amount: &Num) -> Num {
        let value = if amount.value >= self.width as u64 {
            (self.value != 0) as u64
        } else {
            let kept = self.value >> amount.value;
            kept | (kept << amount.value != self.value) as u64
        };
        Num { value, ..*self }
    }
    #[inline]
    fn normalise_by(&self, stages: u32, room: Option<&Num>, fill: Option<&Num>) -> (Num, Num) {
        let fill = fill.is_some_and(|fill| fill.value != 0);
        // A zero word shifts through all stages, unless ones are shifted in: then it stops at the first.
        let zeros = match self.value {
            0 if !fill => u64::MAX,
            value => u64::from(value.leading_zeros() - (64 - self.width)),
        };
        let most = (1 << stages) - 1;
        let count = zeros.min(most).min(room.map_or(u64::MAX, |room| room.value));
        let shifted = if count < 64 { self.value << count } else { 0 };
        let filled = if fill { ones(count as u32) } else { 0 };
        (Num::cut(self.width, shifted | filled), Num::new(stages.max(1), count))
    }
}

/// The stages needed to shift any bit of a word to the top: ceil(log2(width)).
pub fn all_stages(width: u32) -> u32 {
    32 - (width - 1).leading_zeros()
}

/// Shifts left by descending powers of two, from `2^(stages - 1)`, each only if no 1 is lost and the sum stays within
/// `room`. `fill` is shifted in, or zeros without it. Returns the shifted word and the shift.
fn normalise_stages<W: Word>(x: &W, stages: u32, room: Option<&W>, fill: Option<&W>) -> (W, W) {
    let n = x.width();
    let within = room.map_or(0, |room| stages.min(room.width()));
    let mut unlimited = match room {
        Some(room) if room.width() > within => room.drop_low(within).any().named("room_beyond_all"),
        _ => W::zero(1),
    };
    let mut shifted = x.clone();
    let mut count: Option<W> = None;
    for i in (0..stages).rev() {
        let step = 1 << i;
        let empty = shifted.top(step.min(n)).any().not();
        let taken = match room {
            None => empty.label(|| format!("top_{step}_empty")),
            Some(room) => {
                let enough = if i < within { room.bit(i) } else { W::zero(1) };
                let taken = empty.and(&unlimited.or(&enough)).label(|| format!("take_{step}"));
                // Room for `step` that is not taken is room for all smaller steps together.
                unlimited = unlimited.or(&enough.and(&taken.not())).label(|| format!("room_beyond_{step}"));
                taken
            }
        };
        let kept = shifted.slice(0, n - step);
        let moved = match fill {
            None => kept.append_zeros(step),
            Some(fill) => kept.concat(&fill.repeat(step)),
        };
        shifted = taken.select(&moved, &shifted).label(|| format!("left_by_{step}"));
        count = Some(match count {
            None => taken,
            Some(c) => c.concat(&taken),
        });
    }
    (shifted, count.unwrap_or_else(|| W::zero(1)))
}
