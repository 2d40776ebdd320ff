//! Combinational units as modules. A user can emit each [`FormatUnit`] alone; the others are parts of the
//! cores, in the order in which data meets them.

use crate::arith::{self, canonical, convert, exp, round};
use crate::function;
use crate::rtl::{Circuit, Function};
use crate::word::{Num, Word, ones};
use flashd_spec::format::Format;
use flashd_spec::numerics::{ExpNumerics, Numerics, ReciprocalNumerics, argument_integer_bits};
use std::sync::Arc;

/// The units of `--unit`. The ports are `a`, for two operands `b`, and the result `y`, all in one format. Results are
/// rounded to nearest even and saturate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FormatUnit {
    /// `a + b`.
    Add,
    /// `a - b`.
    Sub,
    /// `a b`.
    Mul,
    /// The larger of a and b.
    Max,
    /// `1 / (1 + e^-a)`.
    Sigmoid,
    /// `ln(1 + e^a)`.
    Softplus,
    /// `ln a` on (0, 1].
    Ln,
    /// `e^a` for a <= 0.
    Exp,
    /// `1 / a`.
    Reciprocal,
}

impl FormatUnit {
    /// All units, in the order in which they are listed to users.
    pub const ALL: [FormatUnit; 9] = {
        use FormatUnit::*;
        [Add, Sub, Mul, Max, Sigmoid, Softplus, Ln, Exp, Reciprocal]
    };

    /// Name as on the command line and in module names.
    pub fn name(self) -> &'static str {
        self.name_and_equation().0
    }

    /// Its name, and the equation for the header of its module.
    fn name_and_equation(self) -> (&'static str, &'static str) {
        match self {
            FormatUnit::Add => ("add", "y = a + b"),
            FormatUnit::Sub => ("sub", "y = a - b"),
            FormatUnit::Mul => ("mul", "y = a * b"),
            FormatUnit::Max => ("max", "y = max(a, b)"),
            FormatUnit::Sigmoid => ("sigmoid", "y = 1 / (1 + exp(-a))"),
            FormatUnit::Softplus => ("softplus", "y = ln(1 + exp(a))"),
            FormatUnit::Ln => ("ln", "y = ln(a), a in (0, 1]"),
            FormatUnit::Exp => ("exp", "y = exp(a), a <= 0"),
            FormatUnit::Reciprocal => ("reciprocal", "y = 1 / a"),
        }
    }

    /// Whether the unit has two operands.
    pub fn is_binary(self) -> bool {
        matches!(self, FormatUnit::Add | FormatUnit::Sub | FormatUnit::Mul | FormatUnit::Max)
    }

    /// The result for two canonical operands, each in its format, rounded to the format `y`.
    fn of_two<W: Word>(self, (fa, a): (Format, &W), (fb, b): (Format, &W), y: Format) -> W {
        match self {
            FormatUnit::Add => arith::add(fa, a, fb, b, y),
            FormatUnit::Sub => arith::sub(fa, a, fb, b, y),
            FormatUnit::Mul => arith::multiply(fa, a, fb, b, y),
            FormatUnit::Max => arith::max(fa, a, b),
            _ => unreachable!("{} has one operand", self.name()),
        }
    }

    /// The module of the unit, with ports in `format` and tables of `segments` segments.
    pub fn module(self, format: Format, segments: u32) -> Circuit {
        let function = FormatFunction::new(self, format, segments);
        match self.is_binary() {
            true => Circuit::leaf(UnitFunction::<2>(function)),
            false => Circuit::leaf(UnitFunction::<1>(function)),
        }
    }
}

/// A [`FormatUnit`] in a format, with the tables that it needs. Operands may be any encoding; Inf and NaN count as +0.
#[derive(Clone, Debug)]
pub struct FormatFunction {
    /// The unit.
    pub unit: FormatUnit,
    /// Format of all ports.
    pub format: Format,
    segments: u32,
    exp: Arc<ExpNumerics>,
    reciprocal: Arc<ReciprocalNumerics>,
}

