//! The stages of FlashAttention-2 in fixed point under one exponent: log-reference and shared-log-reference.

use super::Look::{Bits, Number, Trace};
use super::rows::{Quantity, Row};
use super::{Group, number, score_rows};
use flashd_spec::config::CoreConfig;

/// Rows of shared-log-reference: the reference with the fraction of the first score, and the accumulator in the parts of a
/// lane.
pub(super) const NUMBERS: &[Row] = &[
    ("reference_q", Quantity::FineReference),
    ("decide.reference", Quantity::FineReference),
    ("reference_next", Quantity::FineReference),
    ("lane.kept.o", Quantity::FixedAccumulator),
    // As wide as a float of some format.
    ("significand", Quantity::Bits),
    ("kept", Quantity::Bits),
    ("product", Quantity::Bits),
    ("v_right", Quantity::Bits),
    ("zeros", Quantity::Bits),
];

/// From the score to the final scale.
pub(super) fn stages(config: &CoreConfig) -> Vec<Group> {
    vec![score(config), reference(config), distribution(config), value(config), scale(config)]
}

/// The lane's multiplier also applies the final scale.
fn is_shared(config: &CoreConfig) -> bool {
    config.kind().scales_in_lane
}

pub(super) fn score(config: &CoreConfig) -> Group {
    let mut g = Group::after_score(config, 0, "score");
    g.add(Number, &score_rows(config));
    g
}

fn reference(config: &CoreConfig) -> Group {
    let (next, sum) = match is_shared(config) {
        true => ("next R = R + delta", "running sum l, in [1/2, 2)"),
        false => ("next R: the exponent of next l", "running sum l, in [1, 2)"),
    };
    let mut g = Group::after_score(config, 1, "reference, exponential and running sum");
    g.add(Bits, &[("weight.decide.update", "update (not held)")]);
    g.add(
        Number,
        &[
            ("weight.score_q.q", "score s, log2 units"),
            ("weight.reference_q.q", "reference R, log2 units"),
            ("weight.decide.reference_next", next),
            ("weight.sum_q.q", sum),
            ("weight.decide.sum_next", "next l = (l >> delta) + e"),
        ],
    );
    g.add(Bits, &[("weight.decide.delta", "delta = next R - R")]);
    g.add(Trace, &[("weight.decide.e", "e = 2^(s - next R)")]);
    g
}

fn distribution(config: &CoreConfig) -> Group {
    let mut g = Group::after_score(config, 2, "exponential to the lanes");
    g.add(Bits, &[("weight.update_q.q", "update (not held)"), ("weight.delta_q.q", "delta")]);
    g.add(Number, &[("weight.e_q.q", "e")]);
    g
}

fn value(config: &CoreConfig) -> Group {
    let first = if is_shared(config) { "first key: take v" } else { "first key: start from 0" };
    let mut g = Group::after_score(config, 3, "value, reciprocal");
    g.add(
        Bits,
        &[
            ("reads_v_q.q", "v was read"),
            ("group_0.update_q.q", "update (not held)"),
            ("group_0.load_q.q", first),
            ("group_0.delta_q.q", "delta: accumulator goes right"),
            ("group_0.x_q.q", "x: exponent of the largest |v|"),
            ("group_0.outside", "a v is beyond x"),
            ("finish.end", "l is final"),
        ],
    );
    g.add(Number, &[("weight.reciprocal.sum", "sum l")]);
    match is_shared(config) {
        true => g.add(
            Number,
            &[
                ("weight.reciprocal.r", "r: 1 / l = r 2^-right"),
                ("weight.reciprocal.right", "right"),
                ("weight.factor.factor", "next factor: e, or 1 / 4l when l is final"),
            ],
        ),
        false => g.add(Number, &[("weight.r", "r: 1 / l = r 2^-right"), ("weight.right", "right")]),
    }
    g.add(Number, &[("group_0.e_q.q", "e")]);
    g.add_elements(config.dv(), |j| {
        let lane = format!("group_0.lane_{j}");
        vec![
            number(format!("v_{j}"), format!("v[{j}]")),
            number(format!("{lane}.o_q.q"), format!("accumulator [{j}] 2^-(x + 1 - bias)")),
            number(format!("{lane}.step.o_next"), format!("next accumulator [{j}] 2^-(x + 1 - bias)")),
        ]
    });
    g
}

fn scale(config: &CoreConfig) -> Group {
    let mut g = Group::after_score(config, 4, "final scale");
    g.add(
        Bits,
        &[
            ("group_0.finish_q.q", "accumulator is final"),
            ("group_0.result_x_q.q", "x: exponent of the largest |v|"),
        ],
    );
    let accumulator = match is_shared(config) {
        true => {
            g.add(Number, &[("group_0.e_q.q", "factor: 1 / 4l")]);
            "kept.o"
        }
        false => {
            g.add(Number, &[("group_0.r_q.q", "r: 1 / l = r 2^-right"), ("group_0.right_q.q", "right")]);
            "scale.o"
        }
    };
    g.add_elements(config.dv(), |j| {
        let lane = format!("group_0.lane_{j}");
        vec![
            number(format!("{lane}.{accumulator}"), format!("accumulator [{j}] 2^-(x + 1 - bias)")),
            number(format!("{lane}.scale.y"), format!("accumulator [{j}] / l")),
        ]
    });
    g
}
