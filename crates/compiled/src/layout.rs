//! Where ports and nets are in memory, of one run of a design or of several beside each other.

use crate::plan::{Plan, words};
use flashd_hwmodel::rtl::Design;
use std::collections::HashMap;
use std::ops::Range;

/// A port of a compiled design: its place among the design's, found once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port(usize);

/// Words of a port.
struct Words {
    name: String,
    output: bool,
    width: u32,
    places: Vec<u32>,
    /// They are one after another, a word of memory each, and not masks.
    in_a_row: bool,
}

/// How the memory of a design is read and written.
pub(crate) struct Layout {
    pub(crate) name: String,
    ports: Vec<Words>,
    by_name: HashMap<String, usize>,
    places: Vec<u32>,
    widths: Vec<u32>,
    /// Words that registers hold.
    held: usize,
    /// Runs beside each other: each word of memory is there as often.
    beside: usize,
}

/// The net of the clock's level.
const CLOCK: u32 = 0;

impl Layout {
    pub(crate) fn of(design: &Design, plan: &Plan, beside: usize) -> Layout {
        let ports: Vec<Words> = (design.ports.iter())
            .map(|port| {
                let places: Vec<u32> = port.nets.iter().map(|&net| plan.places[net as usize]).collect();
                let in_a_row =
                    (2..=32).contains(&port.width) && places.windows(2).all(|pair| pair[0] + 1 == pair[1]);
                Words { name: port.name.clone(), output: port.output, width: port.width, places, in_a_row }
            })
            .collect();
        Layout {
            name: design.name.clone(),
            by_name: ports.iter().enumerate().map(|(i, port)| (port.name.clone(), i)).collect(),
            ports,
            places: plan.places.clone(),
            widths: plan.widths.clone(),
            held: plan.held as usize * beside,
            beside,
        }
    }

    pub(crate) fn port(&self, name: &str) -> Option<Port> {
        self.by_name.get(name).copied().map(Port)
    }

    /// How many words a port has, and their width.
    pub(crate) fn shape(&self, port: Port) -> (usize, u32) {
        let words = &self.ports[port.0];
        (words.places.len(), words.width)
    }

    /// The word of memory where a value of one of the runs begins.
    fn at(&self, place: u32, width: u32, run: usize) -> usize {
        place as usize * self.beside + words(width) as usize * run
    }

    /// The words of memory of a port whose words are in a row, and how far apart they are.
    fn row(&self, words: &Words, run: usize) -> Option<(Range<usize>, usize)> {
        let first = words.in_a_row.then(|| words.places.first())??;
        let start = *first as usize * self.beside + run;
        Some((start..start + (words.places.len() - 1) * self.beside + 1, self.beside))
    }

    pub(crate) fn drive<T>(&self, memory: &mut [u32], run: usize, port: Port, values: &[T])
    where
        T: Copy + Into<u64>,
    {
        let words = &self.ports[port.0];
        let Words { name, output, width, places, .. } = words;
        debug_assert!(!output, "{name} is an output");
        let values = values.iter().map(|&value| value.into());
        debug_assert!(values.clone().all(|value| value >> (width - 1) >> 1 == 0), "{name} of {width} bits");
        if let Some((range, step)) = self.row(words, run) {
            // A step that is known makes vectors of the loop.
            match step {
                1 => memory[range].iter_mut().zip(values).for_each(|(word, value)| *word = value as u32),
                _ => {
                    let row = memory[range].chunks_mut(step);
                    row.zip(values).for_each(|(word, value)| word[0] = value as u32);
                }
            }
            return;
        }
        let each = places.iter().zip(values).map(|(&place, value)| (self.at(place, *width, run), value));
        match width {
            1 => each.for_each(|(at, value)| memory[at] = mask(value)),
            2..=32 => each.for_each(|(at, value)| memory[at] = value as u32),
            _ => each.for_each(|(at, value)| {
                (memory[at], memory[at + 1]) = (value as u32, (value >> 32) as u32);
            }),
        }
    }

    fn get(&self, memory: &[u32], run: usize, place: u32, width: u32) -> u64 {
        let at = self.at(place, width, run);
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
        port: Port,
    ) -> impl Iterator<Item = u64> + 'a {
        let Words { width, places, .. } = &self.ports[port.0];
        places.iter().map(move |&place| self.get(memory, run, place, *width))
    }

    /// Puts the words of a port behind others.
    pub(crate) fn read_into(&self, memory: &[u32], run: usize, port: Port, to: &mut Vec<u64>) {
        match self.row(&self.ports[port.0], run) {
            Some((range, 1)) => to.extend(memory[range].iter().map(|&word| u64::from(word))),
            Some((range, step)) => to.extend(memory[range].chunks(step).map(|word| u64::from(word[0]))),
            None => to.extend(self.read(memory, run, port)),
        }
    }

    pub(crate) fn value(&self, memory: &[u32], run: usize, net: u32) -> u64 {
        self.get(memory, run, self.places[net as usize], self.widths[net as usize])
    }

    /// The clock's level, in all runs.
    pub(crate) fn set_clock(&self, memory: &mut [u32], high: bool) {
        let at = self.at(self.places[CLOCK as usize], 1, 0);
        memory[at..at + self.beside].fill(mask(high.into()));
    }

    /// Registers show what they captured.
    pub(crate) fn show(&self, memory: &mut [u32]) {
        memory.copy_within(self.held..2 * self.held, 0);
    }
}

/// One bit as memory has it.
fn mask(value: u64) -> u32 {
    0u32.wrapping_sub(u32::from(value != 0))
}
