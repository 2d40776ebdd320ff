//! FLASH-D's weight as a function of the difference of neighbouring scores, `w_i = sigmoid(D + ln w_{i-1})` with
//! `D = s_i - s_{i-1}` (the paper's Fig. 2): exact, from the piecewise-linear tables alone, and from the hardware.

use flashd_golden::{Action, Head, Model, Step, units};
use flashd_spec::config::{ConfigError, CoreConfig, Datapath, Hold, STATIC_HOLD, Update, WeightUnit};
use flashd_spec::format::Format;
use flashd_spec::pwl::Function;
use flashd_spec::pwl::exact;
use flashd_workload::{round_to, round_value};
use serde::Serialize;

/// Range of D.
pub const RANGE: (f64, f64) = (-10.0, 10.0);
/// Points of a curve, evenly spaced; fewer where the format has no number between two of them.
pub const POINTS: usize = 801;
/// Previous weights of the paper's figure.
pub const PREVIOUS: [f64; 5] = [0.1, 0.3, 0.6, 0.9, 0.99];
/// Elements that a score is spread over, so that a format of few bits does not round it.
const PARTS: usize = 4;

/// One point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CurvePoint {
    /// Difference of the scores, as the unit gets it.
    pub difference: f64,
    /// `sigmoid(D + ln w)` in f64.
    pub exact: f64,
    /// The tables in fp32: their own error, hardly any rounding.
    pub pwl: f64,
    /// The hardware's weight.
    pub hardware: f64,
}

/// Largest errors of a curve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CurveErrors {
    /// Largest absolute error.
    pub absolute: f64,
    /// Where that is.
    pub at: f64,
    /// Largest relative error.
    pub relative: f64,
}

/// The weight for one previous weight.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// Previous weight as asked for.
    pub asked: f64,
    /// Previous weight as the unit gets it: `paper` has it in the format.
    pub previous: f64,
    /// Largest errors of the tables.
    pub pwl: CurveErrors,
    /// Largest errors of the hardware.
    pub hardware: CurveErrors,
    /// By ascending difference.
    pub points: Vec<CurvePoint>,
}

/// `sigmoid(D + ln w)`.
fn ideal(difference: f64, previous: f64) -> f64 {
    let x = difference + previous.ln();
    exact(Function::Sigmoid, x).unwrap_or(f64::NAN)
}

/// Whether a weight unit can have this previous weight: above 0 and below 1, `paper` also once it is rounded to the format.
pub fn usable(weight: WeightUnit, format: Format, w: f64) -> bool {
    let rounded = round_value(format, w);
    w > 0.0 && w < 1.0 && (weight == WeightUnit::Lse || rounded > 0.0 && rounded < 1.0)
}

/// The curves of a weight unit. Previous weights lie above 0 and below 1.
///
/// `lse`: the bit-exact model of the core's scalar path sees three keys. The first two make the state of which the
/// previous weight is part, the third has the difference. Fixed-point scores, the growth of the log-sum-exp, the sigmoid
/// and the lanes' factor, hold rule included. `paper`: ln, sum and sigmoid in the format, with the static rule.
///
/// # Errors
/// A number of segments that no core has, and an unusable previous weight (field `previous`).
pub fn curves(
    weight: WeightUnit,
    format: Format,
    segments: u32,
    previous: &[f64],
) -> Result<Vec<Curve>, ConfigError> {
    let core = CoreConfig {
        segments: Some(segments),
        ..CoreConfig::with_datapath(Datapath::with_weight(weight, format), PARTS, format)
    };
    core.validate()?;
    let curve = |&asked: &f64| match weight {
        WeightUnit::Lse => lse(&core, asked),
        WeightUnit::Paper => paper(&core, asked),
    };
    for &w in previous {
        if !usable(weight, format, w) {
            let problem = format!("{w} is not above 0 and below 1 in {format}");
            return Err(ConfigError { field: "previous", problem });
        }
    }
    Ok(previous.iter().map(curve).collect())
}

/// Evenly spaced differences.
fn grid() -> impl Iterator<Item = f64> {
    let (low, high) = RANGE;
    (0..POINTS).map(move |i| low + (high - low) * i as f64 / (POINTS - 1) as f64)
}

fn largest(points: &[CurvePoint], of: fn(&CurvePoint) -> f64) -> CurveErrors {
    let mut errors = CurveErrors::default();
    for point in points {
        let error = (of(point) - point.exact).abs();
        if error > errors.absolute {
            (errors.absolute, errors.at) = (error, point.difference);
        }
        errors.relative = errors.relative.max(error / point.exact);
    }
    errors
}

