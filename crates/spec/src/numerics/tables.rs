//! Tables and constants of the exponential and of the reciprocal.

use crate::pwl::{self, Function, Table};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Range reduction and tables of the exponential: `e^-t = 2^-k 2^-f`, `k + f = t log2(e)`.
#[derive(Clone, Debug)]
pub struct ExpNumerics {
    /// Integer bits IA of a natural argument.
    pub argument_integer: u32,
    /// Fraction bits B of the argument, of f and of the values.
    pub value_fraction: u32,
    /// `round(log2(e) * 2^log2e_fraction)`.
    pub log2e: u64,
    /// Fraction bits of `log2e`.
    pub log2e_fraction: u32,
    /// `round(ln(2) * 2^value_fraction)`.
    pub ln2: u64,
    /// Table of `2^-f`.
    pub exp: Arc<Table>,
    /// Table of `2^k sigmoid(-(k + f) ln 2)`.
    pub sigmoid: Arc<Table>,
    /// Table of `2^k softplus(-(k + f) ln 2)`.
    pub softplus: Arc<Table>,
    /// Table of `2^k log2(1 + 2^-(k + f))`.
    pub log2p1: Arc<Table>,
    /// Table of `ln m`.
    pub ln: Arc<Table>,
    /// Table of `sigmoid(z - 6)`.
    pub paper_sigmoid: Arc<Table>,
}

impl ExpNumerics {
    /// Tables with `segments` segments; natural arguments with [`argument_integer_bits`](super::argument_integer_bits).
    pub fn new(segments: u32, argument_integer: u32) -> Self {
        let value_fraction = pwl::value_fraction(segments);
        let log2e_fraction = value_fraction + 2;
        let table = |f| Table::get(f, segments, value_fraction);
        ExpNumerics {
            argument_integer,
            value_fraction,
            log2e: (std::f64::consts::LOG2_E * (log2e_fraction as f64).exp2()).round() as u64,
            log2e_fraction,
            ln2: (std::f64::consts::LN_2 * (value_fraction as f64).exp2()).round() as u64,
            exp: table(Function::Exp),
            sigmoid: table(Function::Sigmoid),
            softplus: table(Function::Softplus),
            log2p1: table(Function::Log2p1),
            ln: table(Function::Ln),
            paper_sigmoid: table(Function::PaperSigmoid),
        }
    }

    /// Width of a natural argument `t = |x|`, IA + B.
    pub fn argument_bits(&self) -> u32 {
        self.argument_integer + self.value_fraction
    }
}

/// The reciprocal `1/m`: a table and `newton_steps` Newton steps `r <- r (2 - m r)`, as few as keep the error at or below `2^-(p+2)`, with p the significand
/// width of the result.
#[derive(Clone, Debug)]
pub struct ReciprocalNumerics {
    /// Table of `1/m` on [1, 2); m and the result have its `value_fraction` fraction bits.
    pub table: Arc<Table>,
    /// Newton steps after the table.
    pub newton_steps: u32,
}

impl ReciprocalNumerics {
    /// The cheapest unit for a result of `precision` significand bits: the smallest table that needs no Newton step, else 32 segments and Newton steps.
    pub fn new(precision: u32) -> Self {
        // Cached, because the search needs the errors of several tables and searches for test streams build thousands of models.
        static FOUND: Mutex<BTreeMap<u32, ReciprocalNumerics>> = Mutex::new(BTreeMap::new());
        let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
        found.entry(precision).or_insert_with(|| ReciprocalNumerics::cheapest(precision)).clone()
    }

    fn cheapest(precision: u32) -> Self {
        let bound = (-(precision as f64 + 2.0)).exp2();
        let unit = |bits: u32| (-(bits as f64)).exp2();
        for segments in [4, 8, 16, 32] {
            let bits = pwl::value_fraction(segments).max(precision + 5);
            let table = Table::get(Function::Reciprocal, segments, bits);
            // Truncating the operand adds at most one unit.
            if table.max_error(0).1 + unit(bits) <= bound {
                return ReciprocalNumerics { table, newton_steps: 0 };
            }
        }
        let bits = precision + 5;
        let table = Table::get(Function::Reciprocal, 32, bits);
        let (mut error, mut newton_steps) = (table.max_error(0).1, 0);
        while error + unit(bits) > bound {
            error = error * error + 2.0 * unit(bits);
            newton_steps += 1;
        }
        ReciprocalNumerics { table, newton_steps }
    }
}
