//! The HTML page.

use super::charts::{Measure, ReportChart, charts};
use super::compare::{
    CLOCKS_DIFFER, ComparedCores, CorePair, area_saving, energy_saving, glitch_saving, groups,
};
use super::page::{commands, details, element, page, table};
use super::tables::{self, ReportTable, significant};
use crate::figures::{CoreFigures, Measurements, PowerFigures};
use flashd_chart::ChartError;

/// How the figures of a report can be made again; the command line is not known here.
#[derive(Clone, Debug)]
pub struct Commands {
    /// A command for every core, in the order of the figures.
    pub cores: Vec<String>,
    /// Commands that make the whole report.
    pub whole: Vec<String>,
}

/// The report: one page that needs no other file.
///
/// # Errors
/// If a chart cannot be drawn.
pub fn html(measured_cores: &Measurements, how: &Commands) -> Result<String, ChartError> {
    let figures = measured_cores.cores.as_slice();
    let groups = groups(figures);
    let charts = charts(figures)?;
    let body = [
        measured(&groups),
        compared(&groups, &charts),
        all_cores(&groups),
        failed_cores(measured_cores),
        each_core(figures, how),
        reproduce(&groups, how),
    ];
    Ok(page("Area, timing and power of attention cores", &body.concat()))
}

/// What was measured, and what the figures mean.
fn measured(groups: &[ComparedCores]) -> String {
    let mut body = element("h2", "What was measured");
    let rows = groups.iter().map(|group| {
        let run = group.run;
        vec![
            group.library.to_string(),
            run.library_file.clone(),
            group.clock(),
            format!("{} %", 100.0 * run.external_share),
            if run.flat { "dissolved" } else { "kept" }.to_string(),
            group.cores.iter().map(|core| core.core.clone()).collect::<Vec<_>>().join(", "),
            format!("{}, {}", run.yosys, run.opensta),
        ]
    });
    let header = ["library", "file", "clock", "external", "hierarchy", "cores", "mapped and timed with"];
    body += &table(&ReportTable { header: header.map(String::from).to_vec(), rows: rows.collect() });
    let meaning = [
        "Area is that of the cells, without wires and clock tree. kGE are thousands of the library's smallest NAND \
         of two inputs.",
        "Timing and power see the pins on a net, and wires only as far as the library has a wire load model by default: \
         see each core. The clock is ideal. \
         Inputs arrive late, and outputs are due early, by the external share of the period. The shortest period is that of a core mapped \
         for speed; a core mapped to a given clock has a slack at that clock instead.",
        "Power counts the toggles of every net of the mapped netlist on attention heads, simulated without delays \
         and compared with the bit-exact model on the way. With glitches, a sample of the same cycles is simulated with \
         the delays of the library: pulses shorter than a gate's delay vanish, all others count in full. Neither has \
         a clock tree: they compare like with like and are no forecast. Energy is power times \
         the clock period, that of one cycle, in which a core takes one key; at one clock savings of energy and \
         of power are the same.",
    ];
    meaning.iter().for_each(|text| body += &element("p", text));
    body
}

/// Charts and tables of FLASH-D against FA2.
fn compared(groups: &[ComparedCores], charts: &[ReportChart]) -> String {
    let mut body = element("h2", "FLASH-D against FA2");
    if charts.is_empty() {
        return body
            + &element("p", "No FLASH-D and FA2 core of one format and vector length were measured alike.");
    }
    for (measure, name) in [(Measure::Area, "Area"), (Measure::Power, "Power")] {
        let mut drawings = charts.iter().filter(|chart| chart.measure == measure).peekable();
        if drawings.peek().is_none() {
            continue;
        }
        body += &element("h3", name);
        body += "<div class=\"charts\">\n";
        drawings.for_each(|chart| body += &format!("<figure>\n{}</figure>\n", chart.svg));
        body += "</div>\n";
    }
    for group in groups.iter().filter(|group| !group.pairs().is_empty()) {
        body += &element("h3", &format!("{}, clock: {}", group.library, group.clock()));
        body += &table(&tables::pairs(group));
        if !group.pairs().iter().all(CorePair::same_clock) {
            body += &element("p", CLOCKS_DIFFER);
        }
        for matrix in group.matrices() {
            let c = &matrix.flash_d[0].configuration;
            body += &element("h4", &format!("Area, {} d = {}", c.format, c.d));
            body += &table(&tables::matrix(&matrix, &|a, b| Some(area_saving(a, b))));
            if group.run.cycles > 0 {
                body += &element("h4", &format!("Energy a cycle, {} d = {}", c.format, c.d));
                body += &table(&tables::matrix(&matrix, &energy_saving));
            }
            if matrix.with_glitches() {
                body += &element("h4", &format!("Energy a cycle with glitches, {} d = {}", c.format, c.d));
                body += &table(&tables::matrix(&matrix, &glitch_saving));
            }
        }
    }
    body
}

