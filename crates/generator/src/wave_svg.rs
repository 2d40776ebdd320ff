//! The packets of a stream wrapper as a wave diagram (SVG): a block, simulated, at every stream.

mod record;

pub(crate) use record::{Lane, Recording, record};

use crate::{GenerateError, GeneratedFile};
use flashd_spec::config::WrapperConfig;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::error::Error;

/// Pixels of a cycle, of a row, of the names on the left and of the cycle numbers above.
const CYCLE: i32 = 40;
const ROW: i32 = 22;
const LEFT: i32 = 150;
const TOP: i32 = 70;
/// Height of a signal in its row.
const HIGH: i32 = 14;
/// Below the name.
const LEGEND: &str = "filled: the beat passes; empty: it waits; grey: cycles that look alike, and how many";
/// This number of equal cycles and more are drawn as one.
const LONG: usize = 4;

/// A column of the diagram: a cycle, or some equal ones.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Column {
    Cycle(usize),
    Skipped(usize, usize),
}

/// What two cycles have in common that look alike: on each stream whether a beat is offered, ends its packet, and passes.
fn look(lanes: &[Lane]) -> Vec<(Option<bool>, bool)> {
    let inner = |lane: &Lane| lane.beat.as_ref().map(|beat| beat.last);
    lanes.iter().map(|lane| (inner(lane), lane.ready)).collect()
}

/// A beat that begins or ends an item of several beats, or passes at once.
fn notable(lane: &Lane) -> bool {
    lane.beat.as_ref().is_some_and(|beat| {
        let (place, of) = beat.place;
        lane.ready && (place == 0 || place + 1 == of)
    })
}

/// The columns: runs of cycles that look like their neighbours are drawn as one.
fn columns(cycles: &[Vec<Lane>]) -> Vec<Column> {
    let plain = |i: usize| {
        i > 0
            && i + 1 < cycles.len()
            && look(&cycles[i]) == look(&cycles[i - 1])
            && look(&cycles[i]) == look(&cycles[i + 1])
            && !cycles[i].iter().any(notable)
    };
    let mut columns = Vec::new();
    let mut i = 0;
    while i < cycles.len() {
        let run = (i..cycles.len()).take_while(|j| plain(*j)).count();
        if run >= LONG {
            columns.push(Column::Skipped(i, run));
            i += run;
        } else {
            columns.push(Column::Cycle(i));
            i += 1;
        }
    }
    columns
}

