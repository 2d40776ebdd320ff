//! The tables of a report, as text: for a terminal and for HTML alike.

use super::compare::{ComparedCores, Matrix, area_saving, energy_saving, glitch_saving, in_words};
use crate::figures::{CoreFigures, CorePart, FailedCore, PowerFigures};

/// Modules that a breakdown lists.
const MODULES: usize = 8;
/// Characters of an error that a row shows.
const ERROR_SHOWN: usize = 60;

/// A table of text.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportTable {
    /// Heads of the columns.
    pub header: Vec<String>,
    /// Rows, as wide as the header.
    pub rows: Vec<Vec<String>>,
}

impl ReportTable {
    fn new(header: &[&str], rows: Vec<Vec<String>>) -> ReportTable {
        ReportTable { header: header.iter().map(|head| head.to_string()).collect(), rows }
    }
}

/// Four significant digits.
pub fn significant(x: f64) -> String {
    let digits = if x == 0.0 { 0 } else { 3 - x.abs().log10().floor() as i32 };
    format!("{x:.*}", digits.clamp(0, 9) as usize)
}

fn share(value: f64, total: f64) -> String {
    format!("{:.1} %", 100.0 * value / total)
}

/// A remark where a mapping does not meet its clock: it must not be compared with one that does.
fn missed(cores: &[&CoreFigures]) -> &'static str {
    match cores.iter().any(|core| core.timing.slack < 0.0) {
        true => " (missed)",
        false => "",
    }
}

/// Arrays next to as many single cores.
pub fn arrays(group: &ComparedCores) -> ReportTable {
    let rows = group.arrays().into_iter().map(|(array, core, queries)| {
        let n = queries as f64;
        let over = |value: f64, alone: f64| format!("{:+.1} %", 100.0 * (value / (n * alone) - 1.0));
        let energies: [fn(&PowerFigures) -> Option<f64>; 2] =
            [|power| Some(power.energy()), PowerFigures::glitch_energy];
        let mut row = vec![
            array.core.clone(),
            queries.to_string(),
            significant(array.area.total),
            significant(n * core.area.total),
            over(array.area.total, core.area.total),
        ];
        for energy in energies {
            let energy = |f: &CoreFigures| f.power.as_ref().and_then(energy);
            row.extend(match (energy(array), energy(core)) {
                (Some(array), Some(core)) => [significant(array), significant(n * core), over(array, core)],
                _ => ["-", "-", "-"].map(String::from),
            });
        }
        row
    });
    let header = [
        "array",
        "queries",
        "um2",
        "cores alone",
        "more",
        "pJ a key",
        "cores alone",
        "more",
        "with glitches",
        "cores alone",
        "more",
    ];
    ReportTable::new(&header, rows.collect())
}

/// Every core with its area, timing and power.
pub fn overview<'a>(cores: impl IntoIterator<Item = &'a CoreFigures>) -> ReportTable {
    let rows = cores.into_iter().map(|f| {
        let power = |value: &dyn Fn(&PowerFigures) -> f64| match &f.power {
            Some(p) => significant(value(p)),
            None => "-".to_string(),
        };
        let clock = format!("{:.3}", f.timing.clock);
        vec![
            f.core.clone(),
            f.library.clone(),
            significant(f.area.total),
            format!("{:.1}", f.area.nand2_equivalents / 1000.0),
            f.area.flip_flops.to_string(),
            clock + missed(&[f]),
            format!("{:.3}", f.timing.slack),
            f.timing.shortest_period.map_or("-".to_string(), |ns| format!("{ns:.3}")),
            f.timing.shortest_period.map_or("-".to_string(), |ns| format!("{:.0}", 1000.0 / ns)),
            power(&|p| p.total),
            f.power
                .as_ref()
                .and_then(|p| p.glitches.as_ref())
                .map_or("-".to_string(), |g| significant(g.total)),
            power(&|p| p.switching + p.clock_net),
            power(&|p| p.internal),
            power(&|p| p.leakage),
        ]
    });
    let header = [
        "core",
        "library",
        "um2",
        "kGE",
        "flip-flops",
        "clock ns",
        "slack ns",
        "shortest ns",
        "MHz",
        "mW at clock",
        "with glitches",
        "switching",
        "internal",
        "leakage",
    ];
    ReportTable::new(&header, rows.collect())
}

/// The overview with a row for each core that failed, and with the beginning of the error in a last column, if
/// there are any.
pub fn overview_with_failed<'a>(
    cores: impl IntoIterator<Item = &'a CoreFigures>,
    failed: &[&FailedCore],
) -> ReportTable {
    let mut table = overview(cores);
    if failed.is_empty() {
        return table;
    }
    table.rows.iter_mut().for_each(|row| row.push("-".to_string()));
    for core in failed {
        let mut row = vec!["-".to_string(); table.header.len() + 1];
        row[0] = core.core.clone();
        row[1] = core.library.clone();
        row[table.header.len()] = shortened(&core.error);
        table.rows.push(row);
    }
    table.header.push("error".to_string());
    table
}

