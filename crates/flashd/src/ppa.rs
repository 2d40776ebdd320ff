//! `flashd ppa`.

use crate::cli::PpaArgs;
use crate::output::{Failure, print, print_json, table};
use crate::select::configuration;
use flashd_hwmodel::config::{CoreConfig, Fa2Variant, WeightUnit};
use flashd_ppa::figures::{CoreFigures, Part};
use flashd_ppa::netlist::Simulation;
use flashd_ppa::power::{PowerOptions, STREAMS, estimate};
use flashd_ppa::synthesis::{Cache, CellLibrary, Flow, Progress, Tools};
use indicatif::{ProgressBar, ProgressStyle};
use std::fmt::Write;
use std::time::Duration;

pub fn run(args: &PpaArgs) -> Result<(), Failure> {
    if args.clock.is_some_and(|ns| !(ns.is_finite() && ns > 0.0)) {
        return Err(Failure::input("--clock: a period in ns, above 0, is needed"));
    }
    let cores = cores(args)?;
    let tools = Tools::discover()?;
    let cache = Cache::new(args.cache.as_deref())?;
    let files: Vec<_> = match args.liberty.as_slice() {
        [] => vec![None],
        files => files.iter().map(|f| Some(f.as_path())).collect(),
    };
    let libraries: Vec<CellLibrary> =
        files.into_iter().map(|f| CellLibrary::open(f, cache.folder())).collect::<Result<_, _>>()?;
    // Shown on a terminal only.
    let bar = ProgressBar::new_spinner();
    bar.set_style(
        ProgressStyle::with_template("{spinner} {prefix} {wide_msg} {elapsed}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner()),
    );
    bar.enable_steady_tick(Duration::from_millis(200));
    let mut figures = Vec::new();
    for library in libraries {
        let flow = Flow {
            tools: tools.clone(),
            library,
            clock_ns: args.clock,
            cache: cache.clone(),
            flat: args.flat,
        };
        for core in &cores {
            bar.set_prefix(format!("{} in {}:", core.name(), flow.library.cells.name));
            figures.push(one(args, &flow, core, &bar)?);
        }
    }
    bar.finish_and_clear();
    if args.json {
        return print_json(&figures);
    }
    let mut text = overview(&figures);
    if args.breakdown {
        for core in &figures {
            breakdown(&mut text, core);
        }
    }
    print(&text)
}

/// The cores asked for; by default the shipped ones but for those that follow the paper to the letter.
fn cores(args: &PpaArgs) -> Result<Vec<CoreConfig>, Failure> {
    let s = &args.selection;
    if args.variants {
        let d =
            s.d.ok_or_else(|| Failure::input("--d is missing: --variants are those of one vector length"))?;
        let all = CoreConfig::variants(d, s.format.unwrap_or(flashd_hwmodel::format::Format::BF16));
        for core in &all {
            core.validate().map_err(|e| Failure::input(format!("--{e}")))?;
        }
        return Ok(all);
    }
    if s.config.is_some() || s.design.is_some() {
        return Ok(vec![configuration(s, None)?]);
    }
    let plain = |c: &CoreConfig| c.weight != WeightUnit::Paper && c.fa2 != Fa2Variant::Literal;
    let fits = |c: &CoreConfig| s.d.is_none_or(|d| d == c.d) && s.format.is_none_or(|f| f == c.format);
    let all: Vec<_> = CoreConfig::shipped().into_iter().filter(|c| plain(c) && fits(c)).collect();
    match all.is_empty() {
        true => Err(Failure::input("no shipped core has that --d and --format; name a --design")),
        false => Ok(all),
    }
}

fn one(args: &PpaArgs, flow: &Flow, core: &CoreConfig, bar: &ProgressBar) -> Result<CoreFigures, Failure> {
    let progress = |progress: Progress| {
        bar.set_message(match progress {
            Progress::Module { name, done, of, .. } => format!("module {done} of {of} mapped: {name}"),
            Progress::Timing { round, period, area } => {
                format!("timing run {round}: {period:.3} ns, {area:.0} um2")
            }
        });
    };
    let (mut figures, mapped) = flow.figures(core, &progress)?;
    if args.cycles > 0 {
        let options = PowerOptions {
            clock_mhz: 1000.0 / figures.timing.clock,
            cycles: args.cycles,
            streams: STREAMS,
            data: args.data.clone(),
        };
        let mut observer = |cycle: usize, of: usize, _: &Simulation<'_>| {
            bar.set_message(format!("power: cycle {cycle} of {of}"));
        };
        figures.power = Some(estimate(core, &mapped, &flow.library.cells, &options, &mut observer)?);
    }
    Ok(figures)
}

