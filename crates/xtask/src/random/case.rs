//! One random configuration.

use super::RandomOptions;
use crate::axis::packets;
use crate::failure::{Outcome, check, with};
use crate::icarus::{checks, icarus};
use crate::work::{self, create};
use flashd::parts::{Compile, Simulator, VectorPlan, layout, stream_vectors, testbench};
use flashd_generator::{Emission, GeneratedFile, Prefix, machine_files, write_all};
use flashd_hwmodel::vectors::{Layout, Look};
use flashd_simulator::array::{self, Disturbance};
use flashd_simulator::random::{EngineCounts, compare, packets as drawn_packets};
use flashd_simulator::selftest::{Expected, VectorStream};
use flashd_simulator::{Gaps, RtlEngine, VectorWriter};
use flashd_spec::config::WrapperConfig;
use flashd_spec::machine::Machine;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// A configuration to check.
pub struct RandomCase<'a> {
    pub args: &'a RandomOptions,
    pub seed: u64,
    pub drawn: Machine,
}

/// Numbers of comparisons.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Checked {
    /// By the engines.
    pub engines: EngineCounts,
    /// Checks of the emitted testbench in Icarus.
    pub testbench: u64,
    /// Those in Verilator, where it ran.
    pub verilator: Option<u64>,
}

impl RandomCase<'_> {
    /// All checks, the quick ones first; `checked` is filled on the way.
    ///
    /// # Errors
    /// The first fault.
    pub fn check(&self, rng: &mut ChaCha8Rng, checked: &mut Checked) -> Outcome {
        let keys = self.args.keys as usize;
        let seed = rng.random();
        match compare(&self.drawn, seed, keys) {
            Ok(compared) => checked.engines = compared,
            Err(e) => return check(format!("engines: {e}")),
        }
        let temporary = work::temporary()?;
        let out = self.args.out.as_deref().unwrap_or(temporary.path());
        let (rtl, bench) = (create(&out.join("rtl"))?, create(&out.join(self.seed.to_string()))?);
        let design = written(&rtl, &machine_files(&self.drawn, &Emission::default())?)?;
        if let Machine::Wrapper(config) = &self.drawn {
            checked.testbench = self.packets(config, design, &bench, rng)?;
            return Ok(());
        }
        let plan = VectorPlan { seed: rng.random(), keys: Some(self.args.keys), look: Look::Inside };
        write_all(&bench, &testbench(&self.drawn, &plan, &Prefix::Top)?)?;
        let top = format!("{}_tb", self.drawn.name());
        let sources = [PathBuf::from(format!("{top}.v")), design];
        checked.testbench = checks(&icarus(&bench, &top, &sources, &[])?)?;
        if self.args.verilator > 0 && self.seed.is_multiple_of(self.args.verilator) {
            checked.verilator = Some(self.verilator(&bench, rng)?);
        }
        Ok(())
    }

    /// The same kinds of rounds in Verilator, with other data.
    fn verilator(&self, folder: &Path, rng: &mut ChaCha8Rng) -> Outcome<u64> {
        let layout = layout(&self.drawn, Look::Ports, &Prefix::Top).map_err(with("Verilator"))?;
        let files = machine_files(&self.drawn, &Emission::default())?;
        let compile = Compile::for_keys(self.args.keys);
        let (simulator, _) = Simulator::build(Some(folder), &layout, &files, compile)?;
        let mut process = simulator.start(None)?;
        let pipe = BufWriter::new(process.input()?);
        let stream = VectorStream::of(rng.random(), self.args.keys);
        let sent = stream_vectors(
            &self.drawn,
            &layout,
            &stream,
            Expected::Lockstep(RtlEngine::default()),
            pipe,
            &mut |_| (),
        );
        match process.verdict().map_err(with("Verilator"))? {
            // A simulator that has found a difference closes its end, which is an error here, too: its own words count.
            Err(difference) => check(format!("Verilator: {difference}")),
            Ok(checks) => Ok(sent.map(|_| checks)?),
        }
    }

    /// A wrapper's testbench in Icarus, with pauses on every stream.
    fn packets(
        &self,
        config: &WrapperConfig,
        design: PathBuf,
        folder: &Path,
        rng: &mut ChaCha8Rng,
    ) -> Outcome<u64> {
        let w = drawn_packets(config, self.args.keys as usize, rng);
        let layout = Layout::of(&config.array, Look::Ports).map_err(with("testbench"))?;
        let mut out = VectorWriter::new(Vec::new(), layout).map_err(with("testbench"))?;
        let gaps = Disturbance::gaps(Gaps::Random(rng.random()));
        array::run(&config.array, &w, &gaps, &mut [&mut out])?;
        let array = folder.join("array.vec");
        let (vectors, _) = out.finish().map_err(with("testbench"))?;
        std::fs::write(&array, vectors).map_err(with(array.display()))?;
        packets(&design.with_extension("json"), Some(&array), folder)?;
        let sources = ["axis_tb.v", "axis_pace.v"].map(PathBuf::from).into_iter().chain([design]);
        let seed = format!("+seed={}", rng.random_range(1..1_000_000));
        checks(&icarus(folder, "axis_tb", &sources.collect::<Vec<_>>(), &[seed])?)
    }
}

/// Writes the files of a design and returns the path of its Verilog.
fn written(folder: &Path, files: &[GeneratedFile]) -> Outcome<PathBuf> {
    let written = write_all(folder, files)?;
    let design = written.into_iter().find(|path| path.extension().is_some_and(|end| end == "v"));
    design.map_or_else(|| check("there is no Verilog"), Ok)
}
