//! Stacked bars of area and power, after Fig. 4 and 5 of the paper.
//!
//! A panel for each vector length, because areas of different lengths would not be readable on one axis; in it
//! a pair of bars for each format.

use super::compare::{
    CLOCKS_DIFFER, ComparedCores, CorePair, area_saving, energy_saving, glitch_saving, groups, in_words,
    mean, same_clock,
};
use super::tables::significant;
use crate::figures::{CoreFigures, CorePart};
use flashd_chart::{Axis, Bar, BarGroup, ChartError, Ink, Panel, PanelBody, svg};
use std::collections::BTreeMap;

/// What a chart shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Cell area.
    Area,
    /// Power, or energy a cycle where the clocks differ; with glitches beside it, where they are known.
    Power,
}

/// A chart of one group of figures.
#[derive(Clone, Debug)]
pub struct ReportChart {
    /// What it shows.
    pub measure: Measure,
    /// File name: `area_osu018_stdcells.svg`.
    pub name: String,
    /// In words, with the average saving.
    pub caption: String,
    /// The drawing.
    pub svg: String,
}

/// Charts of area and power of every group that has a pair to compare.
///
/// # Errors
/// If the drawing library fails.
pub fn charts(figures: &[CoreFigures]) -> Result<Vec<ReportChart>, ChartError> {
    let mut charts = Vec::new();
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    for group in &groups(figures) {
        let library: String =
            group.library.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let count = names.entry(library.clone()).or_default();
        *count += 1;
        let suffix = if *count > 1 { format!("_{count}") } else { String::new() };
        for (measure, stem) in [(Measure::Area, "area"), (Measure::Power, "power")] {
            let Some(chart) = chart(group, measure) else { continue };
            let name = format!("{stem}_{library}{suffix}.svg");
            let caption = chart.notes.join(" ");
            charts.push(ReportChart { measure, name, caption, svg: svg(&[chart])? });
        }
    }
    Ok(charts)
}

/// The quantity, the unit, and a factor from a core's figures to that unit.
type Quantity = (&'static str, &'static str, Box<dyn Fn(&CoreFigures) -> f64>);

fn quantity(measure: Measure, cores: &[&CoreFigures], one_clock: bool) -> Quantity {
    let largest_area = cores.iter().map(|core| core.area.total).fold(0.0, f64::max);
    match measure {
        Measure::Area if largest_area >= 1e5 => ("Area", "mm2", Box::new(|_| 1e-6)),
        Measure::Area => ("Area", "um2", Box::new(|_| 1.0)),
        Measure::Power if one_clock => ("Power", "mW", Box::new(|_| 1.0)),
        Measure::Power => {
            let energy = |core: &CoreFigures| core.power.as_ref().map_or(0.0, |p| p.energy() / p.total);
            ("Energy a cycle", "pJ", Box::new(energy))
        }
    }
}

/// The bars of a core: one, or one without glitches and one with. A core without figures by function is one segment.
fn bars(name: &str, core: &CoreFigures, measure: Measure, with_glitches: bool, scale: f64) -> Vec<Bar> {
    let mut all = vec![(core.area.total, &core.area.by_part)];
    if let (Measure::Power, Some(power)) = (measure, &core.power) {
        all = vec![(power.total, &power.by_part)];
        all.extend(power.glitches.as_ref().filter(|_| with_glitches).map(|g| (g.total, &g.by_part)));
    }
    let bar = |(total, by_part): (f64, &Vec<(CorePart, f64)>)| {
        let part =
            |(i, part): (usize, CorePart)| (part.name().to_string(), Ink::nth(i), part.of(by_part) * scale);
        let mut segments: Vec<_> =
            (0..).zip(CorePart::ALL).map(part).filter(|(.., value)| *value > 0.0).collect();
        if core.area.by_part.is_empty() {
            segments = vec![("whole core, hierarchy dissolved".to_string(), Ink::GREY, total * scale)];
        }
        let mut bar = Bar { name: name.to_string(), value: String::new(), segments };
        bar.value = significant(bar.total());
        bar
    };
    all.into_iter().map(bar).collect()
}