fn all_cores(groups: &[ComparedCores]) -> String {
    let mut body = element("h2", "All cores");
    for group in groups {
        body += &element("h3", &format!("{}, clock: {}", group.library, group.clock()));
        body += &table(&tables::overview(group.cores.iter().copied()));
    }
    for group in groups.iter().filter(|group| !group.arrays().is_empty()) {
        body += &element(
            "h3",
            &format!("Arrays next to as many single cores, {}, clock: {}", group.library, group.clock()),
        );
        body += &table(&tables::arrays(group));
    }
    body
}

/// The cores without figures, if there are any.
fn failed_cores(all: &Measurements) -> String {
    if all.failed.is_empty() {
        return String::new();
    }
    let rows = all.failed.iter().map(|f| vec![f.core.clone(), f.library.clone(), f.error.clone()]);
    let header = ["core", "library", "error"].map(String::from).to_vec();
    element("h2", "Cores without figures") + &table(&ReportTable { header, rows: rows.collect() })
}

/// The shares of a core's power, without glitches and with.
fn power(power: &PowerFigures) -> String {
    let mut sentences = vec![
        format!("{}.", tables::power_source(power)),
        format!(
            "Without glitches, of {} mW at {:.2} MHz, nets take {}, the clock's pins {}, cells inside {}, leakage {}; {} pJ a cycle.",
            significant(power.total),
            power.clock,
            significant(power.switching),
            significant(power.clock_net),
            significant(power.internal),
            significant(power.leakage),
            significant(power.energy()),
        ),
    ];
    sentences.extend(power.glitches.as_ref().map(|glitches| {
        format!(
            "With glitches, of {} mW nets take {}, the clock's pins {}, cells inside {}, leakage {}; {} pJ a cycle. Everything was \
             at rest {:.3} ns after an edge.",
            significant(glitches.total),
            significant(glitches.switching),
            significant(glitches.clock_net),
            significant(glitches.internal),
            significant(glitches.leakage),
            significant(power.glitch_energy().unwrap_or_default()),
            glitches.settled,
        )
    }));
    sentences.iter().map(|text| element("p", text)).collect()
}

fn each_core(figures: &[CoreFigures], how: &Commands) -> String {
    let mut body = element("h2", "Core by core");
    for (f, command) in figures.iter().zip(&how.cores) {
        let mut inner = String::new();
        match tables::functions(f) {
            Some(functions) => inner += &table(&functions),
            None => inner += &element("p", "The hierarchy was dissolved: there are no figures by function."),
        }
        inner += &table(&tables::modules(f));
        let (sentence, through) = tables::worst_path(f);
        inner += &element("p", &format!("{sentence}."));
        inner += &table(&through);
        let (flip_flops, nand2) = (significant(f.area.flip_flop_area), &f.area.nand2);
        inner += &element(
            "p",
            &format!(
                "{} cells; flip-flops take {flip_flops} um2; a gate equivalent is {nand2}. Slack {:.3} ns. Wires \
                 in timing: {}.",
                f.area.cells, f.timing.slack, f.timing.wires
            ),
        );
        inner += &f.power.as_ref().map_or(String::new(), power);
        inner += &commands(std::slice::from_ref(command));
        let json = serde_json::to_string_pretty(&f.configuration).unwrap_or_default();
        inner += &details("Configuration, as --config takes it", &element("pre", &json));
        body += &details(&format!("{} in {}", f.core, f.library), &inner);
    }
    body
}

fn reproduce(groups: &[ComparedCores], how: &Commands) -> String {
    let mut body = element("h2", "How to reproduce");
    body += &commands(&how.whole);
    body += &element(
        "p",
        "Files and folders are named without the folder that they lie in. Each core's own command is above, with its \
         figures.",
    );
    let rows = groups.iter().map(|group| {
        let run = group.run;
        vec![
            run.library_file.clone(),
            run.library_sha256.clone(),
            run.yosys.clone(),
            run.opensta.clone(),
            run.flashd.clone(),
        ]
    });
    let mut rows: Vec<Vec<String>> = rows.collect();
    rows.dedup();
    let header = ["library", "SHA-256", "Yosys", "OpenSTA", "flashd"];
    body + &table(&ReportTable { header: header.map(String::from).to_vec(), rows })
}
