//! The places of ports and nets in memory, of one run of a design or of a vector of runs.

use crate::memory::{Memory, words};
use crate::plan::Plan;
use crate::transpose;
use flashd_hwmodel::rtl::{Design, PortPlace};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Words of a port.
struct PortWords {
    name: String,
    output: bool,
    width: u32,
    places: Vec<u32>,
    /// The element at each place of the row, if the port fills a row of memory with words of more than a bit.
    row: Option<Vec<u32>>,
    /// The row is in the order of elements.
    in_order: bool,
}

impl PortWords {
    fn of(name: &str, (output, width): (bool, u32), places: Vec<u32>, lanes: usize) -> PortWords {
        let mut order: Vec<u32> = (0..places.len() as u32).collect();
        order.sort_by_key(|&i| places[i as usize]);
        let in_order = order.is_sorted();
        let next = |pair: &[u32]| places[pair[0] as usize] + lanes as u32 == places[pair[1] as usize];
        let fills = (2..=32).contains(&width) && !order.is_empty() && order.windows(2).all(next);
        let row = fills.then_some(order);
        PortWords { name: name.to_owned(), output, width, places, row, in_order }
    }

    /// The row of the port, and the order of its elements.
    fn row(&self, run: usize, lanes: usize) -> Option<(Range<usize>, &[u32])> {
        let order = self.row.as_deref()?;
        let start = self.places[order[0] as usize] as usize + run;
        Some((start..start + (order.len() - 1) * lanes + 1, order))
    }
}

/// The first words of ports and nets.
struct FirstWords {
    ports: Vec<PortWords>,
    nets: Vec<u32>,
}

/// How the memory of a design is read and written.
pub(crate) struct MemoryLayout {
    pub(crate) name: String,
    by_name: FxHashMap<String, usize>,
    /// Before and after the buffers are [swapped](Memory::swapped).
    places: [FirstWords; 2],
    widths: Vec<u32>,
    /// Runs in a vector: memory has as many copies of each word.
    pub(crate) lanes: usize,
}

/// The net of the clock's level.
const CLOCK: u32 = 0;

impl MemoryLayout {
    pub(crate) fn of(design: &Design, plan: &Plan, lanes: usize) -> MemoryLayout {
        let places = [false, true].map(|swapped| {
            let nets: Vec<u32> =
                plan.places.iter().map(|&place| plan.place(place, swapped) * lanes as u32).collect();
            let ports = design.ports.iter().map(|port| {
                let places = port.nets.iter().map(|&net| nets[net as usize]).collect();
                PortWords::of(&port.name, (port.output, port.width), places, lanes)
            });
            FirstWords { ports: ports.collect(), nets }
        });
        let names = design.ports.iter().enumerate();
        MemoryLayout {
            name: design.name.clone(),
            by_name: names.map(|(i, port)| (port.name.clone(), i)).collect(),
            places,
            widths: plan.widths.clone(),
            lanes,
        }
    }

    pub(crate) fn port(&self, name: &str) -> Option<PortPlace> {
        self.by_name.get(name).copied().map(PortPlace)
    }

    fn places(&self, memory: &Memory) -> &FirstWords {
        &self.places[usize::from(memory.swapped)]
    }

    /// An input: it is always at the same place.
    fn input(&self, port: PortPlace) -> &PortWords {
        let words = &self.places[0].ports[port.0];
        debug_assert!(!words.output, "{} is an output", words.name);
        words
    }

    /// The first word of a value in one of the runs; `place` is that word in the first run.
    fn at(place: u32, width: u32, run: usize) -> usize {
        place as usize + words(width) as usize * run
    }

    pub(crate) fn drive<T>(&self, memory: &mut [u32], run: usize, port: PortPlace, all: &[T])
    where
        T: Copy + Into<u64>,
    {
        let words = self.input(port);
        let PortWords { name, width, places, .. } = words;
        let values = all.iter().map(|&value| value.into());
        debug_assert!(values.clone().all(|value| value >> (width - 1) >> 1 == 0), "{name} of {width} bits");
        if let Some((range, order)) = words.row(run, self.lanes)
            && all.len() == order.len()
        {
            // Loads out of order cost less than stores out of order. A constant step lets the compiler vectorise the loop.
            let ordered = order.iter().map(|&i| all[i as usize].into());
            let row = &mut memory[range];
            match (self.lanes, words.in_order) {
                (1, true) => row.iter_mut().zip(values).for_each(|(word, value)| *word = value as u32),
                (1, false) => row.iter_mut().zip(ordered).for_each(|(word, value)| *word = value as u32),
                (step, _) => {
                    row.chunks_mut(step).zip(ordered).for_each(|(word, value)| word[0] = value as u32)
                }
            }
            return;
        }
        let each =
            places.iter().zip(values).map(|(&place, value)| (MemoryLayout::at(place, *width, run), value));
        match width {
            1 => each.for_each(|(at, value)| memory[at] = mask(value)),
            2..=32 => each.for_each(|(at, value)| memory[at] = value as u32),
            _ => each.for_each(|(at, value)| {
                (memory[at], memory[at + 1]) = (value as u32, (value >> 32) as u32);
            }),
        }
    }

