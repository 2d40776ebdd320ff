//! The options of a core, one row each. Flags, JSON, names, checks, [`CoreConfig::flags`] and `--help` are computed from these rows.

use super::option::{Applies, CoreOption, Range, access, set, with_the_datapath};
use super::value::json;
use super::*;
use serde_json::Value;

const EVERY: Applies = (|_| true, "every core has it");
const SCALARS: Applies =
    (|c| !c.follows_the_paper(), "paper and literal have scores and state in the format");
const LENGTHS: Range = Range::Between(D_RANGE.0 as i64, D_RANGE.1 as i64);
const LENGTHS_DIFFER: Applies = (|c| c.dv() != c.d, "where both lengths are the same, they are d");
const FORMATS_DIFFER: &str = "where it is the format of the queries, it is left out";
const FLOAT_LANES: Applies = (
    |c| c.kind().arithmetic == Arithmetic::Float,
    "only float lanes that do not follow the paper to the letter have it",
);

/// Defaults of a row: every core has the option, and it adds no suffix to names.
const ROW: CoreOption = CoreOption {
    field: "",
    value_name: "",
    help: "",
    default: "",
    range: Range::Any,
    applies: EVERY,
    suffix: |_| None,
    access: access::<bool>(|_| Value::Null, |_| Value::Null, with_the_datapath),
};

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

