use super::layout::Look;
use super::signals::{Reading, list};
use super::signals_and_layout;
use super::variants::variants;
use flashd_hwmodel::catalogue::{Stages, build, stage_title, v_step_latency};
use flashd_hwmodel::rtl::{Number, Stage};
use flashd_spec::config::{Accumulator, CoreConfig, LaneBits, WeightUnit};
use flashd_spec::format::Format;
use flashd_spec::numerics::Numerics;
use std::collections::{BTreeSet, HashMap, HashSet};

/// All kinds, and those that can have a cap with one.
fn cores(d: usize, format: Format) -> Vec<CoreConfig> {
    let plain = variants(d, format);
    let capped = plain.iter().filter(|core| !core.follows_the_paper()).step_by(2);
    let capped = capped.map(|core| CoreConfig { softcap: Some(30.0), ..core.clone() }).collect();
    [plain, capped].concat()
}

/// All variants in a format, with widths that no two quantities share as far as they can be chosen.
fn configurations(format: Format, d: usize) -> Vec<CoreConfig> {
    let unusual = |config: CoreConfig| {
        // A multiplier that also does the final scale takes no narrower factor.
        let w = if config.kind().scales_in_lane { 12 } else { 7 };
        let lane = config.has_fixed_lanes().then_some(LaneBits { o: 26, v: 19, w });
        let accumulator =
            (!config.has_fixed_lanes()).then_some(Accumulator::Fraction(17.max(format.fraction_bits)));
        CoreConfig { accumulator, lane, score_integer_bits: 10, ..config }.without_what_does_not_apply()
    };
    let mixed = CoreConfig::mixed_precision(d).into_iter().filter(|config| config.format == format);
    variants(d, format).into_iter().map(unusual).chain(mixed).collect()
}

#[test]
fn every_wide_bus_is_a_number_or_known_as_bits() {
    let mut unknown = BTreeSet::new();
    for (_, format) in Format::NAMED {
        for d in [2, 5, 16] {
            for config in configurations(format, d) {
                let (signals, layout) = signals_and_layout(&config.clone().into()).unwrap();
                let numbers = build(&config).unwrap().numbers();
                let shown: HashSet<&str> =
                    layout.iter().flat_map(|group| group.all_rows()).map(|row| row.path.as_str()).collect();
                let rows = signals.iter().filter(|signal| shown.contains(signal.below_top()));
                let known: HashSet<u32> = rows.map(|signal| signal.net).chain(numbers.into_keys()).collect();
                let wide = signals.iter().filter(|signal| signal.width > 1 && !known.contains(&signal.net));
                unknown.extend(wide.map(|signal| format!("{}: {}", config.name(), signal.below_top())));
            }
        }
    }
    assert!(unknown.is_empty(), "{unknown:#?}");
}

#[test]
fn every_trace_has_a_number_as_wide_as_its_bus() {
    for (_, format) in Format::NAMED {
        for config in [2, 5, 16, 64].into_iter().flat_map(|d| cores(d, format)) {
            let (signals, layout) = signals_and_layout(&config.clone().into()).unwrap();
            for row in layout.iter().flat_map(|group| group.all_rows()).filter(|row| row.look == Look::Trace)
            {
                let signal = signals.iter().find(|signal| signal.below_top() == row.path).unwrap();
                assert!(signal.reading.is_some(), "{}: {}", config.name(), row.path);
            }
            for signal in &signals {
                let Some(Reading::Own(number, width)) = signal.reading else { continue };
                let is_as_wide = match number {
                    Number::Float(format) => format.width() == width,
                    Number::Factor { significand, .. } => significand < width,
                    Number::Fixed { .. } | Number::Bits => true,
                };
                assert!(is_as_wide, "{}: {} {number:?}", config.name(), signal.path);
            }
        }
    }
}

/// Stages from 0 to the result without a gap, and the value is asked for in exactly one of them.
#[test]
fn the_stages_are_those_of_the_contract() {
    for d in [2, 3, 5, 16, 64, 256, 512] {
        for (small, config) in cores(5, Format::BF16).into_iter().zip(cores(d, Format::BF16)) {
            let rows = build(&small).unwrap();
            let of_port =
                |port: &str| rows.signals().iter().filter(|row| row.path == port).collect::<Vec<_>>();
            let stages: BTreeSet<Stage> = rows.signals().iter().map(|row| row.stage).collect();
            let machine = config.clone().into();
            let mut covered = BTreeSet::new();
            for title in stages.into_iter().map(|stage| stage_title(&machine, stage)) {
                let range = title.strip_prefix("Stage ").and_then(|title| title.split_once(':')).unwrap().0;
                let (from, to) = range.split_once("..").unwrap_or((range, range));
                covered.extend(from.parse::<u32>().unwrap()..=to.parse().unwrap());
            }
            let latency = Numerics::new(&config).latency();
            assert!(covered.into_iter().eq(0..=latency), "{}", config.name());
            let asks = of_port("v_ren");
            assert_eq!(asks.len(), 1, "{}", config.name());
            let title = stage_title(&machine, asks[0].stage);
            let stage = format!("Stage {}:", v_step_latency(&config));
            assert!(title.starts_with(&stage), "{}: {title}", config.name());
        }
    }
}

/// What checks compare in a stage stands there in waves, too.
#[test]
fn compared_quantities_have_rows_in_the_stage_of_their_comparison() {
    for config in cores(16, Format::BF16) {
        let design = build(&config).unwrap();
        let nets: HashMap<String, u32> = list("core", &design)
            .into_iter()
            .map(|signal| (signal.below_top().to_string(), signal.net))
            .collect();
        let stages = Stages::of(&config);
        for watched in design.watched() {
            let rows = design.signals().iter().filter(|row| nets[&row.path] == watched.net());
            let shown: Vec<Stage> = rows.map(|row| row.stage).collect();
            let due = Stage::Score((watched.quantity.stage(&stages) - stages.score) as usize);
            let name = watched.quantity.name();
            assert!(shown.is_empty() || shown.contains(&due), "{}: {name} in {shown:?}", config.name());
        }
    }
}

#[test]
fn flash_d_shows_the_weight_next_to_the_bit_that_selects_its_side() {
    for config in variants(5, Format::BF16) {
        let (signals, _) = signals_and_layout(&config.clone().into()).unwrap();
        let is_weight = |reading| matches!(reading, Some(Reading::Weight(..)));
        let weights: Vec<_> = signals.iter().filter(|signal| is_weight(signal.reading)).collect();
        let expected = config.weight() == Some(WeightUnit::Lse);
        assert_eq!(weights.len(), expected as usize, "{}", config.name());
        assert!(weights.iter().all(|signal| signal.number_name().as_deref() == Some("weight_real")));
    }
}

#[test]
fn values() {
    let number = Number::Factor { significand: 8, fraction: 7 };
    for (number, width, quarter) in [(Number::Float(Format::BF16), 16, 0x3e80), (number, 18, 2 << 8 | 0x80)] {
        let weight = Reading::Weight(number, width, 0);
        assert_eq!((weight.value(0, quarter), weight.value(1, quarter)), (0.25, 0.75));
    }
}
