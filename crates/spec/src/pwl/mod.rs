//! Piecewise-linear tables: the coefficients that the hardware holds, fitted by the project itself.
//!
//! A table maps an entry index and an offset `dx` inside the entry to `y = c0[entry] -/+ floor(c1[entry] * dx / 2^slope_fraction)`, all integers. Entries start
//! at breakpoints that hardware decodes for free: the octave (integer part of `|x| / ln 2`) and the top bits of the fraction.
//!
//! | function | argument of an entry | value |
//! | --- | --- | --- |
//! | exp | `f` in [0, 1) | `2^-f` |
//! | sigmoid | octave k, `f` in [0, 1) | `2^k sigmoid(-(k + f) ln 2) = 2^-f / (1 + 2^-(k+f))` |
//! | softplus | octave k, `f` in [0, 1) | `2^k ln(1 + 2^-(k+f))` |
//! | log2p1 | octave k, `f` in [0, 1) | `2^k log2(1 + 2^-(k+f))`, softplus in base 2 |
//! | ln | `m - 1` in [0, 1) | `ln m` |
//! | reciprocal | `m - 1` in [0, 1) | `1 / m` |
//! | sigmoid over [-6, 11) | `x + 6` in [0, 17) | `sigmoid(x)`, the paper's active range |
//!
//! Exp, sigmoid and softplus are tabulated per octave of `e^-|x|` and then shifted, so their *relative* error is bounded arbitrarily far into the tail.

mod fit;
pub mod softcap;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

/// Fraction bits of the constant `log2(e)` that converts a natural score to base 2. The relative error, 4.6e-7, changes a score of 20,000 by 0.01. With 14 bits it
/// would be ten times as large; the three more bits add a single 1 to the constant, which is one more addend of the multiplier.
pub const LOG2E_FRACTION: u32 = 17;
/// `log2(e)` with [`LOG2E_FRACTION`] fraction bits.
pub const LOG2E: u64 = 189_097;

/// The tabulated functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    /// `2^-f` on [0, 1).
    Exp,
    /// `2^-f / (1 + 2^-(k+f))` per octave k.
    Sigmoid,
    /// `2^k ln(1 + 2^-(k+f))` per octave k.
    Softplus,
    /// `2^k log2(1 + 2^-(k+f))` per octave k.
    Log2p1,
    /// `ln m` on [1, 2).
    Ln,
    /// `1 / m` on [1, 2).
    Reciprocal,
    /// `sigmoid(x)` on [-6, 11), breakpoints placed for the least maximum error.
    PaperSigmoid,
}

impl Function {
    /// All functions, in the order in which users see them.
    pub const ALL: [Function; 7] = [
        Function::Exp,
        Function::Sigmoid,
        Function::Softplus,
        Function::Log2p1,
        Function::Ln,
        Function::Reciprocal,
        Function::PaperSigmoid,
    ];

    /// Its name in module names.
    pub fn name(self) -> &'static str {
        match self {
            Function::Exp => "exp",
            Function::Sigmoid => "sigmoid",
            Function::Softplus => "softplus",
            Function::Log2p1 => "log2p1",
            Function::Ln => "ln",
            Function::Reciprocal => "reciprocal",
            Function::PaperSigmoid => "paper_sigmoid",
        }
    }

    /// The exact value at octave k and offset z; see the table in the module documentation.
    pub fn exact(self, k: u32, z: f64) -> f64 {
        let e = |z: f64| (-(z + k as f64)).exp2();
        match self {
            Function::Exp => (-z).exp2(),
            Function::Sigmoid => (-z).exp2() / (1.0 + e(z)),
            Function::Softplus => e(z).ln_1p() * (k as f64).exp2(),
            Function::Log2p1 => e(z).ln_1p() * (k as f64).exp2() * std::f64::consts::LOG2_E,
            Function::Ln => z.ln_1p(),
            Function::Reciprocal => 1.0 / (1.0 + z),
            Function::PaperSigmoid => 1.0 / (1.0 + (-(z - 6.0)).exp()),
        }
    }

    /// Upper bound of the tabulated values.
    pub fn largest(self) -> f64 {
        match self {
            // log2(1 + x) <= x log2(e)
            Function::Log2p1 => std::f64::consts::LOG2_E,
            _ => 1.0,
        }
    }

    /// Set if the value falls as the offset grows.
    pub fn decreasing(self) -> bool {
        !matches!(self, Function::Ln | Function::PaperSigmoid)
    }

    /// Number of octaves with separate entries. The last octave's entries serve all later ones, with an error below the segments'.
    pub fn octaves(self, segments: u32) -> u32 {
        match self {
            Function::Sigmoid | Function::Softplus | Function::Log2p1 => 2 * segments.ilog2() + 4,
            _ => 1,
        }
    }
}

