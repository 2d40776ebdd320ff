//! The options of a core, one row each. Flags, JSON, names, checks, [`CoreConfig::flags`] and `--help` are computed from these rows.

mod core;
mod formats;
mod ports;
mod precision;

use super::option::{Applies, CoreOption, Range, access, set, with_the_datapath};
use super::value::json;
use super::*;
use serde_json::Value;

const EVERY: Applies = (|_| true, "every core has it");
const SCALARS: Applies =
    (|c| !c.follows_the_paper(), "paper and literal have scores and state in the format");

/// Defaults of a row: every core has the option, and it adds no suffix to names.
const ROW: CoreOption = CoreOption {
    field: "",
    group: OptionGroup::Core,
    value_name: "",
    help: "",
    short: "",
    why: "",
    default: "",
    range: Range::Any,
    applies: EVERY,
    suffix: |_| None,
    access: access::<bool>(|_| Value::Null, |_| Value::Null, with_the_datapath),
};

/// All options, in the order of names. Help and documents list each [`OptionGroup`] in this order.
pub static OPTIONS: [&CoreOption; 32] = [
    &core::DESIGN,
    &core::D,
    &core::DK,
    &core::DV,
    &core::MAX_KEYS,
    &formats::FORMAT,
    &formats::Q_FORMAT,
    &formats::K_FORMAT,
    &formats::V_FORMAT,
    &formats::O_FORMAT,
    &core::WEIGHT,
    &core::FA2,
    &core::UPDATE,
    &formats::SCALES,
    &formats::Q_SCALES,
    &formats::K_SCALES,
    &formats::V_SCALES,
    &precision::LANE,
    &precision::VALUE_STAGE,
    &ports::MASKS,
    &ports::PARTIAL,
    &core::SOFTCAP,
    &ports::BIAS,
    &ports::VALUE_LATENCY,
    &core::HOLD,
    &precision::ACCUMULATOR,
    &precision::WEIGHT_BITS,
    &precision::SEGMENTS,
    &precision::SCORE_SHIFT,
    &precision::SCORE_INTEGER_BITS,
    &precision::SCORE_FRACTION_BITS,
    &precision::STATE_FRACTION_BITS,
];
