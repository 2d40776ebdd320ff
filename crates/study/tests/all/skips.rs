//! Shares and added errors of hold rules, against counts made in other ways.

use flashd_golden::family::{flash_d_hold, hold_weights, scores};
use flashd_golden::{Action, Head, Model};
use flashd_simulator::{ExactResults, Scenario, prepare};
use flashd_spec::config::{CoreConfig, Design, Hold};
use flashd_spec::format::Format;
use flashd_study::By;
use flashd_study::Heads;
use flashd_study::skips::worst::{COUNTS, on_streams, worst_case};
use flashd_study::skips::{Rule, best, default_rules, group, measure};
use std::path::{Path, PathBuf};

fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbench/data")
}

fn rules(text: &str) -> Vec<Rule> {
    text.split(',').map(|rule| rule.parse().unwrap()).collect()
}

#[test]
fn shares_in_f64_agree_with_the_recurrence() {
    let heads = Heads::load(&sample(), 5).unwrap();
    let mut all = 0;
    for head in &heads.heads {
        let skips = measure(head, &rules("hold:6,hold:9"), None).unwrap();
        let a = &head.trace.attention;
        let wide = |x: &[f32]| -> Vec<f64> { x.iter().map(|&x| x.into()).collect() };
        let (q, k, v) = (wide(&a.q), wide(&a.k), wide(&a.v));
        for (tally, t) in skips.exact.iter().zip([6.0, 9.0]) {
            let (mut steps, mut held, mut largest) = (0, 0, 0f64);
            for ((&i, &n), exact) in head.queries.iter().zip(&head.lengths).zip(head.exact.chunks(a.d)) {
                let scale = head.trace.score_scale().factor(a.d);
                let s = scores(&q[i * a.d..][..a.d], &k[..n * a.d], a.d, scale);
                steps += n as u64;
                held += hold_weights(&s, t).iter().filter(|w| w.is_none()).count() as u64;
                for (o, exact) in flash_d_hold(&s, &v[..n * a.d], a.d, t).iter().zip(exact) {
                    largest = largest.max((o - exact).abs() / head.magnitudes.head);
                }
            }
            assert_eq!((tally.steps, tally.held, tally.loaded), (steps, held, 0));
            assert_eq!(tally.outputs, (head.queries.len() * a.d) as u64);
            // The softmax over the kept keys is the recurrence's result.
            assert!((tally.error_max - largest).abs() <= 1e-12, "{} is not {largest}", tally.error_max);
            assert_eq!(held > 0, tally.error_max > 0.0 && tally.error_sum > 0.0);
            all += held;
        }
    }
    assert!(all > 0);
}

#[test]
fn shares_of_cores_are_the_counts_of_the_model() {
    let heads = Heads::load(&sample(), 1).unwrap();
    let rules = rules("static,hold:6,fa2:6,budget-shift:9,budget-exact:9");
    for head in &heads.heads {
        let (trace, d) = (&head.trace, head.trace.attention.d);
        let tallies = measure(head, &rules, Some(Format::BF16)).unwrap().core;
        assert!(tallies[4].is_none(), "no core has an exact budget");
        let scenario = Scenario::from(trace);
        let reference = ExactResults::new(&scenario);
        for (rule, tally) in rules.iter().zip(&tallies).take(4) {
            let [core, without] = rule.cores(d, Format::BF16).unwrap();
            let run = |core: &CoreConfig| {
                let prepared = prepare(core, &scenario, &reference).unwrap();
                let w = &prepared.workload;
                let results = Model::new(&prepared.config)
                    .run(Head::new(&w.q(), &w.k, &w.v, &w.lengths()).with_steps());
                (prepared, results)
            };
            let ((prepared, results), (_, plain)) = (run(&core), run(&without));
            let count = |action| {
                results.iter().flat_map(|r| &r.steps).filter(|step| step.action == action).count() as u64
            };
            let tally = tally.unwrap();
            assert_eq!(tally.held, count(Action::Hold), "{rule}");
            assert_eq!(tally.loaded, count(Action::Load) - results.len() as u64, "{rule}");
            assert_eq!(tally.steps, results.iter().map(|r| r.steps.len() as u64).sum::<u64>());
            let value = |o: &u64| prepared.scaling.result(Format::BF16, *o);
            let pairs = results.iter().zip(&plain).flat_map(|(a, b)| a.o.iter().zip(&b.o));
            let largest =
                pairs.fold(0f64, |most, (a, b)| most.max((value(a) - value(b)).abs() / head.magnitudes.head));
            assert_eq!(tally.error_max, largest, "{rule}");
        }
    }
}

#[test]
fn groups_add_up_and_the_best_rule_is_below_the_limit() {
    let heads = Heads::load(&sample(), 4).unwrap();
    let rules = default_rules(&[6.0, 12.0], Format::FP8_E4M3);
    let skips: Vec<_> = heads.heads.iter().map(|head| measure(head, &rules, None).unwrap()).collect();
    let updates = |by| -> u64 {
        group(&heads.heads, &skips, &rules, by).unwrap().iter().map(|group| group.updates).sum()
    };
    let all: u64 = heads.heads.iter().flat_map(|head| &head.lengths).map(|&n| n as u64).sum();
    for by in [By::Head, By::Layer, By::Prompt, By::Model] {
        assert_eq!(updates(by), all, "{by:?}");
    }
    let groups = group(&heads.heads, &skips, &rules, By::Model).unwrap();
    for group in &groups {
        for r in &group.rules {
            let e = &r.exact;
            assert!((e.held + e.loaded + e.computed - 1.0).abs() < 1e-12);
            assert!(r.core.is_none());
            if let Some(bound) = r.bound {
                assert!(e.max_error <= bound + 1e-12, "{}: {} is beyond {bound}", r.rule, e.max_error);
            }
        }
        let chosen = best(group, 1e-3, |r| r.bound_for_any_n).unwrap();
        assert!(chosen.exact.max_error < 1e-3 && chosen.bound_for_any_n);
        let better = |r: &&flashd_study::skips::RuleHolds| {
            r.bound_for_any_n && r.exact.max_error < 1e-3 && r.exact.held > chosen.exact.held
        };
        assert!(!group.rules.iter().any(|r| better(&r)));
    }
}

