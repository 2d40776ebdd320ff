//! Drawings of tables (SVG).

use flashd_chart::{Axis, Chart, ChartError, Ink, Panel, PanelBody, Series, svg};
use flashd_hwmodel::pwl_report::unit;
use flashd_spec::format::Format;
use flashd_spec::pwl::Function;
use flashd_spec::pwl::exact;

/// Operands over which a function is drawn.
fn domain(function: Function) -> (f64, f64) {
    match function {
        Function::Exp | Function::Log2p1 => (-8.0, 0.0),
        Function::Sigmoid | Function::Softplus => (-8.0, 8.0),
        Function::Ln => (0.01, 1.0),
        Function::Reciprocal => (1.0, 2.0),
        Function::PaperSigmoid => (-6.0, 10.99),
    }
}

/// Draws a table over its exact function, and the error below. The hardware's result is taken in fp32, so
/// that the table's error is visible, not a format's rounding.
pub fn table(function: Function, segments: u32) -> Result<String, ChartError> {
    let (lo, hi) = domain(function);
    let compute = unit(function, Format::FP32, segments);
    let points: Vec<(f64, f64, f64)> = (0..=1600)
        .filter_map(|i| {
            let x = (lo + (hi - lo) * i as f64 / 1600.0) as f32;
            let y = f32::from_bits(compute(x.to_bits() as u64) as u32) as f64;
            exact(function, x as f64).map(|e| (x as f64, e, y))
        })
        .collect();
    let curve = |name: &str, ink, width, y: fn(&(f64, f64, f64)) -> f64| Series {
        width,
        points: points.iter().map(|point| (point.0, y(point))).collect(),
        ..Series::line(name, ink)
    };
    let panel = |y: &str, series| Panel {
        x: Axis::linear("x"),
        y: Axis::linear(y),
        title: String::new(),
        body: PanelBody::Curves(series),
    };
    let functions =
        vec![curve("exact", Ink::BLACK, 4, |p| p.1), curve("piecewise linear", Ink::nth(1), 2, |p| p.2)];
    let errors = vec![curve("", Ink::nth(0), 1, |p| p.2 - p.1)];
    svg(&[Chart {
        title: format!("{}, {segments} segments", function.name()),
        columns: 1,
        panels: vec![panel(function.name(), functions), panel("error", errors)],
        ..Chart::default()
    }])
}
