//! States and log-sum-exps of the attention unit.

use crate::unit::{job, units};
use flashd_golden::PartialState;
use flashd_hwmodel::unit::lse::log_sum_exp;
use flashd_simulator::PipelineRecorder;
use flashd_simulator::random::jobs;
use flashd_simulator::unit::{ExpectedJobBlock, Layout, UnitDrive, UnitJob, run};
use flashd_spec::bits::ones;
use flashd_spec::config::{ArrayConfig, CoreConfig, Design};
use flashd_spec::format::Format;
use flashd_spec::numerics::Numerics;
use flashd_spec::unit::{Flag, UnitConfig};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Every datapath that has partial results.
fn cores(d: usize, format: Format) -> Vec<CoreConfig> {
    let designs = [Design::FlashD, Design::Fa2];
    let variants = designs.into_iter().flat_map(|design| {
        let of_design = move |core: &CoreConfig| core.design() == design;
        CoreConfig::variants(d, format).into_iter().filter(of_design)
    });
    let partial = |core: CoreConfig| CoreConfig { masks: true, partial: true, ..core };
    variants.map(partial).filter(|core| core.validate().is_ok()).collect()
}

/// The log-sum-exp in binary32 against its definition in f64, over random scalars of every datapath: half an ulp, and 2^-24 of the
/// logarithm.
#[test]
fn the_log_sum_exp_is_that_of_its_scalars() {
    let mut rng = ChaCha8Rng::seed_from_u64(53);
    let mut checked = 0;
    for core in [Format::BF16, Format::INT8].into_iter().flat_map(|format| cores(16, format)) {
        let n = Numerics::new(&core);
        let bits = n.scalar_bits(&core);
        let none = PartialState::no_key(&core, &n).unwrap();
        assert_eq!(f32::from_bits(log_sum_exp(&core, &n, none.scalars)), f32::NEG_INFINITY);
        for round in 0..2000u64 {
            let mut word = |bits: u32| match round % 4 {
                0 => 1 << rng.random_range(0..bits - 1),
                1 => ones(rng.random_range(1..bits)),
                _ => rng.random::<u64>() & ones(rng.random_range(1..=bits)),
            };
            let scalars = [word(bits[0]), if bits.len() > 1 { word(bits[1]) } else { 0 }];
            let state = PartialState { scalars, o: Vec::new() };
            if state.is_no_key(&core, &n) {
                continue;
            }
            let exact = state.log_sum_exp(&core, &n);
            let is = f64::from(f32::from_bits(log_sum_exp(&core, &n, scalars)));
            let bound = exact.abs() * 2f64.powi(-24) + 2f64.powi(-24);
            assert!((is - exact).abs() <= bound, "{}, {scalars:x?}: {is} for {exact}", core.name());
            checked += 1;
        }
    }
    assert!(checked > 10_000, "{checked}");
}

/// The pipeline chart has a row for each query and step of the array, and every beat of the memory port.
#[test]
fn the_chart_has_every_step_and_every_beat() {
    for (n, config) in units().iter().enumerate() {
        let jobs = jobs(config, 60, &mut ChaCha8Rng::seed_from_u64(n as u64));
        let mut recorder = PipelineRecorder::for_unit(config).unwrap();
        let drive = UnitDrive::random(n as u64);
        let run = run(config, &jobs, &drive, &mut [&mut recorder]).unwrap();
        let expected: Vec<_> = jobs.iter().map(|job| job.expected(config)).collect();
        let chart = recorder.of_unit(config, (&jobs, &expected), &run.accesses, 0..=u64::MAX);
        let steps =
            jobs.iter().zip(&expected).flat_map(|(job, blocks)| blocks.iter().map(move |of| (job, of)));
        let steps: usize = steps
            .map(|(job, ExpectedJobBlock { block, .. })| {
                let states = job.states_of(block).iter().flatten().count();
                block.places.len() * (states + block.keys.len().max(1))
            })
            .sum();
        assert_eq!(chart.steps.len(), steps, "{}", config.name());
        assert!(chart.steps.is_sorted_by_key(|step| step.taken));
        for (kind, register) in [
            ("queries", "BEATS_QUERIES"),
            ("keys", "BEATS_KEYS"),
            ("values", "BEATS_VALUES"),
            ("states", "BEATS_STATES"),
            ("results", "BEATS_WRITTEN"),
        ] {
            let lane = chart.memory.iter().find(|lane| lane.kind == kind);
            let bursts = lane.map_or(&[][..], |lane| &lane.bursts);
            let beats: u64 = bursts.iter().map(|[.., beats]| beats).sum();
            assert_eq!(beats, run.register(register), "{} {kind}", config.name());
            assert!(bursts.iter().all(|[from, to, beats]| from + beats < *to), "{kind}");
        }
    }
}

/// Keys in two jobs give the results, states and log-sum-exps of one job. The second job starts from the states that the first has just
/// written.
#[test]
fn two_jobs_of_a_queue_give_what_one_job_gives() {
    for core in cores(8, Format::BF16) {
        let config = UnitConfig { beat_bits: 64, ..UnitConfig::new(ArrayConfig::new(core, 3)) };
        let (queries, first, second) = (4, 7, 9);
        let fields = |keys| [("QUERIES", queries), ("KEYS", keys), ("GROUP", 2), ("V_EXPONENT", 127)];
        let whole = job(&config, &fields(first + second), &[Flag::Lse, Flag::StateOut], 7);
        let words = config.array.core.port_words();
        let part = |from: u64, to: u64| {
            let rows = |x: &[u64], words: usize| x[from as usize * words..to as usize * words].to_vec();
            let mut part = job(&config, &fields(to - from), &[Flag::Lse, Flag::StateOut], 7);
            (part.q, part.k, part.v) = (whole.q.clone(), rows(&whole.k, words.k), rows(&whole.v, words.v));
            part
        };
        let before = part(0, first);
        let mut after = part(first, first + second);
        let given = before.descriptor.clone();
        let mut fields_of_after = given.clone();
        fields_of_after.set("KEYS", second);
        fields_of_after.add(Flag::StateIn);
        let keep = ["STATE_IN", "QUERIES", "KEYS", "GROUP", "V_EXPONENT", "STATE_ROW", "STATE_HEAD"];
        fields_of_after.set("STATE_IN", given.get("STATE_OUT"));
        Layout::new(0x8_0000, 16).complete(&config, &mut fields_of_after, &|name| keep.contains(&name));
        after.descriptor = fields_of_after;
        after.states = before.states_after(&before.expected(&config));
        let results = |job: &UnitJob| {
            let blocks = job.expected(&config);
            let all = blocks.into_iter().flat_map(|block| block.results);
            all.map(|result| (result.o, result.state)).collect::<Vec<_>>()
        };
        assert_eq!(results(&whole), results(&after), "{}", config.name());
        let drive = UnitDrive { queue: true, ..UnitDrive::random(3) };
        let run = run(&config, &[before, after], &drive, &mut []);
        let run = run.unwrap_or_else(|e| panic!("{}: {e}", config.name()));
        assert!(run.register("BEATS_STATES") > 0);
    }
}
