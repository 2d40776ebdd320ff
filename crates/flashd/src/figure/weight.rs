//! `flashd figure weight`: the paper's Fig. 2.

use crate::cli::WeightFigureArgs;
use crate::output::{Failure, print, print_json, table, unwritable, write};
use flashd_spec::config::OptionValue;
use flashd_study::weight::{Curve, CurvePoint, PREVIOUS, RANGE, curves, usable};
use plotters::prelude::*;
use serde_json::json;
use std::error::Error;
use std::path::{Path, PathBuf};

pub fn run(args: &WeightFigureArgs) -> Result<(), Failure> {
    let name = args.weight.text();
    // Narrow formats have no number between 0.99 and 1, and `paper` has weights in the format.
    let of_paper = || PREVIOUS.into_iter().filter(|&w| usable(args.weight, args.format, w)).collect();
    let previous = if args.previous.is_empty() { of_paper() } else { args.previous.clone() };
    let all = curves(args.weight, args.format, args.segments, &previous)
        .map_err(|e| Failure::input(format!("--{}: {}", e.field.replace('_', "-"), e.problem)))?;
    let caption = format!("{name}, {}, {} segments", args.format, args.segments);
    let svg = draw(&all, &caption).map_err(|e| Failure::input(format!("--svg: {e}")))?;
    let file = format!("weight_{name}_{}_{}.svg", args.format.ident(), args.segments);
    let path = args.svg.clone().unwrap_or_else(|| PathBuf::from("rtl-out").join(file));
    if args.svg.is_none() {
        flashd_files::create_folder(Path::new("rtl-out")).map_err(|e| unwritable("--svg", &path, e))?;
    }
    let written = write("--svg", &path, svg.as_bytes())?;
    if args.json {
        return print_json(&json!({
            "weight": name,
            "format": args.format,
            "segments": args.segments,
            "curves": all,
            "svg": written,
        }));
    }
    let rows = all.iter().map(|curve| {
        let mut row = vec![curve.asked.to_string(), format!("{:.6}", curve.previous)];
        for errors in [curve.pwl, curve.hardware] {
            row.extend([format!("{:.2e}", errors.absolute), format!("{:.3}", errors.at)]);
            row.push(format!("{:.2e}", errors.relative));
        }
        row
    });
    let header =
        ["previous", "as used", "PWL abs", "at D", "PWL rel", "hardware abs", "at D", "hardware rel"];
    let (low, high) = RANGE;
    let mut text = format!("Largest errors of the weight for D from {low} to {high}; {caption}\n");
    text += &table(&header, rows.collect());
    text += &format!("\n{}", written.display());
    print(&text)
}

/// The weights above, their errors below.
fn draw(curves: &[Curve], caption: &str) -> Result<String, Box<dyn Error>> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (900, 760)).into_drawing_area();
        root.fill(&WHITE)?;
        let (upper, lower) = root.split_vertically(460);
        let mut chart = ChartBuilder::on(&upper)
            .caption(format!("w = sigmoid(D + ln w'), {caption}"), ("sans-serif", 20))
            .margin(12)
            .x_label_area_size(30)
            .y_label_area_size(76)
            .build_cartesian_2d(RANGE.0..RANGE.1, -0.03..1.03)?;
        chart.configure_mesh().light_line_style(WHITE).y_desc("weight w").draw()?;
        for (i, curve) in curves.iter().enumerate() {
            let colour = Palette99::pick(i).to_rgba();
            let points = |of: fn(&CurvePoint) -> f64| curve.points.iter().map(move |p| (p.difference, of(p)));
            chart.draw_series(LineSeries::new(points(|p| p.exact), colour.mix(0.35).stroke_width(6)))?;
            chart
                .draw_series(LineSeries::new(points(|p| p.hardware), colour.stroke_width(2)))?
                .label(format!("w' = {}", curve.asked))
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], colour.stroke_width(2)));
            chart.draw_series(LineSeries::new(points(|p| p.pwl), BLACK.stroke_width(1)))?;
        }
        for (name, style) in [
            ("wide: exact", BLACK.mix(0.35).stroke_width(6)),
            ("coloured: hardware", Palette99::pick(0).to_rgba().stroke_width(2)),
        ] {
            chart
                .draw_series(LineSeries::new([], style))?
                .label(name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], style));
        }
        chart
            .draw_series(LineSeries::new([], BLACK))?
            .label("black: tables alone")
            .legend(|(x, y)| PathElement::new([(x, y), (x + 20, y)], BLACK.stroke_width(1)));
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE)
            .border_style(BLACK)
            .draw()?;
        let errors = curves.iter().flat_map(|curve| [curve.pwl.absolute, curve.hardware.absolute]);
        let most = 1.1 * errors.fold(1e-9, f64::max);
        let mut chart = ChartBuilder::on(&lower)
            .margin(12)
            .x_label_area_size(34)
            .y_label_area_size(76)
            .build_cartesian_2d(RANGE.0..RANGE.1, -most..most)?;
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .y_labels(5)
            .y_label_formatter(&|y| format!("{y:.1e}"))
            .y_desc("error")
            .x_desc("D, difference of neighbouring scores")
            .draw()?;
        for (i, curve) in curves.iter().enumerate() {
            let colour = Palette99::pick(i).to_rgba();
            let of = |of: fn(&CurvePoint) -> f64| {
                curve.points.iter().map(move |p| (p.difference, of(p) - p.exact))
            };
            chart.draw_series(LineSeries::new(of(|p| p.hardware), colour.stroke_width(1)))?;
            chart.draw_series(LineSeries::new(of(|p| p.pwl), BLACK.stroke_width(1)))?;
        }
        root.present()?;
    }
    Ok(svg)
}
