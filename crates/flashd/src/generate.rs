//! `flashd generate`.

use crate::cli::{ArrayArgs, GenerateArgs, LookArg, WrapperArgs};
use crate::origin::origin;
use crate::output::{Failure, print, print_json, write_all};
use crate::progress::{Work, step};
use crate::select::{around, machine, parse_flags};
use clap::Args;
use flashd_generator::{CocotbBench, Company, Emission, GeneratedFile, Sources, cocotb_file, unit_file_in};
use flashd_hwmodel::units::{FormatFunction, FormatUnit};
use flashd_hwmodel::vectors::Look;
use flashd_spec::config::CoreConfig;
use flashd_spec::format::Format;
use flashd_spec::machine::Machine;
use flashd_spec::unit::UnitConfig;

pub mod testbench;

use testbench::{VectorPlan, testbench, unit_testbench};

pub fn run(args: &GenerateArgs) -> Result<(), Failure> {
    let files = files(args)?;
    step(|| format!("{} files to {}", files.len(), args.out.display()));
    let written = write_all("--out", &args.out, &files)?;
    let names: Vec<String> = written.iter().map(|p| p.display().to_string()).collect();
    match args.json {
        true => print_json(&names),
        false => print(&names.join("\n")),
    }
}

/// The design that the arguments select.
enum Asked {
    Unit { unit: FormatUnit, format: Format, segments: u32 },
    Machines(Vec<Machine>),
}

/// What `--core` selects here.
#[derive(Args, Clone)]
struct DesignFlags {
    #[command(flatten)]
    array: ArrayArgs,
    #[arg(long, conflicts_with_all = ["queries", "wrapper"])]
    parts: Option<usize>,
    #[command(flatten)]
    around: WrapperArgs,
}

/// The names of the modules that the arguments select.
pub fn selected(args: &GenerateArgs) -> Result<Vec<String>, Failure> {
    let prefix = args.prefix.clone().unwrap_or_default();
    Ok(match design(args)? {
        Asked::Unit { unit, format, segments } => vec![FormatFunction::new(unit, format, segments).name()],
        Asked::Machines(designs) => designs.iter().map(|design| prefix.top(&design.name())).collect(),
    })
}

fn design(args: &GenerateArgs) -> Result<Asked, Failure> {
    if let Some(name) = &args.unit {
        let unit = FormatUnit::ALL.into_iter().find(|u| u.name() == name).ok_or_else(|| {
            let known: Vec<&str> = FormatUnit::ALL.iter().map(|u| u.name()).collect();
            Failure::input(format!("--unit: unknown unit '{name}': known units are {}", known.join(", ")))
        })?;
        let selection = &args.array.selection;
        let takes: &[&str] = if unit.has_segments() { &["format", "segments"] } else { &["format"] };
        selection.only(takes, &format!("--unit {name}"))?;
        let segments = selection.fields.get("segments").unwrap_or(8);
        let format = selection.fields.get("format").unwrap_or(Format::BF16);
        if !format.is_wide_float() {
            let floats = Format::float_names();
            return Err(Failure::input(format!(
                "--format {format} with --unit {name}: units are of floats: {floats}"
            )));
        }
        return Ok(Asked::Unit { unit, format, segments });
    }
    let mut designs = Vec::new();
    if args.all {
        args.array.selection.only(&[], "--all")?;
        designs.extend(CoreConfig::shipped().into_iter().map(Machine::Core));
    }
    let selects =
        args.array != ArrayArgs::default() || args.parts.is_some() || args.around != WrapperArgs::default();
    if !args.all && (selects || args.core.is_empty()) {
        let first = DesignFlags { array: args.array.clone(), parts: args.parts, around: args.around.clone() };
        designs.push(one(&first)?);
        for path in &args.array.selection.more {
            let mut flags = DesignFlags { array: args.array.clone(), ..first.clone() };
            flags.array.selection.config = Some(path.clone());
            designs.push(one(&flags)?);
        }
    }
    for text in &args.core {
        let wrong = |e: Failure| Failure::input(format!("--core \"{text}\": {e}"));
        designs.push(parse_flags::<DesignFlags>(text).and_then(|flags| one(&flags)).map_err(wrong)?);
    }
    if args.testbench.is_some()
        && designs.iter().any(|design| matches!(design, Machine::Wrapper(_) | Machine::Unit(_)))
    {
        return Err(Failure::input(
            "--testbench: a wrapper's ports follow a protocol, not a schedule of cycles; testbench/axis has benches for \
             it, and `cargo xtask axis` runs them",
        ));
    }
    if args.cocotb
        && let Some(split) = designs.iter().find(|design| matches!(design, Machine::Split(_)))
    {
        return Err(Failure::input(format!(
            "--cocotb: {} has split keys, which have no bench for cocotb",
            split.name()
        )));
    }
    if args.cocotb
        && let Some(unit) = designs.iter().find(|design| matches!(design, Machine::Unit(_)))
    {
        return Err(Failure::input(format!("--cocotb: {} has no bench for cocotb", unit.name())));
    }
    Ok(Asked::Machines(designs))
}

