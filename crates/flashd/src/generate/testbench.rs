//! `flashd generate --testbench`: vectors, the testbench that reads them, and the port list for the C++ harness.

use crate::output::Failure;
use flashd_generator::{
    GenerateError, GeneratedFile, Prefix, inside_expressions, testbench_files, vector_file_name,
};
use flashd_golden::units;
use flashd_hwmodel::units::{FormatFunction, FormatUnit};
use flashd_hwmodel::vectors::{Layout, Look, ports};
use flashd_simulator::selftest::{self, Coverage, Expected, Streamed, VectorStream};
use flashd_simulator::{RtlEngine, RunError, VectorWriter};
use flashd_spec::bits::ones;
use flashd_spec::config::ConfigError;
use flashd_spec::format::Format;
use flashd_spec::machine::Machine;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::io::Write;

/// Parameters of the vectors.
#[derive(Clone, Copy)]
pub struct VectorPlan {
    /// Seed of the data.
    pub seed: u64,
    /// About how many keys; by default as many as Icarus simulates in seconds.
    pub keys: Option<u64>,
    /// Ports alone, or steps inside as well.
    pub look: Look,
}

impl VectorPlan {
    fn stream(&self, d: usize) -> VectorStream {
        let short = VectorStream::short(self.seed, d);
        self.keys.map_or(short, |keys| VectorStream {
            directed: short.directed.min(keys / 2),
            ..VectorStream::of(self.seed, keys)
        })
    }

    fn about(&self, streamed: &Streamed) -> String {
        let Streamed { cycles, keys, results, coverage } = streamed;
        let Coverage { changes, shown, tried } = coverage;
        let found = match changes {
            0 => String::new(),
            _ => format!(
                ";\n// {shown} of {changes} changes by one of a table's coefficient or a limit show in it, the others in none of {tried} queries"
            ),
        };
        format!("{cycles} cycles, {keys} keys, {results} results from seed {}{found}", self.seed)
    }
}

/// The ports of a machine in a file of vectors.
pub fn layout(machine: &Machine, look: Look, prefix: &Prefix) -> Result<Layout, ConfigError> {
    let layout = Layout::of(machine, look)?;
    Ok(Layout { name: prefix.top(&layout.name), ..layout })
}

/// Writes a stream's vectors to `out`; only a core's can come from the model alone, others are always in lock-step.
/// `progress` is called after every round. Returns the stream's counts, `out`, and the number of lines.
pub fn stream_vectors<W: Write>(
    machine: &Machine,
    layout: &Layout,
    stream: &VectorStream,
    expected: Expected,
    out: W,
    progress: &mut dyn FnMut(&Streamed),
) -> Result<(Streamed, W, u64), RunError> {
    let mut out = VectorWriter::new(out, layout.clone())?;
    let streamed = selftest::stream(machine, stream, expected, &mut out, progress)?;
    let (out, lines) = out.finish()?;
    Ok((streamed, out, lines))
}

fn all_files(
    layout: &Layout,
    inside: &[Vec<String>],
    vectors: Vec<u8>,
    lines: u64,
    about: &str,
) -> Vec<GeneratedFile> {
    let mut files = testbench_files(layout, inside, lines, about);
    let text = String::from_utf8_lossy(&vectors).into_owned();
    files.push(GeneratedFile { name: vector_file_name(&layout.name), text });
    files
}

/// A design's, expected outputs from design and model in lock-step.
pub fn testbench(
    machine: &Machine,
    plan: &VectorPlan,
    prefix: &Prefix,
) -> Result<Vec<GeneratedFile>, Failure> {
    let layout =
        layout(machine, plan.look, prefix).map_err(|e| Failure::input(format!("--testbench: {e}")))?;
    let (core, cores) = (machine.core(), machine.cores());
    let stream = plan.stream(core.d.max(core.dv()) * cores);
    let (streamed, vectors, lines) = stream_vectors(
        machine,
        &layout,
        &stream,
        Expected::Lockstep(RtlEngine::default()),
        Vec::new(),
        &mut |_| (),
    )?;
    let inside = match plan.look {
        Look::Inside => {
            inside_expressions(&flashd_hwmodel::build(machine).map_err(GenerateError::from)?, cores)?
        }
        Look::Ports => Vec::new(),
    };
    Ok(all_files(&layout, &inside, vectors, lines, &plan.about(&streamed)))
}

