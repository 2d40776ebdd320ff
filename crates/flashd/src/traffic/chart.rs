//! Accesses against the size of the SRAM, or against the number of keys.

use super::TrafficPoint;
use plotters::prelude::*;
use std::collections::BTreeMap;

/// One curve: x, counted and formula.
type Curve = Vec<(f64, f64, f64)>;

/// Counted accesses as points on the lines of the formulas, both axes logarithmic. The x axis is the SRAM, unless all
/// points have the same; then it is N.
pub fn accesses(points: &[TrafficPoint]) -> Result<String, Box<dyn std::error::Error>> {
    let over_sram = points.iter().any(|p| p.sram != points[0].sram);
    let mut curves: BTreeMap<(u8, String), Curve> = BTreeMap::new();
    for p in points {
        let blocks = match p.sram {
            Some(sram) => format!("SRAM {sram}"),
            None => format!("blocks {} x {}", p.block_rows, p.block_columns),
        };
        let (x, rest) = match p.sram.filter(|_| over_sram) {
            Some(sram) => (sram, format!("{}, N = {}, d = {}", p.source, p.keys, p.d)),
            None => (p.keys, format!("{}, d = {}, {blocks}", p.source, p.d)),
        };
        let curves_of_a_shape = [
            (0, "standard", &p.standard),
            (1, "FlashAttention", &p.flash_attention),
            (2, "queries resident", &p.streamed),
        ];
        for (i, name, m) in curves_of_a_shape {
            let y = (m.counted.accesses() as f64, m.formula.accesses() as f64);
            curves.entry((i, format!("{name}: {rest}"))).or_default().push((x as f64, y.0, y.1));
        }
    }
    let bounds = |values: &mut dyn Iterator<Item = f64>| {
        let (a, b) = values.fold((f64::INFINITY, 0f64), |(a, b), x| (a.min(x), b.max(x)));
        // A single value needs an axis as well.
        (a / 1.5)..(b * 1.5)
    };
    let all = || curves.values().flatten();
    let (x, y) = (bounds(&mut all().map(|p| p.0)), bounds(&mut all().map(|p| p.1)));
    // The sizes themselves, where they leave room for each other.
    let mut ticks: Vec<f64> = all().map(|p| p.0).collect();
    ticks.sort_by(f64::total_cmp);
    ticks.dedup_by(|next, tick| *next < 1.2 * *tick);
    let mut svg = String::new();
    {
        // The legend is beside the chart, and as high as it needs.
        let height = 480.max(60 + 22 * curves.len() as u32);
        let root = SVGBackend::with_string(&mut svg, (1100, height)).into_drawing_area();
        root.fill(&WHITE)?;
        let (left, right) = root.split_horizontally(680);
        let mut chart = ChartBuilder::on(&left)
            .caption("Slow-memory accesses", ("sans-serif", 22))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(80)
            .build_cartesian_2d(x.log_scale().with_key_points(ticks), y.log_scale())?;
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .x_desc(if over_sram { "SRAM, elements" } else { "N, keys" })
            .y_desc("elements read and written")
            .x_label_formatter(&|x| x.to_string())
            .y_label_formatter(&|y| format!("{y:.0e}"))
            .draw()?;
        let shapes = curves.len().div_ceil(3).max(1);
        for (i, ((kind, name), curve)) in curves.iter_mut().enumerate() {
            curve.sort_by(|a, b| a.0.total_cmp(&b.0));
            // The curves of a shape have the same colour: standard dashed, FlashAttention solid, queries resident thick.
            let color = Palette99::pick(i % shapes).to_rgba();
            let style = color.stroke_width(if *kind == 2 { 4 } else { 2 });
            let line: Vec<(f64, f64)> = curve.iter().map(|p| (p.0, p.2)).collect();
            let counted = curve.iter().map(|p| Circle::new((p.0, p.1), 4, color.filled()));
            let y = 30 + 22 * i as i32;
            if *kind == 0 {
                chart.draw_series(DashedLineSeries::new(line, 6, 4, style))?;
                for x in [10, 24] {
                    right.draw(&PathElement::new([(x, y), (x + 8, y)], style))?;
                }
            } else {
                chart.draw_series(LineSeries::new(line, style))?;
                right.draw(&PathElement::new([(10, y), (32, y)], style))?;
            }
            chart.draw_series(counted)?;
            right.draw(&Text::new(name.clone(), (42, y - 6), ("sans-serif", 13)))?;
        }
        let note = "points counted, lines by formula";
        right.draw(&Text::new(note, (10, 30 + 22 * curves.len() as i32), ("sans-serif", 13)))?;
        root.present()?;
    }
    Ok(svg)
}