/// `<name>.svg` of the wrapper of that name: the streams while a block of a few queries and keys passes, from a simulation of the wrapper.
///
/// # Errors
/// If the configuration is not valid, or the block does not end.
pub(crate) fn packet_wave(config: &WrapperConfig, name: &str) -> Result<GeneratedFile, GenerateError> {
    let recording = record(config)?;
    let text = draw(name, &recording).map_err(|e| GenerateError::Check {
        module: config.name(),
        detail: format!("the wave cannot be drawn: {e}"),
    })?;
    Ok(GeneratedFile { name: format!("{name}.svg"), text })
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// A line of text around a point.
fn label(area: &Area, text: &str, at: (i32, i32), size: i32, horizontal: HPos) -> Result<(), Box<dyn Error>> {
    let style = ("sans-serif", size).into_font().color(&BLACK).pos(Pos::new(horizontal, VPos::Center));
    area.draw(&Text::new(text.to_string(), at, style)).map_err(|e| e.to_string().into())
}

/// A line through points.
fn line(area: &Area, points: Vec<(i32, i32)>, colour: RGBColor) -> Result<(), Box<dyn Error>> {
    area.draw(&PathElement::new(points, colour.stroke_width(1))).map_err(|e| e.to_string().into())
}

/// The diagram.
fn draw(name: &str, recording: &Recording) -> Result<String, Box<dyn Error>> {
    let columns = columns(&recording.cycles);
    let rows: i32 = recording.streams.iter().map(|(_, last)| 3 + i32::from(*last)).sum();
    let gaps = recording.streams.len() as i32 * ROW / 2;
    let (width, height) = (LEFT + columns.len() as i32 * CYCLE + 20, TOP + rows * ROW + gaps + 8);
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (width as u32, height as u32)).into_drawing_area();
        area.fill(&WHITE)?;
        label(&area, name, (LEFT, 14), 15, HPos::Left)?;
        label(&area, LEGEND, (LEFT, 30), 11, HPos::Left)?;
        label(&area, "cycle", (LEFT - 8, TOP - 16), 11, HPos::Right)?;
        for (i, column) in columns.iter().enumerate() {
            let x = LEFT + i as i32 * CYCLE;
            let number = match column {
                Column::Cycle(cycle) => {
                    line(&area, vec![(x, TOP - 6), (x, height - 4)], GRID)?;
                    cycle.to_string()
                }
                Column::Skipped(_, run) => {
                    area.draw(&Rectangle::new([(x, TOP - 6), (x + CYCLE, height - 4)], SKIPPED.filled()))?;
                    format!("+{run}")
                }
            };
            label(&area, &number, (x + CYCLE / 2, TOP - 16), 11, HPos::Center)?;
        }
        let mut y = TOP;
        for (s, (stream, has_last)) in recording.streams.iter().enumerate() {
            let lane = |column: &Column| match column {
                Column::Cycle(cycle) | Column::Skipped(cycle, _) => &recording.cycles[*cycle][s],
            };
            let mut signals: Vec<(&str, Vec<bool>)> = vec![
                ("tvalid", columns.iter().map(|c| lane(c).beat.is_some()).collect()),
                ("tready", columns.iter().map(|c| lane(c).ready).collect()),
            ];
            if *has_last {
                let last = |c: &Column| lane(c).beat.as_ref().is_some_and(|beat| beat.last);
                signals.push(("tlast", columns.iter().map(last).collect()));
            }
            for (signal, levels) in &signals {
                label(&area, &format!("{stream}_{signal}"), (LEFT - 8, y + HIGH / 2), 12, HPos::Right)?;
                level(&area, y, levels)?;
                y += ROW;
            }
            label(&area, &format!("{stream}_tdata"), (LEFT - 8, y + HIGH / 2), 12, HPos::Right)?;
            data(&area, y, &columns.iter().map(|c| (c, lane(c))).collect::<Vec<_>>())?;
            y += ROW + ROW / 2;
        }
        area.present()?;
    }
    Ok(svg)
}

/// A signal of one bit.
fn level(area: &Area, y: i32, levels: &[bool]) -> Result<(), Box<dyn Error>> {
    let mut points = Vec::new();
    for (i, high) in levels.iter().enumerate() {
        let x = LEFT + i as i32 * CYCLE;
        let at = if *high { y } else { y + HIGH };
        points.extend([(x, at), (x + CYCLE, at)]);
    }
    line(area, points, BLACK)
}

/// The beats of a stream: filled where they pass, empty where they wait.
fn data(area: &Area, y: i32, lanes: &[(&Column, &Lane)]) -> Result<(), Box<dyn Error>> {
    for (i, (column, lane)) in lanes.iter().enumerate() {
        let x = LEFT + i as i32 * CYCLE;
        let Some(beat) = &lane.beat else {
            line(area, vec![(x, y + HIGH / 2), (x + CYCLE, y + HIGH / 2)], IDLE)?;
            continue;
        };
        let corners = [
            (x, y + HIGH / 2),
            (x + 3, y),
            (x + CYCLE - 3, y),
            (x + CYCLE, y + HIGH / 2),
            (x + CYCLE - 3, y + HIGH),
            (x + 3, y + HIGH),
        ];
        if lane.ready {
            area.draw(&Polygon::new(corners.to_vec(), PASSES.filled()))?;
        }
        line(area, corners.iter().copied().chain([corners[0]]).collect(), BLACK)?;
        let text = match (column, beat.place) {
            (Column::Skipped(..), _) => "...".to_string(),
            (_, (_, 1)) => beat.item.clone(),
            (_, (place, _)) => format!("{}.{place}", beat.item),
        };
        label(area, &text, (x + CYCLE / 2, y + HIGH / 2), 11, HPos::Center)?;
    }
    Ok(())
}

