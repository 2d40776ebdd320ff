//! Choosing a mapping for every module so that the core meets its clock with little area.

use super::assemble::{CoreModules, MappingChoice};
use super::buffers::Effort;
use crate::timing::TimedPath;
use std::collections::HashMap;

/// Predictions aim at this part of the period to spare: loads and slopes change with the mappings around.
const MARGIN: f64 = 0.005;

/// Where instances lead to, and how many there are.
pub(crate) struct Hierarchy {
    /// Module of an instance path (`a/b`), empty for the top.
    pub module_of: HashMap<String, usize>,
    /// Instances of a module.
    pub instances: Vec<u64>,
}

impl Hierarchy {
    /// Modules on a path.
    pub(crate) fn modules(&self, path: &TimedPath) -> Vec<usize> {
        self.on_path(path).0.into_iter().map(|(module, _)| module).collect()
    }

    /// Ancestors of the modules on a path.
    pub(crate) fn around(&self, path: &TimedPath) -> Vec<usize> {
        self.on_path(path).1
    }

    /// Modules on a path with the time spent in each, and their ancestors.
    fn on_path(&self, path: &TimedPath) -> (Vec<(usize, f64)>, Vec<usize>) {
        let mut times: Vec<(usize, f64)> = Vec::new();
        let mut around = Vec::new();
        for (instance, time) in path.by_instance() {
            let Some(&module) = self.module_of.get(&instance) else { continue };
            match times.iter_mut().find(|(m, _)| *m == module) {
                Some((_, sum)) => *sum += time,
                None => times.push((module, time)),
            }
            let mut prefix = instance.as_str();
            loop {
                around.extend(self.module_of.get(prefix));
                match prefix.rsplit_once('/') {
                    Some((parent, _)) => prefix = parent,
                    None if prefix.is_empty() => break,
                    None => prefix = "",
                }
            }
        }
        around.sort_unstable();
        around.dedup();
        (times, around)
    }
}

/// Exchanges mappings along paths that are too slow by their slack (all times in the library's unit), for those
/// that gain most per area. Returns whether anything changed.
pub(crate) fn improve(
    parts: &CoreModules,
    hierarchy: &Hierarchy,
    choices: &mut [MappingChoice],
    paths: &[TimedPath],
    period: f64,
) -> bool {
    let before = choices.to_vec();
    for path in paths.iter().filter(|path| path.slack < 0.0) {
        let (times, around) = hierarchy.on_path(path);
        for module in around {
            choices[module].effort = Effort::Quick;
        }
        let delay = |module: usize, candidate: usize| parts.candidates[module][candidate].delay;
        loop {
            // Estimated gain with the mappings chosen so far: the time in a module is proportional to its delay.
            let saved: f64 = times
                .iter()
                .map(|&(m, time)| {
                    time * (1.0 - ratio(delay(m, choices[m].candidate), delay(m, before[m].candidate)))
                })
                .sum();
            let missing = MARGIN * period - path.slack - saved;
            if missing <= 0.0 {
                break;
            }
            let mut best: Option<(f64, usize, usize)> = None;
            for &(m, time) in &times {
                let now = choices[m].candidate;
                for next in now + 1..parts.candidates[m].len() {
                    let gain = time * (delay(m, now) - delay(m, next)) / delay(m, before[m].candidate);
                    let area = parts.candidates[m][next].area - parts.candidates[m][now].area;
                    let worth =
                        gain.min(missing) / (area * hierarchy.instances[m] as f64).max(f64::MIN_POSITIVE);
                    if best.is_none_or(|(other, _, _)| worth > other) {
                        best = Some((worth, m, next));
                    }
                }
            }
            let Some((_, module, candidate)) = best else { break };
            choices[module].candidate = candidate;
        }
    }
    choices != before
}

fn ratio(new: f64, old: f64) -> f64 {
    if old > 0.0 { new / old } else { 1.0 }
}
