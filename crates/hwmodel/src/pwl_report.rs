//! Errors of the tables and of the units built on them, measured against the exact functions.

use crate::arith::exp::{log2p1_unit, paper_sigmoid_unit};
use crate::units::{FormatFunction, FormatUnit};
use crate::word::Num;
use flashd_spec::format::{Format, Subnormals};
use flashd_spec::numerics::{ExpNumerics, ReciprocalNumerics, argument_integer_bits, octave_bits};
use flashd_spec::pwl::{Function, Table, exact, value_fraction};
use serde::Serialize;

/// Largest errors of a function's table (over 30 octaves if it has more than one) and of its unit in a format (all
/// encodings, or 65,536 evenly spread ones of a wide format, whose exact result is in the format's range).
#[derive(Clone, Debug, Default, Serialize)]
pub struct TableReport {
    /// Name of the function.
    pub function: &'static str,
    /// Linear segments of the table, in each octave.
    pub segments: u32,
    /// Octaves that the table has entries for.
    pub octaves: u32,
    /// Largest absolute error of the table's value.
    pub table_absolute: f64,
    /// Largest relative error of the table's value; for ln, relative to 1.
    pub table_relative: f64,
    /// Largest absolute error of the unit.
    pub unit_absolute: f64,
    /// Largest relative error of the unit where the exact result is a normal number.
    pub unit_relative: f64,
    /// Largest error of the unit in units of the last place of the exact result.
    pub unit_ulp: f64,
    /// The operand with the largest ulp error.
    pub worst_operand: f64,
}

/// Octaves over which a table's errors are measured: far into the tail.
const OCTAVES_EXAMINED: u32 = 30;

/// The table of a function with `segments` segments. The reciprocal's table depends on the format's precision alone.
pub fn table_for(function: Function, segments: u32, format: Format) -> std::sync::Arc<Table> {
    match function {
        Function::Reciprocal => ReciprocalNumerics::new(format.precision()).table,
        _ => Table::get(function, segments, value_fraction(segments)),
    }
}

/// One ulp at `x`: the distance of neighbouring numbers of the format.
fn ulp(format: Format, x: f64) -> f64 {
    let exponent = if x == 0.0 { i32::MIN } else { x.abs().log2().floor() as i32 };
    let lowest = format.min_exponent();
    2f64.powi(exponent.max(lowest) - format.fraction_bits as i32)
}

/// The unit of a function in a format, from the operand's encoding to the result's.
pub fn unit(function: Function, format: Format, segments: u32) -> Box<dyn Fn(u64) -> u64> {
    let unit = match function {
        Function::Exp => FormatUnit::Exp,
        Function::Sigmoid => FormatUnit::Sigmoid,
        Function::Softplus => FormatUnit::Softplus,
        Function::Ln => FormatUnit::Ln,
        Function::Reciprocal => FormatUnit::Reciprocal,
        Function::Log2p1 => {
            let n = ExpNumerics::new(segments, octave_bits(Some(format), 0));
            return Box::new(move |a| log2p1_unit(&n, format, &Num::new(format.width(), a)).value());
        }
        Function::PaperSigmoid => {
            let n = ExpNumerics::new(segments, argument_integer_bits(format, 0));
            return Box::new(move |a| paper_sigmoid_unit(&n, format, &Num::new(format.width(), a)).value());
        }
    };
    let function = FormatFunction::new(unit, format, segments);
    Box::new(move |a| function.compute(a, 0))
}

/// Measures the errors of a function's table and of its unit in a format.
pub fn report(function: Function, segments: u32, format: Format) -> TableReport {
    let table = table_for(function, segments, format);
    let octaves = if table.octaves > 1 { OCTAVES_EXAMINED } else { 1 };
    let errors: Vec<(f64, f64)> = (0..octaves).map(|k| table.max_error(k)).collect();
    let largest = |i: fn(&(f64, f64)) -> f64| errors.iter().map(i).fold(0.0, f64::max);
    let mut r = TableReport {
        function: function.name(),
        segments: table.segments,
        octaves: table.octaves,
        table_absolute: largest(|e| e.0),
        table_relative: largest(|e| e.1),
        ..TableReport::default()
    };
    if function == Function::Ln {
        r.table_relative = r.table_absolute;
    }
    let compute = unit(function, format, segments);
    let range = (format.value(format.min_positive()), format.value(format.max_finite()));
    let step = (1u64 << format.width()).div_ceil(1 << 16);
    for a in (0..1u64 << format.width()).step_by(step as usize) {
        let x = format.value(a);
        let subnormal =
            format.subnormals == Subnormals::Flushed && a & (format.sign_bit() - 1) < format.min_positive();
        let Some(exact) = exact(function, x).filter(|_| !format.is_special(a) && !subnormal) else {
            continue;
        };
        // Saturation and underflow are the format's, not the table's.
        if exact.abs() > range.1 || exact != 0.0 && exact.abs() < range.0 {
            continue;
        }
        let error = (format.value(compute(a)) - exact).abs();
        r.unit_absolute = r.unit_absolute.max(error);
        if exact.abs() >= 2f64.powi(format.min_exponent()) {
            r.unit_relative = r.unit_relative.max(error / exact.abs());
        }
        let in_ulp = error / ulp(format, exact);
        if in_ulp > r.unit_ulp {
            (r.unit_ulp, r.worst_operand) = (in_ulp, x);
        }
    }
    r
}