    /// Drives a port in all runs of the vector. Runs without words keep their values.
    pub(crate) fn drive_rows<T>(&self, memory: &mut [u32], port: PortPlace, all: &[Option<&[T]>])
    where
        T: Copy + Into<u64>,
    {
        let words = self.input(port);
        if (2..=32).contains(&words.width)
            && transpose::drive(memory, self.lanes, (&words.places, words.width), all)
        {
            return;
        }
        for (run, row) in all.iter().enumerate() {
            row.iter().for_each(|row| self.drive(memory, run, port, row));
        }
    }

    /// Drives a port of one word in all runs of the vector.
    pub(crate) fn drive_words<T: Copy + Into<u64>>(&self, memory: &mut [u32], port: PortPlace, all: &[T]) {
        let PortWords { width, places, .. } = self.input(port);
        let at = places[0] as usize;
        match width {
            1 => memory[at..].iter_mut().zip(all).for_each(|(word, &value)| *word = mask(value.into())),
            2..=32 => memory[at..].iter_mut().zip(all).for_each(|(word, &value)| *word = value.into() as u32),
            _ => (0..all.len()).for_each(|run| self.drive(memory, run, port, &all[run..=run])),
        }
    }

    #[inline(always)]
    fn get(memory: &[u32], run: usize, place: u32, width: u32) -> u64 {
        let at = MemoryLayout::at(place, width, run);
        match width {
            1 => (memory[at] & 1).into(),
            2..=32 => memory[at].into(),
            _ => u64::from(memory[at]) | u64::from(memory[at + 1]) << 32,
        }
    }

    pub(crate) fn read<'a>(
        &'a self,
        memory: &'a Memory,
        run: usize,
        port: PortPlace,
    ) -> impl Iterator<Item = u64> + 'a {
        let PortWords { width, places, .. } = &self.places(memory).ports[port.0];
        let memory: &[u32] = memory;
        places.iter().map(move |&place| MemoryLayout::get(memory, run, place, *width))
    }

    /// Appends the words of a port.
    pub(crate) fn read_into(&self, memory: &Memory, run: usize, port: PortPlace, to: &mut Vec<u64>) {
        let words = &self.places(memory).ports[port.0];
        match words.row(run, self.lanes).filter(|_| words.in_order) {
            Some((range, _)) => {
                to.extend(memory[range].iter().step_by(self.lanes).map(|&word| u64::from(word)))
            }
            None => to.extend(self.read(memory, run, port)),
        }
    }

    /// The word of a port of one word, in all runs of the vector.
    pub(crate) fn read_words(&self, memory: &Memory, port: PortPlace, to: &mut [u64]) {
        let PortWords { width, places, .. } = &self.places(memory).ports[port.0];
        let at = places[0] as usize;
        let words = to.iter_mut().zip(&memory[at..]);
        match width {
            1 => words.for_each(|(to, &word)| *to = (word & 1).into()),
            2..=32 => words.for_each(|(to, &word)| *to = word.into()),
            _ => (0..to.len()).for_each(|run| to[run] = MemoryLayout::get(memory, run, places[0], *width)),
        }
    }

    pub(crate) fn value(&self, memory: &Memory, run: usize, net: u32) -> u64 {
        MemoryLayout::get(memory, run, self.places(memory).nets[net as usize], self.widths[net as usize])
    }

    /// The values of some nets.
    pub(crate) fn values(&self, memory: &Memory, nets: &[u32], to: &mut [u64]) {
        let places = &self.places(memory).nets;
        let memory: &[u32] = memory;
        for (to, &net) in to.iter_mut().zip(nets) {
            *to = MemoryLayout::get(memory, 0, places[net as usize], self.widths[net as usize]);
        }
    }

    /// The clock's level, in all runs.
    pub(crate) fn set_clock(&self, memory: &mut Memory, high: bool) {
        let at = MemoryLayout::at(self.places(memory).nets[CLOCK as usize], 1, 0);
        memory[at..at + self.lanes].fill(mask(high.into()));
    }
}

/// One bit as memory has it.
fn mask(value: u64) -> u32 {
    0u32.wrapping_sub(u32::from(value != 0))
}
