//! Optional ports, and the memory that serves them.

use super::*;

const ROW: CoreOption = CoreOption { group: OptionGroup::Ports, ..super::ROW };

pub(super) static MASKS: CoreOption = CoreOption {
    field: "masks",
    help: "Keys can be masked: a query does not see them",
    short: "Ports that hide keys from a query",
    why: "Adds the ports k_mask and o_empty; an array gets a range of keys for each query instead.",
    suffix: |c| (!c.partial).then(|| "masked".into()),
    access: access::<bool>(|c| json(c.masks), |c| json(c.masks), |c, v| set(&mut c.masks, v)),
    ..ROW
};

pub(super) static PARTIAL: CoreOption = CoreOption {
    field: "partial",
    help: "A query can start from a partial result, and its state comes beside its result; with --masks",
    short: "Ports for partial results, with --masks",
    why: "Keys can then come in tiles, or be split over several cores, with the results of one pass.",
    applies: (
        CoreConfig::can_be_partial,
        "paper and literal, which are what the paper draws, have no partial results",
    ),
    suffix: |_| Some("partial".into()),
    access: access::<bool>(|c| json(c.partial), |c| json(c.partial), |c, v| set(&mut c.partial, v)),
    ..ROW
};

pub(super) static BIAS: CoreOption = CoreOption {
    field: "bias",
    help: "A number is added to the score of each key: a port k_bias, bf16",
    short: "A port for a number added to each score",
    why: "For ALiBi and relative positions, in natural units after the scale and the cap. An array has a number for each of its queries.",
    applies: SCALARS,
    suffix: |_| Some("bias".into()),
    access: access::<bool>(|c| json(c.bias), |c| json(c.bias), |c, v| set(&mut c.bias, v)),
    ..ROW
};

pub(super) static VALUE_LATENCY: CoreOption = CoreOption {
    field: "value_latency",
    value_name: "CYCLES",
    help: "Cycles from v_ren to the value",
    why: "For memories behind a pipeline or a bus. The scalars that wait for the value pass through \
    as many more stages, and the result comes that much later; the rate stays at one key a cycle.",
    default: "1",
    range: Range::Between(VALUE_LATENCY_RANGE.0 as i64, VALUE_LATENCY_RANGE.1 as i64),
    suffix: |c| Some(format!("vlat{}", c.value_latency)),
    access: access::<u32>(
        |c| json(c.value_latency),
        |c| json(c.value_latency),
        |c, v| set(&mut c.value_latency, v),
    ),
    ..ROW
};
