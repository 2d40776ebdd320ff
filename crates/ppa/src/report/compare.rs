//! FLASH-D against FA2: which cores are compared, and what one saves over the other.

use crate::figures::{CoreFigures, FiguresRun};
use flashd_spec::config::Design;
use flashd_spec::format::Format;

/// Clocks that differ by less than this part count as the same.
const SAME_CLOCK: f64 = 1e-6;

/// What a reader is told where the clocks of a pair differ.
pub const CLOCKS_DIFFER: &str = "The cores of a pair run at clocks of their own, and speed costs area: --clock compares them at one clock.";

/// Cores that were measured alike: same library, clock, options and tools.
#[derive(Clone, Debug)]
pub struct ComparedCores<'a> {
    /// What they were measured with.
    pub run: &'a FiguresRun,
    /// The library's name in its file.
    pub library: &'a str,
    /// The cores, in the order in which they were measured.
    pub cores: Vec<&'a CoreFigures>,
}

/// A FLASH-D and an FA2 core of the same format and vector length.
#[derive(Clone, Copy, Debug)]
pub struct CorePair<'a> {
    /// The FLASH-D core.
    pub flash_d: &'a CoreFigures,
    /// The FA2 core.
    pub fa2: &'a CoreFigures,
    /// Whether there was no other to choose.
    pub only: bool,
}

impl CorePair<'_> {
    /// Whether both run at the same clock. Where they do not, the faster one may be larger for its speed.
    pub fn same_clock(&self) -> bool {
        same_clock(self.flash_d.timing.clock, self.fa2.timing.clock)
    }
}

/// All cores of one format and vector length, where there are some of both designs and more than one pair.
#[derive(Clone, Debug)]
pub struct Matrix<'a> {
    /// The FLASH-D cores.
    pub flash_d: Vec<&'a CoreFigures>,
    /// The FA2 cores.
    pub fa2: Vec<&'a CoreFigures>,
}

impl Matrix<'_> {
    /// Whether there is a core of each design whose power is known with glitches.
    pub fn with_glitches(&self) -> bool {
        let any = |cores: &[&CoreFigures]| {
            cores.iter().any(|core| core.power.as_ref().is_some_and(|power| power.glitches.is_some()))
        };
        any(&self.flash_d) && any(&self.fa2)
    }
}

/// Sorts figures into groups, in the order in which they come.
pub fn groups(figures: &[CoreFigures]) -> Vec<ComparedCores<'_>> {
    let mut groups: Vec<ComparedCores> = Vec::new();
    for core in figures {
        match groups.iter_mut().find(|g| *g.run == core.run && g.library == core.library) {
            Some(group) => group.cores.push(core),
            None => groups.push(ComparedCores { run: &core.run, library: &core.library, cores: vec![core] }),
        }
    }
    groups
}

/// What `new` saves over `old`, as a fraction of `old`; negative if it takes more.
pub(crate) fn saving(new: f64, old: f64) -> f64 {
    1.0 - new / old
}

/// Whether two clock periods are the same but for rounding.
pub(super) fn same_clock(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < SAME_CLOCK
}

/// The arithmetic mean; `None` of nothing.
pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0.0);
    for value in values {
        sum += value;
        count += 1.0;
    }
    (count > 0.0).then(|| sum / count)
}

/// A saving in words: `12.3 % less`, `4.0 % more`.
pub(crate) fn in_words(saving: f64) -> String {
    let percent = format!("{:.1} %", 100.0 * saving.abs());
    match saving {
        _ if percent == "0.0 %" => "equal".to_string(),
        s if s > 0.0 => format!("{percent} less"),
        _ => format!("{percent} more"),
    }
}

impl<'a> ComparedCores<'a> {
    /// The clock asked for, in words, and whether it is gated.
    pub fn clock(&self) -> String {
        let gates = if self.run.clock_gates { ", with clock gates" } else { "" };
        match self.run.clock {
            Some(ns) => format!("{ns} ns{gates}"),
            None => format!("each core's shortest{gates}"),
        }
    }

