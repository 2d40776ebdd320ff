//! Arrays of cores in lock-step with the model and the protocol's rules.

use flashd_golden::{Action, Head, Model, QueryResult};
use flashd_simulator::array::{ArrayRun, ArrayWorkload, Disturbance, QueryBlock, run, run_against};
use flashd_simulator::{Cycle, Gaps, Observer, RunError, Workload};
use flashd_spec::config::{ArrayConfig, CoreConfig, Design, FlashDVariant};
use flashd_spec::format::Format;
use flashd_spec::ports::Port;
use flashd_workload::{round_to, synthetic};

const GAPS: [Gaps; 2] = [Gaps::None, Gaps::Random(17)];

/// A stream of blocks `(queries, keys)` over one set of keys. Scores spread widely, so that some steps hold.
fn workload(core: &CoreConfig, blocks: &[(usize, usize)]) -> ArrayWorkload {
    let queries: usize = blocks.iter().map(|b| b.0).sum();
    let keys = blocks.iter().map(|b| b.1).max().unwrap();
    let a = synthetic::attention_like(3 + queries as u64, queries.max(2), keys.max(2), core.d);
    let encoded = |x: &[f32], factor: f64| -> Vec<u64> {
        x.iter().map(|x| round_to(core.format, *x as f64 * factor)).collect()
    };
    let (q, k, v) = (encoded(&a.q, 16.0), encoded(&a.k, 1.0), encoded(&a.v, 1.0));
    let exponent = flashd_golden::v_exponent(core.format, &v);
    let mut next = q.chunks_exact(core.d);
    let blocks = blocks.iter().map(|&(n, keys)| {
        QueryBlock::new((0..n).map(|_| (next.next().unwrap().to_vec(), exponent)).collect(), keys)
    });
    ArrayWorkload {
        words: core.port_words(),
        blocks: blocks.collect(),
        k: k.into(),
        v: v.into(),
        padding: Vec::new(),
    }
}

fn check(config: &ArrayConfig, w: &ArrayWorkload, disturbance: &Disturbance) -> ArrayRun {
    let run = run(config, w, disturbance, &mut []).unwrap_or_else(|e| panic!("{disturbance:?}: {e}"));
    assert!(run.counters.comparisons > run.counters.keys);
    if disturbance.resets.is_empty() {
        assert_eq!(run.counters.blocks as usize, w.blocks.len());
        assert_eq!(run.counters.queries as usize, run.results.len());
        assert_eq!(run.counters.keys as usize, w.keys());
    }
    run
}

fn array_of(core: &CoreConfig, queries: usize) -> ArrayConfig {
    ArrayConfig::new(core.clone(), queries)
}

/// Full and ragged blocks, more keys than queries, fewer, and one.
fn ragged(queries: usize) -> Vec<(usize, usize)> {
    let fewer = queries.div_ceil(2);
    vec![
        (queries, queries + 4),
        (queries, 1),
        (1, 1),
        (1, 2),
        (queries, queries),
        (fewer, queries + 1),
        (queries, 3),
        (1, 1),
        (fewer, 5),
    ]
}

#[test]
fn every_variant_in_full_and_ragged_blocks() {
    for format in [Format::BF16, Format::FP8_E4M3] {
        for core in CoreConfig::variants(5, format) {
            for queries in [1, 2, 3, 8] {
                let w = workload(&core, &ragged(queries));
                for gaps in GAPS {
                    check(&array_of(&core, queries), &w, &Disturbance::gaps(gaps));
                }
            }
        }
    }
}

/// Every variant with some number of queries in some number of turns.
#[test]
fn queries_take_turns() {
    let shapes = [(2, 2), (3, 3), (6, 2), (4, 4), (6, 3), (8, 4), (8, 8), (5, 5), (12, 6)];
    for format in [Format::BF16, Format::FP8_E4M3] {
        for (core, &(queries, interleave)) in
            CoreConfig::variants(5, format).into_iter().zip(shapes.iter().cycle())
        {
            let config = ArrayConfig { interleave, ..array_of(&core, queries) };
            for gaps in GAPS {
                check(&config, &workload(&core, &ragged(queries)), &Disturbance::gaps(gaps));
            }
        }
    }
}

