//! Waves against the lock-step run: bits by the model's steps, decimals by independent formulas.

use super::Recorded;
use super::vcd::Vcd;
use flashd_golden::{Action, Step};
use flashd_hwmodel::catalogue::Stages;
use flashd_simulator::{Frame, Workload};
use flashd_spec::bits::signed;
use flashd_spec::config::{CoreConfig, Design, Fa2Variant, WeightUnit};
use flashd_spec::numerics::{Numerics, fixed_result_bits};
use flashd_spec::ports::{PORTS, Port};

/// Every port of every cycle.
pub fn check_ports(config: &CoreConfig, vcd: &Vcd, seen: &[Frame]) {
    let fmt = config.format;
    for (cycle, frame) in (0..).zip(seen) {
        for row in &PORTS {
            let words = &frame[row.port];
            let is_vector = matches!(row.port, Port::Q | Port::K | Port::V | Port::O);
            for (j, bits) in words.iter().enumerate().take(4) {
                // A port that only some cores have is a vector, too.
                let element = format!("{}_{j}", row.name);
                let name = if vcd.signals.contains_key(&element) { element } else { row.name.into() };
                let at = format!("{} {name} in cycle {cycle}", config.name());
                assert_eq!(vcd.bits(&name, cycle), *bits, "{at}");
                if is_vector {
                    assert_eq!(vcd.real(&format!("{name}_real"), cycle), fmt.value(*bits), "{at}");
                }
            }
        }
    }
}

/// Cycle of acceptance, query and key of every step.
fn steps(workload: &Workload, seen: &[Frame]) -> Vec<(u64, usize, usize)> {
    let taken = |frame: &Frame| frame.is_high(Port::KValid) && !frame.is_high(Port::Rst);
    let accepted = (0u64..).zip(seen).filter(|(_, frame)| taken(frame)).map(|(cycle, _)| cycle);
    let keys = (0..workload.queries.len()).flat_map(|q| (0..workload.queries[q].keys).map(move |k| (q, k)));
    accepted.zip(keys).map(|(cycle, (q, k))| (cycle, q, k)).collect()
}

fn power(exponent: i32) -> f64 {
    2f64.powi(exponent)
}

/// A core and its recorded run.
pub struct Checks<'a> {
    /// Core.
    pub config: &'a CoreConfig,
    /// Its waves.
    pub vcd: &'a Vcd,
    /// Its workload.
    pub workload: &'a Workload,
    /// The lock-step run.
    pub run: &'a Recorded,
}

