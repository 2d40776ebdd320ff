//! Bit widths and table sizes.

use super::*;

const ROW: CoreOption = CoreOption { group: OptionGroup::Precision, ..super::ROW };

const FLOAT_LANES: Applies = (
    |c| c.kind().arithmetic == Arithmetic::Float,
    "only float lanes that do not follow the paper to the letter have it",
);

fn score_suffix(c: &CoreConfig) -> String {
    format!("score{}p{}", c.score_integer_bits, c.score_fraction())
}

pub(super) static LANE: CoreOption = CoreOption {
    field: "lane",
    value_name: "O,V,W",
    help: "Bits of fixed-point lanes: accumulator, value, significand of the weight",
    why: "The default follows from the format and max_keys. It keeps the rule of equal error over that many keys; fewer \
    bits are smaller and lose more.",
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
};

pub(super) static VALUE_STAGE: CoreOption = CoreOption {
    field: "value_stage",
    value_name: "true|false",
    help: "Whether v has a pipeline stage of its own before FLASH-D's fixed-point lanes: faster, but larger",
    why: "The stage costs a register a lane, 3 to 6 % of the area. It shortens the clock period, and \
    saves a fifth of the power where glitches count.",
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
};

pub(super) static ACCUMULATOR: CoreOption = CoreOption {
    field: "accumulator",
    value_name: "BITS|FORMAT",
    help: "Accumulator of float lanes: its fraction bits, or a format of its own (bf16, fp16, fp32), or the word format for that \
           of the operands",
    why: "--format fp8-e4m3 --accumulator bf16 converts values where they enter the lanes and results \
    where they leave. The default has the bits of a value and of --max-keys together: a sum of that many values of one size loses \
    nothing. With fewer both designs lose sums of many keys. paper and literal have none beyond the format.",
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
};

pub(super) static WEIGHT_BITS: CoreOption = CoreOption {
    field: "weight_bits",
    value_name: "BITS",
    help: "Significand bits of the weight or exponential in float lanes",
    why: "Fixed-point lanes have theirs in --lane. FA2's shared-scale takes at least three more than the \
    format, because its factor is also the reciprocal.",
    default: "those of the format",
    range: Range::Between(WEIGHT_BITS_RANGE.0 as i64, WEIGHT_BITS_RANGE.1 as i64),
    applies: FLOAT_LANES,
    suffix: |c| Some(format!("w{}", c.weight_bits?)),
    access: access::<u32>(
        |c| json(c.weight_bits),
        |c| json(c.weight_bits.unwrap_or(c.format.precision())),
        |c, v| set(&mut c.weight_bits, v),
    ),
    ..ROW
};

pub(super) static SEGMENTS: CoreOption = CoreOption {
    field: "segments",
    value_name: "N",
    help: "Segments of the PWL tables, an octave each where the range is reduced",
    why: "With 4 segments the relative error of a weight is below 2^-7, with 8 below 2^-9 and with 16 below 2^-11. A result is \
    the mean of many values, and errs by a small part of that.",
    default: "4; 16 with results of more than 8 significand bits; 8 in paper and literal",
    range: Range::OneOf(&[4, 8, 16, 32]),
    suffix: |c| Some(format!("seg{}", c.segments())),
    access: access::<u32>(|c| json(c.segments), |c| json(c.segments()), |c, v| set(&mut c.segments, v)),
    ..ROW
};

pub(super) static SCORE_SHIFT: CoreOption = CoreOption {
    field: "score_shift",
    value_name: "N",
    help: "The core's score is q . k * 2^N",
    why: "The shift is exact: N = -floor(log2(d) / 2). What remains of 1/sqrt(d) the host folds into q. \
    simulate sets it from --scale and the data.",
    default: "the power of two in 1/sqrt(d); 0 with --q-scales row-q16",
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
};

pub(super) static SCORE_INTEGER_BITS: CoreOption = CoreOption {
    field: "score_integer_bits",
    value_name: "BITS",
    help: "Integer bits of the fixed-point score",
    why: "Scores are in octaves, multiplied by log2(e), and saturate at ±65,536 with 16 bits, which is ±45,426 in natural \
    units. Public models have scores of -20,278. A query with a saturated score has o_saturated set.",
    default: "16",
    range: Range::Between(SCORE_INTEGER_RANGE.0 as i64, SCORE_INTEGER_RANGE.1 as i64),
    applies: SCALARS,
    suffix: |c| Some(score_suffix(c)),
    access: access::<u32>(
        |c| json(c.score_integer_bits),
        |c| json(c.score_integer_bits),
        |c, v| set(&mut c.score_integer_bits, v),
    ),
    ..ROW
};

pub(super) static SCORE_FRACTION_BITS: CoreOption = CoreOption {
    field: "score_fraction_bits",
    value_name: "BITS",
    help: "Fraction bits of the fixed-point score",
    why: "The resolution of s, and of m in FA2. For results of p significand bits, p + 1 fraction bits change a weight by at most a \
    sixth of an ulp: 9 bits in bf16, 5 in fp8.",
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
    ..ROW
};

pub(super) static STATE_FRACTION_BITS: CoreOption = CoreOption {
    field: "state_fraction_bits",
    value_name: "BITS",
    help: "Fraction bits of log-sum-exp and running sum, at least those of the score",
    why: "17 in FLASH-D and 19 in FA2, in bf16 and for 65,536 keys. With 14, L would stop growing at about 28,000 equal scores. \
    FA2's running sum has more, because it adds rounded exponentials far below 1.",
    default: "those of --max-keys",
    range: Range::Between(STATE_FRACTION_RANGE.0 as i64, STATE_FRACTION_RANGE.1 as i64),
    applies: SCALARS,
    suffix: |c| Some(format!("state{}", c.state_fraction())),
    access: access::<u32>(
        |c| json(c.state_fraction_bits),
        |c| json(c.state_fraction()),
        |c, v| set(&mut c.state_fraction_bits, v),
    ),
    ..ROW
};