#[test]
fn groups_are_in_the_names() {
    let heads = Heads::load(&sample(), 50).unwrap();
    let mut trace = heads.heads.iter().find(|h| h.trace.name.contains("code-d16")).unwrap().trace.clone();
    assert_eq!(By::Layer.of(&trace).unwrap(), "bytes-d16 layer02");
    assert_eq!(By::Prompt.of(&trace).unwrap(), "bytes-d16 code");
    assert_eq!(By::Model.of(&trace).unwrap(), "bytes-d16");
    assert_eq!(By::Head.of(&trace).unwrap(), trace.name);
    trace.name = "mine".into();
    assert!(By::Layer.of(&trace).unwrap_err().contains("mine: its name has no layer"));
    assert!(By::Prompt.of(&trace).unwrap_err().contains("no prompt"));
}

#[test]
fn rules_are_read_as_they_are_written() {
    let all = default_rules(&[6.0, 9.5], Format::BF16);
    for rule in &all {
        assert_eq!(rule.to_string().parse::<Rule>().unwrap(), *rule);
    }
    assert_eq!("budget-shift:9:2:12".parse::<Rule>().unwrap().to_string(), "budget-shift:9:2:12");
    // The bf16 result, an error of 0.1 %, the float and the fixed-point accumulator.
    let exact: Vec<String> =
        all.iter().filter(|rule| rule.family() == "budget-exact").map(Rule::to_string).collect();
    assert_eq!(exact, ["budget-exact:8:2", "budget-exact:9:2", "budget-exact:22:2", "budget-exact:25:2"]);
    for bad in [
        "",
        "held:8",
        "hold",
        "hold:x",
        "hold:0",
        "hold:65",
        "hold:nan",
        "hold:8:1",
        "static:1",
        "capped:8",
        "capped:8:-1",
        "budget-exact",
        "budget-exact:0",
        "budget-exact:41",
        "budget-exact:9:17",
        "budget-exact:9:1:8",
        "budget-shift:9:1:0",
        "budget-shift:9:1:41",
        "budget-shift:9:1:8:1",
        "budget:9",
    ] {
        assert!(bad.parse::<Rule>().is_err(), "{bad}");
    }
}

#[test]
fn cores_implement_the_rule() {
    let [core, without] = "fa2:9".parse::<Rule>().unwrap().cores(16, Format::BF16).unwrap();
    assert_eq!((core.design(), core.hold(), without.hold()), (Design::Fa2, Hold::Below(9.0), Hold::None));
    let budgets =
        ["budget-shift:9", "budget-shift:9:1", "budget-shift:9:2:12", "budget-shift:3", "budget-jump:9"];
    let held =
        budgets.map(|rule| rule.parse::<Rule>().unwrap().cores(16, Format::BF16).map(|[c, _]| c.hold()));
    assert_eq!(held, [Some(Hold::Budget(9)), None, None, None, None]);
    for rule in default_rules(&[6.0, 64.0], Format::BF16) {
        for core in rule.cores(64, Format::BF16).into_iter().flatten() {
            core.validate().unwrap();
        }
    }
}

#[test]
fn worst_cases_are_known_numbers() {
    let streams = on_streams(&rules("static,hold:12"), Format::BF16);
    let three = |rule: &str| streams.iter().find(|s| s.stream == "three" && s.rule == rule).unwrap();
    assert_eq!((three("static").result, three("static").held), (-1.0, 1));
    assert!((three("static").exact - 0.99975).abs() < 1e-5);
    assert!(three("static").core_max_error.unwrap() > 1.99);
    assert!(three("hold:12").max_error < 1e-5 && three("hold:12").core_max_error.unwrap() < 1e-3);
    let climb = streams.iter().find(|s| s.stream == "climb" && s.rule == "static").unwrap();
    assert!(climb.max_error > 1.999);
    let hold = "hold:8".parse().unwrap();
    for keys in COUNTS {
        let worst = worst_case(&hold, keys, Format::BF16);
        assert_eq!((worst.distance, worst.held), (8.0, keys as u64 - 1));
        let lost = (keys - 1) as f64 * f64::exp(-8.0);
        assert!((worst.error - 2.0 * lost / (1.0 + lost)).abs() < 1e-12);
        assert!((worst.error - worst.bound.unwrap()).abs() < 1e-12);
        // bf16 resolves the exact result to a few thousandths.
        assert!((worst.core_error.unwrap() - worst.error).abs() < 4e-3, "{worst:?}");
        let budget = worst_case(&"budget-shift:9".parse().unwrap(), keys, Format::BF16);
        assert!(budget.error <= budget.bound.unwrap() && budget.bound.unwrap() < 1e-3, "{budget:?}");
        assert!(budget.error > 0.3 * budget.bound.unwrap(), "{budget:?}");
        // Half an ulp of a bf16 result, 2^-9, in addition to the rule's error.
        assert!((budget.core_error.unwrap() - budget.error).abs() <= 2f64.powi(-9), "{budget:?}");
    }
}
