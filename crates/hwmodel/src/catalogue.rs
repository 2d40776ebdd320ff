//! The catalogue of core kinds, one row for each datapath: its units, and the cycles between their signals.

use crate::attention::core::{CoreKind, Parts, Site, core as build_core};
use crate::attention::port_result::PortResult;
use crate::attention::ports::{CoreInputs, CoreOutputs, OpenInputs};
use crate::attention::schedule::{FrontSchedule, score_stage};
use crate::fa2::literal_softmax::literal_softmax;
use crate::fa2::log_reference::log_reference;
use crate::fa2::octave_reference::octave_reference;
use crate::fa2::shared_log_reference::shared_log_reference;
use crate::fa2::shared_softmax::shared_softmax;
use crate::fa2::softmax::softmax;
use crate::fa2::{self, literal_lane, separate_lane, shared_fixed_lane, shared_lane};
use crate::flash_d::scalars::FirstRead;
use crate::flash_d::weight::{fixed_weight, rounded_weight};
use crate::flash_d::{fixed_lane, paper, paper_lane, ranged_lane, rounded_lane};
use crate::rtl::{Circuit, Module, Name, Stage, Wire};
use crate::score::score;
use flashd_spec::config::{ConfigError, CoreConfig, Datapath, Fa2Variant, FlashDVariant};
use flashd_spec::machine::Machine;
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

/// FLASH-D with float lanes that round every operation of the output update.
const FLASH_D_ROUNDED: CoreKind = CoreKind {
    doc: "FLASH-D attention core: o <- o + sigmoid(s - L) * (v - o), one key a cycle.",
    stages: ["score", "weight state", "weight", "weight to the lanes", "output update"],
    score: score::score,
    build: |site| build_core(site, rounded_weight, &rounded_lane::ROUNDED),
    at_port: None,
    argument_after: 1,
    weight_after: 3,
    early_value: false,
    result_exponent: None,
    restore_after: 0,
    state_after: &[("o_lse_q", 3), ("o_room_q", 3)],
};

/// FLASH-D with fixed-point lanes under one exponent.
const FLASH_D_FIXED: CoreKind = CoreKind {
    doc: "FLASH-D attention core: o <- o + sigmoid(s - L) * (v - o) in fixed point, one key a cycle.",
    build: |site| build_core(site, |m, n, inputs| fixed_weight(m, n, None, inputs), &fixed_lane::FIXED),
    at_port: Some(&fixed_lane::FIXED_AT_PORT),
    result_exponent: Some(1),
    ..FLASH_D_ROUNDED
};

/// FLASH-D with fixed-point lanes under one exponent and a pipeline stage for the value.
const FLASH_D_STAGED_FIXED: CoreKind = CoreKind {
    stages: ["score", "weight state", "weight", "weight to the lanes, value to fixed point", "output update"],
    build: |site| {
        build_core(
            site,
            |m, n, inputs| fixed_weight(m, n, Some(|_, reads, _| reads), inputs),
            &fixed_lane::FIXED,
        )
    },
    at_port: Some(&fixed_lane::STAGED_FIXED_AT_PORT),
    weight_after: 2,
    early_value: true,
    result_exponent: Some(2),
    restore_after: 1,
    ..FLASH_D_FIXED
};

/// FLASH-D with ranged lanes: fixed point, each lane with an exponent.
const FLASH_D_RANGED: CoreKind = CoreKind {
    doc: "FLASH-D attention core: o <- o + sigmoid(s - L) * (v - o) in fixed point, each lane relative to its own exponent, one key a cycle.",
    build: |site| build_core(site, |m, n, inputs| fixed_weight(m, n, None, inputs), &ranged_lane::RANGED),
    at_port: Some(&ranged_lane::RANGED_AT_PORT),
    result_exponent: None,
    ..FLASH_D_FIXED
};

/// The flags of ranged lanes' pipeline stage for the value.
fn first_read(m: &mut Module, reads: Wire, first: Wire) -> FirstRead {
    FirstRead { reads, loads: m.output("loads", first) }
}

/// FLASH-D with ranged lanes and a pipeline stage for the value.
const FLASH_D_STAGED_RANGED: CoreKind = CoreKind {
    doc: FLASH_D_RANGED.doc,
    build: |site| {
        build_core(site, |m, n, inputs| fixed_weight(m, n, Some(first_read), inputs), &ranged_lane::RANGED)
    },
    at_port: Some(&ranged_lane::STAGED_RANGED_AT_PORT),
    result_exponent: None,
    restore_after: 0,
    ..FLASH_D_STAGED_FIXED
};

