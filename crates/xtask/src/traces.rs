//! `cargo xtask traces`: what simulations show of every kind of machine, to compare two revisions by.

use crate::failure::{Outcome, check, input, with};
use crate::guard::{keep, names, selected};
use crate::process::{flashd, root};
use crate::selection::{DesignSelection, Surroundings};
use crate::selections::{biased, capped, datapath, partial};
use crate::work::{create, write};
use clap::Args;
use flashd_spec::config::{DatapathKind, KINDS};
use flashd_spec::format::Format;
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// A recorded head, of d = [`D`].
const HEAD: &str = "testbench/data/bytes_code-d16-layer02-head05";
const D: usize = 16;
/// The list of digests.
const SUMS: &str = "SHA256SUMS";

/// Write what simulations show of every kind of machine: waves, pipeline charts, vectors, testbenches and reports
///
/// Every datapath as a core, as a core with masks, states, bias and cap, as an array, with split keys and in a stream wrapper, on a
/// recorded head. SHA256SUMS has a digest of each file. `diff` compares the digests of two revisions, and `cargo xtask same` the files.
/// FLASHD names the flashd executable of a revision; by default these are of this one.
#[derive(Args)]
pub struct TracesOptions {
    /// Where to: a folder that is not there yet
    #[arg(value_name = "DIR")]
    out: PathBuf,
}

/// Writes all of it.
pub fn traces(options: &TracesOptions) -> Outcome {
    if options.out.exists() {
        return input(format!("{}: it is there already", options.out.display()));
    }
    let flashd = flashd()?;
    let out = create(&options.out)?;
    let machines = machines();
    machines.par_iter().try_for_each(|machine| trace(&flashd, machine, &out))?;
    let files: Vec<PathBuf> = names(&out)?;
    let sums: Vec<String> = files
        .par_iter()
        .map(|name| {
            let bytes = fs::read(out.join(name)).map_err(with(name.display()))?;
            Ok(format!("{:x}  {}\n", Sha256::digest(&bytes), name.display()))
        })
        .collect::<Outcome<_>>()?;
    write(&out.join(SUMS), &sums.concat())?;
    println!("{} machines, {} files", machines.len(), files.len());
    Ok(())
}

fn machines() -> Vec<DesignSelection> {
    let around = |kind: &&DatapathKind| {
        let core = datapath(kind.datapath, D, Format::BF16);
        let full = capped(biased(partial(core.clone())));
        [
            DesignSelection::core(core.clone()),
            DesignSelection::core(full),
            DesignSelection::around(core.clone(), Surroundings::array(2)),
            DesignSelection::around(core.clone(), Surroundings::Split { parts: 2 }),
            DesignSelection::around(core, Surroundings::wrapper(2, None, false)),
        ]
    };
    // Unsupported combinations end with an error, and leave no trace.
    let is_valid = |machine: &DesignSelection| match machine {
        DesignSelection::Core(core, Surroundings::Split { .. }) => core.can_be_partial(),
        DesignSelection::Core(core, _) => core.validate().is_ok(),
        _ => false,
    };
    KINDS.iter().flat_map(around).filter(is_valid).collect()
}

/// One machine: a testbench, and two runs, because a run writes one wave of a kind and one chart.
fn trace(flashd: &[OsString], machine: &DesignSelection, out: &Path) -> Outcome {
    let folder = create(&out.join(machine.to_string().replace(' ', "_")))?;
    let run = |name: &str, command: &str, more: &[&str]| {
        let folder = create(&folder.join(name))?;
        let mut arguments = selected(command, machine, &folder)?;
        arguments.extend(more.iter().map(|word| word.to_string()));
        match keep(flashd, &arguments, &folder)? {
            true => Ok(()),
            false => check(format!("{machine}: {command} fails, see {}", folder.display())),
        }
    };
    let head = ["q", "k", "v"].map(|name| root().join(format!("{HEAD}-{name}.npy")).display().to_string());
    let [q, k, v] = &head;
    let few = "--json --first-queries 6 --first-keys 40 --signals all";
    let mut data: Vec<&str> = few.split(' ').chain(["--q", q, "--k", k, "--v", v]).collect();
    if machine.has_masks() {
        data.push("--causal");
    }
    if !machine.is_wrapper() {
        run("testbench", "generate", &["--out", ".", "--testbench", "--keys", "40"])?;
        data.extend(["--vectors", "vectors.json"]);
    }
    run("vcd", "simulate", &[&data[..], &["--vcd", "wave.vcd", "--pipeline", "pipeline.html"]].concat())?;
    run("fst", "simulate", &[&data[..], &["--fst", "wave.fst", "--pipeline", "pipeline.log"]].concat())
}
