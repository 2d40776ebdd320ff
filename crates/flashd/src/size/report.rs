//! The result in words and a table.

use super::{SizeResult, Sized};
use crate::output::table;
use flashd_ppa::report::tables::significant;
use flashd_study::equal_error::CONFIRMING;
use std::fmt::Write;

const NOTES: &str = "Mean, worst mean and worst largest: errors over those of exact attention on the rounded operands, its result rounded once; \
                     geometric mean\nof all kinds of data, worst kind. ";

pub fn text(sizes: &SizeResult) -> String {
    let SizeResult { d, max_keys, library, clock_ns, data, every, lengths, widths, cores, judged, .. } =
        sizes;
    let mut text = format!("d = {d}, {max_keys} keys, in {library} at {clock_ns} ns\n");
    let mut rows = vec![row("as selected".into(), &sizes.selected)];
    for choice in &sizes.choices {
        let limit = format!("smallest, mean at most {}", choice.rule.mean);
        rows.push(match &choice.core {
            Some(core) => row(limit, core),
            None => vec![limit, "none within the range of the widths".into()],
        });
    }
    let with_power = sizes.selected.measured.power_mw.is_some();
    let with_glitches = sizes.selected.measured.power_with_glitches_mw.is_some();
    let mut header = vec!["", "core", "um2", "slack ns"];
    header.extend(with_power.then_some("mW"));
    header.extend(with_glitches.then_some("with glitches"));
    header.extend(["mean", "worst mean", "of", "worst largest", "of"]);
    rows.iter_mut().for_each(|row| row.resize(header.len(), String::new()));
    text += &table(&header, rows);
    text += "\n";
    text += NOTES;
    if let Some(choice) = sizes.choices.first() {
        let _ = write!(text, "At most {} and {} in each kind.", choice.rule.each_mean, choice.rule.each_max);
    }
    let lengths: Vec<String> = lengths.iter().map(usize::to_string).collect();
    let _ = writeln!(
        text,
        "\nKinds: equal, random and spread scores and a sink, values with and without a mean, at {} keys; recorded heads of {}, one query in {every}.\nErrors of a core that holds are those on {CONFIRMING} draws of the synthetic heads, of another one those on one draw.",
        lengths.join(", "),
        data.display()
    );
    let _ = writeln!(text, "{judged} of {cores} cores were judged; widths: {}.", widths.join(", "));
    for choice in &sizes.choices {
        if let Some(core) = &choice.core {
            let _ = writeln!(text, "mean at most {}: {}", choice.rule.mean, core.flags);
        }
    }
    text
}

fn row(what: String, sized: &Sized) -> Vec<String> {
    let measured = &sized.measured;
    let mut row =
        vec![what, sized.core.clone(), significant(measured.area_um2), format!("{:.3}", measured.slack_ns)];
    row.extend([measured.power_mw, measured.power_with_glitches_mw].into_iter().flatten().map(significant));
    row.extend([
        format!("{:.3}", sized.mean),
        format!("{:.2}", sized.worst_mean),
        sized.worst_mean_of.clone(),
        format!("{:.2}", sized.worst_max),
        sized.worst_max_of.clone(),
    ]);
    row
}
