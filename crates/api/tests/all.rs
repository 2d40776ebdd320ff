//! The layer below the languages: single steps against whole runs, over all datapaths and formats, and the effect of settings.

use flashd_api::{AttentionOperands, Core, RawHead, Settings, Watch};
use flashd_golden::{Head, Model};
use flashd_spec::config::{CoreConfig, KINDS};
use flashd_spec::format::Format;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const SEED: u64 = 20261123;

/// Every datapath in every format, with masks and, where there are any, partial results.
fn cores() -> impl Iterator<Item = CoreConfig> {
    KINDS.iter().flat_map(|kind| {
        Format::NAMED.into_iter().filter_map(move |(_, format)| {
            let core = CoreConfig { masks: true, ..CoreConfig::with_datapath(kind.datapath, 8, format) };
            let core = CoreConfig { partial: core.can_be_partial(), ..core };
            core.validate().is_ok().then_some(core)
        })
    })
}

/// Elements of every kind, most of them near 1.
fn elements(rng: &mut ChaCha8Rng, format: Format, n: usize) -> Vec<u64> {
    let width = format.width();
    let near = |rng: &mut ChaCha8Rng| {
        let exponent = (format.bias as u64).saturating_add_signed(rng.random_range(-3..=1));
        exponent << format.fraction_bits | rng.random::<u64>() & format.fraction_mask()
    };
    (0..n)
        .map(|_| match rng.random_ratio(1, 200) {
            true => rng.random::<u64>() & (u64::MAX >> (64 - width)),
            false => near(rng) | if rng.random() { format.sign_bit() } else { 0 },
        })
        .collect()
}

#[test]
fn steps_agree_with_the_whole_run() {
    println!("seed {SEED}");
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let mut tried = 0;
    for config in cores() {
        let (d, format, keys) = (config.d, config.format, 60);
        let [q, k, v] = [2, keys, keys].map(|rows| elements(&mut rng, format, rows * d));
        let masked = |_: usize, key: usize| key % 7 == 3;
        let v_exponents = [format.bias as u64 + 1; 2];
        let lengths = [keys, keys - 1];
        let head = Head { masked: Some(&masked), ..Head::new(&q, &k, &v, &lengths) };
        let expected = Model::new(&config).with_sums().run(head.with_exponents(&v_exponents).with_steps());
        let core = Core::from_json(&serde_json::to_string(&config).unwrap()).unwrap();
        let mut stepper = core.stepper();
        for (query, expected) in expected.iter().enumerate() {
            stepper.query(&q[query * d..][..d], v_exponents[0]).unwrap();
            for (key, step) in expected.steps.iter().enumerate() {
                let (k, v) = (&k[key * d..][..d], &v[key * d..][..d]);
                assert_eq!(
                    stepper.key(k, masked(query, key)).unwrap(),
                    *step,
                    "{}, key {key}",
                    config.name()
                );
                if stepper.value_is_due() {
                    stepper.value(v).unwrap();
                }
                // Half way, a core with partial results goes on from its own state.
                if config.partial && key == keys / 2 {
                    let (state, flags) = (stepper.state(), stepper.result().unwrap());
                    let widths: Vec<u32> = core.state_widths().into_iter().map(|(_, bits)| bits).collect();
                    let fits = |(&word, &bits): (&u64, &u32)| word >> bits == 0;
                    assert!(state.scalars.iter().zip(&widths[1..]).all(fits), "{}", config.name());
                    assert!(state.o.iter().all(|word| fits((word, &widths[0]))), "{}", config.name());
                    stepper.query(&q[query * d..][..d], v_exponents[0]).unwrap();
                    stepper.restore(&state).unwrap();
                    assert_eq!(stepper.result().unwrap().o, flags.o, "{}", config.name());
                }
            }
            let got = stepper.result().unwrap();
            assert_eq!((&got.o, &got.state, got.empty), (&expected.o, &expected.state, expected.empty));
            // Flags cover only the query's own keys, which are fewer after a restore.
            let flags = [(got.invalid, expected.invalid), (got.overflow, expected.overflow)];
            assert!(flags.iter().all(|&(got, all)| got == all || config.partial && all), "{}", config.name());
        }
        tried += 1;
    }
    assert!(tried >= 5 * 10, "{tried} cores");
}