const GRID: RGBColor = RGBColor(225, 225, 225);
const SKIPPED: RGBColor = RGBColor(240, 240, 240);
const IDLE: RGBColor = RGBColor(150, 150, 150);
const PASSES: RGBColor = RGBColor(205, 225, 245);

#[cfg(test)]
mod tests {
    use super::record::Beat;
    use super::*;
    use flashd_spec::config::{ArrayConfig, CoreConfig, Design, Values};
    use flashd_spec::format::Format;

    fn config(queries: usize, beat_bits: u32, values: Values) -> WrapperConfig {
        wide(4, queries, beat_bits, values)
    }

    fn wide(d: usize, queries: usize, beat_bits: u32, values: Values) -> WrapperConfig {
        let core = CoreConfig::new(Design::FlashD, d, Format::FP8_E4M3);
        WrapperConfig {
            beat_bits: Some(beat_bits),
            values,
            ..WrapperConfig::new(ArrayConfig::new(core, queries))
        }
    }

    fn passed(recording: &Recording, stream: usize) -> Vec<&Beat> {
        let lanes = recording.cycles.iter().map(|lanes| &lanes[stream]);
        lanes.filter(|lane| lane.ready).filter_map(|lane| lane.beat.as_ref()).collect()
    }

    /// A whole block passes: all its beats, one request for each key, each answered, and `tlast` at the end of the
    /// wrapper's own packet only.
    #[test]
    fn records_a_block() {
        for (queries, bits) in [(1, 8), (2, 32), (3, 16)] {
            let config = config(queries, bits, Values::Requested);
            let beats = config.beats(flashd_spec::config::Carried::Key) as usize;
            let recording = record(&config).unwrap();
            let names: Vec<&str> = recording.streams.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, ["s_axis_q", "s_axis_k", "m_axis_vreq", "s_axis_v", "m_axis_o"]);
            let counts: Vec<usize> = (0..5).map(|s| passed(&recording, s).len()).collect();
            let results = queries.min(2) * beats;
            assert_eq!(counts, [results, 3 * beats, 3, 3 * beats, results]);
            let lasts: Vec<bool> = passed(&recording, 4).iter().map(|beat| beat.last).collect();
            assert!(lasts[results - 1] && !lasts[..results - 1].contains(&true), "{lasts:?}");
            // A beat that waits is kept.
            for pair in recording.cycles.windows(2) {
                for (before, after) in pair[0].iter().zip(&pair[1]) {
                    assert!(before.beat.is_none() || before.ready || before.beat == after.beat);
                }
            }
        }
    }

    /// Without requests there is no such stream, and the drawing still has one box for each beat that it shows.
    #[test]
    fn draws_every_stream() {
        let config = config(2, 32, Values::All);
        let file = packet_wave(&config, &config.name()).unwrap();
        assert_eq!(file.name, format!("{}.svg", config.name()));
        assert!(!file.text.contains("m_axis_vreq"));
        for name in ["s_axis_q_tdata", "s_axis_k_tlast", "s_axis_v_tready", "m_axis_o_tvalid"] {
            assert!(file.text.contains(name), "{name}");
        }
        for item in ["q1", "k2", "v2", "o1"] {
            assert!(file.text.contains(&format!("\n{item}\n")), "{item} is not drawn");
        }
    }

    /// No cycle is lost by drawing equal ones as one.
    #[test]
    fn columns_cover_all_cycles() {
        let recording = record(&wide(16, 2, 8, Values::Requested)).unwrap();
        let columns = columns(&recording.cycles);
        let covered = columns.iter().map(|column| match column {
            Column::Cycle(_) => 1,
            Column::Skipped(_, run) => *run,
        });
        assert_eq!(covered.sum::<usize>(), recording.cycles.len());
        assert!(
            columns.iter().any(|column| matches!(column, Column::Skipped(..))),
            "the inner beats of a vector are drawn as one"
        );
    }
}
