//! Values that take more than one cycle to come: later results, the same rate, the same bits.

use flashd_golden::Model;
use flashd_simulator::array::{ArrayWorkload, Disturbance, run as run_array};
use flashd_simulator::{Gaps, Workload, run};
use flashd_spec::config::{ArrayConfig, CoreConfig};
use flashd_spec::format::Format;
use flashd_workload::{round_to, synthetic};

fn cores(format: Format) -> Vec<CoreConfig> {
    let plain = CoreConfig::variants(6, format);
    let masked = plain.iter().map(|c| CoreConfig { masks: true, ..c.clone() });
    let partial = plain.iter().filter(|c| c.can_be_partial());
    let partial = partial.map(|c| CoreConfig { masks: true, partial: true, ..c.clone() });
    plain.iter().cloned().chain(masked).chain(partial).collect()
}

fn workload(core: &CoreConfig, keys: usize) -> Workload {
    let a = synthetic::attention_like(3, 5, keys, core.d);
    let encoded = |x: &[f32], factor: f64| -> Vec<u64> {
        x.iter().map(|x| round_to(core.format, *x as f64 * factor)).collect()
    };
    let (q, k, v) = (encoded(&a.q, 16.0), encoded(&a.k, 1.0), encoded(&a.v, 1.0));
    let mut w = Workload::new(core.format, core.d, &q, &k, &v);
    if core.masks {
        for (i, query) in w.queries.iter_mut().enumerate() {
            query.masked = (0..keys).map(|key| key % 3 == i % 4).collect();
        }
    }
    w
}

#[test]
fn every_core_waits_for_its_value() {
    for format in [Format::BF16, Format::FP8_E4M3] {
        for core in cores(format) {
            let mut w = workload(&core, 7);
            if core.partial {
                w = w.tiled(&Model::new(&core), 3);
            }
            let soon = run(&core, &w, Gaps::None, &mut []).unwrap_or_else(|e| panic!("{e}"));
            for value_latency in [2, 5, 16] {
                let core = CoreConfig { value_latency, ..core.clone() };
                for gaps in [Gaps::None, Gaps::Random(8)] {
                    let late = run(&core, &w, gaps, &mut []).unwrap_or_else(|e| panic!("{gaps:?}: {e}"));
                    assert_eq!(late.results, soon.results, "{}", core.name());
                    let more = u64::from(value_latency) - 1;
                    assert_eq!(late.counters.latency, soon.counters.latency + more);
                    if gaps == Gaps::None {
                        assert_eq!(late.counters.cycles, soon.counters.cycles + more);
                    }
                }
            }
        }
    }
}

#[test]
fn arrays_wait_too() {
    for core in cores(Format::FP8_E4M3).into_iter().filter(|c| !c.partial) {
        for (queries, value_latency) in [(1, 4), (3, 2), (4, 9)] {
            let core = CoreConfig { value_latency, ..core.clone() };
            let w = workload(&core, 6);
            let array = ArrayConfig::new(core, queries);
            let blocks = ArrayWorkload::new(&w, queries);
            for gaps in [Gaps::None, Gaps::Random(4)] {
                let disturbance = Disturbance::gaps(gaps);
                run_array(&array, &blocks, &disturbance, &mut []).unwrap_or_else(|e| panic!("{e}"));
            }
        }
    }
}
