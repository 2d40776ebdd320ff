//! The order of the pipeline in the save file and the default selection: stages in order, in each of them
//! control, then the numbers that it computes, then folded groups.

mod fa2;
mod fa2_log;
mod fa2_octaves;
mod flash_d;
mod to_the_letter;

use super::numbers::rows::{
    self, EXPONENTIAL, EXPONENTIAL_FACTOR, FA2_LANE, FIXED_LANE, FIXED_OPERAND, FLOAT_LANE, LANE_FACTOR,
    LITERAL_LANE, LSE, MAXIMUM, RANGED_LANE, REFERENCE, ROUNDED_LANE, SHARED_LANE, SUM, WEIGHT,
    WEIGHT_FACTOR,
};
use flashd_hwmodel::attention::schedule::FrontSchedule;
use flashd_hwmodel::catalogue::{Stages, v_step_latency};
use flashd_spec::config::{CoreConfig, Datapath, Fa2Variant, FlashDVariant};
use flashd_spec::numerics::Numerics;

/// How a signal is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// Bits: one bit as a line, more as hexadecimal.
    Bits,
    /// A decimal number.
    Number,
    /// A decimal number, and below it its course as an analog trace.
    Trace,
}

/// One line of the display.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// Path below the core.
    pub path: String,
    /// The name shown instead of the path.
    pub label: String,
    /// How it is drawn.
    pub look: Look,
}

/// Rows under a heading.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    /// Heading.
    pub title: String,
    /// Always visible.
    pub rows: Vec<Row>,
    /// Folded away until opened: title and rows.
    pub folds: Vec<(String, Vec<Row>)>,
}

impl Group {
    fn new(title: String) -> Self {
        Group { title, ..Group::default() }
    }

    fn stage(number: usize, what: &str) -> Self {
        Group::new(format!("Stage {number}: {what}"))
    }

    /// The stage `after` the score stage, with its flags and, where the value is asked for, the handshake.
    fn after_score(config: &CoreConfig, after: usize, what: &str) -> Self {
        let (score, value) = (Stages::of(config).score as usize, v_step_latency(config) as usize);
        // What follows the handshake waits for the value.
        let waits = (score + after > value && config.value_latency > 1) as usize;
        let number = score + after + waits * (config.value_latency as usize - 1);
        let mut group = Group::stage(number, what);
        group.rows.extend(["valid", "first", "last", "invalid"].map(|flag| {
            let path = match after {
                0 => format!("control.{flag}"),
                // The pipe's own output is its last register.
                1 | 2 => format!("flags.{flag}_q_{}.q", after - 1),
                3 if waits > 0 => format!("value_flags.{flag}_out"),
                3 => format!("flags.{flag}_out"),
                _ => format!("late_flags.{flag}_out"),
            };
            let label = if flag == "first" || flag == "last" { format!("{flag} key") } else { flag.into() };
            Row { path, label, look: Look::Bits }
        }));
        if number == value {
            group.add(Look::Bits, &[("v_step", "v_step"), ("v_ren", "v_ren")]);
        }
        group
    }

    /// All rows, folded or not.
    pub(super) fn all_rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().chain(self.folds.iter().flat_map(|(_, rows)| rows))
    }

    fn add(&mut self, look: Look, rows: &[(&str, &str)]) {
        self.rows.extend(rows.iter().map(|(path, label)| row(look, path, label)));
    }

    /// `|j| -> rows` of element 0 in the open, of the others that are shown folded away.
    fn add_elements(&mut self, count: usize, rows: impl Fn(usize) -> Vec<Row>) {
        let shown = count.min(SHOWN_ELEMENTS);
        self.rows.extend(rows(0));
        if shown > 1 {
            let title = if shown == 2 { "Element 1".into() } else { format!("Elements 1 to {}", shown - 1) };
            self.folds.push((title, (1..shown).flat_map(rows).collect()));
        }
    }
}

/// Whether a row of this label shows the bit that distinguishes updates from holds.
pub(super) fn is_update(label: &str) -> bool {
    label == "update" || label == "update (not held)"
}

/// Elements of a vector that are shown.
const SHOWN_ELEMENTS: usize = 4;

