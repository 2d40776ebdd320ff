//! A VCD, read with a reader that is not ours.

use flashd_simulator::PERIOD_NS;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use wellen::{SignalRef, SignalValueRef, simple};

/// A VCD in memory, by path below the core.
pub struct Vcd {
    /// As read.
    pub waves: simple::Waveform,
    /// Name of the core.
    pub core: String,
    /// Every signal and its width, by path below the core.
    pub signals: HashMap<String, (SignalRef, Option<u32>)>,
}

impl Vcd {
    /// Reads a file.
    pub fn read(path: &Path) -> Vcd {
        let mut waves = simple::read(path).unwrap();
        let h = waves.hierarchy();
        let core = h.first_scope().unwrap().name(h).to_string();
        let signals: HashMap<_, _> = h
            .all_vars()
            .map(|var| (h[var].full_name(h), (h[var].signal_ref(), h[var].length(h))))
            .map(|(name, signal)| (name.strip_prefix(&format!("{core}.")).unwrap().to_string(), signal))
            .collect();
        let all: HashSet<SignalRef> = signals.values().map(|(signal, _)| *signal).collect();
        waves.load_signals(&all.into_iter().collect::<Vec<_>>());
        Vcd { waves, core, signals }
    }

    /// A signal's value at a time, converted by `read`.
    pub fn at<T>(&self, name: &str, time: u64, read: impl Fn(SignalValueRef<'_>) -> Option<T>) -> T {
        let (id, _) = self.signals.get(name).unwrap_or_else(|| panic!("no signal {name}"));
        let times = self.waves.time_table();
        let index = times.partition_point(|t| *t <= time) - 1;
        let signal = self.waves.get_signal(*id).unwrap();
        let offset = signal.get_offset(index as u32).unwrap();
        read(signal.get_value_at(&offset, offset.elements - 1))
            .unwrap_or_else(|| panic!("{name}: other type"))
    }

    /// Bits in the middle of a cycle's first half.
    pub fn bits(&self, name: &str, cycle: u64) -> u64 {
        self.at(name, cycle * PERIOD_NS + 1, |v| u64::from_str_radix(&v.to_bit_string()?, 2).ok())
    }

    /// A decimal value in the middle of a cycle's first half.
    pub fn real(&self, name: &str, cycle: u64) -> f64 {
        self.at(name, cycle * PERIOD_NS + 1, |v| match v {
            SignalValueRef::Real(x) => Some(x),
            _ => None,
        })
    }
}
