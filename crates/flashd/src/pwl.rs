//! `flashd pwl`.

use crate::cli::PwlArgs;
use crate::output::{Failure, print, print_json, table, write_all};
use crate::plot;
use flashd_hwmodel::pwl_report::{TableReport, report, table_for};
use flashd_spec::config::{CoreConfig, Design};
use flashd_spec::numerics::Numerics;
use flashd_spec::pwl::Function;
use flashd_spec::pwl::softcap::GUARD_BITS;
use serde::Serialize;
use std::fmt::Write;

pub fn run(args: &PwlArgs) -> Result<(), Failure> {
    if ![4, 8, 16, 32].contains(&args.segments) {
        return Err(Failure::input(format!("--segments: {} is not one of 4, 8, 16, 32", args.segments)));
    }
    if let Some(cap) = args.softcap {
        return softcap(args, cap);
    }
    let reports: Vec<TableReport> =
        Function::ALL.into_iter().map(|f| report(f, args.segments, args.format)).collect();
    let mut drawings = Vec::new();
    for function in Function::ALL {
        let name = format!("pwl_{}_{}.svg", function.name(), args.segments);
        let svg = plot::table(function, args.segments)
            .map_err(|e| Failure::input(format!("drawing {name}: {e}")))?;
        drawings.push(flashd_generator::GeneratedFile { name, text: svg });
    }
    let written = write_all("--out", &args.out, &drawings)?;
    if args.json {
        return print_json(&reports);
    }
    let mut text = text(args, &reports);
    for path in written {
        let _ = write!(text, "\n{}", path.display());
    }
    print(&text)
}

fn text(args: &PwlArgs, reports: &[TableReport]) -> String {
    let rows = reports.iter().map(|r| {
        vec![
            r.function.to_string(),
            r.segments.to_string(),
            r.octaves.to_string(),
            format!("{:.2e}", r.table_absolute),
            format!("{:.2e}", r.table_relative),
            format!("{:.2e}", r.unit_absolute),
            format!("{:.2e}", r.unit_relative),
            format!("{:.2}", r.unit_ulp),
            format!("{:.5}", r.worst_operand),
        ]
    });
    let header = [
        "function",
        "segments",
        "octaves",
        "table abs",
        "table rel",
        "unit abs",
        "unit rel",
        "unit ulp",
        "at",
    ];
    let mut text = format!("Largest errors; units in {}, rounding included\n", args.format);
    text += &table(&header, rows.collect());
    if args.coefficients {
        for function in Function::ALL {
            let t = table_for(function, args.segments, args.format);
            let _ = writeln!(
                text,
                "\n\n{}: y = (c0 {} (c1 * dx >> {})) / 2^{}, dx the low {} bits",
                function.name(),
                if function.decreasing() { "-" } else { "+" },
                t.slope_fraction,
                t.value_fraction,
                t.offset_bits
            );
            text += &coefficients(&t.c0, &t.c1);
        }
    }
    text
}

/// A line for each cell of a table.
fn coefficients(c0: &[u64], c1: &[u64]) -> String {
    let line = |(i, (c0, c1)): (usize, (&u64, &u64))| format!("{i:4}  c0 {c0:6}  c1 {c1:6}\n");
    c0.iter().zip(c1).enumerate().map(line).collect()
}

/// Figures of a soft cap's table.
#[derive(Serialize)]
struct SoftcapReport {
    cap: f64,
    /// Cells of a range, and ranges.
    cells: u32,
    ranges: u32,
    /// Bits of the product in a cell: slope and offset.
    multiplier: [u32; 2],
    /// Largest error of `c tanh(s / c)`, natural units, rounding included.
    largest_error: f64,
    /// The score at which it is.
    worst_score: f64,
    /// The score's last place, natural units.
    last_place: f64,
}

/// `flashd pwl --softcap C`.
fn softcap(args: &PwlArgs, cap: f64) -> Result<(), Failure> {
    let core = CoreConfig { softcap: Some(cap), ..CoreConfig::new(Design::FlashD, 64, args.format) };
    core.validate().map_err(|e| Failure::input(e.by_flag()))?;
    let Some(t) = Numerics::new(&core).softcap else { return Ok(()) };
    let (largest_error, worst_score) = t.max_error();
    let report = SoftcapReport {
        cap,
        cells: 1 << t.cell_bits,
        ranges: t.ranges,
        multiplier: [t.c1_bits(), t.offset_bits()],
        largest_error,
        worst_score,
        last_place: (-f64::from(t.fraction)).exp2() / std::f64::consts::LOG2_E,
    };
    if args.json {
        return print_json(&report);
    }
    let row = vec![
        format!("{cap} tanh(s / {cap})"),
        report.cells.to_string(),
        report.ranges.to_string(),
        format!("{} x {} bits", report.multiplier[0], report.multiplier[1]),
        format!("{largest_error:.2e}"),
        format!("{worst_score:.3}"),
        format!("{:.2e}", report.last_place),
    ];
    let header = ["function", "cells", "ranges", "product", "largest error", "at", "score's last place"];
    let mut text = "Largest error, natural units, rounding included\n".to_string();
    text += &table(&header, vec![row]);
    if args.coefficients {
        let _ = writeln!(
            text,
            "\n\ny = (c0 + (c1 * dx >> {})) / 2^{}, base 2, dx {} bits",
            t.offset_bits(),
            t.fraction + GUARD_BITS,
            t.offset_bits()
        );
        text += &coefficients(&t.c0, &t.c1);
    }
    print(&text)
}