fn row(look: Look, path: &str, label: &str) -> Row {
    Row { path: path.into(), label: label.into(), look }
}

fn number(path: String, label: String) -> Row {
    Row { path, label, look: Look::Number }
}

use Look::{Bits, Number, Trace};

/// What waves show of a kind of core.
pub(super) struct WaveKind {
    /// The stages after the adder tree.
    stages: fn(&CoreConfig) -> Vec<Group>,
    /// Quantities on the buses of scalar path and lanes.
    pub numbers: &'static [&'static [rows::Row]],
}

/// The row of a configuration.
pub(super) fn kind(config: &CoreConfig) -> &'static WaveKind {
    use Datapath::{Fa2, FlashD};
    match config.datapath {
        FlashD(FlashDVariant::Paper) => {
            &WaveKind { stages: to_the_letter::paper, numbers: &[ROUNDED_LANE, FLOAT_LANE] }
        }
        FlashD(FlashDVariant::Rounded) => &WaveKind {
            stages: |config| flash_d::stages(config, flash_d::rounded_lane),
            numbers: &[LSE, WEIGHT, ROUNDED_LANE, FLOAT_LANE],
        },
        FlashD(FlashDVariant::Ranged) => &WaveKind {
            stages: |config| flash_d::stages(config, flash_d::ranged_lane),
            numbers: &[LSE, LANE_FACTOR, WEIGHT_FACTOR, FIXED_OPERAND, RANGED_LANE],
        },
        FlashD(FlashDVariant::Fixed) => &WaveKind {
            stages: |config| flash_d::stages(config, flash_d::fixed_lane),
            numbers: &[LSE, LANE_FACTOR, WEIGHT_FACTOR, FIXED_OPERAND, FIXED_LANE],
        },
        Fa2(Fa2Variant::SeparateScale) => {
            &WaveKind { stages: fa2::stages, numbers: &[FA2_LANE, FLOAT_LANE, EXPONENTIAL, MAXIMUM, SUM] }
        }
        Fa2(Fa2Variant::SharedScale) => &WaveKind {
            stages: fa2::stages,
            numbers: &[SHARED_LANE, FA2_LANE, FLOAT_LANE, EXPONENTIAL_FACTOR, MAXIMUM, SUM],
        },
        Fa2(Fa2Variant::LogReference) => {
            &WaveKind { stages: fa2_log::stages, numbers: &[FIXED_LANE, EXPONENTIAL_FACTOR, REFERENCE, SUM] }
        }
        Fa2(Fa2Variant::SharedLogReference) => &WaveKind {
            stages: fa2_log::stages,
            numbers: &[fa2_log::NUMBERS, FIXED_LANE, EXPONENTIAL_FACTOR, REFERENCE, SUM],
        },
        Fa2(Fa2Variant::Ranged) => &WaveKind {
            stages: fa2_octaves::stages,
            numbers: &[fa2_octaves::NUMBERS, RANGED_LANE, EXPONENTIAL_FACTOR, REFERENCE, SUM],
        },
        Fa2(Fa2Variant::Literal) => {
            &WaveKind { stages: to_the_letter::literal, numbers: &[LITERAL_LANE, FLOAT_LANE] }
        }
    }
}

/// The stages of a core.
pub(super) fn stages(config: &CoreConfig) -> Vec<Group> {
    let mut stages = vec![query_and_key(config), adder_tree(config)];
    stages.extend(config.softcap.map(|_| uncapped_score(config)));
    stages.extend((kind(config).stages)(config));
    let mut result = Group::stage(Numerics::new(config).latency() as usize, "result");
    result.add(Bits, &[("o_valid", "o_valid"), ("o_invalid", "o_invalid")]);
    if !config.follows_the_paper() {
        result.add(Bits, &[("o_saturated", "o_saturated: a score out of range")]);
    }
    if config.has_value_exponent() {
        result.add(Bits, &[("o_overflow", "o_overflow: a value out of range")]);
    }
    result.add_elements(config.dv(), |j| {
        let look = if j == 0 { Trace } else { Number };
        vec![row(look, &format!("o_{j}"), &format!("o[{j}]"))]
    });
    stages.push(result);
    stages
}

