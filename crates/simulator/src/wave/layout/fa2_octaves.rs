//! The stages of FlashAttention-2 whose lanes have exponents: ranged.

use super::Look::{Bits, Number, Trace};
use super::fa2_log::score;
use super::rows::{Quantity, Row};
use super::{Group, number, row};
use flashd_spec::config::CoreConfig;

/// The reference as a score and octaves, and the accumulator, exponents and shifts in the lane's parts.
pub(super) const NUMBERS: &[Row] = &[
    ("base_q", Quantity::FineReference),
    ("base.base", Quantity::FineReference),
    ("right_q", Quantity::Bits),
    ("distance.base", Quantity::FineReference),
    ("lane.kept.o", Quantity::FixedAccumulator),
    // As wide as a float of some format.
    ("distance.octaves", Quantity::Bits),
    ("distance_q", Quantity::Bits),
    ("decide.distance", Quantity::Bits),
    ("octaves_q", Quantity::Bits),
    ("tau", Quantity::Bits),
    ("marks", Quantity::Bits),
    ("marks_q", Quantity::Bits),
    ("octaves", Quantity::Bits),
    ("octaves_next", Quantity::Bits),
    ("distance.m", Quantity::Bits),
    ("m_q", Quantity::Bits),
    ("decide.m", Quantity::Bits),
    ("decide.right", Quantity::Bits),
    ("distance.right", Quantity::Bits),
    ("significand", Quantity::Bits),
    ("kept", Quantity::Bits),
    ("product", Quantity::Bits),
    ("zeros", Quantity::Bits),
    ("lane.value.top", Quantity::Bits),
    ("lane.value.x", Quantity::Bits),
    ("product_right", Quantity::Bits),
    ("o_right", Quantity::Bits),
    ("lane.scale.x", Quantity::Bits),
];

/// From the score to the final scale.
pub(super) fn stages(config: &CoreConfig) -> Vec<Group> {
    vec![score(config), table(config), reference(config), value(config), scale(config)]
}

fn table(config: &CoreConfig) -> Group {
    let mut g = Group::after_score(config, 1, "power of two of the fraction");
    g.add(
        Number,
        &[("weight.score_q.q", "score s, log2 units"), ("weight.base_q.q", "first score s0, log2 units")],
    );
    g.add(
        Bits,
        &[
            ("weight.distance.octaves", "floor(s0 - s)"),
            ("weight.distance.m", "2^-(fraction of s0 - s): significand"),
        ],
    );
    g
}

fn reference(config: &CoreConfig) -> Group {
    let mut g = Group::after_score(config, 2, "reference, exponential and running sum");
    g.add(
        Bits,
        &[
            ("weight.decide.update", "update (not held)"),
            ("weight.octaves_q.q", "n: octaves of the reference above s0"),
            ("weight.decide.tau", "tau = n + u, whole octaves"),
            ("weight.decide.octaves_next", "next n = n + delta"),
            ("weight.decide.delta", "delta"),
        ],
    );
    g.add(
        Number,
        &[
            ("weight.sum_q.q", "running sum l, in [1/2, 2)"),
            ("weight.decide.sum_next", "next l = (l >> delta) + e"),
        ],
    );
    g.add(Trace, &[("weight.decide.e", "e = 2^(s - next R)")]);
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
            ("group_0.delta_q.q", "delta: accumulator goes right"),
            ("finish.end", "l is final"),
        ],
    );
    g.add(
        Number,
        &[
            ("weight.reciprocal.sum", "sum l"),
            ("weight.reciprocal.r", "r: 1 / l = r 2^-right"),
            ("weight.reciprocal.right", "right"),
            ("weight.factor.factor", "next factor: e, or 1 / 4l when l is final"),
            ("group_0.e_q.q", "e"),
        ],
    );
    g.add_elements(config.dv(), |j| {
        let lane = format!("group_0.lane_{j}");
        vec![
            number(format!("v_{j}"), format!("v[{j}]")),
            row(Bits, &format!("{lane}.e_q.q"), &format!("E[{j}] before: largest exponent read")),
            number(format!("{lane}.o_q.q"), format!("accumulator [{j}] 2^-(E + 1 - bias)")),
            number(format!("{lane}.step.o_next"), format!("next accumulator [{j}] 2^-(E + 1 - bias)")),
        ]
    });
    g
}

fn scale(config: &CoreConfig) -> Group {
    let mut g = Group::after_score(config, 4, "final scale");
    g.add(Bits, &[("group_0.finish_q.q", "accumulator is final")]);
    g.add(Number, &[("group_0.e_q.q", "factor: 1 / 4l")]);
    g.add_elements(config.dv(), |j| {
        let lane = format!("group_0.lane_{j}");
        vec![
            number(format!("{lane}.kept.o"), format!("accumulator [{j}] 2^-(E + 1 - bias)")),
            number(format!("{lane}.scale.y"), format!("accumulator [{j}] / l")),
        ]
    });
    g
}