    /// The cores that are not in an array: designs are compared by them.
    fn single(&self) -> impl Iterator<Item = &'a CoreFigures> {
        self.cores.iter().copied().filter(|core| core.array.is_none())
    }

    /// Every array whose core was measured too, with that core.
    pub fn arrays(&self) -> Vec<(&'a CoreFigures, &'a CoreFigures, usize)> {
        let alone = |array: &CoreFigures| self.single().find(|c| c.configuration == array.configuration);
        let arrays = self.cores.iter().filter_map(|array| Some((*array, array.array?.queries)));
        arrays.filter_map(|(array, queries)| Some((array, alone(array)?, queries))).collect()
    }

    /// Cores of both designs for each format and vector length that has both: by format, then by length.
    fn matches(&self) -> Vec<Matrix<'a>> {
        let mut keys: Vec<(Format, usize)> =
            self.single().map(|c| (c.configuration.format, c.configuration.d)).collect();
        keys.sort_by_key(|(format, d)| (Format::NAMED.iter().position(|(_, named)| named == format), *d));
        keys.dedup();
        let of = |design: Design, (format, d): (Format, usize)| -> Vec<&'a CoreFigures> {
            let is = |c: &CoreFigures| {
                let c = &c.configuration;
                c.design() == design && c.format == format && c.d == d
            };
            self.single().filter(|c| is(c)).collect()
        };
        keys.into_iter()
            .map(|key| Matrix { flash_d: of(Design::FlashD, key), fa2: of(Design::Fa2, key) })
            .filter(|matrix| !matrix.flash_d.is_empty() && !matrix.fa2.is_empty())
            .collect()
    }

    /// A pair for each format and vector length at which both designs were measured. Of several cores of one
    /// design the smallest stands for it; those that follow the paper to the letter, and are less accurate, only
    /// if there is no other.
    pub fn pairs(&self) -> Vec<CorePair<'a>> {
        let smallest = |cores: &[&'a CoreFigures]| {
            cores.iter().copied().min_by(|a, b| {
                let key = |c: &CoreFigures| (c.configuration.follows_the_paper(), c.area.total);
                let ((a_paper, a_area), (b_paper, b_area)) = (key(a), key(b));
                a_paper.cmp(&b_paper).then(a_area.total_cmp(&b_area))
            })
        };
        self.matches()
            .iter()
            .filter_map(|m| {
                let only = m.flash_d.len() == 1 && m.fa2.len() == 1;
                Some(CorePair { flash_d: smallest(&m.flash_d)?, fa2: smallest(&m.fa2)?, only })
            })
            .collect()
    }

    /// Formats and vector lengths with more to compare than one pair.
    pub fn matrices(&self) -> Vec<Matrix<'a>> {
        self.matches().into_iter().filter(|m| m.flash_d.len() + m.fa2.len() > 2).collect()
    }
}

/// What a FLASH-D core saves in area over an FA2 core, as a fraction.
pub fn area_saving(flash_d: &CoreFigures, fa2: &CoreFigures) -> f64 {
    saving(flash_d.area.total, fa2.area.total)
}

/// What a FLASH-D core saves in energy a cycle over an FA2 core, as a fraction: at one clock also the saving in
/// power. `None` without power figures.
pub fn energy_saving(flash_d: &CoreFigures, fa2: &CoreFigures) -> Option<f64> {
    Some(saving(flash_d.power.as_ref()?.energy(), fa2.power.as_ref()?.energy()))
}

/// As [`energy_saving`], with glitches. `None` without such figures of both.
pub fn glitch_saving(flash_d: &CoreFigures, fa2: &CoreFigures) -> Option<f64> {
    Some(saving(flash_d.power.as_ref()?.glitch_energy()?, fa2.power.as_ref()?.glitch_energy()?))
}
