//! The recurrence, its datapath, vector lengths and the hold rule.

use super::*;

const ROW: CoreOption = CoreOption { group: OptionGroup::Core, ..super::ROW };

const LENGTHS: Range = Range::Between(D_RANGE.0 as i64, D_RANGE.1 as i64);
const LENGTHS_DIFFER: Applies = (|c| c.dv() != c.d, "where both lengths are the same, they are d");

pub(super) static DESIGN: CoreOption = CoreOption {
    field: "design",
    value_name: "DESIGN",
    help: "Recurrence",
    short: "Recurrence: flash-d or fa2",
    why: "Both designs have the same ports, formats, latency and rate, so that they can be compared.",
    access: access::<Design>(|c| json(c.design()), |c| json(c.design()), with_the_datapath),
    ..ROW
};

pub(super) static D: CoreOption = CoreOption {
    field: "d",
    value_name: "D",
    help: "Vector length",
    short: "Vector length, 2 to 576",
    why: "Heads whose values are shorter than their keys, such as 192 and 128, take --dk and --dv.",
    range: LENGTHS,
    applies: (|c| c.dv() == c.d, "with dk and dv there is no d for both"),
    access: access::<usize>(|c| json((c.dv() == c.d).then_some(c.d)), |c| json(c.d), with_the_datapath),
    ..ROW
};

pub(super) static DK: CoreOption = CoreOption {
    field: "dk",
    value_name: "D",
    help: "Length of queries and keys, where values have another",
    range: LENGTHS,
    applies: LENGTHS_DIFFER,
    access: access::<usize>(|c| json((c.dv() != c.d).then_some(c.d)), |c| json(c.d), with_the_datapath),
    ..ROW
};

pub(super) static DV: CoreOption = CoreOption {
    field: "dv",
    value_name: "D",
    help: "Length of values and results, where queries have another",
    range: LENGTHS,
    applies: LENGTHS_DIFFER,
    access: access::<usize>(|c| json((c.dv() != c.d).then_some(c.dv())), |c| json(c.dv()), with_the_datapath),
    ..ROW
};

pub(super) static MAX_KEYS: CoreOption = CoreOption {
    field: "max_keys",
    value_name: "N",
    help: "The most keys of a query: every width that depends on their number follows",
    short: "Most keys of a query: sets every width that depends on it",
    why: "FA2's sums, the fraction bits of L and l, lanes, accumulators and the budget of held keys follow from it, so that the error over \
    N keys is that of the formats. Fewer keys make a smaller core. paper and literal have every width from the format and use it for \
    nothing but the warning: on 65,536 values uniform in 0..1 literal errs by up to 50 % in bf16 and 39 % in fp8-e4m3, \
    paper by up to 52 and 55 %, and by no less on 1,024.",
    default: "65536",
    range: Range::Between(MAX_KEYS_RANGE.0 as i64, MAX_KEYS_RANGE.1 as i64),
    suffix: |c| Some(format!("n{}", c.max_keys)),
    access: access::<usize>(|c| json(c.max_keys), |c| json(c.max_keys), |c, v| set(&mut c.max_keys, v)),
    ..ROW
};

pub(super) static WEIGHT: CoreOption = CoreOption {
    field: "weight",
    value_name: "UNIT",
    help: "FLASH-D's weight unit",
    why: "lse keeps the log-sum-exp L in fixed point and is what ships. paper follows Alg. 3 with everything \
    in the format and its static hold rule; it is there to reproduce the paper and to measure its error.",
    applies: (|c| c.weight().is_some(), "only flash-d has a weight unit to choose"),
    access: access::<WeightUnit>(|c| json(c.weight()), |c| json(c.weight()), with_the_datapath),
    ..ROW
};

pub(super) static FA2: CoreOption = CoreOption {
    field: "fa2",
    value_name: "DATAPATH",
    help: "FA2's datapath",
    short: "Datapath of FA2",
    why: "ranged ships for floats of up to 12 significand bits. It is fixed point, with one multiplier a lane, \
    which also does the final scale when it is idle, and in each lane an exponent, the largest that the lane has read. Its reference \
    is the first score plus whole octaves, so that the first key needs no product. It is the smallest FA2 that keeps the format's \
    range in every channel and adds up 65,536 keys. shared-log-reference ships for integers: the same recurrence without the exponents. \
    shared-scale ships for wider floats: the smallest FA2 with float lanes. separate-scale (or default) is the textbook's datapath, \
    with multipliers of its own for the final scale. log-reference has a multiplier of its own for the final scale, in fixed \
    point: of all it takes the least power. literal is what the paper draws: two exponentials, three multipliers a lane, everything in the format.",
    applies: (|c| c.fa2().is_some(), "only fa2 has a datapath to choose here"),
    access: access::<Fa2Variant>(|c| json(c.fa2()), |c| json(c.fa2()), with_the_datapath),
    ..ROW
};

pub(super) static UPDATE: CoreOption = CoreOption {
    field: "update",
    value_name: "UPDATE",
    help: "FLASH-D's output update",
    short: "Output update of FLASH-D",
    why: "ranged holds o in fixed point below the largest exponent that its own lane has read. \
    o never leaves the range of the values, so this takes no guard bits and no final scale; channels of any size have the same \
    precision, and nothing is loaded with q. fixed holds all lanes below one exponent that comes with q: it is 4 % smaller, and \
    wrong in channels far smaller than the largest. rounded rounds difference, product and sum one by one; fp32 ships with it, \
    because its significand is wider than the fixed-point lanes.",
    applies: (
        |c| c.update().is_some(),
        "only flash-d's weight unit lse has an update to choose; fa2's datapath is chosen with fa2",
    ),
    access: access::<Update>(|c| json(c.update()), |c| json(c.update()), with_the_datapath),
    ..ROW
};

pub(super) static SOFTCAP: CoreOption = CoreOption {
    field: "softcap",
    value_name: "C",
    help: "Cap of scores: C tanh(score / C), before a bias is added",
    why: "For models that cap the scores of their attention: Gemma 2 has 50. The cap is a constant of the core, \
    a table in a stage of its own, and the result comes a cycle later, in both designs.",
    default: "none",
    applies: SCALARS,
    suffix: |c| Some(format!("softcap{}", c.softcap?).replace('.', "p")),
    access: access::<f64>(|c| json(c.softcap), |c| json(c.softcap), |c, v| set(&mut c.softcap, v)),
    ..ROW
};

pub(super) static HOLD: CoreOption = CoreOption {
    field: "hold",
    value_name: "RULE",
    help: "Hold rule: a threshold T (not paper, literal), budget:F for half an ulp of F fraction bits in all (FLASH-D, not \
           paper), static (paper) or none",
    short: "Which steps leave o as it is",
    why: "A held step leaves o as it is, and its value is never read. budget:F (FLASH-D, F from 4 to 22) \
    keeps the threshold on x = s - L in a register that rises as keys are held: all that is lost stays below 2 max|v| 2^-(F + 2), \
    0.1 % for F = 9, however many keys there are. It costs 1.3 % of the area at d = 16 and 0.1 % at d = 256. A number T holds a \
    step whose x is at most -T (FA2: whose s - m is); n held keys cost at most 2 max|v| n e^-T / (1 + n e^-T). static, for paper \
    alone, looks at the difference of neighbouring scores, which bounds nothing. none updates at every step.",
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
};
