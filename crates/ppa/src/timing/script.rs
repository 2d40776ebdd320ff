//! Running OpenSTA.

use super::report::{self, REGISTER_SUFFIX, TimedPath};
use crate::PpaError;
use crate::synthesis::{Cache, CellLibrary, Digest, LIBRARY, Mapped, Tools, provide, work_folder};
use flashd_generator::EXTERNAL_SHARE;
use std::fmt::Write as _;
use std::path::Path;

/// Name of the clock port of every sequential module.
pub(crate) const CLOCK: &str = "clk";
/// The clock of the logic outside, with the same period and edges. Paths from and to ports are those from and to this clock.
const EXTERNAL: &str = "external";
/// Clock period for estimates, ns: long, so that slacks are positive, yet short enough for the tool's floats.
const LONG_PERIOD: f64 = 1e3;
/// File of the report in a cache entry.
const REPORT: &str = "report.txt";
/// Instances of a module whose flip-flops are reported besides the worst ones of all: enough to see the effect of
/// the parents, few enough for a core of hundreds of lanes.
const INSTANCES_REPORTED: usize = 8;

/// Results of a core's timing run.
#[derive(Clone, Debug)]
pub(crate) struct Analysis {
    /// The path of least slack.
    pub worst: TimedPath,
    /// The shortest period at which every path of this netlist has time enough, in the library's unit.
    pub period: f64,
    /// The worst path into every kind of module that has flip-flops, and into the outputs.
    pub paths: Vec<TimedPath>,
}

/// The clocks, and external delays of `share` of the period at every port but the clock.
fn constraints(library: &CellLibrary, period: f64, share: f64) -> String {
    let roles = &library.roles;
    let load = library.load_units(roles.load);
    let delay = share * period;
    format!(
        "if {{[llength [get_ports -quiet {CLOCK}]]}} {{create_clock -name {CLOCK} -period {period} [get_ports {CLOCK}]}} \
         else {{create_clock -name {CLOCK} -period {period}}}\n\
         create_clock -name {EXTERNAL} -period {period}\n\
         set_driving_cell -lib_cell {} -pin {} [all_inputs]\n\
         set_load {load} [all_outputs]\n\
         foreach port [all_inputs] {{if {{[get_property $port full_name] ne \"{CLOCK}\"}} \
         {{set_input_delay {delay} -clock {EXTERNAL} $port}}}}\n\
         set_output_delay {delay} -clock {EXTERNAL} [all_outputs]\n",
        roles.driver, roles.driver_pin,
    )
}

/// Line before the paths of a module.
const OF_MODULE: &str = "paths of module ";

/// Longest path, ns, of each of the modules `<stem>.v` in a folder, alone. The folder has the library, too.
pub(crate) fn estimate(
    tools: &Tools,
    library: &CellLibrary,
    folder: &Path,
    stems: &[String],
    task: &str,
) -> Result<Vec<f64>, PpaError> {
    let unit = library.time_unit_ns();
    let mut script = format!("read_liberty {LIBRARY}\n");
    for stem in stems {
        let _ = write!(script, "read_verilog {stem}.v\nlink_design {stem}\n");
        script += &constraints(library, LONG_PERIOD / unit, 0.0);
        // report_worst_slack of OpenSTA 2.0.17 crashes on some netlists.
        let _ = writeln!(
            script,
            "puts \"{OF_MODULE}{stem}\"\nreport_checks -path_delay max -format end -digits 6"
        );
    }
    let output = tools.run_sta(folder, &script, task)?;
    let modules: Vec<&str> = output.split(OF_MODULE).skip(1).collect();
    if modules.len() != stems.len() {
        let detail = format!("{} reports for {} netlists:\n{output}", modules.len(), stems.len());
        return Err(PpaError::Unexpected { what: format!("timing report of {task}"), detail });
    }
    let delay = |report: &&str| {
        // Without a path there is infinite slack, and no delay.
        let worst = report.lines().filter_map(end_slack).fold(LONG_PERIOD / unit, f64::min);
        (LONG_PERIOD - worst * unit).max(0.0)
    };
    Ok(modules.iter().map(delay).collect())
}

/// Slack of a line about a path's end: `q_reg/D (DFFX1)  999.8  8.7  991.1 (MET)`.
fn end_slack(line: &str) -> Option<f64> {
    let line = line.strip_suffix(" (MET)").or_else(|| line.strip_suffix(" (VIOLATED)"))?;
    line.split_whitespace().next_back()?.parse().ok()
}