/// Where the dot product is found below the core.
fn dot_product(config: &CoreConfig) -> &'static str {
    if config.follows_the_paper() { "score.dot" } else { "score.fused_0" }
}

fn query_and_key(config: &CoreConfig) -> Group {
    let mut g = Group::stage(0, "query and key");
    g.add(
        Bits,
        &[
            ("clk", "clk"),
            ("rst", "rst"),
            ("q_valid", "q_valid"),
            ("k_valid", "k_valid"),
            ("k_last", "k_last"),
            ("control.expect_first_q.q", "first key"),
            ("control.flags.invalid", "q or k is Inf or NaN"),
        ],
    );
    if config.bias {
        g.add(Number, &[("k_bias_0", "bias of the key"), ("bias_0.bias", "bias, log2 units")]);
    }
    if config.has_value_exponent() {
        g.add(Bits, &[("v_exponent", "v_exponent: of the largest |v|")]);
    }
    let product = match config.follows_the_paper() {
        false => |j| (format!("term_{j}.x"), format!("q[{j}] k[{j}] scale")),
        true => |j| (format!("product_{j}.y"), format!("q[{j}] k[{j}]")),
    };
    g.add_elements(config.d, |j| {
        let (path, label) = product(j);
        vec![
            number(format!("q_{j}"), format!("q[{j}]")),
            number(format!("q_q_{j}.q"), format!("query register [{j}]")),
            number(format!("k_{j}"), format!("k[{j}]")),
            number(format!("{}.{path}", dot_product(config)), label),
        ]
    });
    g
}

fn adder_tree(config: &CoreConfig) -> Group {
    let Numerics { rounded_dot, tree_levels, .. } = Numerics::new(config);
    let schedule = FrontSchedule::new(rounded_dot, tree_levels);
    // Where nothing is registered, the tree shares its only stage with the score.
    let first = schedule.after_products as usize;
    let last = schedule.registers().saturating_sub(1);
    let mut g = match first == last {
        true => Group::stage(first, "adder tree"),
        false => Group::new(format!("Stage {first}..{last}: adder tree")),
    };
    let flag = |name: &str, stage: usize| {
        row(Bits, &format!("control.pipe.{name}_q_{}.q", stage - 1), &format!("{name}, stage {stage}"))
    };
    let registered = first.max(1)..=last;
    g.rows.extend(registered.clone().map(|stage| flag("valid", stage)));
    if !registered.is_empty() {
        let flags = registered.flat_map(|stage| ["first", "last", "invalid"].map(|name| flag(name, stage)));
        g.folds.push(("First, last, invalid".into(), flags.collect()));
    }
    // The fused tree has one level of modules a stage, the other one a level.
    let steps: Vec<(u32, bool)> = match config.follows_the_paper() {
        false => schedule.stages(),
        true => schedule.after_level.iter().map(|registered| (1, *registered)).collect(),
    };
    let (mut tree, mut words, mut stage) = (format!("{}.tree_0", dot_product(config)), config.d, first);
    let mut folded = Vec::new();
    let mut level = 0;
    for (levels, registered) in steps {
        level += levels;
        for i in 0..(words >> levels).min(SHOWN_ELEMENTS) {
            let row = number(format!("{tree}.sum_{i}.y"), format!("stage {stage}, level {level}, sum {i}"));
            if i == 0 { g.rows.push(row) } else { folded.push(row) }
        }
        words = words.div_ceil(1 << levels);
        stage += registered as usize;
        tree += ".rest_0";
    }
    if !folded.is_empty() {
        g.folds.push(("More sums".into(), folded));
    }
    g
}

/// The score in the stage before that of its cap.
fn uncapped_score(config: &CoreConfig) -> Group {
    let mut g = Group::stage(Stages::of(config).score as usize - 1, "score before its cap");
    g.add(Number, &dot_rows(config));
    g
}

/// The rows of the score stage up to the score.
fn score_rows(config: &CoreConfig) -> Vec<(&'static str, &'static str)> {
    let mut rows = match config.softcap {
        Some(_) => vec![("capped_0.capped", "score with its cap, log2 units")],
        None => dot_rows(config),
    };
    if config.bias {
        rows.push(("biased_0.biased", "score with its bias, log2 units"));
    }
    rows
}