/// The results of an array do not depend on the turns of its queries, nor do the values that it reads.
#[test]
fn turns_change_no_result() {
    for design in [Design::FlashD, Design::Fa2] {
        let core = CoreConfig::new(design, 6, Format::BF16);
        let w = workload(&core, &ragged(8));
        let of = |interleave| {
            let config = ArrayConfig { interleave, ..array_of(&core, 8) };
            let run = check(&config, &w, &Disturbance::gaps(Gaps::None));
            (run.results, run.counters.v_reads, run.counters.v_reads_alone)
        };
        let alone = of(1);
        assert!([2, 4, 8].into_iter().all(|turns| of(turns) == alone));
    }
}

#[test]
fn sixty_four_queries() {
    for design in [Design::FlashD, Design::Fa2] {
        let core = CoreConfig::new(design, 3, Format::BF16);
        let w = workload(&core, &[(64, 66), (64, 2), (5, 9), (64, 64), (1, 1)]);
        for gaps in GAPS {
            check(&array_of(&core, 64), &w, &Disturbance::gaps(gaps));
        }
    }
}

#[test]
fn cycles_per_block_agree_with_the_closed_formula() {
    for design in [Design::FlashD, Design::Fa2] {
        let core = CoreConfig::new(design, 4, Format::BF16);
        for queries in [1, 2, 3, 8] {
            for keys in [1, 2, queries, queries + 1, queries + 2, 20] {
                let w = workload(&core, &[(queries, keys); 6]);
                let run = check(&array_of(&core, queries), &w, &Disturbance::gaps(Gaps::None));
                let expected = ArrayConfig::cycles_per_block(queries, keys) as u64;
                assert_eq!(run.periods, [expected; 5], "{queries} queries, {keys} keys");
                assert!(keys < queries || expected as usize - keys <= 2);
            }
        }
        for (queries, interleave) in [(2, 2), (8, 4), (6, 3)] {
            let config = ArrayConfig { interleave, ..array_of(&core, queries) };
            for (queries, keys) in [(queries, 1), (queries, 2), (queries, 9), (queries - 1, 1), (1, 3)] {
                let w = workload(&core, &[(queries, keys); 6]);
                let run = check(&config, &w, &Disturbance::gaps(Gaps::None));
                assert_eq!(run.periods, [config.block_period(queries, keys) as u64; 5], "{queries}, {keys}");
                assert_eq!(run.counters.cycles, config.cycles([(queries, keys); 6]) as u64);
            }
        }
    }
}

/// The array of one core is the core: same values read, results in the same cycles after the last key.
#[test]
fn an_array_of_one_is_its_core() {
    for core in CoreConfig::variants(6, Format::BF16) {
        let w = workload(&core, &[(1, 9); 4]);
        let array = check(&array_of(&core, 1), &w, &Disturbance::gaps(Gaps::None));
        let alone = flashd_simulator::run(&core, &w.single(), Gaps::None, &mut []).unwrap();
        let (a, c) = (array.counters, alone.counters);
        assert_eq!((a.cycles, a.keys, a.v_reads, a.latency), (c.cycles, c.keys, c.v_reads, c.latency));
        assert_eq!(a.v_reads, a.v_reads_alone);
    }
}

/// Results, and the port's value a cycle later.
#[derive(Default)]
struct AfterResult {
    previous: Option<Vec<u64>>,
    results: usize,
    held: usize,
}

impl Observer for AfterResult {
    fn cycle(&mut self, cycle: &Cycle) -> std::io::Result<()> {
        let frame = cycle.frame.unwrap();
        if let Some(result) = self.previous.take() {
            self.results += 1;
            self.held += usize::from(result == frame[Port::O]);
        }
        self.previous = frame.is_high(Port::OValid).then(|| frame[Port::O].to_vec());
        Ok(())
    }
}