/// Commands for the worst path of each kind, and for those into the flip-flops of each module.
fn report_commands(registered: &[Vec<String>]) -> String {
    let report = "report_checks -path_delay max -format full -digits 6";
    let mut script = format!("{report}\n");
    // Paths that spend some of the period outside need a longer period for the same delay, so that the worst path of each kind counts.
    for (from, to) in [(CLOCK, CLOCK), (EXTERNAL, CLOCK), (CLOCK, EXTERNAL), (EXTERNAL, EXTERNAL)] {
        let _ = writeln!(script, "{report} -from [get_clocks {from}] -to [get_clocks {to}]");
    }
    for instances in registered {
        let step = instances.len().div_ceil(INSTANCES_REPORTED);
        let pattern = |path: &String| match path.is_empty() {
            true => format!("*{REGISTER_SUFFIX}"),
            false => format!("{path}/*{REGISTER_SUFFIX}"),
        };
        let patterns: Vec<String> = instances.iter().step_by(step.max(1)).map(pattern).collect();
        let _ = writeln!(script, "{report} -to [get_cells {{{}}}]", patterns.join(" "));
    }
    script + &format!("{report} -to [all_outputs]\n")
}

/// Times a whole core at a clock of `clock` ns, with external delays of [`EXTERNAL_SHARE`] of it at every port. `registered` are the
/// instance paths of modules with flip-flops, grouped by module.
pub(crate) fn analyse(
    tools: &Tools,
    library: &CellLibrary,
    cache: &Cache,
    mapped: &Mapped,
    registered: &[Vec<String>],
    clock: f64,
) -> Result<Analysis, PpaError> {
    let mut script = format!("read_liberty {LIBRARY}\n");
    let mut digest = Digest::new().field("sta", &tools.sta_version).field("library", &library.digest);
    for (i, module) in mapped.modules.iter().enumerate() {
        let _ = writeln!(script, "read_verilog {i}.v");
        let netlist = std::fs::read(&module.verilog).map_err(PpaError::file("read", &module.verilog))?;
        digest = digest.field("netlist", netlist);
    }
    let _ = writeln!(script, "link_design {}", mapped.top);
    let period = clock / library.time_unit_ns();
    script += &constraints(library, period, EXTERNAL_SHARE);
    script += &report_commands(registered);
    let entry = cache.entry("timing", &digest.field("script", &script).finish(), |folder| {
        let work = work_folder()?;
        provide(work.path(), LIBRARY, &library.for_tools)?;
        for (i, module) in mapped.modules.iter().enumerate() {
            provide(work.path(), &format!("{i}.v"), &module.verilog)?;
        }
        let output = tools.run_sta(work.path(), &script, &mapped.top)?;
        let file = folder.join(REPORT);
        std::fs::write(&file, output).map_err(PpaError::file("write", &file))
    })?;
    let file = entry.join(REPORT);
    let output = std::fs::read_to_string(&file).map_err(PpaError::file("read", &file))?;
    let paths = report::paths(&output);
    // With several clocks a report names the worst path of each clock; the path with the longest period limits the core.
    let needs = |path: &TimedPath| path.needed_period(period, EXTERNAL_SHARE);
    let worst = paths.iter().max_by(|a, b| needs(a).total_cmp(&needs(b)));
    let worst = worst.cloned().ok_or_else(|| PpaError::Unexpected {
        what: format!("timing report of {}", mapped.top),
        detail: format!("no path found:\n{}", output.lines().take(20).collect::<Vec<_>>().join("\n")),
    })?;
    let needed = needs(&worst).max(0.0);
    Ok(Analysis { worst, period: needed, paths })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthesis::tests::flow;

    /// A netlist on which OpenSTA's report of the worst slack crashes.
    #[test]
    fn every_netlist_is_timed() {
        let folder = tempfile::tempdir().unwrap();
        let Some(flow) = flow(folder.path(), None) else { return };
        provide(folder.path(), LIBRARY, &flow.library.for_tools).unwrap();
        std::fs::write(folder.path().join("crash.v"), include_str!("crash.v")).unwrap();
        let delays = estimate(&flow.tools, &flow.library, folder.path(), &["crash".into()], "crash").unwrap();
        assert!(delays[0] > 0.3 && delays[0] < 5.0, "{delays:?}");
    }
}