/// FLASH-D as the paper draws it: its weight unit, and every operation rounded to the format.
const FLASH_D_PAPER: CoreKind = CoreKind {
    doc: "FLASH-D attention core after the paper's Alg. 3, one key a cycle.",
    stages: [
        "score",
        "score waits for the other variants' pipeline",
        "difference",
        "weight",
        "output update",
    ],
    score: score::format_score,
    build: |site| build_core(site, paper::paper_weight, &paper_lane::PAPER),
    argument_after: 3,
    state_after: &[],
    ..FLASH_D_ROUNDED
};

/// FlashAttention-2: one exponential; in a lane, one multiplier for the update and one for the final scale.
const FA2_SEPARATE: CoreKind = CoreKind {
    doc: "FlashAttention-2 attention core: running maximum, running sum, division by reciprocal; one key a cycle.",
    stages: ["score and maximum", "exponential", "running sum", "value, reciprocal", "final scale"],
    score: score::score,
    build: |site| build_core(site, softmax, &separate_lane::SEPARATE),
    at_port: None,
    argument_after: 0,
    weight_after: 2,
    early_value: true,
    result_exponent: None,
    restore_after: 0,
    state_after: &[("o_m_q", 4), ("o_l_q", 2)],
};

/// FlashAttention-2 with one multiplier a lane, for update and final scale.
const FA2_SHARED: CoreKind = CoreKind {
    doc: "FlashAttention-2 attention core: one multiplier a lane for update and final scale; one key a cycle.",
    build: |site| build_core(site, shared_softmax, &shared_lane::SHARED),
    ..FA2_SEPARATE
};

/// FlashAttention-2 in fixed point, relative to the exponent of the running sum.
const FA2_LOG_REFERENCE: CoreKind = CoreKind {
    doc: "FlashAttention-2 attention core in fixed point, relative to the sum's exponent; one key a cycle.",
    stages: [
        "score",
        "reference, exponential and running sum",
        "exponential to the lanes",
        "value, reciprocal",
        "final scale",
    ],
    build: |site| build_core(site, log_reference, &fa2::fixed_lane::FIXED),
    argument_after: 1,
    result_exponent: Some(1),
    state_after: &[("o_m_q", 3), ("o_l_q", 2)],
    ..FA2_SEPARATE
};

/// FlashAttention-2 in fixed point, relative to the exponent of the running sum, with one multiplier a lane.
const FA2_SHARED_LOG_REFERENCE: CoreKind = CoreKind {
    doc: "FlashAttention-2 attention core in fixed point, relative to the sum's exponent; one multiplier a lane for update\nand final scale; one key a cycle.",
    build: |site| build_core(site, shared_log_reference, &shared_fixed_lane::SHARED_FIXED),
    at_port: Some(&shared_fixed_lane::SHARED_FIXED_AT_PORT),
    ..FA2_LOG_REFERENCE
};

/// FlashAttention-2 in fixed point, each lane relative to its own exponent, with one multiplier a lane.
const FA2_RANGED: CoreKind = CoreKind {
    doc: "FlashAttention-2 attention core in fixed point, relative to the sum's exponent and each lane to its own; one\nmultiplier a lane for update and final scale; one key a cycle.",
    stages: [
        "score",
        "power of two of the fraction",
        "reference, exponential and running sum",
        "value, reciprocal",
        "final scale",
    ],
    build: |site| build_core(site, octave_reference, &fa2::ranged_lane::RANGED),
    at_port: Some(&fa2::ranged_lane::RANGED_AT_PORT),
    argument_after: 2,
    result_exponent: None,
    state_after: &[("o_m_q", 2), ("o_l_q", 2)],
    ..FA2_SHARED_LOG_REFERENCE
};

/// FlashAttention-2 as the paper draws it: two exponentials, and three multipliers a lane with the division's.
const FA2_LITERAL: CoreKind = CoreKind {
    doc: "FlashAttention-2 attention core as the paper draws it: two exponentials, three multipliers a lane.",
    stages: ["score", "maximum and exponentials", "running sum", "value, reciprocal", "division"],
    score: score::format_score,
    build: |site| build_core(site, literal_softmax, &literal_lane::LITERAL),
    argument_after: 1,
    state_after: &[],
    ..FA2_SEPARATE
};

/// The kind of core that a configuration asks for.
pub fn kind(config: &CoreConfig) -> &'static CoreKind {
    use Datapath::{Fa2, FlashD};
    match config.datapath {
        FlashD(FlashDVariant::Paper) => &FLASH_D_PAPER,
        FlashD(FlashDVariant::Rounded) => &FLASH_D_ROUNDED,
        FlashD(FlashDVariant::Fixed) if config.value_stage() => &FLASH_D_STAGED_FIXED,
        FlashD(FlashDVariant::Fixed) => &FLASH_D_FIXED,
        FlashD(FlashDVariant::Ranged) if config.value_stage() => &FLASH_D_STAGED_RANGED,
        FlashD(FlashDVariant::Ranged) => &FLASH_D_RANGED,
        Fa2(Fa2Variant::SeparateScale) => &FA2_SEPARATE,
        Fa2(Fa2Variant::SharedScale) => &FA2_SHARED,
        Fa2(Fa2Variant::LogReference) => &FA2_LOG_REFERENCE,
        Fa2(Fa2Variant::SharedLogReference) => &FA2_SHARED_LOG_REFERENCE,
        Fa2(Fa2Variant::Ranged) => &FA2_RANGED,
        Fa2(Fa2Variant::Literal) => &FA2_LITERAL,
    }
}

