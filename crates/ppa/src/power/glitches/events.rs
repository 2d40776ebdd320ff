//! One machine, event by event.
//!
//! A gate has at most one pending change. An input that restores the old value before the change is due cancels it:
//! delays are inertial.

use super::gates::{ALWAYS, Gates, bit, edges};

/// No change is pending.
const NEVER: u32 = u32::MAX;

/// A machine between two clock edges.
pub(super) struct EventSimulation<'a> {
    gates: &'a Gates,
    /// Inputs of each gate as the row of its truth table.
    rows: Vec<u16>,
    /// Each gate's value after its pending change, if any.
    target: Vec<bool>,
    /// Time of the pending change, ps after the clock's edge.
    due: Vec<u32>,
    wheel: Wheel,
    /// Changes of each gate's output.
    pub toggles: Vec<u32>,
    /// When the last net came to rest, ps after the clock's edge, over all cycles.
    pub settled: u32,
}

impl<'a> EventSimulation<'a> {
    pub(super) fn new(gates: &'a Gates) -> Self {
        let count = gates.gates.len();
        EventSimulation {
            gates,
            rows: vec![0; count],
            target: vec![false; count],
            due: vec![NEVER; count],
            wheel: Wheel::new(gates.longest),
            toggles: vec![0; count],
            settled: 0,
        }
    }

    /// Puts every net at rest with its value.
    pub(super) fn rest(&mut self, value: impl Fn(usize) -> bool) {
        for (gate, target) in self.gates.gates.iter().zip(&mut self.target) {
            *target = value(gate.output as usize);
        }
        self.rows.fill(0);
        for net in 0..self.gates.first_load.len() - 1 {
            if value(net) {
                for load in self.loads(net) {
                    self.rows[load.gate as usize] |= 1 << load.bit;
                }
            }
        }
    }

    fn loads(&self, net: usize) -> &'a [super::gates::Load] {
        let gates = self.gates;
        &gates.loads[gates.first_load[net] as usize..gates.first_load[net + 1] as usize]
    }

    /// Simulates a clock edge after which flip-flops and ports have new values, until all nets are stable. Returns a gate
    /// that does not settle at its net's value, if there is one.
    pub(super) fn cycle(&mut self, value: impl Fn(usize) -> bool) -> Option<usize> {
        let gates = self.gates;
        for (gate, source) in gates.gates.iter().enumerate().skip(gates.sources) {
            let new = value(source.output as usize);
            if new != self.target[gate] {
                self.target[gate] = new;
                let due = gates.delays[source.table as usize][edges(true, new)];
                self.due[gate] = due;
                self.wheel.put(due, gate as u32);
            }
        }
        while let Some((now, bucket)) = self.wheel.take() {
            for &gate in &bucket {
                let gate = gate as usize;
                // Cancelled, or postponed.
                if self.due[gate] != now {
                    continue;
                }
                self.due[gate] = NEVER;
                self.toggles[gate] += 1;
                self.settled = self.settled.max(now);
                self.show(gate, now);
            }
            self.wheel.give_back(bucket);
        }
        (0..gates.gates.len()).find(|&gate| self.target[gate] != value(gates.gates[gate].output as usize))
    }

    /// Propagates the new value of a gate's net to its loads.
    fn show(&mut self, gate: usize, now: u32) {
        let value = self.target[gate];
        for load in self.loads(self.gates.gates[gate].output as usize) {
            let reader = load.gate as usize;
            let row = self.rows[reader] ^ 1 << load.bit;
            self.rows[reader] = row;
            let table = self.gates.gates[reader].table as usize;
            let new = bit(&self.gates.tables[table..], row as usize);
            if new == self.target[reader] {
                continue;
            }
            self.target[reader] = new;
            if self.due[reader] != NEVER {
                self.due[reader] = NEVER;
                continue;
            }
            let choice = match load.choice {
                ALWAYS => 0,
                first => u32::from(self.gates.choices[first as usize + row as usize]),
            };
            let due = now + self.gates.delays[(load.delays + choice) as usize][edges(value, new)];
            self.due[reader] = due;
            self.wheel.put(due, load.gate);
        }
    }
}

/// A timing wheel: a bucket of pending changes for each unit of time up to the longest delay.
struct Wheel {
    buckets: Vec<Vec<u32>>,
    /// Buckets that are not empty, a bit each.
    filled: Vec<u64>,
    /// Number of changes in the buckets.
    waiting: usize,
    /// Time of the last bucket taken.
    now: u32,
    spare: Vec<u32>,
}

impl Wheel {
    fn new(longest: u32) -> Self {
        let size = (longest as usize + 1).next_power_of_two().max(64);
        Wheel {
            buckets: vec![Vec::new(); size],
            filled: vec![0; size / 64],
            waiting: 0,
            now: 0,
            spare: Vec::new(),
        }
    }

    fn put(&mut self, time: u32, gate: u32) {
        let slot = time as usize & (self.buckets.len() - 1);
        self.buckets[slot].push(gate);
        self.filled[slot / 64] |= 1 << (slot % 64);
        self.waiting += 1;
    }

    /// The next time at which changes are due, and these; `None`, and the clock back at 0, if there are none.
    fn take(&mut self) -> Option<(u32, Vec<u32>)> {
        if self.waiting == 0 {
            self.now = 0;
            return None;
        }
        let mask = self.buckets.len() - 1;
        let mut slot = self.now as usize & mask;
        let mut word = self.filled[slot / 64] & u64::MAX << (slot % 64);
        while word == 0 {
            slot = ((slot / 64 + 1) * 64) & mask;
            word = self.filled[slot / 64];
        }
        slot = slot / 64 * 64 + word.trailing_zeros() as usize;
        self.now += (slot.wrapping_sub(self.now as usize) & mask) as u32;
        self.filled[slot / 64] &= !(1 << (slot % 64));
        let bucket = std::mem::replace(&mut self.buckets[slot], std::mem::take(&mut self.spare));
        self.waiting -= bucket.len();
        Some((self.now, bucket))
    }

    /// Recycles a bucket.
    fn give_back(&mut self, mut bucket: Vec<u32>) {
        bucket.clear();
        self.spare = bucket;
    }
}