/// An array copies the results of FLASH-D but not of FA2: if the next query follows at once, FLASH-D's are gone in the
/// next cycle.
#[test]
fn fa2_holds_its_result_and_flash_d_does_not() {
    for core in CoreConfig::variants(6, Format::BF16) {
        let w = workload(&core, &[(1, 4); 6]);
        let mut after = AfterResult::default();
        flashd_simulator::run(&core, &w.single(), Gaps::None, &mut [&mut after]).unwrap();
        assert_eq!(after.results, 6);
        assert_eq!(after.held == 6, core.design() == Design::Fa2, "{}: {}", core.name(), after.held);
    }
}

/// A value that only some queries of a block read is Inf, NaN or out of range: the others must not notice.
#[test]
fn a_value_that_a_core_did_not_ask_for_does_not_disturb_it() {
    for format in [Format::BF16, Format::FP8_E5M2] {
        for core in CoreConfig::variants(4, format) {
            let (one, zero) = (format.one(), 0);
            let score = |x: f64| round_to(format, x);
            // Query 0 holds on keys 1 and 2, query 1 on key 1 only, query 2 on none.
            let (far, near) = (score(-64.0), score(64.0));
            let q = [[one, zero, zero, zero], [zero, one, zero, zero], [zero, zero, one, zero]];
            let k = [[near, near, one, one], [far, far, one, one], [far, near, one, one]];
            let mut v = [one; 12];
            v[4] = format.max_finite() + 1;
            v[9] = format.max_finite();
            let exponent = flashd_golden::v_exponent(format, &[one]);
            let queries: Vec<_> = q.iter().map(|q| (q.to_vec(), exponent)).collect();
            let w = ArrayWorkload {
                words: 4.into(),
                blocks: vec![QueryBlock::new(queries, 3); 3],
                k: k.concat().into(),
                v: v.to_vec().into(),
                padding: Vec::new(),
            };
            for gaps in GAPS {
                let run = check(&array_of(&core, 3), &w, &Disturbance::gaps(gaps));
                let flags =
                    |f: fn(&QueryResult) -> bool| -> Vec<bool> { run.results[..3].iter().map(f).collect() };
                if Model::new(&core).run(Head::new(&w.single().q(), &w.k, &w.v, &[3; 9]).with_steps())[0]
                    .steps[1]
                    .action
                    == Action::Hold
                {
                    assert_eq!(flags(|r| r.invalid), [false, false, true], "{}", core.name());
                    if core.has_value_exponent() {
                        assert_eq!(flags(|r| r.overflow), [false, true, true], "{}", core.name());
                    }
                    assert!(run.counters.v_reads < run.counters.v_reads_alone);
                } else {
                    // The variants that follow the paper hold by other rules or not at all.
                    assert!(core.follows_the_paper(), "{}", core.name());
                }
            }
        }
    }
}

#[test]
fn resets_in_the_middle() {
    for design in [Design::FlashD, Design::Fa2] {
        let core = CoreConfig::new(design, 4, Format::BF16);
        for (queries, interleave, step) in [(1, 1, 5), (3, 1, 7), (8, 1, 13), (6, 3, 11), (4, 4, 9)] {
            let config = ArrayConfig { interleave, ..array_of(&core, queries) };
            let w = workload(&core, &ragged(queries).repeat(6));
            let mut finished = 0;
            // The resets fall into loading, running, draining and sending, at one time or another.
            for offset in 0..step {
                let resets = (1..8).map(|n| 10 * n * interleave as u64 + offset + n * n % step);
                let resets: Vec<u64> = resets.collect();
                for gaps in GAPS {
                    let disturbance = Disturbance { resets: resets.clone(), ..Disturbance::gaps(gaps) };
                    let run = check(&config, &w, &disturbance);
                    assert!((run.counters.blocks as usize) < w.blocks.len());
                    finished += run.counters.queries;
                }
            }
            assert!(finished > 0);
        }
    }
}