impl FormatUnit {
    /// Whether the unit has a table whose number of segments can be chosen. The format determines the reciprocal's.
    pub fn has_segments(self) -> bool {
        matches!(self, FormatUnit::Sigmoid | FormatUnit::Softplus | FormatUnit::Ln | FormatUnit::Exp)
    }
}

impl FormatFunction {
    /// The unit in a format, with tables of `segments` segments.
    pub fn new(unit: FormatUnit, format: Format, segments: u32) -> Self {
        FormatFunction {
            unit,
            format,
            segments,
            exp: Arc::new(ExpNumerics::new(segments, argument_integer_bits(format, 0))),
            reciprocal: Arc::new(ReciprocalNumerics::new(format.precision())),
        }
    }

    /// Name of the module, such as `bf16_add`. Units with tables have a suffix for a number of segments other than 8.
    pub fn name(&self) -> String {
        let suffix = match self.unit.has_segments() && self.segments != 8 {
            true => format!("_seg{}", self.segments),
            false => String::new(),
        };
        format!("{}_{}{suffix}", self.format.ident(), self.unit.name())
    }

    /// The result `y`. Units of one operand ignore `b`.
    pub fn eval<W: Word>(&self, a: &W, b: &W) -> W {
        let f = self.format;
        let a = canonical(f, a).named("a_finite");
        match self.unit {
            FormatUnit::Sigmoid => exp::sigmoid_unit(&self.exp, f, &a),
            FormatUnit::Softplus => exp::softplus_unit(&self.exp, f, &a),
            FormatUnit::Ln => exp::ln_unit(&self.exp, f, &a),
            FormatUnit::Exp => exp::exp_unit(&self.exp, f, &a),
            FormatUnit::Reciprocal => exp::reciprocal_unit(&self.reciprocal, f, &a),
            _ => self.unit.of_two((f, &a), (f, &canonical(f, b).named("b_finite")), f),
        }
    }

    /// [`FormatFunction::eval`] on encodings.
    pub fn compute(&self, a: u64, b: u64) -> u64 {
        let w = self.format.width();
        self.eval(&Num::new(w, a), &Num::new(w, b)).value()
    }

    fn doc(&self) -> String {
        format!(
            "{}  ({}, round to nearest even, saturating).\nInf and NaN operands count as +0.",
            self.unit.name_and_equation().1,
            self.format
        )
    }
}

/// [`FormatFunction`] as a module of N operands, one or two.
#[derive(Clone)]
pub struct UnitFunction<const N: usize>(pub FormatFunction);

impl<const N: usize> Function<N, 1> for UnitFunction<N> {
    fn name(&self) -> String {
        self.0.name()
    }
    fn doc(&self) -> String {
        self.0.doc()
    }
    fn ports(&self) -> ([&'static str; N], [&'static str; 1]) {
        (std::array::from_fn(|i| ["a", "b"][i]), ["y"])
    }
    fn widths(&self) -> ([u32; N], [u32; 1]) {
        ([self.0.format.width(); N], [self.0.format.width()])
    }
    fn eval<W: Word>(&self, operands: [W; N]) -> [W; 1] {
        [self.0.eval(&operands[0], &operands[N - 1])]
    }
}

function! {
    /// Converts any encoding to the canonical number that the hardware computes with.
    pub struct CanonicalFunction { format: Format, to: Format }
    name(this) = match this.to == this.format {
        true => format!("{}_canonical", this.format.ident()),
        false => format!("{}_canonical_{}", this.format.ident(), this.to.ident()),
    };
    doc = match this.to == this.format {
        true => "y = a; Inf and NaN become +0, subnormals of a flushing format a signed zero.".to_string(),
        false => format!(
            "y = a, from {} to {}, which holds it; Inf and NaN become +0, subnormals of a flushing format a\nsigned zero.",
            this.format, this.to
        ),
    };
    inputs { a: this.format.width() }
    outputs { y: this.to.width() }
    eval<W> { [convert(this.format, &canonical(this.format, &a).named("a_finite"), this.to)] }
}