impl Checks<'_> {
    /// Scores, scalar path and lanes of every step.
    pub fn check(&self) {
        let mut before: Vec<f64> = Vec::new();
        for (accepted, query, key) in steps(self.workload, &self.run.seen) {
            let step = self.run.results[query].steps[key];
            let at = format!("{} query {query} key {key}", self.config.name());
            if key == 0 {
                before.clear();
            }
            let cycle = accepted + Stages::of(self.config).score as u64;
            let s = self.check_score(query, key, &step, cycle, &at);
            let last = key + 1 == self.workload.queries[query].keys;
            match (self.config.design(), self.config.follows_the_paper()) {
                (_, true) => self.check_literal(&before, s, cycle, &at),
                (Design::FlashD, _) => self.check_lse(key == 0, &step, s, cycle, &at),
                (Design::Fa2, _) => self.check_fa2(&before, &step, s, last, cycle, &at),
            }
            if step.action != Action::Hold {
                before.push(s);
                self.check_factor(&step, cycle, &at);
                self.check_value(query, key, cycle, &at);
            }
            if last {
                self.check_result(query, cycle, &at);
            }
        }
    }

    /// The step's score, which is returned, and the dot product that it comes from.
    fn check_score(&self, query: usize, key: usize, step: &Step, cycle: u64, at: &str) -> f64 {
        let (n, fmt, vcd) = (Numerics::new(self.config), self.config.format, self.vcd);
        if self.config.follows_the_paper() {
            let s = fmt.value(step.s as u64);
            assert_eq!(vcd.bits("score.score", cycle), step.s as u64, "{at}");
            assert_eq!(vcd.real("score.score_real", cycle), s, "{at}");
            return s;
        }
        let s = step.s as f64 * power(-(n.score_fraction as i32));
        assert_eq!(vcd.bits("score.score", cycle), step.s as u64 & ((1 << n.score_bits()) - 1), "{at}");
        assert_eq!(vcd.real("score.score_real", cycle), s, "{at}");
        let natural = vcd.real("score.base_2.natural_real", cycle);
        let unit = power(-(n.score_fraction as i32));
        assert!(
            (natural * std::f64::consts::LOG2_E - s).abs() < unit,
            "{at}: {natural} in base 2 is not {s}"
        );
        let d = self.config.d;
        let (q, k) = (&self.workload.queries[query].q, &self.workload.k.words()[key * d..(key + 1) * d]);
        let dot: f64 = q.iter().zip(k).map(|(q, k)| fmt.value(*q) * fmt.value(*k)).sum();
        let scaled = dot * power(n.score_shift);
        let total = vcd.real("score.fused.total_real", cycle);
        let unit = power(-((n.natural_fraction() + n.dot_guard) as i32));
        assert!((total - scaled).abs() <= (d as f64 / 2.0 + 1.0) * unit, "{at}: {total} is not {scaled}");
        s
    }

    /// The literal variant's old maximum; `paper` has none.
    fn check_literal(&self, before: &[f64], s: f64, cycle: u64, at: &str) {
        if self.config.design() == Design::Fa2 && !before.is_empty() {
            let m = before.iter().copied().fold(f64::MIN, f64::max);
            assert_eq!(self.vcd.real("weight.maximum_q.q_real", cycle + 1), m, "{at}");
            assert_eq!(self.vcd.real("weight.maximum.y_real", cycle + 1), m.max(s), "{at}");
        }
    }

    /// FLASH-D's state and weight.
    fn check_lse(&self, first: bool, step: &Step, s: f64, cycle: u64, at: &str) {
        let (n, vcd) = (Numerics::new(self.config), self.vcd);
        let x = step.x as f64 * power(-(n.state_fraction as i32));
        if !first {
            assert_eq!(vcd.real("weight.score_q.q_real", cycle + 1), s, "{at}");
            assert_eq!(vcd.real("weight.difference.x_next_real", cycle + 1), x, "{at}");
            let cycle = cycle + 2;
            assert_eq!(vcd.real("weight.x_q.q_real", cycle), x, "{at}");
            let unit = power(-(n.exp.value_fraction as i32));
            let t = vcd.real("weight.argument.t_real", cycle);
            let limit = power(n.octave_bits as i32) - unit;
            assert!(
                (t - x.abs().min(limit)).abs() <= unit + power(-(n.state_fraction as i32)),
                "{at}: {t}, {x}"
            );
            let tail = vcd.real("weight.tail.tail_real", cycle);
            assert!(
                (tail - (-t).exp2().ln_1p() / std::f64::consts::LN_2).abs() < 1e-2,
                "{at}: {tail} for {t}"
            );
        }
        if step.action != Action::Hold {
            let w = vcd.real("weight.weight_real", cycle + 3);
            let expected = if first { 1.0 } else { 1.0 / (1.0 + (-x).exp2()) };
            assert!((w - expected).abs() < 0.02, "{at}: weight {w}, expected about {expected}");
        }
    }

    /// FA2's maximum or reference, exponential and, after the last key, sum and reciprocal.
    fn check_fa2(&self, before: &[f64], step: &Step, s: f64, last: bool, cycle: u64, at: &str) {
        let (config, vcd) = (self.config, self.vcd);
        let old = before.iter().copied().fold(f64::MIN, f64::max);
        let first = before.is_empty();
        let reference = match config.fa2() {
            Some(Fa2Variant::LogReference | Fa2Variant::SharedLogReference) => {
                let unit = power(-(Numerics::new(config).score_fraction as i32));
                let old = vcd.real("weight.reference_q.q_real", cycle + 1);
                assert!(first || old == s - step.x as f64 * unit, "{at}: reference {old}");
                let l = vcd.real("weight.decide.sum_next_real", cycle + 1);
                // With the fraction of the first score in the reference, l falls below 1 where the reference rises by octaves.
                let least = if config.kind().scales_in_lane { 0.5 } else { 1.0 };
                assert!((least..2.0).contains(&l), "{at}: sum {l}");
                vcd.real("weight.decide.reference_next_real", cycle + 1)
            }
            Some(Fa2Variant::Ranged) => {
                let unit = power(-(Numerics::new(config).score_fraction as i32));
                let octaves = |path: &str| {
                    let bits = config.score_integer_bits + 3;
                    signed(vcd.bits(path, cycle + 2), bits) as f64
                };
                // A first key replaces the first score of the query before.
                let base = if first { s } else { vcd.real("weight.base_q.q_real", cycle + 1) };
                let old = base + octaves("weight.octaves_q.q");
                assert!(first || old == s - step.x as f64 * unit, "{at}: reference {old}");
                let l = vcd.real("weight.decide.sum_next_real", cycle + 2);
                assert!((0.5..2.0).contains(&l), "{at}: sum {l}");
                base + octaves("weight.decide.octaves_next")
            }
            _ => {
                let unit = self.fa2_unit();
                if !first {
                    assert_eq!(vcd.real(&format!("{unit}.maximum_q.q_real"), cycle), old, "{at}");
                    let distance = vcd.real(&format!("{unit}.maximum.distance_real"), cycle);
                    assert_eq!(distance, (s - old).abs(), "{at}");
                }
                assert_eq!(vcd.real(&format!("{unit}.maximum.maximum_next_real"), cycle), old.max(s), "{at}");
                old.max(s)
            }
        };
        let held = step.action == Action::Hold;
        if !held {
            // Where the maximum moves, the default's exponential is the factor of the old output.
            let exponent =
                if step.upper && !config.has_fixed_lanes() { old - reference } else { s - reference };
            let e = vcd.real(&format!("{}_real", self.factor_path()), cycle + 2);
            let expected = exponent.exp2();
            assert!(
                (e - expected).abs() <= 0.05 * expected + power(-9),
                "{at}: e {e}, expected about {expected}"
            );
        }
        if last && !(held && Numerics::new(config).log_reference) {
            let l: f64 = before.iter().chain((!held).then_some(&s)).map(|s| (s - reference).exp2()).sum();
            let (sum, right) = (self.sum_path(), format!("{}.right_real", self.divider()));
            let sum = vcd.real(&format!("{sum}.reciprocal.sum_real"), cycle + 3);
            assert!((sum / l - 1.0).abs() < 0.1, "{at}: sum {sum}, expected about {l}");
            let r = vcd.real(&format!("{}.r_real", self.divider()), cycle + 3);
            let right = vcd.real(&right, cycle + 3);
            assert!((sum * r * (-right).exp2() - 1.0).abs() < 0.02, "{at}: 1 / {sum} is not {r} 2^-{right}");
        }
    }

    fn fa2_unit(&self) -> &'static str {
        if self.config.fa2() == Some(Fa2Variant::SharedScale) { "weight.softmax" } else { "weight" }
    }

    /// Where the reciprocal of the sum is found.
    fn divider(&self) -> &'static str {
        match self.config.fa2() {
            Some(Fa2Variant::SharedLogReference | Fa2Variant::Ranged) => "weight.reciprocal",
            _ => self.fa2_unit(),
        }
    }

    fn sum_path(&self) -> String {
        let unit = self.fa2_unit();
        match self.config.has_fixed_lanes() {
            true => unit.into(),
            false => format!("{unit}.sum"),
        }
    }

    /// Where the model's factor is found.
    fn factor_path(&self) -> &'static str {
        match (self.config.design(), self.config.fa2()) {
            (Design::FlashD, _) => "weight.w",
            (_, Some(Fa2Variant::Literal)) => "weight.e",
            (_, Some(Fa2Variant::SharedScale)) => "weight.softmax.e_q.q",
            (_, Some(Fa2Variant::Ranged)) => "weight.decide.e",
            _ => "weight.e_q.q",
        }
    }

    /// The factor's bits, and its value by the model's description of them.
    fn check_factor(&self, step: &Step, cycle: u64, at: &str) {
        let (config, fmt, vcd) = (self.config, self.config.format, self.vcd);
        let cycle = cycle + if config.design() == Design::FlashD { 3 } else { 2 };
        let significand = match (config.update(), config.fa2()) {
            _ if config.has_fixed_lanes() => Some(config.factor_significand()),
            (_, Some(Fa2Variant::SharedScale)) if config.design() == Design::Fa2 => {
                Some(fmt.fraction_bits + 4)
            }
            _ => None,
        };
        let value = match significand {
            None => config.weight_format().value(step.w),
            Some(bits) => {
                let (m, right) = (step.w % (1 << bits), step.w >> bits);
                let scale = (config.fa2() == Some(Fa2Variant::LogReference)) as i32;
                m as f64 * power(scale + 1 - bits as i32 - right as i32)
            }
        };
        let path = self.factor_path();
        assert_eq!(vcd.bits(path, cycle), step.w, "{at}");
        assert_eq!(vcd.real(&format!("{path}_real"), cycle), value, "{at}");
        if config.design() == Design::FlashD && config.has_fixed_lanes() {
            // Copied for updates only; factors that are too small for a lane have another shift there.
            let copied = vcd.real("group_0.w_q.q_real", cycle + 1);
            let reaches = value * power(config.lane_bits().o as i32) >= 1.0;
            assert!(
                vcd.bits("group_0.update_q.q", cycle + 1) == 0 || !reaches || copied == value,
                "{at}: {copied}"
            );
        }
        if config.design() == Design::FlashD && config.weight() == Some(WeightUnit::Lse) {
            let upper = vcd.bits("weight.upper", cycle) != 0;
            let w = if upper { 1.0 - value } else { value };
            assert_eq!(vcd.real("weight.weight_real", cycle), w, "{at}");
        }
    }

    /// The scale of the lanes' fixed-point numbers; lanes with separate exponents have theirs in the register `exponent`, read in a
    /// cycle.
    fn lane_scale(&self, query: usize, (exponent, cycle): (&str, u64)) -> f64 {
        let exponent = match self.config {
            config if config.has_ranged_lanes() => self.vcd.bits(exponent, cycle),
            config if config.has_fixed_lanes() => self.workload.queries[query].v_exponent,
            _ => return 1.0,
        };
        power(exponent as i32 - self.config.format.bias + 1)
    }

    /// The value of a FLASH-D step in fixed point.
    fn check_value(&self, query: usize, key: usize, cycle: u64, at: &str) {
        if self.config.design() == Design::FlashD && self.config.has_fixed_lanes() {
            let v = self.config.format.value(self.workload.v.words()[key * self.config.d]);
            let staged = self.config.value_stage();
            let arrival = cycle + 4 - u64::from(staged);
            // With the value its exponent enters the lane.
            let register = if staged { "group_0.lane_0.ahead_q.q" } else { "group_0.lane_0.e_q.q" };
            let scale = self.lane_scale(query, (register, arrival + 1));
            let fixed = self.vcd.real("group_0.lane_0.value.fixed_real", arrival) * scale;
            let unit = scale * power(1 - self.config.lane_bits().v as i32);
            assert!((fixed - v).abs() <= unit / 2.0, "{at}: v = {v} became {fixed}");
            if staged {
                assert_eq!(self.vcd.real("group_0.lane_0.value_q.q_real", cycle + 4) * scale, fixed, "{at}");
            }
        }
    }

    /// The accumulators after the last key, which make the result.
    fn check_result(&self, query: usize, cycle: u64, at: &str) {
        let (config, vcd, fmt) = (self.config, self.vcd, self.config.format);
        // FA2's last update is a stage earlier, and the scale follows.
        let (stage, factor) = match (config.design(), config.fa2()) {
            (Design::FlashD, _) => (5, 1.0),
            (_, Some(Fa2Variant::Literal)) => (4, vcd.real("weight.r_real", cycle + 3)),
            _ => {
                let read = |name: &str| vcd.real(&format!("{}.{name}_real", self.divider()), cycle + 3);
                (4, read("r") * (-read("right")).exp2())
            }
        };
        for (j, o) in self.run.results[query].o.iter().enumerate().take(4) {
            let o = fmt.value(*o);
            let accumulator = vcd.real(&format!("group_0.lane_{j}.o_q.q_real"), cycle + stage);
            let scale = self.lane_scale(query, (&format!("group_0.lane_{j}.e_q.q"), cycle + stage));
            let exact = accumulator * factor * scale;
            // FLASH-D's fixed-point lanes truncate their accumulators.
            let cut = match config.design() == Design::FlashD && config.has_fixed_lanes() {
                true => scale * power(1 - fixed_result_bits(config.lane_bits()) as i32),
                false => 0.0,
            };
            let tolerance =
                exact.abs() * power(-(fmt.fraction_bits as i32)) + fmt.value(fmt.min_positive()) + cut;
            assert!((o - exact).abs() <= tolerance, "{at}: o[{j}] = {o}, accumulator {exact}");
        }
    }
}
