//! The result in words and tables.

use super::points::{CorePoint, Cost, Exploration, FormatResult, MeasuredCore};
use crate::output::{percent, table};
use flashd_ppa::report::tables::significant;
use std::fmt::Write;
use std::path::PathBuf;

const NOTES: &str = "Errors against f64 attention, fractions of max|v|: mean over the groups of heads, largest of an \
                     element, largest on equal\nscores. ";
const TOGETHER: &str = "all formats: errors on heads contain what rounding to the format loses. Those on equal scores do not: they \
                        start from rounded\nvalues.\n";
const FRONT: &str = "front: no core of its design (own), or of both (both), costs less and errs less. knee: the core \
                     of its design's front\nfurthest below the line from the cheapest to the most accurate, in \
                     logarithms of cost and mean error.\n";

pub fn text(exploration: &Exploration, written: &[PathBuf]) -> String {
    let mut text = String::new();
    for result in exploration.formats.iter().chain(&exploration.all_formats) {
        one_format(&mut text, exploration, result);
    }
    text += NOTES;
    text += "as accurate: the mean error is no larger than the reference's in every group.\n";
    if exploration.cost.is_some() {
        text += FRONT;
    }
    if exploration.all_formats.is_some() {
        text += TOGETHER;
    }
    for path in written {
        let _ = writeln!(text, "{}", path.display());
    }
    text
}

fn one_format(text: &mut String, exploration: &Exploration, result: &FormatResult) {
    let Exploration { d, heads, every, data, .. } = exploration;
    let _ = write!(text, "{}: ", result.title());
    if let (Some(library), Some(clock)) = (&exploration.library, exploration.clock_ns) {
        let _ = write!(text, "d = {d} in {library} at {clock} ns; ");
    }
    let queries = if *every == 1 { String::new() } else { format!(", one query in {every}") };
    let _ = write!(text, "errors on {heads} heads of {}{queries}", data.display());
    // Tables of one format have the reference of that format, which the option names.
    let _ = match result.format {
        None => writeln!(text, "; as accurate as {}", result.reference),
        Some(_) => writeln!(text),
    };
    let in_time = |p: &&CorePoint| p.measured.as_ref().is_none_or(|m| m.meets_clock);
    let (in_time, late): (Vec<&CorePoint>, Vec<&CorePoint>) = result.points.iter().partition(in_time);
    if !in_time.is_empty() {
        *text += &points(exploration, result, &in_time);
        *text += "\n";
    }
    if !late.is_empty() {
        let _ = writeln!(text, "Slower than the clock, on no front:");
        *text += &points(exploration, result, &late);
        *text += "\n";
    }
    if let (Some(limit), 1..) = (exploration.max_error, result.left_out) {
        let _ =
            writeln!(text, "{} cores with a mean error above {} left out", result.left_out, percent(limit));
    }
    for choice in &result.choices {
        let name = |core: &Option<String>| core.clone().unwrap_or_else(|| "none".into());
        let _ = writeln!(
            text,
            "{:8} knee {}; cheapest as accurate as {}: {}",
            choice.design.title(),
            name(&choice.knee),
            result.reference,
            name(&choice.cheapest_as_accurate)
        );
    }
    *text += "\n";
}

fn points(exploration: &Exploration, result: &FormatResult, points: &[&CorePoint]) -> String {
    let with_power = matches!(exploration.cost, Some(Cost::Power | Cost::Glitches));
    let equal = format!("{} equal", exploration.equal_scores);
    let mut header = vec!["core"];
    header.extend(result.format.is_none().then_some("formats"));
    if exploration.cost.is_some() {
        header.extend(["um2", "kGE"]);
        header.extend(with_power.then_some(["mW", "with glitches"]).into_iter().flatten());
        header.push("slack ns");
    }
    header.extend(["mean error", "max error", &equal, "as accurate"]);
    if exploration.cost.is_some() {
        header.extend(["front", ""]);
    }
    let rows = points.iter().map(|point| {
        let mut row = vec![point.stem.clone()];
        row.extend(point.format.map(|format| format.to_string()));
        if let Some(m) = &point.measured {
            row.extend(figures(m, with_power));
        }
        row.extend([point.errors.mean, point.errors.max, point.equal_scores_error].map(percent));
        row.push(if point.as_accurate_as_reference { "yes".into() } else { String::new() });
        if exploration.cost.is_some() {
            row.extend([front(point).to_string(), remarks(result, point)]);
        }
        row
    });
    table(&header, rows.collect())
}

fn figures(m: &MeasuredCore, with_power: bool) -> Vec<String> {
    let mut cells = vec![significant(m.area_um2), format!("{:.1}", m.nand2_equivalents / 1000.0)];
    if with_power {
        let powers = [m.power_mw, m.power_with_glitches_mw];
        cells.extend(powers.map(|power| power.map_or_else(|| "-".into(), significant)));
    }
    cells.push(format!("{:.3}", m.slack_ns));
    cells
}

fn front(point: &CorePoint) -> &'static str {
    match (point.on_front, point.on_design_front) {
        (true, _) => "both",
        (false, true) => "own",
        (false, false) => "",
    }
}

fn remarks(result: &FormatResult, point: &CorePoint) -> String {
    let Some(choice) = result.choice(point.design()) else { return String::new() };
    let is = |core: &Option<String>| core.as_ref() == Some(&point.core);
    let remarks = [(is(&choice.knee), "knee"), (is(&choice.cheapest_as_accurate), "cheapest as accurate")];
    remarks.iter().filter(|(is, _)| *is).map(|(_, text)| *text).collect::<Vec<_>>().join(", ")
}