/// Fraction bits of the values of a table with `segments` segments: four guard bits below the fit's own error of about `2^-(2 log2(segments) + 4)`.
pub const fn value_fraction(segments: u32) -> u32 {
    2 * segments.ilog2() + 8
}

/// A fitted table, immutable and shared: [`Table::get`] fits each one once.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The tabulated function.
    pub function: Function,
    /// Linear pieces, per octave.
    pub segments: u32,
    /// Octaves with separate entries; entry = `octave * cells + cell`.
    pub octaves: u32,
    /// Cells per octave, indexed by the top bits of the offset. Equal to `segments`, except in the paper's sigmoid, where neighbouring cells share a segment's
    /// slope.
    pub cells: u32,
    /// Bits of the offset inside a cell; the offset has `value_fraction` fraction bits.
    pub offset_bits: u32,
    /// Fraction bits of `c0` and of the result.
    pub value_fraction: u32,
    /// Fraction bits of `c1`.
    pub slope_fraction: u32,
    /// Value at the start of each entry.
    pub c0: Vec<u64>,
    /// Magnitude of each entry's slope.
    pub c1: Vec<u64>,
}

impl Table {
    /// The table for a function, fitted on first use.
    pub fn get(function: Function, segments: u32, value_fraction: u32) -> Arc<Table> {
        type Cache = Mutex<HashMap<(Function, u32, u32), Arc<Table>>>;
        static CACHE: OnceLock<Cache> = OnceLock::new();
        let cache = CACHE.get_or_init(Cache::default);
        let key = (function, segments, value_fraction);
        let hit = cache.lock().unwrap_or_else(|e| e.into_inner()).get(&key).cloned();
        hit.unwrap_or_else(|| {
            let table = Arc::new(fit::fit(function, segments, value_fraction));
            cache.lock().unwrap_or_else(|e| e.into_inner()).insert(key, table.clone());
            table
        })
    }

    /// The value at an entry and an offset, with `value_fraction` fraction bits.
    pub fn eval(&self, entry: usize, dx: u64) -> u64 {
        let step = (self.c1[entry] * dx) >> self.slope_fraction;
        if self.function.decreasing() { self.c0[entry] - step } else { self.c0[entry] + step }
    }

    /// Largest errors against the exact function over `octave`: (absolute, relative).
    pub fn max_error(&self, octave: u32) -> (f64, f64) {
        let unit = (self.value_fraction as f64).exp2();
        let (mut absolute, mut relative) = (0f64, 0f64);
        for cell in 0..self.cells {
            let entry = (octave.min(self.octaves - 1) * self.cells + cell) as usize;
            for dx in fit::samples(self.offset_bits) {
                let z = (((cell as u64) << self.offset_bits) + dx) as f64 / unit;
                let exact = self.function.exact(octave, z);
                let error = (self.eval(entry, dx) as f64 / unit - exact).abs();
                absolute = absolute.max(error);
                if exact != 0.0 {
                    relative = relative.max(error / exact.abs());
                }
            }
        }
        (absolute, relative)
    }

    /// Width of `c0`.
    pub fn c0_bits(&self) -> u32 {
        bits_for(&self.c0)
    }

    /// Width of `c1`.
    pub fn c1_bits(&self) -> u32 {
        bits_for(&self.c1)
    }
}

fn bits_for(values: &[u64]) -> u32 {
    (64 - values.iter().max().copied().unwrap_or(0).leading_zeros()).max(1)
}

/// The function of a real operand; `None` outside its domain.
pub fn exact(function: Function, x: f64) -> Option<f64> {
    match function {
        Function::Exp => (x <= 0.0).then(|| x.exp()),
        Function::Sigmoid => Some(if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) }),
        Function::PaperSigmoid => (-6.0..11.0).contains(&x).then(|| 1.0 / (1.0 + (-x).exp())),
        Function::Softplus => Some(x.max(0.0) + (-x.abs()).exp().ln_1p()),
        Function::Log2p1 => (x <= 0.0).then(|| x.exp2().ln_1p() * std::f64::consts::LOG2_E),
        Function::Ln => (x > 0.0 && x <= 1.0).then(|| x.ln()),
        Function::Reciprocal => (x != 0.0).then(|| 1.0 / x),
    }
}