fn finished(asked: f64, previous: f64, points: Vec<CurvePoint>) -> Curve {
    let (pwl, hardware) = (largest(&points, |p| p.pwl), largest(&points, |p| p.hardware));
    Curve { asked, previous, pwl, hardware, points }
}

/// A function of fp32 numbers from its table.
fn in_fp32(function: Function, segments: u32) -> impl Fn(f64) -> f64 {
    let unit = match function {
        Function::Exp => units::exp,
        Function::Sigmoid => units::sigmoid,
        Function::Softplus => units::softplus,
        Function::Log2p1 => units::log2p1,
        Function::Ln => units::ln,
        Function::PaperSigmoid => units::paper_sigmoid,
        Function::Reciprocal => |format, _, x| units::reciprocal(format, x),
    };
    move |x| Format::FP32.value(unit(Format::FP32, segments, round_to(Format::FP32, x)))
}

fn paper(core: &CoreConfig, asked: f64) -> Curve {
    let (format, segments) = (core.format, core.segments());
    let bits = round_to(format, asked);
    let previous = format.value(bits);
    let (ln, sigmoid) = (in_fp32(Function::Ln, segments), in_fp32(Function::PaperSigmoid, segments));
    let mut differences: Vec<f64> = grid().map(|d| round_value(format, d)).collect();
    differences.dedup();
    let point = |difference: f64| {
        // A difference beyond the static rule's range takes an end of the table.
        let x = match core.hold() {
            Hold::Static if difference <= STATIC_HOLD.0 => round_to(format, STATIC_HOLD.0),
            Hold::Static if difference >= STATIC_HOLD.1 => round_to(format, STATIC_HOLD.1),
            _ => units::add(format, round_to(format, difference), units::ln(format, segments, bits)),
        };
        CurvePoint {
            difference,
            exact: ideal(difference, previous),
            pwl: sigmoid(difference + ln(previous)),
            hardware: format.value(units::paper_sigmoid(format, segments, x)),
        }
    };
    finished(asked, previous, differences.into_iter().map(point).collect())
}

/// Weights of the parts of a score: powers of two, a precision apart as far as the format goes.
fn places(format: Format) -> [f64; PARTS] {
    let least = format.value(format.min_positive());
    std::array::from_fn(|part| 2f64.powi(-((part as u32 * format.precision()) as i32)).max(least))
}

/// A key whose product with [`places`] is `score`, as near as four numbers of the format come. Gives that product too.
fn key(format: Format, score: f64) -> ([u64; PARTS], f64) {
    let mut sum = 0.0;
    let parts = places(format).map(|place| {
        let bits = round_to(format, (score - sum) / place);
        sum += format.value(bits) * place;
        bits
    });
    (parts, sum)
}

fn lse(core: &CoreConfig, asked: f64) -> Curve {
    let format = core.format;
    let core = CoreConfig { score_shift: Some(0), ..core.clone() };
    let model = Model::new(&core);
    let q = places(format).map(|place| round_to(format, place));
    // Against a first score of 0 the second one has the previous weight.
    let (before, second) = key(format, (asked / (1.0 - asked)).ln());
    let previous = exact(Function::Sigmoid, second).unwrap_or(f64::NAN);
    let table = in_fp32(Function::Sigmoid, core.segments());
    let point = |wanted: f64| {
        let (third, score) = key(format, second + wanted);
        let k = [[0; PARTS], before, third].concat();
        let results = model.run(Head::new(&q, &k, &vec![0; k.len()], &[3]).with_steps());
        let difference = score - second;
        CurvePoint {
            difference,
            exact: ideal(difference, previous),
            pwl: table(difference + previous.ln()),
            hardware: weight(&core, &results[0].steps[2]),
        }
    };
    finished(asked, previous, grid().map(point).collect())
}

/// The weight of a step of an `lse` core.
fn weight(core: &CoreConfig, step: &Step) -> f64 {
    if step.action == Action::Hold {
        return 0.0;
    }
    // As [`Step::w`] records it.
    let factor = match core.update() == Some(Update::Rounded) {
        true => core.format.value(step.w),
        false => {
            let bits = core.factor_significand();
            let (right, m) = (step.w >> bits, step.w & ((1 << bits) - 1));
            m as f64 * 2f64.powi(1 - bits as i32) * 2f64.powi(-(right as i32))
        }
    };
    if step.upper { 1.0 - factor } else { factor }
}
