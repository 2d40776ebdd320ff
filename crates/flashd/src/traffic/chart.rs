//! Accesses against the size of the SRAM, or against the number of keys.

use super::TrafficPoint;
use flashd_chart::{Axis, Chart, Ink, Marker, Panel, PanelBody, Series};
use std::collections::BTreeMap;

/// One curve: x, counted and formula.
type Curve = Vec<(f64, f64, f64)>;

/// Counted accesses as points on the lines of the formulas, both axes logarithmic. The x axis is the SRAM, unless all
/// points have the same; then it is N.
pub fn accesses(points: &[TrafficPoint]) -> Chart {
    let over_sram = points.iter().any(|p| p.sram != points[0].sram);
    let mut curves: BTreeMap<(usize, String), Curve> = BTreeMap::new();
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
            ("standard", &p.standard),
            ("FlashAttention", &p.flash_attention),
            ("queries resident", &p.streamed),
        ];
        for (i, (name, m)) in curves_of_a_shape.into_iter().enumerate() {
            let y = (m.counted.accesses() as f64, m.formula.accesses() as f64);
            curves.entry((i, format!("{name}: {rest}"))).or_default().push((x as f64, y.0, y.1));
        }
    }
    let shapes = curves.len().div_ceil(3).max(1);
    let mut series = Vec::new();
    for (i, ((kind, name), mut curve)) in curves.into_iter().enumerate() {
        curve.sort_by(|a, b| a.0.total_cmp(&b.0));
        // The curves of a shape have the same colour: standard dashed, FlashAttention solid, queries resident thick.
        let ink = Ink::nth(i % shapes);
        series.push(Series {
            dashed: kind == 0,
            width: if kind == 2 { 4 } else { 2 },
            points: curve.iter().map(|p| (p.0, p.2)).collect(),
            ..Series::line(name, ink)
        });
        let counted = curve.iter().map(|p| (p.0, p.1)).collect();
        series.push(Series { points: counted, ..Series::markers("", ink, Marker::nth(0)) });
    }
    let x = Axis::log(if over_sram { "SRAM, elements" } else { "N, keys" });
    Chart {
        title: "Slow-memory accesses".into(),
        notes: vec!["Points counted, lines by formula.".into()],
        columns: 1,
        panels: vec![Panel {
            x: Axis { at_points: true, ..x },
            y: Axis::log("elements read and written"),
            title: String::new(),
            body: PanelBody::Curves(series),
        }],
    }
}