/// A text in one line, without its end if it is long.
fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(ERROR_SHOWN) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

/// What the FLASH-D core of each pair saves over the FA2 core.
pub fn pairs(group: &ComparedCores) -> ReportTable {
    let rows = group.pairs().into_iter().map(|pair| {
        let c = &pair.flash_d.configuration;
        vec![
            c.format.to_string(),
            c.d.to_string(),
            pair.flash_d.core.clone(),
            pair.fa2.core.clone(),
            match pair.same_clock() {
                true => format!("{:.3}", pair.fa2.timing.clock) + missed(&[pair.flash_d, pair.fa2]),
                false => format!("{:.3}, {:.3}", pair.flash_d.timing.clock, pair.fa2.timing.clock),
            },
            in_words(area_saving(pair.flash_d, pair.fa2)),
            energy_saving(pair.flash_d, pair.fa2).map_or("-".to_string(), in_words),
            glitch_saving(pair.flash_d, pair.fa2).map_or("-".to_string(), in_words),
        ]
    });
    let header = ["format", "d", "FLASH-D", "FA2", "clock ns", "area", "energy", "with glitches"];
    ReportTable::new(&header, rows.collect())
}

/// What each FLASH-D core (rows) saves over each FA2 core (columns).
pub fn matrix(matrix: &Matrix, saving: &dyn Fn(&CoreFigures, &CoreFigures) -> Option<f64>) -> ReportTable {
    let mut header = vec!["FLASH-D over FA2".to_string()];
    header.extend(matrix.fa2.iter().map(|core| core.core.clone()));
    let rows = matrix.flash_d.iter().map(|flash_d| {
        let mut row = vec![flash_d.core.clone()];
        row.extend(matrix.fa2.iter().map(|fa2| saving(flash_d, fa2).map_or("-".to_string(), in_words)));
        row
    });
    ReportTable { header, rows: rows.collect() }
}

/// Area and power by function; `None` for a core whose hierarchy was dissolved.
pub fn functions(f: &CoreFigures) -> Option<ReportTable> {
    if f.area.by_part.is_empty() {
        return None;
    }
    let rows = CorePart::ALL.map(|part| {
        let area = part.of(&f.area.by_part);
        let mut row = vec![part.name().to_string(), significant(area), share(area, f.area.total)];
        if let Some(power) = &f.power {
            let mw = part.of(&power.by_part);
            row.extend([significant(mw), share(mw, power.total)]);
            if let Some(glitches) = &power.glitches {
                let mw = part.of(&glitches.by_part);
                row.extend([significant(mw), share(mw, glitches.total)]);
            }
        }
        row
    });
    let header = ["function", "um2", "of all", "mW", "of all", "mW with glitches", "of all"];
    // As wide as the rows.
    Some(ReportTable::new(&header[..rows[0].len()], rows.to_vec()))
}

/// The modules that take most area, and how they were mapped.
pub fn modules(f: &CoreFigures) -> ReportTable {
    let rows = f.area.by_module.iter().take(MODULES).map(|m| {
        vec![
            m.name.clone(),
            m.instances.to_string(),
            significant(m.own),
            share(m.own * m.instances as f64, f.area.total),
            m.mapping.clone(),
        ]
    });
    ReportTable::new(&["module", "instances", "um2 each", "of all", "mapping"], rows.collect())
}

/// The worst path: a sentence, and the delay in each module instance on it.
pub fn worst_path(f: &CoreFigures) -> (String, ReportTable) {
    let path = &f.timing.path;
    let rows = path.through.iter().map(|(instance, ns)| vec![format!("{ns:.3}"), instance.clone()]).collect();
    let sentence = format!("Worst path: {} gates from {} to {}", path.gates, path.from, path.to);
    (sentence, ReportTable::new(&["ns", "in"], rows))
}

/// What the power figures are from, in a sentence.
pub fn power_source(power: &PowerFigures) -> String {
    let text = format!(
        "Power: {}; {:.1} % of the steps held, {} outputs compared with the model, {:.3} toggles a net and cycle",
        power.workload,
        100.0 * power.held,
        power.outputs_checked,
        power.activity
    );
    let Some(glitches) = &power.glitches else { return text };
    let (mean, deviation) = glitches.spread();
    let energies = || glitches.heads.iter().map(|head| head.glitches);
    let (lowest, highest) = (energies().fold(f64::MAX, f64::min), energies().fold(0.0, f64::max));
    format!(
        "{text}. With glitches: {} of these cycles with the library's delays, {:.3} toggles a net and cycle, {:.2} times the \
         power that the same cycles take without; over {} heads {} pJ a cycle on average, standard deviation {}, {} to {}",
        glitches.cycles,
        glitches.activity,
        glitches.factor(),
        glitches.heads.len(),
        significant(mean),
        significant(deviation),
        significant(lowest),
        significant(highest),
    )
}
