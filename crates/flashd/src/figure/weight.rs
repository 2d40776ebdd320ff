//! `flashd figure weight`: the paper's Fig. 2.

use crate::cli::WeightFigureArgs;
use crate::output::{Failure, draw, print, print_json, table, unwritable};
use flashd_chart::{Axis, Chart, Ink, Panel, PanelBody, Series};
use flashd_spec::config::OptionValue;
use flashd_study::weight::{Curve, CurvePoint, PREVIOUS, RANGE, curves, usable};
use serde_json::json;
use std::path::{Path, PathBuf};

pub fn run(args: &WeightFigureArgs) -> Result<(), Failure> {
    let name = args.weight.text();
    // Narrow formats have no number between 0.99 and 1, and `paper` has weights in the format.
    let of_paper = || PREVIOUS.into_iter().filter(|&w| usable(args.weight, args.format, w)).collect();
    let previous = if args.previous.is_empty() { of_paper() } else { args.previous.clone() };
    let all = curves(args.weight, args.format, args.segments, &previous)
        .map_err(|e| Failure::input(format!("--{}: {}", e.field.replace('_', "-"), e.problem)))?;
    let caption = format!("{name}, {}, {} segments", args.format, args.segments);
    let file = format!("weight_{name}_{}_{}.svg", args.format.ident(), args.segments);
    let path = args.svg.clone().unwrap_or_else(|| PathBuf::from("rtl-out").join(file));
    if args.svg.is_none() {
        flashd_files::create_folder(Path::new("rtl-out")).map_err(|e| unwritable("--svg", &path, e))?;
    }
    let written = draw("--svg", &path, &[chart(&all, &caption)])?;
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
fn chart(curves: &[Curve], caption: &str) -> Chart {
    let line = |curve: &Curve, ink, width, name: String, y: &dyn Fn(&CurvePoint) -> f64| Series {
        width,
        points: curve.points.iter().map(|point| (point.difference, y(point))).collect(),
        ..Series::line(name, ink)
    };
    let (mut weights, mut errors) = (Vec::new(), Vec::new());
    for (i, curve) in curves.iter().enumerate() {
        let ink = Ink::nth(i);
        weights.push(line(curve, ink.pale(0.35), 6, String::new(), &|p| p.exact));
        weights.push(line(curve, ink, 2, format!("w' = {}", curve.asked), &|p| p.hardware));
        weights.push(line(curve, Ink::BLACK, 1, String::new(), &|p| p.pwl));
        errors.push(line(curve, ink, 1, String::new(), &|p| p.hardware - p.exact));
        errors.push(line(curve, Ink::BLACK, 1, String::new(), &|p| p.pwl - p.exact));
    }
    weights.extend([
        Series { width: 6, ..Series::line("wide: exact", Ink::BLACK.pale(0.35)) },
        Series::line("coloured: hardware", Ink::nth(0)),
        Series { width: 1, ..Series::line("black: tables alone", Ink::BLACK) },
    ]);
    let panel = |y: &str, series| Panel {
        x: Axis::linear("D, difference of neighbouring scores"),
        y: Axis::linear(y),
        title: String::new(),
        body: PanelBody::Curves(series),
    };
    Chart {
        title: format!("w = sigmoid(D + ln w'), {caption}"),
        columns: 1,
        panels: vec![panel("weight w", weights), panel("error", errors)],
        ..Chart::default()
    }
}
