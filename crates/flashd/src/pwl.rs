//! `flashd pwl`.

use crate::cli::PwlArgs;
use crate::output::{Failure, print, print_json, table};
use crate::plot;
use flashd_hwmodel::pwl_report::{TableReport, report, table_for};
use flashd_spec::pwl::Function;
use std::fmt::Write;

pub fn run(args: &PwlArgs) -> Result<(), Failure> {
    if ![4, 8, 16, 32].contains(&args.segments) {
        return Err(Failure::input(format!("--segments: {} is not one of 4, 8, 16, 32", args.segments)));
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
    let written = flashd_generator::write_all(&args.out, &drawings)?;
    if args.json {
        return print_json(&reports);
    }
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
            for (i, (c0, c1)) in t.c0.iter().zip(&t.c1).enumerate() {
                let _ = writeln!(text, "{i:4}  c0 {c0:6}  c1 {c1:6}");
            }
        }
    }
    for path in written {
        let _ = write!(text, "\n{}", path.display());
    }
    print(&text)
}
