//! The stages of FlashAttention-2 with a reference that moves rarely: lazy-reference.

use super::Look::{Bits, Number, Trace};
use super::rows::{Quantity, Row};
use super::{Group, number, score_rows};
use flashd_spec::config::CoreConfig;

/// The reference, which has the fraction of the first score.
pub(super) const REFERENCE: &[Row] = &[
    ("reference_q", Quantity::Score),
    ("reference.reference", Quantity::Score),
    ("reference_next", Quantity::Score),
    ("tau", Quantity::Tau),
    ("tau_q", Quantity::Tau),
    ("delta", Quantity::Bits),
    ("delta.x", Quantity::Bits),
    ("delta.y", Quantity::Bits),
    ("delta_q", Quantity::Bits),
    ("exp_delta_q", Quantity::Bits),
];

/// The lane's accumulator before and after it is rescaled, and what its multiplier works on.
pub(super) const LANE: &[Row] = &[
    ("lane.rescale.o", Quantity::Accumulator),
    ("lane.rescale.y", Quantity::Accumulator),
    ("lane.operand.v", Quantity::Value),
    ("lane.product.a", Quantity::Accumulator),
    ("lane.product.y", Quantity::Inner),
];

/// From the score to the final scale.
pub(super) fn stages(config: &CoreConfig) -> Vec<Group> {
    vec![score(config), exponential(config), sum(config), value(config), scale(config)]
}

fn score(config: &CoreConfig) -> Group {
    let mut g = Group::after_score(config, 0, "score and reference");
    g.add(Bits, &[("weight.reference.update", "update (not held)")]);
    g.add(Number, &score_rows(config));
    g.add(
        Number,
        &[
            ("weight.reference_q.q", "reference m, log2 units"),
            ("weight.reference.reference_next", "next m = m + delta"),
            ("weight.reference.tau", "tau = T - (s - next m), log2 units"),
        ],
    );
    g.add(Bits, &[("weight.reference.delta", "delta = s - m > T ? floor(s - m) : 0")]);
    g
}

fn exponential(config: &CoreConfig) -> Group {
    let mut g = Group::after_score(config, 1, "exponential");
    g.add(Bits, &[("weight.exp_update_q.q", "update (not held)"), ("weight.exp_delta_q.q", "delta")]);
    g.add(Number, &[("weight.tau_q.q", "tau, log2 units")]);
    g.add(Trace, &[("weight.exponential.e", "e 2^-T = 2^-tau")]);
    g
}

fn sum(config: &CoreConfig) -> Group {
    let mut g = Group::after_score(config, 2, "running sum");
    g.add(Bits, &[("weight.update_q.q", "update (not held)"), ("weight.delta_q.q", "delta")]);
    g.add(
        Number,
        &[
            ("weight.e_q.q", "e 2^-T"),
            ("weight.sum_q.q", "running sum l"),
            ("weight.sum.sum_next", "next l = (l >> delta) + e"),
        ],
    );
    g
}

fn value(config: &CoreConfig) -> Group {
    let mut g = Group::after_score(config, 3, "value, reciprocal");
    g.add(
        Bits,
        &[
            ("reads_v_q.q", "v was read"),
            ("group_0.update_q.q", "update (not held)"),
            ("group_0.load_q.q", "first key: take v"),
            ("group_0.delta_q.q", "delta"),
            ("finish.end", "l is final"),
        ],
    );
    g.add(
        Number,
        &[
            ("weight.reciprocal.sum", "sum l"),
            ("weight.reciprocal.r", "r: 1 / l = r 2^-right"),
            ("weight.reciprocal.right", "right"),
            ("weight.factor.factor", "next factor: e 2^-T, or 2^-T / l when l is final"),
            ("group_0.e_q.q", "e 2^-T"),
        ],
    );
    g.add_elements(config.dv(), |j| {
        let lane = format!("group_0.lane_{j}");
        vec![
            number(format!("v_{j}"), format!("v[{j}]")),
            number(format!("{lane}.o_q.q"), format!("accumulator [{j}]")),
            number(format!("{lane}.rescale.y"), format!("accumulator 2^-delta [{j}]")),
            number(format!("{lane}.product.y"), format!("v e [{j}]")),
            number(format!("{lane}.select.o_next"), format!("next accumulator [{j}]")),
        ]
    });
    g
}

fn scale(config: &CoreConfig) -> Group {
    let mut g = Group::after_score(config, 4, "final scale");
    g.add(Bits, &[("group_0.finish_q.q", "accumulator is final")]);
    g.add(Number, &[("group_0.e_q.q", "factor: 2^-T / l")]);
    g.add_elements(config.dv(), |j| {
        let lane = format!("group_0.lane_{j}");
        vec![
            number(format!("{lane}.operand.y"), format!("accumulator [{j}]")),
            number(format!("{lane}.narrow.y"), format!("accumulator [{j}] / l")),
        ]
    });
    g
}
