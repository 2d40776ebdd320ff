//! `cargo xtask units`: the emitted units over all operands.

mod reference;

use crate::failure::{Outcome, check, input, with};
use crate::process::simulators;
use clap::Args;
use flashd::parts::{
    Compile, SEGMENTS, Simulator, Work, float_format, one_of, print, print_json, require_tools, table,
    unit_result, whole,
};
use flashd_generator::{GeneratedFile, unit_file};
use flashd_golden::units;
use flashd_hwmodel::pwl_report::report;
use flashd_hwmodel::units::{FormatFunction, FormatUnit};
use flashd_hwmodel::vectors::{Layout, PortShape};
use flashd_spec::bits::ones;
use flashd_spec::format::Format;
use flashd_spec::pwl::Function;
use rayon::prelude::*;
use reference::UnitReference;
use serde::Serialize;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Seconds in which Verilator compiles the units of a format, with one operand or with two.
const COMPILATION: f64 = 15.0;

/// Compare the emitted units with correctly rounded results, over all operands
#[derive(Args)]
pub struct UnitsOptions {
    /// Format; can be repeated (default: bf16, fp8-e4m3, fp8-e5m2 and fp16)
    #[arg(long, value_parser = float_format(), hide_possible_values = true)]
    format: Vec<Format>,
    /// Instead, sums and products of all pairs of 16-bit operands, 2^32 each: some minutes
    #[arg(long)]
    pairs: bool,
    /// With --pairs: the first operand to start from
    #[arg(long, value_parser = whole::<u64>(0, u64::from(u16::MAX)), value_name = "A", default_value_t = 0, requires = "pairs")]
    first: u64,
    /// With --pairs: how many first operands (default: all)
    #[arg(long, value_parser = whole::<u64>(1, 1 << 16), value_name = "N", requires = "pairs")]
    count: Option<u64>,
    /// Segments of the PWL tables: 4, 8, 16 or 32
    #[arg(long, value_parser = one_of::<u32>(&SEGMENTS), default_value_t = 8, conflicts_with = "pairs")]
    segments: u32,
    /// Folder for compiled simulators (default: cosim in cargo's target folder)
    #[arg(long, value_name = "DIR")]
    build: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// One unit over all operands.
#[derive(Serialize)]
struct UnitRow {
    unit: &'static str,
    format: String,
    operands: u64,
    /// The other side of the comparison.
    reference: &'static str,
    /// Largest error in units of the last place, for units that are not correctly rounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    worst_ulp: Option<f64>,
    /// What `flashd pwl` says of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    stated_ulp: Option<f64>,
    mismatches: u64,
}

/// All operand pairs of the units with two, all operands of those with one.
const WIDEST_PAIR: u32 = 8;
const WIDEST_OPERAND: u32 = 16;

/// Compares them.
pub fn units(args: &UnitsOptions) -> Outcome {
    if args.pairs {
        return pairs(args);
    }
    let formats = match args.format[..] {
        [] => vec![Format::BF16, Format::FP8_E4M3, Format::FP8_E5M2, Format::FP16],
        _ => args.format.clone(),
    };
    if let Some(wide) = formats.iter().find(|f| f.width() > WIDEST_OPERAND) {
        return input(format!("--format {wide}: only formats of up to 16 bits have all operands"));
    }
    require_tools()?;
    let build = args.build.clone().map_or_else(simulators, Ok)?;
    let bar = Work::start(2 * formats.len() as u64, "{bar:30} {pos}/{len} simulators, {elapsed}");
    bar.expect(
        Duration::from_secs_f64(2.0 * COMPILATION * formats.len() as f64),
        ", less for what was compiled before",
    );
    let mut rows = Vec::new();
    for &format in &formats {
        for binary in [true, false] {
            bar.inc(1);
            if !binary || format.width() <= WIDEST_PAIR {
                rows.extend(exhaust(args, &build, format, binary)?);
            }
        }
    }
    drop(bar);
    match args.json {
        true => print_json(&rows),
        false => print(&text(&rows)),
    }
}

/// Units of two operands, or of one, side by side in one module.
fn bench(format: Format, binary: bool, segments: u32) -> Outcome<(Layout, GeneratedFile, Vec<FormatUnit>)> {
    let units: Vec<FormatUnit> = FormatUnit::ALL.into_iter().filter(|u| u.is_binary() == binary).collect();
    let name = format!("{}_{}_operand_units", format.ident(), if binary { "two" } else { "one" });
    let port = |name: String, output| PortShape { name, output, width: format.width(), elements: 1 };
    let operands: &[&str] = if binary { &["a", "b"] } else { &["a"] };
    let mut ports: Vec<PortShape> = operands.iter().map(|a| port(a.to_string(), false)).collect();
    ports.extend(units.iter().map(|u| port(u.name().to_string() + "_y", true)));
    let mut text = String::new();
    let mut instances = String::new();
    for unit in &units {
        text += &unit_file(*unit, format, segments)?.text;
        let module = FormatFunction::new(*unit, format, segments).name();
        let operands: String = operands.iter().map(|a| format!(".{a}({a}), ")).collect();
        instances += &format!("    {module} u_{0} ({operands}.y({0}_y));\n", unit.name());
    }
    let declared: Vec<String> = ports
        .iter()
        .map(|p| {
            let direction = if p.output { "output" } else { "input" };
            format!("    {direction} wire [{}:0] {}", p.width - 1, p.name)
        })
        .collect();
    text += &format!("module {name} (\n{}\n);\n{instances}endmodule\n", declared.join(",\n"));
    let file = GeneratedFile { name: format!("{name}.v"), text };
    Ok((Layout::new(name, ports), file, units))
}

/// Sends vectors to a bench, which compares the results.
fn compare(simulator: &Simulator, name: &str, vectors: &str) -> Outcome {
    let mut process = simulator.start(None)?;
    let mut pipe = process.input()?;
    let io = with(name);
    match pipe.write_all(vectors.as_bytes()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => return Err(io(e)),
        _ => drop(pipe),
    }
    match process.verdict().map_err(io)? {
        Ok(_) => Ok(()),
        Err(difference) => check(format!("{name}: {difference} (a line is one pair of operands)")),
    }
}

fn exhaust(args: &UnitsOptions, build: &Path, format: Format, binary: bool) -> Outcome<Vec<UnitRow>> {
    let (layout, file, units) = bench(format, binary, args.segments)?;
    let (simulator, _) = Simulator::build(Some(build), &layout, &[file], Compile::Whole)?;
    let reference = UnitReference::new(format);
    let (mut text, mut worst) = (layout.header(), vec![0f64; units.len()]);
    let all = ones(format.width());
    let operands: Vec<(u64, u64)> = match binary {
        true => (0..=all).flat_map(|a| (0..=all).map(move |b| (a, b))).collect(),
        false => (0..=all).map(|a| (a, 0)).collect(),
    };
    for &(a, b) in &operands {
        let results: Vec<u64> = units
            .iter()
            .map(|unit| {
                reference
                    .rounded(*unit, a, b)
                    .unwrap_or_else(|| unit_result(*unit, format, args.segments, a, 0))
            })
            .collect();
        for ((unit, worst), &y) in units.iter().zip(&mut worst).zip(&results) {
            *worst = worst.max(reference.error_in_ulp(*unit, a, y).unwrap_or(0.0));
        }
        layout.line(&mut text, &[], |field, elements| {
            elements.push(match field.port.name.as_str() {
                "a" => a,
                "b" => b,
                name => {
                    let place = units.iter().position(|u| name.strip_suffix("_y") == Some(u.name()));
                    place.map_or(0, |i| results[i])
                }
            });
        });
    }
    text += &layout.end_mark();
    compare(&simulator, &layout.name, &text)?;
    let row = |(unit, worst): (&FormatUnit, f64)| {
        let stated = function(*unit).map(|f| report(f, args.segments, format).unit_ulp);
        // The same numbers by another way: equal but for the last bits of the exact functions.
        if let Some(stated) = stated.filter(|stated| worst > stated * (1.0 + 1e-6)) {
            return check(format!(
                "{} in {format}: off by {worst} ulp, where the table's report says {stated}",
                unit.name()
            ));
        }
        Ok(UnitRow {
            unit: unit.name(),
            format: format.to_string(),
            operands: operands.len() as u64,
            reference: if stated.is_some() { "model, error bounded" } else { "correctly rounded" },
            worst_ulp: stated.map(|_| worst),
            stated_ulp: stated,
            mismatches: 0,
        })
    };
    units.iter().zip(worst).map(row).collect()
}

fn function(unit: FormatUnit) -> Option<Function> {
    match unit {
        FormatUnit::Sigmoid => Some(Function::Sigmoid),
        FormatUnit::Softplus => Some(Function::Softplus),
        FormatUnit::Ln => Some(Function::Ln),
        FormatUnit::Exp => Some(Function::Exp),
        FormatUnit::Reciprocal => Some(Function::Reciprocal),
        FormatUnit::Add | FormatUnit::Sub | FormatUnit::Mul | FormatUnit::Max => None,
    }
}

/// Sum and product of all pairs.
fn pairs(args: &UnitsOptions) -> Outcome {
    let format = match args.format[..] {
        [] => Format::BF16,
        [format] if format.width() <= WIDEST_OPERAND => format,
        _ => return input("--pairs: takes one --format of up to 16 bits"),
    };
    let all = 1u64 << format.width();
    let last = args.count.map_or(all, |n| args.first.saturating_add(n)).min(all);
    if args.first >= last {
        return input(format!("--first, --count: no operand in {}..{last} of {all}", args.first));
    }
    let bar =
        Work::start((last - args.first) * 2, "{bar:30} {pos}/{len} rows of 65,536, {elapsed}, {eta} left");
    let mut rows = Vec::new();
    for (unit, expected) in
        [(FormatUnit::Add, units::add as fn(Format, u64, u64) -> u64), (FormatUnit::Mul, units::mul)]
    {
        let start = Instant::now();
        let function = FormatFunction::new(unit, format, 8);
        let wrong = (args.first..last).into_par_iter().find_map_first(|a| {
            let wrong = (0..all).find(|&b| function.compute(a, b) != expected(format, a, b));
            bar.inc(1);
            wrong.map(|b| (a, b))
        });
        if let Some((a, b)) = wrong {
            return check(format!(
                "{} in {format}: {a:#x}, {b:#x}: the unit gives {:#x}, the model {:#x}",
                unit.name(),
                function.compute(a, b),
                expected(format, a, b)
            ));
        }
        rows.push(PairRow {
            unit: unit.name(),
            format: format.to_string(),
            pairs: (last - args.first) * all,
            mismatches: 0,
            seconds: start.elapsed().as_secs_f64(),
        });
    }
    drop(bar);
    if args.json {
        return print_json(&rows);
    }
    let row = |r: &PairRow| {
        vec![
            r.unit.to_string(),
            r.format.clone(),
            r.pairs.to_string(),
            r.mismatches.to_string(),
            format!("{:.1}", r.seconds),
        ]
    };
    print(&table(&["unit", "format", "pairs", "mismatches", "seconds"], rows.iter().map(row).collect()))
}

#[derive(Serialize)]
struct PairRow {
    unit: &'static str,
    format: String,
    pairs: u64,
    mismatches: u64,
    seconds: f64,
}

fn text(rows: &[UnitRow]) -> String {
    let ulp = |x: Option<f64>| x.map_or(String::new(), |x| format!("{x:.3}"));
    let row = |r: &UnitRow| {
        vec![
            r.unit.to_string(),
            r.format.clone(),
            r.operands.to_string(),
            r.reference.to_string(),
            r.mismatches.to_string(),
            ulp(r.worst_ulp),
            ulp(r.stated_ulp),
        ]
    };
    let header = ["unit", "format", "operands", "compared with", "mismatches", "worst ulp", "stated ulp"];
    table(&header, rows.iter().map(row).collect())
}