/// Widest operands that are tried in all combinations.
const EXHAUSTIVE_BITS: u32 = 16;
/// Combinations otherwise: random ones, half of them with neighbouring exponents.
const RANDOM_OPERANDS: usize = 20_000;

/// A unit's: all operands of up to 16 bits together, or corner cases and random ones. The model gives the results.
pub fn unit_testbench(
    unit: FormatUnit,
    format: Format,
    segments: u32,
    plan: &VectorPlan,
) -> Vec<GeneratedFile> {
    let name = FormatFunction::new(unit, format, segments).name();
    let layout = Layout::new(name, ports(&unit.module(format, segments)));
    let operands = operands(unit, format, plan.seed);
    let mut text = layout.header();
    for &(a, b) in &operands {
        let y = unit_result(unit, format, segments, a, b);
        layout.line(&mut text, &[], |field, elements| {
            elements.push(match field.port.name.as_str() {
                "a" => a,
                "b" => b,
                _ => y,
            });
        });
    }
    text += &layout.end_mark();
    let width = format.width();
    let about = match exhaustive(unit, width) {
        true => format!("all {} operands", operands.len()),
        false => format!("{} operands from seed {}", operands.len(), plan.seed),
    };
    all_files(&layout, &[], text.into_bytes(), operands.len() as u64, &about)
}

fn exhaustive(unit: FormatUnit, width: u32) -> bool {
    width * if unit.is_binary() { 2 } else { 1 } <= EXHAUSTIVE_BITS
}

fn operands(unit: FormatUnit, format: Format, seed: u64) -> Vec<(u64, u64)> {
    let width = format.width();
    let all = 0..=ones(width);
    if exhaustive(unit, width) {
        return match unit.is_binary() {
            true => all.clone().flat_map(|a| all.clone().map(move |b| (a, b))).collect(),
            false => all.map(|a| (a, 0)).collect(),
        };
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let normal = 1 << format.fraction_bits;
    let special = format.max_finite() + 1;
    let near = |x: u64| [x.saturating_sub(1), x, x + 1];
    let corners: Vec<u64> = [0, normal, format.one(), format.max_finite(), special]
        .into_iter()
        .flat_map(near)
        .flat_map(|x| [x, x | format.sign_bit()])
        .map(|x| x & ones(width))
        .collect();
    let mut pairs: Vec<(u64, u64)> =
        corners.iter().flat_map(|&a| corners.iter().map(move |&b| (a, b))).collect();
    for n in 0..RANDOM_OPERANDS {
        let a = rng.random::<u64>() & ones(width);
        let apart = rng.random_range(-12i64..=12) * normal as i64 + rng.random_range(-64i64..64);
        let b = match n % 2 {
            0 => rng.random::<u64>(),
            _ => a.wrapping_add_signed(apart) ^ if rng.random() { format.sign_bit() } else { 0 },
        };
        pairs.push((a, b & ones(width)));
    }
    pairs
}

/// The unit in the model, which shares no arithmetic with the hardware.
pub fn unit_result(unit: FormatUnit, format: Format, segments: u32, a: u64, b: u64) -> u64 {
    match unit {
        FormatUnit::Add => units::add(format, a, b),
        FormatUnit::Sub => units::sub(format, a, b),
        FormatUnit::Mul => units::mul(format, a, b),
        FormatUnit::Max => units::max(format, a, b),
        FormatUnit::Sigmoid => units::sigmoid(format, segments, a),
        FormatUnit::Softplus => units::softplus(format, segments, a),
        FormatUnit::Ln => units::ln(format, segments, a),
        FormatUnit::Exp => units::exp(format, segments, a),
        FormatUnit::Reciprocal => units::reciprocal(format, a),
    }
}