/// Every query has a separate exponent.
#[test]
fn exponents_belong_to_queries() {
    for core in CoreConfig::variants(4, Format::BF16).into_iter().filter(|c| c.has_value_exponent()) {
        let mut w = workload(&core, &[(4, 6), (3, 7), (4, 5)]);
        for (i, (_, exponent)) in w.blocks.iter_mut().flat_map(|b| &mut b.queries).enumerate() {
            *exponent = *exponent + i as u64 % 3 - 1;
        }
        for gaps in GAPS {
            let run = check(&array_of(&core, 4), &w, &Disturbance::gaps(gaps));
            let overflows = run.results.iter().filter(|r| r.overflow).count();
            assert!(overflows > 0 && overflows < run.results.len(), "{}: {overflows}", core.name());
        }
    }
}

#[test]
fn neighbours_with_equal_keys_share_a_block() {
    let d = 2;
    let v = vec![Format::BF16.one(); 10];
    let mut w = Workload::new(Format::BF16, d, &v, &v, &v);
    w.queries[4].keys = 3;
    let blocks = ArrayWorkload::new(&w, 3);
    let shape: Vec<(usize, usize)> = blocks.blocks.iter().map(|b| (b.queries.len(), b.keys)).collect();
    assert_eq!(shape, [(3, 5), (1, 5), (1, 3)]);
    assert_eq!(blocks.single(), w);
}

/// A check that cannot fail is none.
#[test]
fn every_comparison_notices_a_fault() {
    let core = CoreConfig {
        datapath: FlashDVariant::Fixed.into(),
        ..CoreConfig::new(Design::FlashD, 4, Format::BF16)
    };
    let config = array_of(&core, 3);
    let mut w = workload(&core, &[(3, 9), (2, 6)]);
    // Scores so near to each other that few keys are held.
    for q in w.blocks.iter_mut().flat_map(|block| &mut block.queries).flat_map(|(q, _)| q) {
        *q = round_to(core.format, core.format.value(*q) / 16.0);
    }
    let good = w.single().results(&Model::new(&core).with_sums(), true);
    let signal = |results: &[QueryResult], w: &ArrayWorkload, config: &ArrayConfig| match run_against(
        config,
        w,
        &Disturbance::gaps(Gaps::None),
        &mut [],
        results,
    ) {
        Err(RunError::Divergence(d)) => d.signal.clone(),
        Ok(_) => "none".into(),
        Err(e) => panic!("{e}"),
    };
    assert_eq!(signal(&good, &w, &config), "none");
    // A key that several queries of the first block take, and none as its first.
    let taking = |step: usize| -> Vec<usize> {
        (0..3).filter(|&query| good[query].steps[step].action == Action::Update).collect()
    };
    let step = (1..9).find(|&step| taking(step).len() > 1).expect("a key that several queries take");
    let taker = taking(step)[0];
    let weight = format!("weight of core {taker}");
    type Fault<'a> = &'a dyn Fn(&mut Vec<QueryResult>);
    let faults: [(&str, Fault); 7] = [
        ("o_invalid", &|r| r[1].invalid ^= true),
        ("o_saturated", &|r| r[0].score_saturated ^= true),
        ("o_overflow", &|r| r[2].overflow ^= true),
        ("o[3] of query 1 of block 1", &|r| r[4].o[3] ^= 1),
        ("o[0] of query 0 of block 0", &|r| r[0].o = r[1].o.clone()),
        // All queries of a block agree that the key's value is read.
        ("v_ren", &|r| r[..3].iter_mut().for_each(|r| r.steps[step].action = Action::Hold)),
        (&weight, &|r| r[taker].steps[step].w ^= 1),
    ];
    for (name, fault) in faults {
        let mut results = good.clone();
        fault(&mut results);
        assert_eq!(signal(&results, &w, &config), name);
    }
    // The key's value is still read for another one.
    let mut results = good.clone();
    results[taker].steps[step].action = Action::Hold;
    assert_eq!(signal(&results, &w, &config), "none");
}
