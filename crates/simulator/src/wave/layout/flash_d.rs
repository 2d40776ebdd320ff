//! The stages of FLASH-D with the log-sum-exp weight unit.

use super::Look::{Bits, Number, Trace};
use super::{Group, Row, number, row, score_rows};
use flashd_spec::config::{CoreConfig, Hold};

/// The rows of lane j.
type LaneRows = fn(&CoreConfig, usize) -> Vec<Row>;

/// From the score to the output update, whose lanes have these rows.
pub(super) fn stages(config: &CoreConfig, lane: LaneRows) -> Vec<Group> {
    vec![score(config), state(config), weight(config), distribution(config), update(config, lane)]
}

fn score(config: &CoreConfig) -> Group {
    let mut g = Group::after_score(config, 0, "score");
    g.add(Number, &score_rows(config));
    g
}

fn state(config: &CoreConfig) -> Group {
    let mut g = Group::after_score(config, 1, "weight state");
    g.add(
        Number,
        &[
            ("weight.score_q.q", "score s, log2 units"),
            ("weight.previous_q.q", "score before"),
            ("weight.base.base", "s - score before + min(x before, 0)"),
            ("weight.tail.tail", "tail = log2(1 + 2^-|x before|)"),
            ("weight.difference.x_next", "x = s - L, log2 units"),
        ],
    );
    g
}

fn weight(config: &CoreConfig) -> Group {
    let mut g = Group::after_score(config, 2, "weight");
    g.add(
        Bits,
        &[
            ("weight.updates.update", "update (not held)"),
            ("weight.argument.negative", "x < 0"),
            ("weight.side.upper", "w > 1/2: lanes get 1 - w"),
        ],
    );
    g.add(
        Number,
        &[
            ("weight.x_q.q", "x, log2 units"),
            ("weight.argument.t", "t = |x|, log2 units"),
            ("weight.sigmoid.w", "1 / (1 + 2^t): w or 1 - w"),
        ],
    );
    if let Hold::Budget(_) = config.hold() {
        g.add(
            Number,
            &[
                ("weight.budget_0.room_q.q", "hold budget left, 1 is all"),
                ("weight.budget_0.limit_q.q", "limit: held if -floor(x) - 1 >= limit"),
            ],
        );
        g.add(Bits, &[("weight.budget_0.closed_q.q", "too little left to hold")]);
    }
    g
}

/// The range of fixed-point lanes.
const RANGE: &[(&str, &str)] =
    &[("group_0.x_q.q", "x: exponent of the largest |v|"), ("group_0.outside", "a v is beyond x")];

fn distribution(config: &CoreConfig) -> Group {
    let staged = config.value_stage();
    let what = if staged { "weight to the lanes, value to fixed point" } else { "weight to the lanes" };
    let mut g = Group::after_score(config, 3, what);
    g.add(Bits, &[("weight.update", "update (not held)"), ("weight.upper", "w > 1/2: lanes get 1 - w")]);
    g.add(Number, &[("weight.w", "lanes' factor: w or 1 - w")]);
    // The weight itself: a decimal value next to the bit that selects w or 1 - w.
    g.add(Trace, &[("weight.upper", "weight w")]);
    if staged {
        g.add(Bits, &[("group_0.reads_q.q", "v was read")]);
        let unit = if config.has_ranged_lanes() { "E" } else { "x" };
        if config.has_value_exponent() {
            g.add(Bits, RANGE);
        }
        g.add_elements(config.dv(), |j| {
            let lane = format!("group_0.lane_{j}");
            let mut rows = vec![number(format!("v_{j}"), format!("v[{j}]"))];
            if config.has_ranged_lanes() {
                rows.push(row(Bits, &format!("{lane}.ahead_q.q"), &format!("E[{j}] before, ahead of o")));
            }
            rows.push(number(format!("{lane}.value.fixed"), format!("v[{j}] 2^-({unit} + 1 - bias)")));
            rows
        });
    }
    g
}

fn update(config: &CoreConfig, lane: LaneRows) -> Group {
    let mut g = Group::after_score(config, 4, "output update");
    g.add(
        Bits,
        &[
            ("late_reads_v.y", "v was read"),
            ("group_0.update_q.q", "update (not held)"),
            ("group_0.load_q.q", "first key: o = 0"),
            ("group_0.upper_q.q", "w > 1/2: factor is 1 - w"),
        ],
    );
    g.add(Number, &[("group_0.w_q.q", "factor: w or 1 - w")]);
    if config.has_fixed_lanes() {
        g.add(Bits, &[("group_0.threshold_q.q", "dither of v - o: low bits of x")]);
    }
    if config.has_value_exponent() && !config.value_stage() {
        g.add(Bits, RANGE);
    }
    g.add_elements(config.dv(), |j| lane(config, j));
    g
}

/// The rows of a lane whose every operation is rounded.
pub(super) fn rounded_lane(_: &CoreConfig, j: usize) -> Vec<Row> {
    let lane = format!("group_0.lane_{j}");
    vec![
        number(format!("v_{j}"), format!("v[{j}]")),
        number(format!("{lane}.side.o"), format!("o[{j}] before")),
        number(format!("{lane}.difference.y"), format!("v[{j}] - o[{j}]")),
        number(format!("{lane}.side.base"), format!("base: o[{j}] or v[{j}]")),
        number(format!("{lane}.product.y"), format!("factor times difference [{j}]")),
        number(format!("{lane}.sum.y"), format!("next o[{j}]")),
    ]
}

/// The rows of a fixed-point lane with a separate exponent.
pub(super) fn ranged_lane(config: &CoreConfig, j: usize) -> Vec<Row> {
    let lane = format!("group_0.lane_{j}");
    let value = if config.value_stage() { "value_q.q" } else { "value.fixed" };
    let port = (!config.value_stage()).then(|| number(format!("v_{j}"), format!("v[{j}]")));
    let inner = [
        row(Bits, &format!("{lane}.e_q.q"), &format!("E[{j}] before: largest exponent read")),
        number(format!("{lane}.{value}"), format!("v[{j}] 2^-(E + 1 - bias)")),
        number(format!("{lane}.align.y"), format!("o[{j}] 2^-(E + 1 - bias) before")),
        number(format!("{lane}.step.o_next"), format!("next o[{j}] 2^-(E + 1 - bias)")),
    ];
    port.into_iter().chain(inner).collect()
}

/// The rows of a fixed-point lane.
pub(super) fn fixed_lane(config: &CoreConfig, j: usize) -> Vec<Row> {
    let lane = format!("group_0.lane_{j}");
    let value = if config.value_stage() { "value_q.q" } else { "value.fixed" };
    let port = (!config.value_stage()).then(|| number(format!("v_{j}"), format!("v[{j}]")));
    let inner = [
        number(format!("{lane}.{value}"), format!("v[{j}] 2^-(x + 1 - bias)")),
        number(format!("{lane}.o_q.q"), format!("o[{j}] 2^-(x + 1 - bias) before")),
        number(format!("{lane}.step.o_next"), format!("next o[{j}] 2^-(x + 1 - bias)")),
    ];
    port.into_iter().chain(inner).collect()
}
