//! The stages of FlashAttention-2 with a fixed-point accumulator: fixed and log-reference.

use super::Look::{Bits, Number, Trace};
use super::{Group, number, score_rows};
use flashd_spec::config::CoreConfig;

/// From the score to the final scale.
fn stages(config: &CoreConfig, [score, exponential, sum]: [Group; 3]) -> Vec<Group> {
    vec![score, exponential, sum, value(config), scale(config)]
}

/// Those of `fixed`.
pub(super) fn maximum(config: &CoreConfig) -> Vec<Group> {
    stages(config, [maximum_score(config), maximum_exponential(config), maximum_sum(config)])
}

/// Those of `log-reference`.
pub(super) fn logarithm(config: &CoreConfig) -> Vec<Group> {
    stages(config, [log_score(config), log_reference(config), log_distribution(config)])
}

fn maximum_score(config: &CoreConfig) -> Group {
    let mut g = Group::after_score(config, 0, "score and reference");
    g.add(Bits, &[("weight.reference.update", "update (not held)")]);
    g.add(Number, &score_rows(config));
    g.add(
        Number,
        &[
            ("weight.reference_q.q", "reference M, log2 units"),
            ("weight.reference.reference_next", "next M = max(M, ceil(s))"),
            ("weight.reference.tau", "tau = next M - s, log2 units"),
        ],
    );
    g.add(Bits, &[("weight.reference.delta", "delta = next M - M")]);
    g
}

fn maximum_exponential(config: &CoreConfig) -> Group {
    let mut g = Group::after_score(config, 1, "exponential");
    g.add(Bits, &[("weight.exp_update_q.q", "update (not held)"), ("weight.exp_delta_q.q", "delta")]);
    g.add(Number, &[("weight.tau_q.q", "tau, log2 units")]);
    g.add(Trace, &[("weight.exponential.e", "e = 2^-tau")]);
    g
}

fn maximum_sum(config: &CoreConfig) -> Group {
    let mut g = Group::after_score(config, 2, "running sum");
    g.add(
        Bits,
        &[
            ("weight.update_q.q", "update (not held)"),
            ("weight.delta_q.q", "delta"),
            ("weight.sum.overflow", "l is beyond the most keys"),
        ],
    );
    g.add(
        Number,
        &[
            ("weight.e_q.q", "e"),
            ("weight.sum_q.q", "running sum l"),
            ("weight.sum.sum_next", "next l = (l >> delta) + e"),
        ],
    );
    g
}

fn log_score(config: &CoreConfig) -> Group {
    let mut g = Group::after_score(config, 0, "score");
    g.add(Number, &score_rows(config));
    g
}

fn log_reference(config: &CoreConfig) -> Group {
    let mut g = Group::after_score(config, 1, "reference, exponential and running sum");
    g.add(Bits, &[("weight.decide.update", "update (not held)")]);
    g.add(
        Number,
        &[
            ("weight.score_q.q", "score s, log2 units"),
            ("weight.reference_q.q", "reference R, log2 units"),
            ("weight.decide.reference_next", "next R: the exponent of next l"),
            ("weight.sum_q.q", "running sum l, in [1, 2)"),
            ("weight.decide.sum_next", "next l = (l >> delta) + e"),
        ],
    );
    g.add(Bits, &[("weight.decide.delta", "delta = next R - R")]);
    g.add(Trace, &[("weight.decide.e", "e = 2^(s - next R)")]);
    g
}

fn log_distribution(config: &CoreConfig) -> Group {
    let mut g = Group::after_score(config, 2, "exponential to the lanes");
    g.add(Bits, &[("weight.update_q.q", "update (not held)"), ("weight.delta_q.q", "delta")]);
    g.add(Number, &[("weight.e_q.q", "e")]);
    g
}

fn value(config: &CoreConfig) -> Group {
    let mut g = Group::after_score(config, 3, "value, reciprocal");
    g.add(
        Bits,
        &[
            ("reads_v_q.q", "v was read"),
            ("group_0.update_q.q", "update (not held)"),
            ("group_0.load_q.q", "first key: start from 0"),
            ("group_0.delta_q.q", "delta: accumulator goes right"),
            ("group_0.x_q.q", "x: exponent of the largest |v|"),
            ("group_0.outside", "a v is beyond x"),
            ("finish.end", "l is final"),
        ],
    );
    g.add(
        Number,
        &[
            ("weight.reciprocal.sum", "sum l"),
            ("weight.r", "r: 1 / l = r 2^-right"),
            ("weight.right", "right"),
            ("group_0.e_q.q", "e"),
        ],
    );
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
    g.add(Number, &[("group_0.r_q.q", "r: 1 / l = r 2^-right"), ("group_0.right_q.q", "right")]);
    g.add_elements(config.dv(), |j| {
        let lane = format!("group_0.lane_{j}");
        vec![
            number(format!("{lane}.scale.o"), format!("accumulator [{j}] 2^-(x + 1 - bias)")),
            number(format!("{lane}.scale.y"), format!("accumulator [{j}] / l")),
        ]
    });
    g
}
