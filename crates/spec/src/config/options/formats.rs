//! Formats of operands and results, and scales.

use super::*;

const ROW: CoreOption = CoreOption { group: OptionGroup::Formats, ..super::ROW };

const FORMATS_DIFFER: &str = "where it is the format of the queries, it is left out";
const FORMAT_ROW: CoreOption = CoreOption { value_name: "FORMAT", default: "that of --format", ..ROW };

const SCALED: Applies = (
    |c| !c.follows_the_paper(),
    "paper and literal have every operation in one format, and nothing that multiplies a sum",
);

const SCALES_ROW: CoreOption =
    CoreOption { value_name: "SCALES", default: "that of --scales", applies: SCALED, ..ROW };

/// The common scale of q and k: as configured, else the default of their formats.
fn scales_of_both(c: &CoreConfig) -> Scale {
    let Scales { q, k, .. } = c.formats().scales();
    c.scales.unwrap_or(if q == Scale::None { k } else { q })
}

/// Suffix of a core's name for a scale.
fn scale_suffix(operand: &str, scale: Scale) -> String {
    let scale = match scale {
        Scale::None => "noscale",
        Scale::Row => "rowscale",
        Scale::RowE8m0 => "rowe8m0",
        Scale::RowQ16 => "rowq16",
        Scale::Mx => "mx",
        Scale::Nvfp4 => "nv",
    };
    operand.to_string() + scale
}

/// JSON of an operand's format; null if the same as the queries'.
fn other(c: &CoreConfig, of: fn(Formats) -> Format) -> Value {
    let format = of(c.formats());
    json((format != c.format).then_some(format))
}

pub(super) static FORMAT: CoreOption = CoreOption {
    field: "format",
    value_name: "FORMAT",
    help: "Number format of queries, keys, values and results: bf16, fp8-e4m3, fp8-e5m2, fp16 or fp32, int8q1 to int8q12 or \
           int16q1 to int16q20 (two's complement in units of 2^-N), or int8, int4, fp6-e3m2, fp6-e2m3 or fp4-e2m1 with results in \
           bf16, or int16 with results in fp16",
    short: "Format of q, k, v and o, such as fp8-e4m3, int8 or int16q8",
    why: "Products are rounded once, and lanes keep the precision of the more precise of v and o. paper \
    and literal have one format for everything.",
    default: "bf16",
    access: access::<Format>(|c| json(c.format), |c| json(c.format), with_the_datapath),
    ..ROW
};

pub(super) static Q_FORMAT: CoreOption = CoreOption {
    field: "q_format",
    value_name: "FORMAT",
    help: "Format of queries, where it is not that of the others",
    default: "that of --format",
    applies: (|_| false, "a core's format is that of its queries"),
    access: access::<Format>(|_| Value::Null, |c| json(c.format), with_the_datapath),
    ..ROW
};

pub(super) static K_FORMAT: CoreOption = CoreOption {
    field: "k_format",
    value_name: "FORMAT",
    help: "Format of keys",
    applies: (|c| c.formats().k != c.format, FORMATS_DIFFER),
    access: access::<Format>(|c| other(c, |f| f.k), |c| json(c.formats().k), with_the_datapath),
    ..FORMAT_ROW
};

pub(super) static V_FORMAT: CoreOption = CoreOption {
    field: "v_format",
    value_name: "FORMAT",
    help: "Format of values",
    applies: (|c| c.formats().v != c.format, FORMATS_DIFFER),
    access: access::<Format>(|c| other(c, |f| f.v), |c| json(c.formats().v), with_the_datapath),
    ..FORMAT_ROW
};

pub(super) static O_FORMAT: CoreOption = CoreOption {
    field: "o_format",
    value_name: "FORMAT",
    help: "Format of results: a float of 8 bits or more, int8, int16, or int8q1 to int8q12 or int16q1 to int16q20, which are int8 and int16 in \
    units of 2^-N",
    why: "int8 results are rounded once from the lanes, in the units of v: a result is a mean of values, so values of int8 \
    and results of int8 have one scale a channel, and nothing saturates. int8q4 has units of 2^-4: for values of int4, or where results are \
    much smaller than values. What is beyond the largest integer saturates.",
    default: "that of --format; where that is int8, int4 or a float below 8 bits, bf16, and fp16 for int16",
    applies: (|c| c.formats().o != c.format.of_results(), FORMATS_DIFFER),
    access: access::<Format>(
        |c| json((c.formats().o != c.format.of_results()).then_some(c.formats().o)),
        |c| json(c.formats().o),
        with_the_datapath,
    ),
    ..FORMAT_ROW
};

pub(super) static SCALES: CoreOption = CoreOption {
    field: "scales",
    value_name: "SCALES",
    help: "What queries and keys are multiplied by, and values where it is by blocks",
    why: "What stands behind the elements of a vector on the port. row: a positive bf16 number for each query \
    and each key; row-e8m0: a power of two for each vector. mx is OCP MX, a power of two for each 32 elements of fp8, fp6, fp4 or \
    int8, and nvfp4 an e4m3 number for each 16 elements of fp4-e2m1; both are of values too. none leaves the port as wide as the \
    elements; the host folds one power of two for the whole tensor into --score-shift.",
    default: "row where they are integers without a binary point, none otherwise",
    applies: SCALED,
    suffix: |c| Some(scale_suffix("", scales_of_both(c))),
    access: access::<Scale>(|c| json(c.scales), |c| json(scales_of_both(c)), |c, v| set(&mut c.scales, v)),
    ..ROW
};

pub(super) static Q_SCALES: CoreOption = CoreOption {
    field: "q_scales",
    help: "What queries are multiplied by",
    why: "row-q16 is for queries alone: a number of 16 bits, bits / 65,536, and 0 is 1. An attention unit takes it from SCALE, for all queries of a \
    job, so that the host sets the scores' factor at run time.",
    suffix: |c| Some(scale_suffix("q", c.scales().q)),
    access: access::<Scale>(|c| json(c.q_scales), |c| json(c.scales().q), |c, v| set(&mut c.q_scales, v)),
    ..SCALES_ROW
};

pub(super) static K_SCALES: CoreOption = CoreOption {
    field: "k_scales",
    help: "What keys are multiplied by",
    suffix: |c| Some(scale_suffix("k", c.scales().k)),
    access: access::<Scale>(|c| json(c.k_scales), |c| json(c.scales().k), |c, v| set(&mut c.k_scales, v)),
    ..SCALES_ROW
};

pub(super) static V_SCALES: CoreOption = CoreOption {
    field: "v_scales",
    help: "What values are multiplied by",
    why: "Values take no row: FLASH-D's v - o would need a product in each lane before it, where a power of two is an \
    exponent.",
    default: "that of --scales where it is by blocks, none otherwise",
    suffix: |c| Some(scale_suffix("v", c.scales().v)),
    access: access::<Scale>(|c| json(c.v_scales), |c| json(c.scales().v), |c, v| set(&mut c.v_scales, v)),
    ..SCALES_ROW
};
