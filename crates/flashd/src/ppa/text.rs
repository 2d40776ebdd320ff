//! Figures as text.

use crate::output::table;
use flashd_ppa::figures::{CoreFigures, Measurements};
use flashd_ppa::report::compare::{
    CLOCKS_DIFFER, CorePair, area_saving, energy_saving, glitch_saving, groups,
};
use flashd_ppa::report::tables::{self, ReportTable};
use std::fmt::Write;

/// The table of all cores and the savings; with `breakdown` also each core by function and module.
pub(super) fn figures(all: &Measurements, breakdown: bool) -> String {
    let figures = all.cores.as_slice();
    let mut text = drawn(tables::overview_with_failed(figures, &all.failed.iter().collect::<Vec<_>>()));
    text += "\nkGE: thousands of the library's smallest two-input NAND. No clock tree. Power from toggles without delays, and\n\
             with the library's delays, so with glitches: of all cycles without, of a sample with.\n\
             Slack at the clock; the shortest period is that of cores mapped for speed, without --clock.\n";
    let mut shares: Vec<f64> = figures.iter().map(|f| 100.0 * f.run.external_share).collect();
    shares.sort_by(f64::total_cmp);
    shares.dedup();
    let shares: Vec<String> = shares.iter().map(|share| format!("{share} %")).collect();
    let _ = writeln!(text, "External delay of each port: {} of the period.", shares.join(" or "));
    for failed in &all.failed {
        let _ = writeln!(text, "\n{} in {} failed: {}", failed.core, failed.library, failed.error);
    }
    let mut wires: Vec<String> =
        figures.iter().map(|f| format!("Wires in {}: {}.", f.library, f.timing.wires)).collect();
    wires.sort();
    wires.dedup();
    text += &(wires.join("\n") + "\n");
    for group in groups(figures).iter().filter(|group| !group.arrays().is_empty()) {
        let _ = write!(
            text,
            "\n\nArrays next to as many single cores in {}, clock: {}\n",
            group.library,
            group.clock()
        );
        text += &drawn(tables::arrays(group));
        text += "\nA key: for all queries that meet it; energy of one cycle.\n";
    }
    for group in groups(figures).iter().filter(|group| !group.pairs().is_empty()) {
        let _ = write!(text, "\n\nFLASH-D over FA2 in {}, clock: {}\n", group.library, group.clock());
        text += &drawn(tables::pairs(group));
        text += "\nEnergy: of one cycle; at one clock the saving in power is the same.\n";
        if !group.pairs().iter().all(CorePair::same_clock) {
            text += &format!("{CLOCKS_DIFFER}\n");
        }
        for matrix in group.matrices() {
            let c = &matrix.flash_d[0].configuration;
            let _ = write!(text, "\nArea, {} d = {}\n", c.format, c.d);
            text += &drawn(tables::matrix(&matrix, &|a, b| Some(area_saving(a, b))));
            if group.run.cycles > 0 {
                let _ = write!(text, "\n\nEnergy, {} d = {}\n", c.format, c.d);
                text += &drawn(tables::matrix(&matrix, &energy_saving));
                if matrix.with_glitches() {
                    let _ = write!(text, "\n\nEnergy with glitches, {} d = {}\n", c.format, c.d);
                    text += &drawn(tables::matrix(&matrix, &glitch_saving));
                }
            }
            text += "\n";
        }
    }
    if breakdown {
        figures.iter().for_each(|core| one(&mut text, core));
    }
    text
}

fn drawn(t: ReportTable) -> String {
    let header: Vec<&str> = t.header.iter().map(String::as_str).collect();
    table(&header, t.rows)
}

/// A core by function, its largest modules, its worst path.
fn one(text: &mut String, f: &CoreFigures) {
    let _ = write!(text, "\n\n{} in {}\n", f.core, f.library);
    match tables::functions(f) {
        Some(functions) => *text += &drawn(functions),
        None => *text += "The hierarchy was dissolved: there are no figures by function.",
    }
    *text += "\n";
    *text += &drawn(tables::modules(f));
    let (sentence, through) = tables::worst_path(f);
    let _ = write!(text, "\n{sentence}");
    for row in through.rows {
        let _ = write!(text, "\n  {:>7} ns in {}", row[0], row[1]);
    }
    if let Some(power) = &f.power {
        let _ = write!(text, "\n{}", tables::power_source(power));
    }
}