/// The chart of a group; `None` if there is nothing to compare.
fn chart(group: &ComparedCores, measure: Measure) -> Option<flashd_chart::Chart> {
    let drawn = |pair: &CorePair| measure == Measure::Area || energy_saving(pair.flash_d, pair.fa2).is_some();
    let pairs: Vec<CorePair> = group.pairs().into_iter().filter(drawn).collect();
    let cores: Vec<&CoreFigures> = pairs.iter().flat_map(|pair| [pair.fa2, pair.flash_d]).collect();
    let clock = cores.first()?.timing.clock;
    let known = |pair: &CorePair| glitch_saving(pair.flash_d, pair.fa2).is_some();
    let with_glitches = measure == Measure::Power && pairs.iter().all(known);
    let one_clock = cores.iter().all(|core| same_clock(core.timing.clock, clock));
    let (quantity, unit, scale) = quantity(measure, &cores, one_clock);
    let mut savings = Vec::new();
    let mut panels: BTreeMap<usize, Vec<BarGroup>> = BTreeMap::new();
    for pair in &pairs {
        let saving = match measure {
            Measure::Area => area_saving(pair.flash_d, pair.fa2),
            Measure::Power => energy_saving(pair.flash_d, pair.fa2).unwrap_or_default(),
        };
        savings.push(saving);
        let both = [("FA2", pair.fa2), ("FLASH-D", pair.flash_d)].into_iter().flat_map(|(design, core)| {
            // Where the clocks differ, an area is the price of its clock.
            let name = match one_clock {
                true => design.to_string(),
                false => format!("{design}, {} ns", significant(core.timing.clock)),
            };
            bars(&name, core, measure, with_glitches, scale(core))
        });
        panels.entry(pair.flash_d.configuration.d).or_default().push(BarGroup {
            name: pair.flash_d.configuration.format.to_string(),
            note: match glitch_saving(pair.flash_d, pair.fa2).filter(|_| with_glitches) {
                Some(glitches) => format!("{}, {}", in_words(saving), in_words(glitches)),
                None => in_words(saving),
            },
            bars: both.collect(),
        });
    }
    let mut notes = vec![caption(&savings, &pairs, group)?];
    if with_glitches {
        let savings = pairs.iter().filter_map(|pair| glitch_saving(pair.flash_d, pair.fa2));
        let words = mean(savings).map_or(String::new(), in_words);
        notes.push(format!("Left bar of each design: without glitches; right bar: with glitches, {words}."));
    }
    let at = if one_clock { format!(" at {} ns", significant(clock)) } else { String::new() };
    let panel = |(d, groups): (usize, Vec<BarGroup>)| Panel {
        y: Axis::linear(format!("{}, {unit}", quantity.to_lowercase())),
        title: format!("d = {d}"),
        x: Axis::default(),
        body: PanelBody::Bars(groups),
    };
    Some(flashd_chart::Chart {
        title: format!("{quantity}{at}, {unit}: {}", group.library),
        notes,
        columns: panels.len(),
        panels: panels.into_iter().map(panel).collect(),
    })
}

/// The average of savings, and which cores are drawn where there was a choice; `None` without a saving.
fn caption(savings: &[f64], pairs: &[CorePair], group: &ComparedCores) -> Option<String> {
    let average = match savings {
        [one] => format!("FLASH-D over FA2: {}.", in_words(*one)),
        many => format!(
            "FLASH-D over FA2: {} on average over {} pairs.",
            in_words(mean(many.iter().copied())?),
            many.len()
        ),
    };
    let chosen: Vec<String> = pairs
        .iter()
        .filter(|pair| !pair.only)
        .map(|pair| format!("{} and {}", pair.flash_d.core, pair.fa2.core))
        .collect();
    let mut clock = format!(" Clock: {}.", group.clock());
    if !pairs.iter().all(CorePair::same_clock) {
        clock += &format!(" {CLOCKS_DIFFER}");
    }
    Some(match chosen.is_empty() {
        true => average + &clock,
        false => format!(
            "{average}{clock} Of several cores the smallest of each design is drawn, those with everything in the \
             format left out: {}.",
            chosen.join("; ")
        ),
    })
}