#[test]
fn encodings_give_the_models_results() {
    println!("seed {SEED}");
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    for config in cores() {
        let (d, keys) = (config.d, 33);
        let [q, k, v] = [3, keys, keys].map(|rows| elements(&mut rng, config.format, rows * d));
        let hidden: Vec<bool> = (0..3 * keys).map(|_| rng.random()).collect();
        let masked = |query: usize, key: usize| hidden[query * keys + key];
        // Unseen keys do not count, and may hold anything.
        let seen = |key: usize| key < 20 && (0..3).any(|query| !masked(query, key));
        let only = |x: &[u64]| -> Vec<u64> {
            x.iter().enumerate().map(|(i, &word)| if seen(i / d) { word } else { 0 }).collect()
        };
        let (seen_k, seen_v) = (only(&k), only(&v));
        let expected = Model::new(&config)
            .run(Head { masked: Some(&masked), ..Head::new(&q, &seen_k, &seen_v, &[20; 3]) });
        let core = Core::from_json(&serde_json::to_string(&config).unwrap()).unwrap();
        let (mut k, mut v) = (k, v);
        for x in [&mut k, &mut v] {
            for (_, word) in x.iter_mut().enumerate().filter(|(i, _)| !seen(i / d)) {
                *word = rng.random::<u64>() & (u64::MAX >> (64 - config.format.width()));
            }
        }
        let lengths = [20; 3];
        let (lengths, hidden) = (Some(&lengths[..]), Some(&hidden[..]));
        let head = RawHead { q: &q, k: &k, v: &v, lengths, hidden, bias: None, v_exponent: None };
        assert_eq!(
            core.attention_raw(&head, &Watch::default()).unwrap().results,
            expected,
            "{}",
            config.name()
        );
    }
}

#[test]
fn a_mask_agrees_with_lengths_and_causal() {
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let [q, k, v] =
        [3, 5, 5].map(|rows| (0..2 * rows * 4).map(|_| rng.random_range(-1.0..1.0f32)).collect::<Vec<_>>());
    let operands = AttentionOperands { shape: [2, 2, 3, 5], q: &q, k: &k, v: &v };
    for format in ["bf16", "fp8-e4m3"] {
        let core =
            Core::from_options([("design", "flash-d"), ("d", "4"), ("format", format), ("masks", "true")])
                .unwrap();
        let run = |settings: &Settings| core.attention(&operands, settings, &Watch::default()).unwrap().o;
        let hidden = |sees: &dyn Fn(usize, usize) -> bool| {
            let all = (0..3).flat_map(|query| (0..5).map(move |key| (query, key)));
            Some(all.map(|(query, key)| !sees(query, key)).collect())
        };
        let by_mask =
            run(&Settings { hidden: hidden(&|query, key| key <= query + 2), ..Settings::default() });
        assert_eq!(by_mask, run(&Settings { causal: true, ..Settings::default() }));
        assert_eq!(by_mask, run(&Settings { lengths: Some(vec![3, 4, 5]), ..Settings::default() }));
        assert_eq!(by_mask, run(&Settings { lengths: Some(vec![3, 4, 5, 3, 4, 5]), ..Settings::default() }));
        let none = run(&Settings { hidden: hidden(&|query, _| query > 0), ..Settings::default() });
        assert_eq!(none[..4], [0.0; 4]);
        let errors = Settings {
            hidden: hidden(&|query, key| (query + key) % 2 == 0),
            errors: true,
            ..Settings::default()
        };
        let errors = core.attention(&operands, &errors, &Watch::default()).unwrap();
        let limit = if format == "bf16" { 0.02 } else { 0.2 };
        assert!(errors.heads.iter().all(|head| head.accuracy.unwrap().max < limit));
    }
}

#[test]
fn a_run_can_be_ended() {
    let core = Core::from_options([("design", "fa2"), ("d", "4")]).unwrap();
    let x = vec![1.0; 64 * 4];
    let watch = Watch::default();
    watch.cancel();
    let operands = AttentionOperands { shape: [1, 1, 64, 64], q: &x, k: &x, v: &x };
    let ended = core.attention(&operands, &Settings::default(), &watch);
    assert!(matches!(ended, Err(flashd_api::Error::Interrupted)));
    // The model still serves other calls.
    let watch = Watch::default();
    assert!(core.attention(&operands, &Settings::default(), &watch).unwrap().o.iter().all(|&o| o == 1.0));
    assert_eq!(watch.done(), 64 * 64);
}
