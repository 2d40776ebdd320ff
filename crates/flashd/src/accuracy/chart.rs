//! Errors over the number of keys, and by row.

use flashd_chart::{Axis, Bar, BarGroup, Chart, Ink, Marker, Panel, PanelBody, Series};
use flashd_spec::config::{CoreConfig, Design};
use flashd_study::accuracy::{FormatAccuracy, RowAccuracy};
use flashd_study::lengths::{FormatLengths, LengthErrors};

/// The smallest error that has a place on a logarithmic axis, in percent: below is 0, or rounding of f64.
const LEAST: f64 = 1e-9;
const ERROR: &str = "mean error, % of max|v|";

/// The colour of the i-th core: that of its design, further cores of a design lighter.
fn ink<'a>(cores: impl Iterator<Item = &'a CoreConfig>, i: usize) -> (Design, Ink) {
    let designs: Vec<Design> = cores.map(|core| core.design()).collect();
    let nth = designs[..i].iter().filter(|design| **design == designs[i]).count();
    (designs[i], Ink::nth(designs[i] as usize).pale((1.0 - 0.3 * nth as f64).max(0.25)))
}

fn lines_of(format: &FormatLengths) -> Vec<Series> {
    let line = |name: String, ink, dashed, marker, errors: &[LengthErrors]| {
        let points = errors.iter().map(|e| (e.keys as f64, 100.0 * e.errors.mean));
        let points = points.filter(|(_, error)| *error > LEAST).collect();
        Series { dashed, marker: Some(Marker::nth(marker)), points, ..Series::line(name, ink) }
    };
    let mut lines = vec![line("input error, spread scores".into(), Ink::GREY, true, 1, &format.input)];
    for (i, core) in format.cores.iter().enumerate() {
        let (design, ink) = ink(format.cores.iter().map(|core| &core.configuration), i);
        let marker = if design == Design::FlashD { 0 } else { 2 };
        for (scores, dashed, errors) in [("spread", true, &core.spread), ("equal", false, &core.equal)] {
            lines.push(line(format!("{}, {scores} scores", core.core), ink, dashed, marker, errors));
        }
    }
    lines
}

/// Mean error over the number of keys, both axes logarithmic, a panel for each format.
pub fn lengths(formats: &[FormatLengths]) -> Chart {
    let panel = |format: &FormatLengths| Panel {
        x: Axis { at_points: true, ..Axis::log("keys") },
        y: Axis::log(ERROR),
        title: format.format.to_string(),
        body: PanelBody::Curves(lines_of(format)),
    };
    Chart { columns: 2, panels: formats.iter().map(panel).collect(), ..Chart::default() }
}

/// Bars of the mean error of every core by row, next to the input error; a panel for each format.
pub fn rows(formats: &[FormatAccuracy]) -> Chart {
    let bar =
        |name: String, ink, mean: f64| Bar { segments: vec![(name, ink, 100.0 * mean)], ..Bar::default() };
    let group = |row: &RowAccuracy| {
        let mut bars = vec![bar("input error".into(), Ink::GREY, row.input.mean)];
        for (i, core) in row.cores.iter().enumerate() {
            let (_, ink) = ink(row.cores.iter().map(|core| &core.configuration), i);
            bars.push(bar(core.core.clone(), ink, core.errors.mean));
        }
        BarGroup { name: row.name.clone(), bars, ..BarGroup::default() }
    };
    let panel = |format: &FormatAccuracy| Panel {
        y: Axis::log(ERROR),
        title: format.format.to_string(),
        x: Axis::default(),
        body: PanelBody::Bars(format.rows.iter().map(group).collect()),
    };
    Chart { columns: 2, panels: formats.iter().map(panel).collect(), ..Chart::default() }
}