/// Cycles from the acceptance of a key to those in which the signals that checks compare show its step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stages {
    /// The score.
    pub score: u32,
    /// The argument of sigmoid or exponential.
    pub argument: u32,
    /// The weight, and `v_step`.
    pub value: u32,
    /// FA2's l after the step, and its reciprocal.
    pub sum: u32,
}

impl Stages {
    /// The stages of a core.
    pub fn of(config: &CoreConfig) -> Stages {
        let score = score_stage(&Numerics::new(config));
        let kind = kind(config);
        // The register of l takes the sum in the stage of the weight and shows it in the next.
        let value = score + kind.weight_after;
        Stages { score, argument: score + kind.argument_after, value, sum: value + 1 }
    }
}

/// The title of a stage of a machine: of a core with its number, the cycles from the acceptance of a key. Of several cores, the first
/// one has rows.
pub fn stage_title(machine: &Machine, stage: Stage) -> String {
    let title = match (stage, machine) {
        (Stage::Streams, _) => return "Wrapper: streams".into(),
        (Stage::Ports, Machine::Split(_)) => return "Split: ports".into(),
        (Stage::Ports, _) => return "Array: ports".into(),
        _ => core_stage_title(machine.core(), stage),
    };
    match machine {
        Machine::Core(_) => title,
        _ => format!("Core 0: {title}"),
    }
}

fn core_stage_title(config: &CoreConfig, stage: Stage) -> String {
    let (n, kind) = (Numerics::new(config), kind(config));
    let score = score_stage(&n);
    match stage {
        Stage::AdderTree => {
            let schedule = FrontSchedule::new(n.rounded_dot, n.tree_levels);
            // Where nothing is registered, the tree shares its only stage with the score.
            let first = usize::from(schedule.after_products);
            match schedule.registers().saturating_sub(1) {
                last if last == first => format!("Stage {first}: adder tree"),
                last => format!("Stage {first}..{last}: adder tree"),
            }
        }
        Stage::UncappedScore => format!("Stage {}: score before its cap", score - 1),
        Stage::Score(after) => {
            let (after, title) = (after as u32, kind.stages[after]);
            // Stages after the handshake wait for the value.
            let waits = if after > kind.weight_after { n.value_latency - 1 } else { 0 };
            format!("Stage {}: {title}", score + after + waits)
        }
        Stage::Result => format!("Stage {}: result", n.latency()),
        Stage::Streams | Stage::Ports | Stage::QueryAndKey => "Stage 0: query and key".into(),
    }
}

/// Cycles from the acceptance of a key to its `v_step`.
pub fn v_step_latency(config: &CoreConfig) -> u32 {
    Stages::of(config).value
}

/// Builds the core of a valid configuration in a module.
pub fn core(
    around: &mut Module,
    name: impl Into<Name>,
    config: &CoreConfig,
    n: &Arc<Numerics>,
    inputs: &CoreInputs,
) -> CoreOutputs {
    core_at_port(around, name, config, n, inputs, None)
}

/// How an array of several cores makes results at its port; none where each core makes its own.
pub fn at_port(config: &CoreConfig, n: &Numerics) -> Option<&'static PortResult> {
    kind(config).at_port.filter(|at_port| (at_port.applies)(n))
}

/// Builds the core of a valid configuration in an array, which may make its results at the port.
pub fn core_at_port(
    around: &mut Module,
    name: impl Into<Name>,
    config: &CoreConfig,
    n: &Arc<Numerics>,
    inputs: &CoreInputs,
    at_port: Option<&PortResult>,
) -> CoreOutputs {
    let kind = kind(config);
    let (early, late) = (usize::from(kind.early_value), n.value_latency as usize - 1);
    let parts = Parts { kind, config, n, at_port, early, late };
    (kind.build)(Site { around, name: name.into(), inputs, parts })
}

/// Builds the core of a configuration as a circuit.
///
/// # Errors
/// If the configuration is not valid.
pub fn build(config: &CoreConfig) -> Result<Circuit, ConfigError> {
    config.validate()?;
    let n = Arc::new(Numerics::new(config));
    let mut bench = Module::bench();
    let b = &mut bench;
    let open = OpenInputs::new(b, &config.into());
    core(b, "top", config, &n, &open.core());
    Ok(bench.into_circuit())
}