fn overview(figures: &[CoreFigures]) -> String {
    let rows = figures.iter().map(|f| {
        let power = |value: &dyn Fn(&flashd_ppa::figures::PowerFigures) -> f64| match &f.power {
            Some(p) => significant(value(p)),
            None => "-".to_string(),
        };
        vec![
            f.core.clone(),
            f.library.clone(),
            significant(f.area.total),
            format!("{:.1}", f.area.nand2_equivalents / 1000.0),
            f.area.flip_flops.to_string(),
            format!("{:.3}", f.timing.clock),
            format!("{:.3}", f.timing.minimum_period),
            format!("{:.0}", 1000.0 / f.timing.minimum_period),
            power(&|p| p.total),
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
        "shortest ns",
        "MHz",
        "mW at clock",
        "switching",
        "internal",
        "leakage",
    ];
    let mut text = table(&header, rows.collect());
    text += "\nkGE: thousands of the library's smallest two-input NAND. Pins only: no wires, no clock tree. Power from\n\
             toggles without delays, so without glitches, which multiply it (scripts/ppa-crosscheck.sh).\n";
    text
}

const PARTS: [(Part, &str); 5] = [
    (Part::DotProduct, "dot product"),
    (Part::Weight, "score, weight, sum"),
    (Part::OutputUpdate, "output update"),
    (Part::Division, "division"),
    (Part::Control, "query register, control"),
];

fn breakdown(text: &mut String, f: &CoreFigures) {
    let _ = write!(text, "\n\n{} in {}\n", f.core, f.library);
    let of =
        |values: &[(Part, f64)], part: Part| values.iter().find(|(p, _)| *p == part).map_or(0.0, |(_, v)| *v);
    let share = |value: f64, total: f64| format!("{:.1} %", 100.0 * value / total);
    let rows = PARTS.map(|(part, name)| {
        let area = of(&f.area.by_part, part);
        let mut row = vec![name.to_string(), significant(area), share(area, f.area.total)];
        if let Some(power) = &f.power {
            let mw = of(&power.by_part, part);
            row.extend([significant(mw), share(mw, power.total)]);
        }
        row
    });
    *text += &table(&["function", "um2", "", "mW", ""], rows.to_vec());
    *text += "\n";
    let modules = f.area.by_module.iter().take(8).map(|m| {
        vec![
            m.name.clone(),
            m.instances.to_string(),
            significant(m.own),
            share(m.own * m.instances as f64, f.area.total),
            m.mapping.clone(),
        ]
    });
    *text += &table(&["module", "instances", "um2 each", "of all", "mapping"], modules.collect());
    let path = &f.timing.path;
    let _ = write!(text, "\nWorst path: {} gates from {} to {}", path.gates, path.from, path.to);
    for (instance, ns) in &path.through {
        let _ = write!(text, "\n  {ns:7.3} ns in {instance}");
    }
    if let Some(power) = &f.power {
        let _ = write!(
            text,
            "\nPower: {}; {} outputs compared with the model, {:.3} toggles a net and cycle",
            power.workload, power.outputs_checked, power.activity
        );
    }
}

/// Four significant digits.
fn significant(x: f64) -> String {
    let digits = if x == 0.0 { 0 } else { 3 - x.abs().log10().floor() as i32 };
    format!("{x:.*}", digits.clamp(0, 9) as usize)
}