/// All options, in the order of names.
pub static OPTIONS: [CoreOption; 32] = [
    CoreOption {
        field: "design",
        value_name: "DESIGN",
        help: "Recurrence",
        access: access::<Design>(|c| json(c.design()), |c| json(c.design()), with_the_datapath),
        ..ROW
    },
    CoreOption {
        field: "d",
        value_name: "D",
        help: "Vector length",
        range: LENGTHS,
        applies: (|c| c.dv() == c.d, "with dk and dv there is no d for both"),
        access: access::<usize>(|c| json((c.dv() == c.d).then_some(c.d)), |c| json(c.d), with_the_datapath),
        ..ROW
    },
    CoreOption {
        field: "dk",
        value_name: "D",
        help: "Length of queries and keys, where values have another",
        range: LENGTHS,
        applies: LENGTHS_DIFFER,
        access: access::<usize>(|c| json((c.dv() != c.d).then_some(c.d)), |c| json(c.d), with_the_datapath),
        ..ROW
    },
    CoreOption {
        field: "dv",
        value_name: "D",
        help: "Length of values and results, where queries have another",
        range: LENGTHS,
        applies: LENGTHS_DIFFER,
        access: access::<usize>(
            |c| json((c.dv() != c.d).then_some(c.dv())),
            |c| json(c.dv()),
            with_the_datapath,
        ),
        ..ROW
    },
    CoreOption {
        field: "max_keys",
        value_name: "N",
        help: "The most keys of a query: every width that depends on their number follows",
        default: "65536",
        range: Range::Between(MAX_KEYS_RANGE.0 as i64, MAX_KEYS_RANGE.1 as i64),
        suffix: |c| Some(format!("n{}", c.max_keys)),
        access: access::<usize>(|c| json(c.max_keys), |c| json(c.max_keys), |c, v| set(&mut c.max_keys, v)),
        ..ROW
    },
    CoreOption {
        field: "format",
        value_name: "FORMAT",
        help: "Number format of queries, keys, values and results: bf16, fp8-e4m3, fp8-e5m2, fp16 or fp32, or int8, int4, \
               fp6-e3m2, fp6-e2m3 or fp4-e2m1 with results in bf16",
        default: "bf16",
        access: access::<Format>(|c| json(c.format), |c| json(c.format), with_the_datapath),
        ..ROW
    },
    CoreOption {
        field: "q_format",
        value_name: "FORMAT",
        help: "Format of queries, where it is not that of the others",
        default: "that of --format",
        applies: (|_| false, "a core's format is that of its queries"),
        access: access::<Format>(|_| Value::Null, |c| json(c.format), with_the_datapath),
        ..ROW
    },
    CoreOption {
        field: "k_format",
        value_name: "FORMAT",
        help: "Format of keys",
        applies: (|c| c.formats().k != c.format, FORMATS_DIFFER),
        access: access::<Format>(|c| other(c, |f| f.k), |c| json(c.formats().k), with_the_datapath),
        ..FORMAT_ROW
    },
    CoreOption {
        field: "v_format",
        value_name: "FORMAT",
        help: "Format of values",
        applies: (|c| c.formats().v != c.format, FORMATS_DIFFER),
        access: access::<Format>(|c| other(c, |f| f.v), |c| json(c.formats().v), with_the_datapath),
        ..FORMAT_ROW
    },
    CoreOption {
        field: "o_format",
        value_name: "FORMAT",
        help: "Format of results: a float of 8 bits or more, int8, or int8q1 to int8q12, which are int8 in units of 2^-1 to 2^-12",
        default: "that of --format, or bf16 where that is an integer or below 8 bits",
        applies: (|c| c.formats().o != c.format.of_results(), FORMATS_DIFFER),
        access: access::<Format>(
            |c| json((c.formats().o != c.format.of_results()).then_some(c.formats().o)),
            |c| json(c.formats().o),
            with_the_datapath,
        ),
        ..FORMAT_ROW
    },
    CoreOption {
        field: "weight",
        value_name: "UNIT",
        help: "FLASH-D's weight unit",
        applies: (|c| c.weight().is_some(), "only flash-d has a weight unit to choose"),
        access: access::<WeightUnit>(|c| json(c.weight()), |c| json(c.weight()), with_the_datapath),
        ..ROW
    },
    CoreOption {
        field: "fa2",
        value_name: "DATAPATH",
        help: "FA2's datapath",
        applies: (|c| c.fa2().is_some(), "only fa2 has a datapath to choose here"),
        access: access::<Fa2Variant>(|c| json(c.fa2()), |c| json(c.fa2()), with_the_datapath),
        ..ROW
    },
    CoreOption {
        field: "update",
        value_name: "UPDATE",
        help: "FLASH-D's output update",
        applies: (
            |c| c.update().is_some(),
            "only flash-d's weight unit lse has an update to choose; fa2's datapath is chosen with fa2",
        ),
        access: access::<Update>(|c| json(c.update()), |c| json(c.update()), with_the_datapath),
        ..ROW
    },
    CoreOption {
        field: "scales",
        value_name: "SCALES",
        help: "What queries and keys are multiplied by, and values where it is by blocks",
        default: "row where they are integers, none otherwise",
        applies: SCALED,
        suffix: |c| Some(scale_suffix("", scales_of_both(c))),
        access: access::<Scale>(
            |c| json(c.scales),
            |c| json(scales_of_both(c)),
            |c, v| set(&mut c.scales, v),
        ),
        ..ROW
    },
    CoreOption {
        field: "q_scales",
        help: "What queries are multiplied by",
        suffix: |c| Some(scale_suffix("q", c.scales().q)),
        access: access::<Scale>(|c| json(c.q_scales), |c| json(c.scales().q), |c, v| set(&mut c.q_scales, v)),
        ..SCALES_ROW
    },
    CoreOption {
        field: "k_scales",
        help: "What keys are multiplied by",
        suffix: |c| Some(scale_suffix("k", c.scales().k)),
        access: access::<Scale>(|c| json(c.k_scales), |c| json(c.scales().k), |c, v| set(&mut c.k_scales, v)),
        ..SCALES_ROW
    },
    CoreOption {
        field: "v_scales",
        help: "What values are multiplied by",
        default: "that of --scales where it is by blocks, none otherwise",
        suffix: |c| Some(scale_suffix("v", c.scales().v)),
        access: access::<Scale>(|c| json(c.v_scales), |c| json(c.scales().v), |c, v| set(&mut c.v_scales, v)),
        ..SCALES_ROW
    },
    CoreOption {
        field: "lane",
        value_name: "O,V,W",
        help: "Bits of fixed-point lanes: accumulator, value, significand of the weight",
        applies: (
            CoreConfig::has_fixed_lanes,
            "only fixed-point lanes have these widths: update fixed and ranged, and fixed, log-reference, shared-log-reference and \
             ranged of fa2",
        ),
        suffix: |c| {
            let LaneBits { o, v, w } = c.lane_bits();
            Some(format!("o{o}v{v}w{w}"))
        },
        access: access::<LaneBits>(|c| json(c.lane), |c| json(c.lane_bits()), |c, v| set(&mut c.lane, v)),
        ..ROW
    },
    CoreOption {
        field: "value_stage",
        value_name: "true|false",
        help: "Whether v has a pipeline stage of its own before FLASH-D's fixed-point lanes: faster, but larger",
        default: "true with ranged, false with fixed",
        applies: (
            |c| c.design() == Design::FlashD && c.has_fixed_lanes(),
            "only the fixed and ranged updates of flash-d have a choice",
        ),
        suffix: |c| Some(if c.value_stage() { "staged" } else { "unstaged" }.into()),
        access: access::<bool>(
            |c| json(c.value_stage),
            |c| json(c.value_stage()),
            |c, v| set(&mut c.value_stage, v),
        ),
        ..ROW
    },
    CoreOption {
        field: "masks",
        help: "Keys can be masked: a query does not see them",
        suffix: |c| (!c.partial).then(|| "masked".into()),
        access: access::<bool>(|c| json(c.masks), |c| json(c.masks), |c, v| set(&mut c.masks, v)),
        ..ROW
    },
    CoreOption {
        field: "partial",
        help: "A query can start from a partial result, and its state comes beside its result; with --masks",
        applies: (
            CoreConfig::can_be_partial,
            "paper and literal, which are what the paper draws, have no partial results",
        ),
        suffix: |_| Some("partial".into()),
        access: access::<bool>(|c| json(c.partial), |c| json(c.partial), |c, v| set(&mut c.partial, v)),
        ..ROW
    },
    CoreOption {
        field: "softcap",
        value_name: "C",
        help: "Cap of scores: C tanh(score / C), before a bias is added",
        default: "none",
        applies: SCALARS,
        suffix: |c| Some(format!("softcap{}", c.softcap?).replace('.', "p")),
        access: access::<f64>(|c| json(c.softcap), |c| json(c.softcap), |c, v| set(&mut c.softcap, v)),
        ..ROW
    },
    CoreOption {
        field: "bias",
        help: "A number is added to the score of each key: a port k_bias, bf16",
        applies: SCALARS,
        suffix: |_| Some("bias".into()),
        access: access::<bool>(|c| json(c.bias), |c| json(c.bias), |c, v| set(&mut c.bias, v)),
        ..ROW
    },
    CoreOption {
        field: "value_latency",
        value_name: "CYCLES",
        help: "Cycles from v_ren to the value",
        default: "1",
        range: Range::Between(VALUE_LATENCY_RANGE.0 as i64, VALUE_LATENCY_RANGE.1 as i64),
        suffix: |c| Some(format!("vlat{}", c.value_latency)),
        access: access::<u32>(
            |c| json(c.value_latency),
            |c| json(c.value_latency),
            |c, v| set(&mut c.value_latency, v),
        ),
        ..ROW
    },
    CoreOption {
        field: "hold",
        value_name: "RULE",
        help: "Hold rule: a threshold T (not paper, literal), budget:F for half an ulp of F fraction bits in all (FLASH-D, not \
               paper), static (paper) or none",
        applies: (|c| c.kind().hold != HoldRules::Never, "literal has no hold rule"),
        suffix: |c| {
            Some(match c.hold() {
                Hold::None | Hold::Static => "nohold".to_string(),
                Hold::Below(t) => format!("hold{t}").replace('.', "p"),
                Hold::Budget(fraction) => format!("budget{fraction}"),
            })
        },
        access: access::<Hold>(|c| json(c.hold), |c| json(c.hold()), |c, v| set(&mut c.hold, v)),
        ..ROW
    },
    CoreOption {
        field: "accumulator",
        value_name: "BITS|FORMAT",
        help: "Accumulator of float lanes: its fraction bits, or a format of its own (bf16, fp16, fp32), or the word format for that \
               of the operands",
        applies: (|c| !c.has_fixed_lanes(), "fixed-point lanes have no float accumulator, but lane"),
        suffix: |c| {
            Some(match c.accumulator {
                Some(Accumulator::Float(format)) => format!("acc_{}", format.ident()),
                Some(Accumulator::Format) => "acc_format".into(),
                _ => format!("acc{}", c.accumulator_fraction()),
            })
        },
        access: access::<Accumulator>(
            |c| json(c.accumulator),
            |c| match c.accumulator {
                Some(Accumulator::Float(_)) => json(c.accumulator),
                _ => json(Accumulator::Fraction(c.accumulator_fraction())),
            },
            |c, v| set(&mut c.accumulator, v),
        ),
        ..ROW
    },
    CoreOption {
        field: "weight_bits",
        value_name: "BITS",
        help: "Significand bits of the weight or exponential in float lanes",
        default: "those of the format",
        range: Range::Between(WEIGHT_BITS_RANGE.0 as i64, WEIGHT_BITS_RANGE.1 as i64),
        applies: FLOAT_LANES,
        suffix: |c| Some(format!("w{}", c.weight_bits?)),
        access: access::<u32>(
            |c| json(c.weight_bits),
            |c| json(c.weight_bits.unwrap_or(c.format.precision())),
            |c, v| set(&mut c.weight_bits, v),
        ),
    },
    CoreOption {
        field: "segments",
        value_name: "N",
        help: "Segments of the PWL tables, an octave each where the range is reduced",
        default: "4; 16 with results of more than 8 significand bits; 8 in paper and literal",
        range: Range::OneOf(&[4, 8, 16, 32]),
        suffix: |c| Some(format!("seg{}", c.segments())),
        access: access::<u32>(|c| json(c.segments), |c| json(c.segments()), |c, v| set(&mut c.segments, v)),
        ..ROW
    },
    CoreOption {
        field: "score_shift",
        value_name: "N",
        help: "The core's score is q . k * 2^N",
        default: "the power of two in 1/sqrt(d)",
        range: Range::Between(SCORE_SHIFT_RANGE.0 as i64, SCORE_SHIFT_RANGE.1 as i64),
        suffix: |c| {
            let shift = c.score_shift();
            Some(format!("shift{}{}", if shift < 0 { "m" } else { "" }, shift.abs()))
        },
        access: access::<i32>(
            |c| json(c.score_shift),
            |c| json(c.score_shift()),
            |c, v| set(&mut c.score_shift, v),
        ),
        ..ROW
    },
    CoreOption {
        field: "score_integer_bits",
        value_name: "BITS",
        help: "Integer bits of the fixed-point score",
        default: "16",
        range: Range::Between(SCORE_INTEGER_RANGE.0 as i64, SCORE_INTEGER_RANGE.1 as i64),
        applies: SCALARS,
        suffix: |c| Some(score_suffix(c)),
        access: access::<u32>(
            |c| json(c.score_integer_bits),
            |c| json(c.score_integer_bits),
            |c, v| set(&mut c.score_integer_bits, v),
        ),
    },
    CoreOption {
        field: "score_fraction_bits",
        value_name: "BITS",
        help: "Fraction bits of the fixed-point score",
        default: "one more than the significand bits of the results, 5 to 12",
        range: Range::Between(2, 20),
        applies: SCALARS,
        // The suffix of the row before has both.
        suffix: |c| (c.score_integer_bits == DEFAULT_SCORE_INTEGER_BITS).then(|| score_suffix(c)),
        access: access::<u32>(
            |c| json(c.score_fraction_bits),
            |c| json(c.score_fraction()),
            |c, v| set(&mut c.score_fraction_bits, v),
        ),
    },
    CoreOption {
        field: "state_fraction_bits",
        value_name: "BITS",
        help: "Fraction bits of log-sum-exp and running sum, at least those of the score",
        default: "those of --max-keys",
        range: Range::Between(STATE_FRACTION_RANGE.0 as i64, STATE_FRACTION_RANGE.1 as i64),
        applies: SCALARS,
        suffix: |c| Some(format!("state{}", c.state_fraction())),
        access: access::<u32>(
            |c| json(c.state_fraction_bits),
            |c| json(c.state_fraction()),
            |c, v| set(&mut c.state_fraction_bits, v),
        ),
    },
];

fn score_suffix(c: &CoreConfig) -> String {
    format!("score{}p{}", c.score_integer_bits, c.score_fraction())
}
