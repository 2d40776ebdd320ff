//! The stages of FLASH-D.

use super::Look::{Bits, Number, Trace};
use super::{Group, SCORE_FLAGS, VALUE_FLAGS, number};

/// With the log-sum-exp weight unit.
pub(super) fn lse(score: usize, weight: usize, output: usize, d: usize) -> Vec<Group> {
    vec![
        lse_score(Group::stage(score, "score and weight state")),
        lse_weight(Group::stage(weight, "weight")),
        lse_update(Group::stage(output, "output update"), d),
    ]
}

/// With the paper's weight unit.
pub(super) fn paper(score: usize, weight: usize, output: usize, d: usize) -> Vec<Group> {
    vec![
        paper_score(Group::stage(score, "score and weight state")),
        paper_weight(Group::stage(weight, "weight")),
        paper_update(Group::stage(output, "output update"), d),
    ]
}

/// Flags at the weight stage.
const WEIGHT_FLAGS: [(&str, &str); 7] = [
    ("flags.valid_q_0.q", "valid"),
    ("weight.first_q.q", "first key"),
    ("flags.last_q_0.q", "last key"),
    ("flags.invalid_q_0.q", "invalid"),
    ("v_step", "v_step"),
    ("v_ren", "v_ren"),
    ("weight.update", "update (not held)"),
];

fn lse_score(mut g: Group) -> Group {
    g.add(Bits, &SCORE_FLAGS);
    g.add(Bits, &[("weight.update_q.d", "update (not held)"), ("weight.argument.negative", "x < 0")]);
    g.add(
        Number,
        &[
            ("dot.dot", "dot product q k"),
            ("weight.score.score", "score s"),
            ("weight.log_sum_exp_q.q", "state L"),
            ("weight.difference.x", "x = s - L"),
            ("weight.argument.t", "t = |x|"),
            ("weight.tail.tail", "tail = ln(1 + exp(-t))"),
            ("weight.log_sum_exp.log_sum_exp_next", "next L"),
        ],
    );
    g
}

fn lse_weight(mut g: Group) -> Group {
    g.add(Bits, &WEIGHT_FLAGS);
    g.add(Bits, &[("weight.negative_q.q", "x < 0"), ("weight.upper", "w > 1/2: lanes get 1 - w")]);
    g.add(Number, &[("weight.t_q.q", "t = |x|"), ("weight.w", "lanes' factor: w or 1 - w")]);
    // The weight itself: a decimal value beside the bit that tells what the factor is.
    g.add(Trace, &[("weight.upper", "weight w")]);
    g
}

fn paper_score(mut g: Group) -> Group {
    g.add(Bits, &SCORE_FLAGS);
    g.add(
        Bits,
        &[("weight.skip.keeps", "D <= -6: keep o"), ("weight.skip.loads", "first or D >= 11: load v")],
    );
    g.add(
        Number,
        &[
            ("dot.dot", "dot product q k"),
            ("weight.score.score", "score s"),
            ("weight.score_q.q", "previous score"),
            ("weight.difference.y", "D = s - previous"),
        ],
    );
    g
}

fn paper_weight(mut g: Group) -> Group {
    g.add(Bits, &WEIGHT_FLAGS);
    g.add(Bits, &[("weight.keeps_q.q", "D <= -6: keep o"), ("weight.load", "first or D >= 11: load v")]);
    g.add(
        Number,
        &[
            ("weight.difference_q.q", "D"),
            ("weight.w_q.q", "previous w"),
            ("weight.ln.y", "ln of previous w"),
            ("weight.x.y", "x = D + ln w"),
            ("weight.sigmoid.y", "sigmoid(x)"),
        ],
    );
    g.add(Trace, &[("weight.w", "weight w")]);
    g
}

/// Flags at the lanes.
const LANE_FLAGS: [(&str, &str); 2] =
    [("reads_v_q.q", "v was read"), ("group_0.update_q.q", "update (not held)")];

fn lse_update(mut g: Group, d: usize) -> Group {
    g.add(Bits, &VALUE_FLAGS);
    g.add(Bits, &LANE_FLAGS);
    g.add(
        Bits,
        &[("group_0.load_q.q", "first key: o = 0"), ("group_0.upper_q.q", "w > 1/2: factor is 1 - w")],
    );
    g.add(Number, &[("group_0.w_q.q", "factor: w or 1 - w")]);
    g.add_elements(d, |j| {
        let lane = format!("group_0.lane_{j}");
        vec![
            number(format!("v_{j}"), format!("v[{j}]")),
            number(format!("{lane}.side.o"), format!("o[{j}] before")),
            number(format!("{lane}.difference.y"), format!("v[{j}] - o[{j}]")),
            number(format!("{lane}.side.base"), format!("base: o[{j}] or v[{j}]")),
            number(format!("{lane}.product.y"), format!("factor times difference [{j}]")),
            number(format!("{lane}.sum.y"), format!("next o[{j}]")),
        ]
    });
    g
}

fn paper_update(mut g: Group, d: usize) -> Group {
    g.add(Bits, &VALUE_FLAGS);
    g.add(Bits, &LANE_FLAGS);
    g.add(Bits, &[("group_0.load_q.q", "load v")]);
    g.add(Number, &[("group_0.w_q.q", "w")]);
    g.add_elements(d, |j| {
        let lane = format!("group_0.lane_{j}");
        vec![
            number(format!("v_{j}"), format!("v[{j}]")),
            number(format!("{lane}.o_q.q"), format!("o[{j}] before")),
            number(format!("{lane}.difference.y"), format!("v[{j}] - o[{j}]")),
            number(format!("{lane}.product.y"), format!("w (v[{j}] - o[{j}])")),
            number(format!("{lane}.sum.y"), format!("o[{j}] + w (v[{j}] - o[{j}])")),
            number(format!("{lane}.select.o_next"), format!("next o[{j}]")),
        ]
    });
    g
}