/// From the dot product to the score.
fn dot_rows(config: &CoreConfig) -> Vec<(&'static str, &'static str)> {
    match config.encodings() {
        _ if config.follows_the_paper() => {
            &[("score.dot.dot", "dot product q k"), ("score.score", "score s")][..]
        }
        encodings if encodings.has_significands() => &[
            ("score.fused_0.total", "dot product q k scale"),
            ("score.base_2.multiplier", "significands of scales, log2(e)"),
            ("score.score", "score s, log2 units"),
        ],
        encodings if encodings.is_exact() => &[
            ("score.fused_0.total", "dot product q k"),
            ("score.base_2.multiplier", "q scale, k scale, log2(e)"),
            ("score.score", "score s, log2 units"),
        ],
        _ => &[
            ("score.fused_0.total", "dot product q k scale"),
            ("score.base_2.natural", "score, natural units"),
            ("score.score", "score s, log2 units"),
        ],
    }
    .to_vec()
}

#[cfg(test)]
mod tests {
    use super::super::{numbers::Numbers, signals, variants::variants};
    use super::*;
    use flashd_hwmodel::catalogue::build;
    use flashd_spec::config::Accumulator;
    use flashd_spec::format::Format;

    /// All kinds without a cap, and every second of those that allow a cap with one.
    fn cores(d: usize, format: Format) -> Vec<CoreConfig> {
        let plain = variants(d, format);
        let capped = plain.iter().filter(|core| !core.follows_the_paper()).step_by(2);
        let capped = capped.map(|core| CoreConfig { softcap: Some(30.0), ..core.clone() }).collect();
        [plain, capped].concat()
    }

    /// The names are written out by hand: they have to follow the hardware.
    #[test]
    fn every_row_is_a_signal_and_every_number_has_a_value() {
        let mut missing = std::collections::BTreeSet::new();
        for (_, format) in Format::NAMED {
            let wide = Accumulator::Fraction(format.fraction_bits.max(16));
            for (d, accumulator) in [(2, None), (5, Some(wide)), (16, None), (64, None)] {
                for config in cores(d, format) {
                    let accumulator = accumulator.filter(|_| !config.has_fixed_lanes());
                    let config = CoreConfig { accumulator, ..config };
                    let signals = signals::list("core", &build(&config).unwrap());
                    let numbers = Numbers::new(&config);
                    for row in stages(&config).iter().flat_map(Group::all_rows) {
                        let i = signals.iter().position(|s| s.below_top() == row.path);
                        let beside = i.and_then(|i| numbers.beside(&signals, i));
                        if i.is_none() || beside.is_none() && row.look != Look::Bits {
                            missing.insert(format!("{}: {}", config.name(), row.path));
                        }
                    }
                }
            }
        }
        assert!(missing.is_empty(), "no such signal, or no number: {missing:#?}");
    }

    /// Stages from 0 to the result without a gap, and the value is asked for in exactly one of them.
    #[test]
    fn the_stages_are_those_of_the_contract() {
        for d in [2, 3, 5, 16, 64, 256, 512] {
            for config in cores(d, Format::BF16) {
                let groups = stages(&config);
                let mut covered = std::collections::BTreeSet::new();
                for group in &groups {
                    let range = group.title.strip_prefix("Stage ").and_then(|t| t.split_once(':')).unwrap().0;
                    let (from, to) = range.split_once("..").unwrap_or((range, range));
                    covered.extend(from.parse::<u32>().unwrap()..=to.parse().unwrap());
                }
                let latency = Numerics::new(&config).latency();
                assert!(covered.into_iter().eq(0..=latency), "{}", config.name());
                let asks: Vec<&Group> =
                    groups.iter().filter(|g| g.all_rows().any(|row| row.path == "v_ren")).collect();
                assert_eq!(asks.len(), 1, "{}", config.name());
                let stage = format!("Stage {}:", v_step_latency(&config));
                assert!(asks[0].title.starts_with(&stage), "{}: {}", config.name(), asks[0].title);
            }
        }
    }
}
