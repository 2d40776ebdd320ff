//! The stages of FlashAttention-2 with a float accumulator: default and shared scale.

use super::Look::{Bits, Number, Trace};
use super::{Group, Look, number, row, score_rows};
use flashd_spec::config::CoreConfig;

/// From the score to the final scale.
pub(super) fn stages(config: &CoreConfig) -> Vec<Group> {
    vec![score(config), exponential(config), sum(config), value(config), scale(config)]
}

fn is_shared(config: &CoreConfig) -> bool {
    config.kind().scales_in_lane
}

/// Rows of the unit that has maximum, exponential and sum.
fn add(g: &mut Group, config: &CoreConfig, look: Look, rows: &[(&str, &str)]) {
    let unit = if is_shared(config) { "weight.softmax" } else { "weight" };
    g.rows.extend(rows.iter().map(|(path, label)| row(look, &format!("{unit}.{path}"), label)));
}

fn score(config: &CoreConfig) -> Group {
    let mut g = Group::after_score(config, 0, "score and maximum");
    add(&mut g, config, Bits, &[("updates.update", "update (not held)"), ("maximum.moved", "maximum moves")]);
    g.add(Number, &score_rows(config));
    add(
        &mut g,
        config,
        Number,
        &[
            ("maximum_q.q", "maximum m, log2 units"),
            ("maximum.distance", "|s - m|, log2 units"),
            ("maximum.maximum_next", "next m, log2 units"),
        ],
    );
    g
}

fn exponential(config: &CoreConfig) -> Group {
    let mut g = Group::after_score(config, 1, "exponential");
    add(&mut g, config, Bits, &[("exp_update_q.q", "update (not held)"), ("exp_moved_q.q", "maximum moved")]);
    add(&mut g, config, Number, &[("distance_q.q", "|s - m|, log2 units")]);
    add(&mut g, config, Trace, &[("exponential.e", "e = 2^-|s - m|")]);
    g
}

fn sum(config: &CoreConfig) -> Group {
    let mut g = Group::after_score(config, 2, "running sum");
    add(&mut g, config, Bits, &[("update_q.q", "update (not held)"), ("moved_q.q", "maximum moved")]);
    add(
        &mut g,
        config,
        Number,
        &[("e_q.q", "e"), ("sum.sum_q.q", "running sum l"), ("sum.sum.sum_next", "next l")],
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
            ("group_0.load_q.q", "first key: start from 0"),
            ("group_0.moved_q.q", "maximum moved"),
            ("finish.end", "l is final"),
        ],
    );
    add(
        &mut g,
        config,
        Number,
        &[("sum.reciprocal.sum", "sum l"), ("r", "r: 1 / l = r 2^-right"), ("right", "right")],
    );
    if is_shared(config) {
        g.add(Number, &[("weight.factor.factor", "next factor: e, or 1 / l when l is final")]);
    }
    g.add(Number, &[("group_0.e_q.q", "e")]);
    g.add_elements(config.dv(), |j| {
        let lane = format!("group_0.lane_{j}");
        let next = if is_shared(config) { "select.o_next" } else { "sum.y" };
        vec![
            number(format!("v_{j}"), format!("v[{j}]")),
            number(format!("{lane}.o_q.q"), format!("accumulator [{j}]")),
            number(format!("{lane}.product.y"), format!("accumulator e or v e [{j}]")),
            number(format!("{lane}.{next}"), format!("next accumulator [{j}]")),
        ]
    });
    g
}

fn scale(config: &CoreConfig) -> Group {
    let mut g = Group::after_score(config, 4, "final scale");
    g.add(Bits, &[("group_0.finish_q.q", "accumulator is final")]);
    if is_shared(config) {
        g.add(Number, &[("group_0.e_q.q", "factor: 1 / l")]);
    } else {
        g.add(Number, &[("group_0.r_q.q", "r: 1 / l = r 2^-right"), ("group_0.right_q.q", "right")]);
    }
    g.add_elements(config.dv(), |j| {
        let lane = format!("group_0.lane_{j}");
        let (before, after) =
            if is_shared(config) { ("operand.y", "narrow.y") } else { ("scale.o", "scale.y") };
        vec![
            number(format!("{lane}.{before}"), format!("accumulator [{j}]")),
            number(format!("{lane}.{after}"), format!("accumulator [{j}] / l")),
        ]
    });
    g
}