function! {
    /// The product `q k` of one element, rounded to the format. Operands may be any encoding.
    pub struct ProductFunction { format: Format }
    name(this) = format!("{}_product", this.format.ident());
    doc = "y = a * b, a from the query register, b from the key port; Inf and NaN count as +0.";
    inputs { a: this.format.width(), b: this.format.width() }
    outputs { y: this.format.width() }
    eval<W> {
        let f = this.format;
        let (a, b) = (canonical(f, &a).named("a_finite"), canonical(f, &b).named("b_finite"));
        [arith::multiply(f, &a, f, &b, f)]
    }
}

/// An operation of two operands: a [`FormatUnit`] with [`FormatUnit::is_binary`].
pub type Operation = FormatUnit;

function! {
    /// An operation on two canonical operands, each in its format, rounded to a third format.
    pub struct MixedFunction { operation: Operation, a_format: Format, b_format: Format, y_format: Format }
    name(this) = {
        let operation = this.operation.name();
        let formats = [this.a_format, this.b_format, this.y_format].map(|f| f.ident());
        let mut parts: Vec<&str> = Vec::new();
        for f in &formats {
            if parts.last() != Some(&f.as_str()) {
                parts.push(f);
            }
        }
        // `finite`: operands inside a core are canonical by construction, so there is no logic for Inf and NaN.
        format!("{}_{operation}_finite", parts.join("_"))
    };
    doc = format!(
        "{}  (a: {}, b: {}, y: {}, round to nearest even, saturating).\nOperands are finite.",
        this.operation.name_and_equation().1, this.a_format, this.b_format, this.y_format
    );
    inputs { a: this.a_format.width(), b: this.b_format.width() }
    outputs { y: this.y_format.width() }
    eval<W> {
        [this.operation.of_two((this.a_format, &a), (this.b_format, &b), this.y_format)]
    }
}

impl MixedFunction {
    /// `operation` with both operands and the result in one format.
    pub fn uniform(operation: Operation, format: Format) -> Self {
        MixedFunction::of(operation, format, format, format)
    }

    /// `operation(a, b)` rounded to `y`.
    pub fn of(operation: Operation, a_format: Format, b_format: Format, y_format: Format) -> Self {
        MixedFunction { operation, a_format, b_format, y_format }
    }
}

function! {
    /// Rounds an accumulator or product to another format, such as the result's.
    pub struct ConvertFunction { from: Format, to: Format }
    name(this) = format!("{}_to_{}", this.from.ident(), this.to.ident());
    doc = format!("y = a, rounded from {} to {}.", this.from, this.to);
    inputs { a: this.from.width() }
    outputs { y: this.to.width() }
    eval<W> { [convert(this.from, &a, this.to)] }
}

function! {
    /// The score `dot 2^shift` in the format. It only changes the exponent, so it is exact but for overflow and
    /// underflow.
    pub struct ScoreScaleFunction { numerics: Arc<Numerics> }
    name(this) = format!("{}_score_scale", this.numerics.formats.q.ident());
    doc = format!("score = dot * 2^{}.", this.numerics.score_shift);
    inputs { dot: this.numerics.formats.q.width() }
    outputs { score: this.numerics.formats.q.width() }
    eval<W> {
        let (fmt, shift) = (this.numerics.formats.q, this.numerics.score_shift);
        if shift == 0 {
            return [dot];
        }
        let u = arith::unpack(fmt, &dot, "dot");
        let wide = fmt.exponent_bits.max(crate::word::bits_for(shift.unsigned_abs() as u64)) + 3;
        let (significand, leading_zeros) = u.significand.normalise();
        let wide = wide.max(leading_zeros.width() + 2);
        let offset = W::constant(wide, shift as i64 as u64 & ones(wide));
        let exponent = u.exponent.zext(wide).add(&offset).sub(&leading_zeros.zext(wide)).named("exponent");
        [round::round_pack(fmt, &round::Unrounded::new(u.sign, exponent, significand))]
    }
}
