//! The purpose of each option and the cost of its choices: the paragraphs of `--help` and of `docs/reference/options.md`.
//!
//! Figures in them come from the tables in `docs/results`.

/// The headings of options in help and in documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// The recurrence, its datapath, vector lengths and the hold rule.
    Core,
    /// Formats of operands and results, and scales.
    Formats,
    /// Optional ports, and the memory that serves them.
    Ports,
    /// Bit widths and table sizes.
    Precision,
}

impl Group {
    /// All, in the order of help and documents.
    pub const ALL: [Group; 4] = [Group::Core, Group::Formats, Group::Ports, Group::Precision];

    /// The heading.
    pub fn heading(self) -> &'static str {
        match self {
            Group::Core => "Core",
            Group::Formats => "Number formats",
            Group::Ports => "Ports of the core",
            Group::Precision => "Precision",
        }
    }
}

/// Help of an option beyond its row in [`OPTIONS`](super::OPTIONS). The order of help differs from the order of names.
pub struct About {
    /// The option.
    pub field: &'static str,
    /// Its group.
    pub group: Group,
    /// The text of `-h`, before the default; `-h` omits options with an empty one.
    pub short: &'static str,
    /// The reasons for each choice; empty if the row's own line is enough.
    pub why: &'static str,
}

/// A row for each option, in the order of help and documents; a test compares the two tables.
pub static ABOUT: &[About] = &[
    About {
        field: "design",
        group: Group::Core,
        short: "Recurrence: flash-d or fa2",
        why: "Both designs have the same ports, formats, latency and rate, so that they can be compared.",
    },
    About {
        field: "d",
        group: Group::Core,
        short: "Vector length, 2 to 576",
        why: "Heads whose values are shorter than their keys, such as 192 and 128, take --dk and --dv.",
    },
    About {
        field: "max_keys",
        group: Group::Core,
        short: "Most keys of a query: sets every width that depends on it",
        why: "FA2's sums, the fraction bits of L and l, lanes, accumulators and the budget of held keys follow from it, so that the error over \
    N keys is that of the formats. Fewer keys make a smaller core. paper and literal have every width from the format and use it for \
    nothing but the warning: on 65,536 values uniform in 0..1 literal errs by up to 50 % in bf16 and 39 % in fp8-e4m3, \
    paper by up to 52 and 55 %, and by no less on 1,024.",
    },
    About { field: "dk", group: Group::Core, short: "", why: "" },
    About { field: "dv", group: Group::Core, short: "", why: "" },
    About {
        field: "weight",
        group: Group::Core,
        short: "",
        why: "lse keeps the log-sum-exp L in fixed point and is what ships. paper follows Alg. 3 with everything \
    in the format and its static hold rule; it is there to reproduce the paper and to measure its error.",
    },
    About {
        field: "fa2",
        group: Group::Core,
        short: "Datapath of FA2",
        why: "ranged ships for floats of up to 12 significand bits. It is fixed point, with one multiplier a lane, \
    which also does the final scale when it is idle, and in each lane an exponent, the largest that the lane has read. Its reference \
    is the first score plus whole octaves, so that the first key needs no product. It is the smallest FA2 that keeps the format's \
    range in every channel and adds up 65,536 keys. shared-log-reference ships for integers: the same recurrence without the exponents. \
    shared-scale ships for wider floats: the smallest FA2 with float lanes. separate-scale (or default) is the textbook's datapath, \
    with multipliers of its own for the final scale. log-reference has a multiplier of its own for the final scale, in fixed \
    point: of all it takes the least power. literal is what the paper draws: two exponentials, three multipliers a lane, everything in the format.",
    },
    About {
        field: "update",
        group: Group::Core,
        short: "Output update of FLASH-D",
        why: "ranged holds o in fixed point below the largest exponent that its own lane has read. \
    o never leaves the range of the values, so this takes no guard bits and no final scale; channels of any size have the same \
    precision, and nothing is loaded with q. fixed holds all lanes below one exponent that comes with q: it is 4 % smaller, and \
    wrong in channels far smaller than the largest. rounded rounds difference, product and sum one by one; fp32 ships with it, \
    because its significand is wider than the fixed-point lanes.",
    },
    About {
        field: "hold",
        group: Group::Core,
        short: "Which steps leave o as it is",
        why: "A held step leaves o as it is, and its value is never read. budget:F (FLASH-D, F from 4 to 22) \
    keeps the threshold on x = s - L in a register that rises as keys are held: all that is lost stays below 2 max|v| 2^-(F + 2), \
    0.1 % for F = 9, however many keys there are. It costs 1.3 % of the area at d = 16 and 0.1 % at d = 256. A number T holds a \
    step whose x is at most -T (FA2: whose s - m is); n held keys cost at most 2 max|v| n e^-T / (1 + n e^-T). static, for paper \
    alone, looks at the difference of neighbouring scores, which bounds nothing. none updates at every step.",
    },
    About {
        field: "softcap",
        group: Group::Core,
        short: "",
        why: "For models that cap the scores of their attention: Gemma 2 has 50. The cap is a constant of the core, \
    a table in a stage of its own, and the result comes a cycle later, in both designs.",
    },
    About {
        field: "format",
        group: Group::Formats,
        short: "Format of q, k, v and o, such as fp8-e4m3 or int8",
        why: "Products are rounded once, and lanes keep the precision of the more precise of v and o. paper \
    and literal have one format for everything.",
    },
    About { field: "q_format", group: Group::Formats, short: "", why: "" },
    About { field: "k_format", group: Group::Formats, short: "", why: "" },
    About { field: "v_format", group: Group::Formats, short: "", why: "" },
    About {
        field: "o_format",
        group: Group::Formats,
        short: "",
        why: "int8 results are rounded once from the lanes, in the units of v: a result is a mean of values, so values of int8 \
    and results of int8 have one scale a channel, and nothing saturates. int8q4 has units of 2^-4: for values of int4, or where results are \
    much smaller than values. What is beyond 127 units saturates.",
    },
    About {
        field: "scales",
        group: Group::Formats,
        short: "",
        why: "What stands behind the elements of a vector on the port. row: a positive bf16 number for each query \
    and each key; row-e8m0: a power of two for each vector. mx is OCP MX, a power of two for each 32 elements of fp8, fp6, fp4 or \
    int8, and nvfp4 an e4m3 number for each 16 elements of fp4-e2m1; both are of values too. none leaves the port as wide as the \
    elements; the host folds one power of two for the whole tensor into --score-shift.",
    },
    About { field: "q_scales", group: Group::Formats, short: "", why: "" },
    About { field: "k_scales", group: Group::Formats, short: "", why: "" },
    About {
        field: "v_scales",
        group: Group::Formats,
        short: "",
        why: "Values take no row: FLASH-D's v - o would need a product in each lane before it, where a power of two is an \
    exponent.",
    },
    About {
        field: "masks",
        group: Group::Ports,
        short: "Ports that hide keys from a query",
        why: "Adds the ports k_mask and o_empty; an array gets a range of keys for each query instead.",
    },
    About {
        field: "partial",
        group: Group::Ports,
        short: "Ports for partial results, with --masks",
        why: "Keys can then come in tiles, or be split over several cores, with the results of one pass.",
    },
    About {
        field: "bias",
        group: Group::Ports,
        short: "A port for a number added to each score",
        why: "For ALiBi and relative positions, in natural units after the scale and the cap. An array has a number for each of its queries.",
    },
    About {
        field: "value_latency",
        group: Group::Ports,
        short: "",
        why: "For memories behind a pipeline or a bus. The scalars that wait for the value pass through \
    as many more stages, and the result comes that much later; the rate stays at one key a cycle.",
    },
    About {
        field: "lane",
        group: Group::Precision,
        short: "",
        why: "The default follows from the format and max_keys. It keeps the rule of equal error over that many keys; fewer \
    bits are smaller and lose more.",
    },
    About {
        field: "value_stage",
        group: Group::Precision,
        short: "",
        why: "The stage costs a register a lane, 3 to 6 % of the area. It shortens the clock period, and \
    saves a fifth of the power where glitches count.",
    },
    About {
        field: "accumulator",
        group: Group::Precision,
        short: "",
        why: "--format fp8-e4m3 --accumulator bf16 converts values where they enter the lanes and results \
    where they leave. The default has the bits of a value and of --max-keys together: a sum of that many values of one size loses \
    nothing. With fewer both designs lose sums of many keys. paper and literal have none beyond the format.",
    },
    About {
        field: "weight_bits",
        group: Group::Precision,
        short: "",
        why: "Fixed-point lanes have theirs in --lane. FA2's shared-scale takes at least three more than the \
    format, because its factor is also the reciprocal.",
    },
    About {
        field: "segments",
        group: Group::Precision,
        short: "",
        why: "With 4 segments the relative error of a weight is below 2^-7, with 8 below 2^-9 and with 16 below 2^-11. A result is \
    the mean of many values, and errs by a small part of that.",
    },
    About {
        field: "score_shift",
        group: Group::Precision,
        short: "",
        why: "The shift is exact: N = -floor(log2(d) / 2). What remains of 1/sqrt(d) the host folds into q. \
    simulate sets it from --scale and the data.",
    },
    About {
        field: "score_integer_bits",
        group: Group::Precision,
        short: "",
        why: "Scores are in octaves, multiplied by log2(e), and saturate at ±65,536 with 16 bits, which is ±45,426 in natural \
    units. Public models have scores of -20,278. A query with a saturated score has o_saturated set.",
    },
    About {
        field: "score_fraction_bits",
        group: Group::Precision,
        short: "",
        why: "The resolution of s, and of m in FA2. For results of p significand bits, p + 1 fraction bits change a weight by at most a \
    sixth of an ulp: 9 bits in bf16, 5 in fp8.",
    },
    About {
        field: "state_fraction_bits",
        group: Group::Precision,
        short: "",
        why: "17 in FLASH-D and 19 in FA2, in bf16 and for 65,536 keys. With 14, L would stop growing at about 28,000 equal scores. \
    FA2's running sum has more, because it adds rounded exponentials far below 1.",
    },
];
