//! Where ports and nets are in memory, of one run of a design or of several beside each other.

use crate::memory::words;
use crate::plan::Plan;
use flashd_hwmodel::rtl::{Design, PortPlace};
use std::collections::HashMap;
use std::ops::Range;

/// Words of a port.
struct Words {
    name: String,
    output: bool,
    width: u32,
    places: Vec<u32>,
    /// They fill a row of words of memory, and are not masks: which of them stands at each place of it.
    row: Option<Vec<u32>>,
    /// That is their own order.
    in_order: bool,
}

/// How the memory of a design is read and written.
pub(crate) struct Layout {
    pub(crate) name: String,
    ports: Vec<Words>,
    by_name: HashMap<String, usize>,
    places: Vec<u32>,
    widths: Vec<u32>,
    /// Runs beside each other: each word of memory is there as often.
    beside: usize,
}

/// The net of the clock's level.
const CLOCK: u32 = 0;

impl Layout {
    pub(crate) fn of(design: &Design, plan: &Plan, beside: usize) -> Layout {
        let first = |net: u32| plan.places[net as usize] * beside as u32;
        let ports: Vec<Words> = (design.ports.iter())
            .map(|port| {
                let places: Vec<u32> = port.nets.iter().map(|&net| first(net)).collect();
                let mut order: Vec<u32> = (0..places.len() as u32).collect();
                order.sort_by_key(|&i| places[i as usize]);
                let in_order = order.is_sorted();
                let next =
                    |pair: &[u32]| places[pair[0] as usize] + beside as u32 == places[pair[1] as usize];
                let fills = (2..=32).contains(&port.width) && !order.is_empty() && order.windows(2).all(next);
                let row = fills.then_some(order);
                Words {
                    name: port.name.clone(),
                    output: port.output,
                    width: port.width,
                    places,
                    row,
                    in_order,
                }
            })
            .collect();
        Layout {
            name: design.name.clone(),
            by_name: ports.iter().enumerate().map(|(i, port)| (port.name.clone(), i)).collect(),
            ports,
            places: (0..plan.places.len() as u32).map(first).collect(),
            widths: plan.widths.clone(),
            beside,
        }
    }

    pub(crate) fn port(&self, name: &str) -> Option<PortPlace> {
        self.by_name.get(name).copied().map(PortPlace)
    }

    /// The word of memory where a value of one of the runs begins; the place is where that of the first one does.
    fn at(place: u32, width: u32, run: usize) -> usize {
        place as usize + words(width) as usize * run
    }

    /// The words of memory that a port fills, and how far apart they are.
    fn row<'a>(&self, words: &'a Words, run: usize) -> Option<(Range<usize>, usize, &'a [u32])> {
        let order = words.row.as_deref()?;
        let start = words.places[order[0] as usize] as usize + run;
        Some((start..start + (order.len() - 1) * self.beside + 1, self.beside, order))
    }

    pub(crate) fn drive<T>(&self, memory: &mut [u32], run: usize, port: PortPlace, all: &[T])
    where
        T: Copy + Into<u64>,
    {
        let words = &self.ports[port.0];
        let Words { name, output, width, places, .. } = words;
        debug_assert!(!output, "{name} is an output");
        let values = all.iter().map(|&value| value.into());
        debug_assert!(values.clone().all(|value| value >> (width - 1) >> 1 == 0), "{name} of {width} bits");
        if let Some((range, step, order)) = self.row(words, run)
            && all.len() == order.len()
        {
            // What is read out of order costs less than what is written so; a step that is known makes vectors of the loop.
            let ordered = order.iter().map(|&i| all[i as usize].into());
            let row = &mut memory[range];
            match (step, words.in_order) {
                (1, true) => row.iter_mut().zip(values).for_each(|(word, value)| *word = value as u32),
                (1, false) => row.iter_mut().zip(ordered).for_each(|(word, value)| *word = value as u32),
                (_, true) => {
                    row.chunks_mut(step).zip(values).for_each(|(word, value)| word[0] = value as u32)
                }
                (_, false) => {
                    row.chunks_mut(step).zip(ordered).for_each(|(word, value)| word[0] = value as u32)
                }
            }
            return;
        }
        let each = places.iter().zip(values).map(|(&place, value)| (Layout::at(place, *width, run), value));
        match width {
            1 => each.for_each(|(at, value)| memory[at] = mask(value)),
            2..=32 => each.for_each(|(at, value)| memory[at] = value as u32),
            _ => each.for_each(|(at, value)| {
                (memory[at], memory[at + 1]) = (value as u32, (value >> 32) as u32);
            }),
        }
    }

    #[inline(always)]
    fn get(&self, memory: &[u32], run: usize, place: u32, width: u32) -> u64 {
        let at = Layout::at(place, width, run);
        match width {
            1 => (memory[at] & 1).into(),
            2..=32 => memory[at].into(),
            _ => u64::from(memory[at]) | u64::from(memory[at + 1]) << 32,
        }
    }

    pub(crate) fn read<'a>(
        &'a self,
        memory: &'a [u32],
        run: usize,
        port: PortPlace,
    ) -> impl Iterator<Item = u64> + 'a {
        let Words { width, places, .. } = &self.ports[port.0];
        places.iter().map(move |&place| self.get(memory, run, place, *width))
    }

    /// Puts the words of a port behind others.
    pub(crate) fn read_into(&self, memory: &[u32], run: usize, port: PortPlace, to: &mut Vec<u64>) {
        let words = &self.ports[port.0];
        match self.row(words, run).filter(|_| words.in_order) {
            Some((range, 1, _)) => to.extend(memory[range].iter().map(|&word| u64::from(word))),
            Some((range, step, _)) => to.extend(memory[range].chunks(step).map(|word| u64::from(word[0]))),
            None => to.extend(self.read(memory, run, port)),
        }
    }

    #[inline(always)]
    pub(crate) fn value(&self, memory: &[u32], run: usize, net: u32) -> u64 {
        self.get(memory, run, self.places[net as usize], self.widths[net as usize])
    }

    /// The clock's level, in all runs.
    pub(crate) fn set_clock(&self, memory: &mut [u32], high: bool) {
        let at = Layout::at(self.places[CLOCK as usize], 1, 0);
        memory[at..at + self.beside].fill(mask(high.into()));
    }
}

/// One bit as memory has it.
fn mask(value: u64) -> u32 {
    0u32.wrapping_sub(u32::from(value != 0))
}
