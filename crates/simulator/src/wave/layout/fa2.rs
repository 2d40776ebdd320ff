//! The stages of FlashAttention-2.

use super::Look::{Bits, Number, Trace};
use super::{Group, SCORE_FLAGS, VALUE_FLAGS, number};

/// One exponential, one multiplier a lane.
pub(super) fn default(score: usize, value: usize, division: usize, d: usize) -> Vec<Group> {
    vec![
        fa2_score(Group::stage(score, "score and weight state")),
        fa2_value(Group::stage(value, "value"), d),
        fa2_division(Group::stage(division, "division"), d),
    ]
}

/// As the paper draws it.
pub(super) fn literal(score: usize, value: usize, division: usize, d: usize) -> Vec<Group> {
    vec![
        literal_score(Group::stage(score, "score and weight state")),
        literal_value(Group::stage(value, "value"), d),
        literal_division(Group::stage(division, "division"), d),
    ]
}

fn fa2_score(mut g: Group) -> Group {
    g.add(Bits, &SCORE_FLAGS);
    g.add(Bits, &[("v_step", "v_step"), ("v_ren", "v_ren"), ("softmax.moved", "maximum moves")]);
    g.add(
        Number,
        &[
            ("dot.dot", "dot product q k"),
            ("softmax.score.score", "score s"),
            ("softmax.maximum_q.q", "maximum m"),
            ("softmax.maximum.distance", "|s - m|"),
            ("softmax.maximum.maximum_next", "next m"),
        ],
    );
    g.add(Trace, &[("softmax.e", "e = exp(-|s - m|)")]);
    g
}

fn fa2_value(mut g: Group, d: usize) -> Group {
    g.add(Bits, &VALUE_FLAGS);
    g.add(
        Bits,
        &[
            ("group_0.update_q.q", "update"),
            ("group_0.load_q.q", "first key: start from 0"),
            ("group_0.moved_q.q", "maximum moved"),
        ],
    );
    g.add(
        Number,
        &[("group_0.e_q.q", "e"), ("sum.sum_q.q", "running sum l"), ("sum.sum.sum_next", "next l")],
    );
    g.add_elements(d, |j| {
        let lane = format!("group_0.lane_{j}");
        vec![
            number(format!("v_{j}"), format!("v[{j}]")),
            number(format!("{lane}.o_q.q"), format!("accumulator [{j}]")),
            number(format!("{lane}.product.y"), format!("accumulator e or v e [{j}]")),
            number(format!("{lane}.sum.y"), format!("next accumulator [{j}]")),
        ]
    });
    g
}

/// The flags at the division stage, both FA2 variants.
const DIVISION_FLAGS: [(&str, &str); 2] =
    [("result.done", "last key done"), ("result.done_invalid", "invalid")];

fn fa2_division(mut g: Group, d: usize) -> Group {
    g.add(Bits, &DIVISION_FLAGS);
    g.add(Number, &[("sum.reciprocal.sum", "sum l"), ("sum.r", "r: 1 / l = r 2^-right")]);
    g.add(Bits, &[("sum.right", "right")]);
    g.add_elements(d, |j| {
        let lane = format!("group_0.lane_{j}");
        vec![
            number(format!("{lane}.scale.o"), format!("accumulator [{j}]")),
            number(format!("{lane}.scale.y"), format!("accumulator [{j}] / l")),
        ]
    });
    g
}

fn literal_score(mut g: Group) -> Group {
    g.add(Bits, &SCORE_FLAGS);
    g.add(Bits, &[("v_step", "v_step"), ("v_ren", "v_ren")]);
    g.add(
        Number,
        &[
            ("dot.dot", "dot product q k"),
            ("softmax.score.score", "score s"),
            ("softmax.maximum_q.q", "old maximum"),
            ("softmax.maximum.y", "maximum m"),
            ("softmax.old_difference.y", "old maximum - m"),
            ("softmax.new_difference.y", "s - m"),
            ("softmax.c", "c = exp(old maximum - m)"),
        ],
    );
    g.add(Trace, &[("softmax.e", "e = exp(s - m)")]);
    g
}

fn literal_value(mut g: Group, d: usize) -> Group {
    g.add(Bits, &VALUE_FLAGS);
    g.add(Bits, &[("group_0.update_q.q", "update"), ("group_0.load_q.q", "load v")]);
    g.add(
        Number,
        &[
            ("group_0.c_q.q", "c"),
            ("group_0.e_q.q", "e"),
            ("sum.sum_q.q", "running sum l"),
            ("sum.scaled.y", "l c"),
            ("sum.select.y", "next l"),
        ],
    );
    g.add_elements(d, |j| {
        let lane = format!("group_0.lane_{j}");
        vec![
            number(format!("v_{j}"), format!("v[{j}]")),
            number(format!("{lane}.o_q.q"), format!("accumulator [{j}]")),
            number(format!("{lane}.old_product.y"), format!("accumulator [{j}] c")),
            number(format!("{lane}.new_product.y"), format!("v[{j}] e")),
            number(format!("{lane}.sum.y"), format!("sum [{j}]")),
            number(format!("{lane}.select.o_next"), format!("next accumulator [{j}]")),
        ]
    });
    g
}

fn literal_division(mut g: Group, d: usize) -> Group {
    g.add(Bits, &DIVISION_FLAGS);
    g.add(Number, &[("sum.reciprocal.sum", "sum l"), ("sum.r", "r = 1 / l")]);
    g.add_elements(d, |j| {
        let lane = format!("group_0.lane_{j}");
        vec![
            number(format!("{lane}.scale.a"), format!("accumulator [{j}]")),
            number(format!("{lane}.scale.y"), format!("accumulator [{j}] r")),
        ]
    });
    g
}
