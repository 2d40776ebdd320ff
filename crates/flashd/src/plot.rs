//! Drawings (SVG).

use flashd_hwmodel::pwl_report::unit;
use flashd_spec::format::Format;
use flashd_spec::pwl::Function;
use flashd_spec::pwl::exact;
use plotters::prelude::*;

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

/// A table over its exact function, and the error below. The hardware's result is that of the unit in fp32,
/// so that the table's own error shows, not a format's rounding.
pub fn table(function: Function, segments: u32) -> Result<String, Box<dyn std::error::Error>> {
    let (lo, hi) = domain(function);
    let compute = unit(function, Format::FP32, segments);
    let points: Vec<(f64, f64, f64)> = (0..=1600)
        .filter_map(|i| {
            let x = (lo + (hi - lo) * i as f64 / 1600.0) as f32;
            let y = f32::from_bits(compute(x.to_bits() as u64) as u32) as f64;
            exact(function, x as f64).map(|e| (x as f64, e, y))
        })
        .collect();
    let bounds = |values: &mut dyn Iterator<Item = f64>| {
        let (a, b) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
        let margin = ((b - a) * 0.05).max(1e-12);
        (a - margin)..(b + margin)
    };
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (900, 700)).into_drawing_area();
        root.fill(&WHITE)?;
        let (upper, lower) = root.split_vertically(430);
        let mut chart = ChartBuilder::on(&upper)
            .caption(format!("{}, {segments} segments", function.name()), ("sans-serif", 22))
            .margin(12)
            .x_label_area_size(30)
            .y_label_area_size(70)
            .build_cartesian_2d(lo..hi, bounds(&mut points.iter().map(|p| p.1)))?;
        chart.configure_mesh().light_line_style(WHITE).draw()?;
        chart
            .draw_series(LineSeries::new(points.iter().map(|p| (p.0, p.1)), BLACK.stroke_width(4)))?
            .label("exact")
            .legend(|(x, y)| PathElement::new([(x, y), (x + 20, y)], BLACK.stroke_width(4)));
        chart
            .draw_series(LineSeries::new(points.iter().map(|p| (p.0, p.2)), ORANGE.stroke_width(2)))?
            .label("piecewise linear")
            .legend(|(x, y)| PathElement::new([(x, y), (x + 20, y)], ORANGE.stroke_width(2)));
        chart.configure_series_labels().background_style(WHITE).border_style(BLACK).draw()?;
        let mut chart = ChartBuilder::on(&lower)
            .margin(12)
            .x_label_area_size(30)
            .y_label_area_size(70)
            .build_cartesian_2d(lo..hi, bounds(&mut points.iter().map(|p| p.2 - p.1)))?;
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .y_labels(5)
            .y_label_formatter(&|y| format!("{y:.1e}"))
            .y_desc("error")
            .x_desc("x")
            .draw()?;
        chart.draw_series(LineSeries::new(points.iter().map(|p| (p.0, p.2 - p.1)), BLUE))?;
        root.present()?;
    }
    Ok(svg)
}

const ORANGE: RGBColor = RGBColor(230, 120, 0);
