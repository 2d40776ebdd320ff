//! `flashd generate`.

use crate::cli::{GenerateArgs, LookArg};
use crate::output::{Failure, print, print_json};
use crate::progress::{Work, step};
use crate::select::wrapper;
use crate::target::Target;
use flashd_generator::{
    CocotbBench, GeneratedFile, Sources, axis_files_in, cocotb_file, unit_file, write_all,
};
use flashd_hwmodel::units::{FormatFunction, FormatUnit};
use flashd_hwmodel::vectors::Look;
use flashd_spec::config::{CoreConfig, WrapperConfig};
use flashd_spec::format::Format;

pub mod testbench;

pub use testbench::unit_result;
use testbench::{Plan, testbench, unit_testbench};

pub fn run(args: &GenerateArgs) -> Result<(), Failure> {
    let files = files(args)?;
    step(|| format!("{} files to {}", files.len(), args.out.display()));
    let written = write_all(&args.out, &files)?;
    let names: Vec<String> = written.iter().map(|p| p.display().to_string()).collect();
    match args.json {
        true => print_json(&names),
        false => print(&names.join("\n")),
    }
}

/// What the arguments select.
enum Asked {
    Unit { unit: FormatUnit, format: Format, segments: u32 },
    Targets(Vec<Target>),
    Wrapper(Box<WrapperConfig>),
}

/// The names of the modules that the arguments select.
pub fn selected(args: &GenerateArgs) -> Result<Vec<String>, Failure> {
    Ok(match design(args)? {
        Asked::Unit { unit, format, segments } => vec![FormatFunction::new(unit, format, segments).name()],
        Asked::Targets(targets) => targets.iter().map(Target::name).collect(),
        Asked::Wrapper(config) => vec![config.name()],
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
    if args.all {
        args.array.selection.only(&[], "--all")?;
        return Ok(Asked::Targets(CoreConfig::shipped().into_iter().map(Target::Core).collect()));
    }
    let target = Target::new(&args.array, args.parts)?;
    let wrapper = match &target {
        Target::Array(array) => wrapper(&args.array.selection, &args.around, Some(array))?,
        Target::Core(_) => wrapper(&args.array.selection, &args.around, None)?,
        Target::Split(_) => None,
    };
    match wrapper {
        Some(_) if args.testbench.is_some() => Err(Failure::input(
            "--testbench: a wrapper's ports follow a protocol, not a schedule of cycles; testbench/axis has benches for \
             it, and `cargo xtask axis` runs them",
        )),
        Some(wrapper) => Ok(Asked::Wrapper(Box::new(wrapper))),
        None => Ok(Asked::Targets(vec![target])),
    }
}

fn files(args: &GenerateArgs) -> Result<Vec<GeneratedFile>, Failure> {
    let sources = if args.split { Sources::PerModule } else { Sources::Together };
    let plan = args.testbench.map(|look| Plan {
        seed: args.seed,
        keys: args.keys,
        look: match look {
            LookArg::Inside => Look::Inside,
            LookArg::Ports => Look::Ports,
        },
    });
    match design(args)? {
        Asked::Unit { unit, format, segments } => {
            let mut files = vec![unit_file(unit, format, segments)?];
            if let Some(plan) = plan {
                files.extend(unit_testbench(unit, format, segments, &plan));
            }
            Ok(files)
        }
        Asked::Targets(targets) => {
            let mut files = Vec::new();
            // Testbenches of long vectors take a minute and more: queries are looked for.
            let bar = Work::start(targets.len() as u64, "{bar:30} {pos} of {len} {msg} {elapsed}");
            for target in &targets {
                step(|| format!("{}: generate", target.name()));
                bar.set_message(target.name());
                files.extend(target.files_in(sources)?);
                if let Some(plan) = plan {
                    files.extend(testbench(target, &plan)?);
                }
                if args.cocotb {
                    files.push(cocotb_file(&target.name(), CocotbBench::Ports));
                }
                bar.inc(1);
            }
            Ok(files)
        }
        Asked::Wrapper(config) => {
            let mut files = axis_files_in(&config, sources)?;
            if args.cocotb {
                files.push(cocotb_file(&config.name(), CocotbBench::Streams));
            }
            Ok(files)
        }
    }
}
