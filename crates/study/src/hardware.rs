//! The hardware error: the RTL core, cycle by cycle, against the bit-exact model that all other errors are of.

use crate::errors::EncodedHead;
use flashd_golden::{Model, QueryResult, values_exponent};
use flashd_simulator::{Cycle, Gaps, Observer, Query, RunError, Workload, run_against};
use flashd_spec::config::CoreConfig;
use flashd_spec::numerics::BIAS;
use flashd_spec::ports::Port;
use flashd_workload::{Scaling, round_to};
use serde::Serialize;

/// Keys of each query that is checked, at most: a cycle of a wide core takes milliseconds.
pub const CHECKED_KEYS: usize = 24;

/// A sample of a head in hardware.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HardwareCheck {
    /// Queries that were run.
    pub queries: usize,
    /// Keys accepted, all queries together.
    pub keys: u64,
    /// Single comparisons in lock-step: ports and internal values of every cycle.
    pub comparisons: u64,
    /// Output elements that differ from the model's.
    pub mismatches: u64,
    /// Largest difference of an output element, a fraction of max|v|.
    pub max_error: f64,
}

/// The results as they leave the core.
#[derive(Default)]
struct PortResults(Vec<Vec<u64>>);

impl Observer for PortResults {
    fn cycle(&mut self, cycle: &Cycle) -> std::io::Result<()> {
        if let Some(frame) = cycle.frame.filter(|frame| frame.is_high(Port::OValid)) {
            self.0.push(frame[Port::O].to_vec());
        }
        Ok(())
    }
}

/// The first `queries` of the head's sample, each against its first [`CHECKED_KEYS`] keys. `config` is fitted to the
/// head.
///
/// # Errors
/// The first difference in any cycle ends the run.
pub(crate) fn check(
    encoded: &EncodedHead,
    config: &CoreConfig,
    scaling: &Scaling,
    queries: usize,
) -> Result<HardwareCheck, RunError> {
    let words = config.port_words();
    let v = encoded.values(scaling).words;
    let v_exponent = values_exponent(config, &v);
    let rows = encoded.q.chunks_exact(words.q).zip(&encoded.head.lengths).take(queries);
    let head = encoded.head;
    let query = |(place, (q, &n)): (usize, (&[u64], &usize))| {
        let keys = n.min(CHECKED_KEYS);
        let biases =
            if head.adds() { (0..keys).map(|key| head.bias(place, key)).collect() } else { Vec::new() };
        Query { q: q.to_vec(), keys, v_exponent, biases, ..Query::default() }
    };
    let reached = CHECKED_KEYS.min(encoded.head.trace.attention.keys);
    let workload = Workload {
        words,
        queries: rows.enumerate().map(query).collect(),
        k: encoded.k[..reached * words.k].to_vec().into(),
        v: v[..reached * words.v].to_vec().into(),
    };
    let workload = match head.scores.sink {
        Some(sink) => workload.with_sink(round_to(BIAS, sink.into())),
        None => workload,
    };
    let w = &workload;
    let results = w.results(&Model::new(config), true);
    let value = |i: usize, o: u64| encoded.result(scaling, i, o) / encoded.head.magnitudes.head;
    against(config, w, &results, &value)
}

fn against(
    config: &CoreConfig,
    workload: &Workload,
    results: &[QueryResult],
    value: &dyn Fn(usize, u64) -> f64,
) -> Result<HardwareCheck, RunError> {
    let mut hardware = PortResults::default();
    let counters = run_against(config, workload, Gaps::None, &mut [&mut hardware], results)?;
    let elements = hardware.0.iter().flat_map(|o| o.iter().enumerate());
    let pairs = elements.zip(results.iter().flat_map(|result| &result.o));
    let (mut mismatches, mut max_error) = (0, 0f64);
    for ((i, &actual), &expected) in pairs {
        mismatches += u64::from(actual != expected);
        max_error = max_error.max((value(i, actual) - value(i, expected)).abs());
    }
    Ok(HardwareCheck {
        queries: hardware.0.len(),
        keys: counters.keys,
        comparisons: counters.comparisons,
        mismatches,
        max_error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Heads;
    use flashd_golden::Head;
    use flashd_spec::config::Design;
    use flashd_spec::format::Format;

    #[test]
    fn a_model_that_differs_in_a_bit_is_found() {
        let heads = Heads::synthetic(1, 64);
        let head = &heads.heads[0];
        let format = Format::BF16;
        let encoded = EncodedHead::new(format, Default::default(), head).unwrap();
        let scaling = &encoded.scalings[0];
        let config = encoded.fitted(&CoreConfig::new(Design::FlashD, 16, format)).unwrap();
        let good = check(&encoded, &config, scaling, 2).unwrap();
        assert_eq!((good.queries, good.mismatches, good.max_error), (2, 0, 0.0));
        assert_eq!(good.keys as usize, 2 * CHECKED_KEYS);
        assert!(good.comparisons > good.keys);
        let (q, k, v) = (&encoded.q[..16], &encoded.k[..64], &encoded.values(scaling).words[..64]);
        let workload = Workload::new(format, 16, q, k, v);
        let mut results = Model::new(&config).run(Head::new(q, k, v, &[4]).with_steps());
        assert!(against(&config, &workload, &results, &|_, o| format.value(o)).is_ok());
        results[0].o[3] ^= 1;
        let error = against(&config, &workload, &results, &|_, o| format.value(o)).unwrap_err();
        assert!(matches!(&error, RunError::Divergence(d) if d.signal.contains("o[3]")), "{error}");
    }
}