/// One design.
fn one(flags: &DesignFlags) -> Result<Machine, Failure> {
    let machine = machine(&flags.array, flags.parts)?;
    let array = match &machine {
        Machine::Split(_) => return Ok(machine),
        Machine::Array(array) => Some(array),
        _ => None,
    };
    let around = around(&flags.array.selection, &flags.around, array)?;
    Ok(match around.map(Machine::from) {
        // VERSION returns the revision that generates the unit.
        Some(Machine::Unit(unit)) => UnitConfig { revision: revision(), ..unit }.into(),
        around => around.unwrap_or(machine),
    })
}

/// The first 32 bits of the program's revision; 0 where files have to be reproducible.
fn revision() -> u32 {
    let digits = origin().revision;
    digits.get(..8).and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or(0)
}

/// The files that the arguments select.
pub fn files(args: &GenerateArgs) -> Result<Vec<GeneratedFile>, Failure> {
    let sources = if args.split { Sources::PerModule } else { Sources::Together };
    let plan = args.testbench.map(|look| VectorPlan {
        seed: args.seed,
        keys: args.keys,
        look: match look {
            LookArg::Inside => Look::Inside,
            LookArg::Ports => Look::Ports,
        },
    });
    match design(args)? {
        Asked::Unit { unit, format, segments } => {
            let mut files = vec![unit_file_in(unit, format, segments, &Emission::of(origin()))?];
            if let Some(plan) = plan {
                files.extend(unit_testbench(unit, format, segments, &plan));
            }
            Ok(files)
        }
        Asked::Machines(designs) => {
            let prefix = args.prefix.clone().unwrap_or_default();
            let emission =
                Emission { sources, prefix: prefix.clone(), assertions: args.sva, ..Emission::of(origin()) };
            let mut company = Company::new(emission, designs.len());
            let mut benches = Vec::new();
            // Testbenches of long vectors take a minute and more: queries are looked for.
            let bar = Work::start(designs.len() as u64, "{bar:30} {pos} of {len} {msg} {elapsed}");
            for design in &designs {
                let name = prefix.top(&design.name());
                step(|| format!("{name}: generate"));
                bar.set_message(name.clone());
                company.add(design)?;
                if let Some(plan) = plan {
                    benches.extend(testbench(design, &plan, &prefix)?);
                }
                if args.cocotb {
                    let bench = match design {
                        Machine::Wrapper(_) => CocotbBench::Streams,
                        _ => CocotbBench::Ports,
                    };
                    benches.push(cocotb_file(&name, bench));
                }
                bar.inc(1);
            }
            Ok(company.files().into_iter().chain(benches).collect())
        }
    }
}
