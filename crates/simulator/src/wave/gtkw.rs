//! GTKWave's save file: signals under headings, and their formats.
//!
//! | line | meaning |
//! | --- | --- |
//! | `@200`, `-text` | a heading |
//! | `@28`, `@22` | the signals that follow: binary, hexadecimal |
//! | `@420`, `@8420` | decimal, decimal drawn as an analog step |
//! | `@20000`, `-` | one more line of height for the analog trace above |
//! | `@c00200` .. `@1401200` | a group, folded away |
//! | `+{label} path` | a signal under another name |

use super::layout::{Group, Look, Row};
use std::collections::{HashMap, HashSet};
use std::fmt::Write;

/// A recorded signal, as the save file needs it.
#[derive(Clone, Debug)]
pub(super) struct Recorded {
    /// Its place among all signals of the core.
    pub position: usize,
    /// Path below the core.
    pub path: String,
    /// Width in bits.
    pub width: u32,
    /// Path of the decimal value, below the core.
    pub number: Option<String>,
}

/// Contents of the save file.
pub(super) struct SaveFile<'a> {
    /// File name of the VCD, in the same folder.
    pub dump: &'a str,
    /// File name of the save file itself.
    pub save: &'a str,
    /// Name of the core, GTKWave's top scope.
    pub core: &'a str,
    /// First recorded time, in ns.
    pub start: u64,
    /// Everything recorded.
    pub recorded: &'a [Recorded],
    /// Most characters of the decimal values of a signal, by its position.
    pub longest: &'a HashMap<usize, usize>,
    /// The stages.
    pub layout: &'a [Group],
    /// Heading for recorded signals that no stage shows; `None` leaves them to GTKWave's tree.
    pub others: Option<&'a str>,
}

/// Lines of an analog trace below its decimal line.
const TRACE_LINES: usize = 2;

impl SaveFile<'_> {
    /// The file's text.
    pub(super) fn text(&self) -> String {
        let mut out = Lines { text: String::new(), flags: None, core: self.core };
        let known: HashMap<&str, &Recorded> = self.recorded.iter().map(|r| (r.path.as_str(), r)).collect();
        self.head(&mut out.text);
        let is_recorded = |row: &&Row| known.contains_key(row.path.as_str());
        for group in self.layout {
            let rows: Vec<&Row> = group.rows.iter().filter(is_recorded).collect();
            if !group.all_rows().any(|row| is_recorded(&row)) {
                continue;
            }
            out.comment("200", &group.title);
            rows.iter().for_each(|row| out.row(row, known[row.path.as_str()]));
            for (title, rows) in &group.folds {
                let rows: Vec<&Row> = rows.iter().filter(is_recorded).collect();
                if !rows.is_empty() {
                    out.comment("c00200", title);
                    rows.iter().for_each(|row| out.row(row, known[row.path.as_str()]));
                    out.comment("1401200", title);
                }
            }
            // The end of a folded group is an empty line already.
            if group.folds.is_empty() {
                out.comment("200", "");
            }
        }
        if let Some(title) = self.others {
            let shown: HashSet<&str> =
                self.layout.iter().flat_map(Group::all_rows).map(|row| row.path.as_str()).collect();
            let rest: Vec<&Recorded> =
                self.recorded.iter().filter(|r| !shown.contains(r.path.as_str())).collect();
            if !rest.is_empty() {
                out.comment("200", title);
                for signal in rest {
                    let look = if signal.number.is_some() { Look::Number } else { Look::Bits };
                    // GTKWave shows what follows the last dot only.
                    out.signal(look, signal, &signal.path.replace('.', "/"));
                }
            }
        }
        out.text
    }

    /// Most characters of a label that is shown and not folded away, and of a value.
    fn widest(&self) -> (usize, usize) {
        let known: HashMap<&str, &Recorded> = self.recorded.iter().map(|r| (r.path.as_str(), r)).collect();
        let rows = self.layout.iter().flat_map(|group| &group.rows);
        let shown = rows.filter_map(|row| Some((row, known.get(row.path.as_str())?)));
        let values = |row: &Row, signal: &Recorded| match (row.look, &signal.number) {
            (Look::Number | Look::Trace, Some(_)) => self.longest.get(&signal.position).copied().unwrap_or(0),
            _ => signal.width.div_ceil(4) as usize,
        };
        shown.fold((0, 0), |(label, value), (row, signal)| {
            (label.max(row.label.chars().count()), value.max(values(row, signal)))
        })
    }

    /// GTKWave looks for the dump where it lay relative to the save file, if it knows both by absolute
    /// paths, and else in its working directory. So both claim to have been written in the root folder.
    fn head(&self, text: &mut String) {
        let (label, value) = self.widest();
        // The label, an equals sign, the value.
        let column = MARGIN + LABEL_PIXELS * (label + 1 + value);
        let cycle = MARGIN + VALUE_PIXELS * value;
        let zoom = (cycle as f64 / super::PERIOD_NS as f64 / PIXELS_AT_ZOOM_0).log2();
        let _ = write!(
            text,
            "[*] {core}: the pipeline, stage by stage. One cycle is {period} ns; time / {period} is the cycle.\n\
             [dumpfile] \"/{dump}\"\n\
             [savefile] \"/{save}\"\n\
             [timestart] {start}\n\
             [size] 1840 1040\n\
             [pos] -1 -1\n\
             *{zoom:.3} {marker} -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1\n\
             [treeopen] {core}.\n\
             [sst_width] 40\n\
             [signals_width] {column}\n\
             [sst_expanded] 0\n",
            core = self.core,
            dump = self.dump,
            save = self.save,
            start = self.start,
            marker = self.start + MARKED * super::PERIOD_NS,
            period = super::PERIOD_NS,
        );
    }
}

/// Pixels of a nanosecond at GTKWave's zoom 0; at -1 it has half as many.
const PIXELS_AT_ZOOM_0: f64 = 200.0;
/// Pixels of a character of a value in the wave, in GTKWave's own font.
const VALUE_PIXELS: usize = 6;
/// Pixels of a character of a label, and of a value.
const LABEL_PIXELS: usize = 9;
/// Pixels that a frame takes.
const MARGIN: usize = 12;
/// The cycle of the marker, whose values GTKWave shows next to the labels: the first cycle in which most stages work.
const MARKED: u64 = 8;

struct Lines<'a> {
    text: String,
    flags: Option<&'static str>,
    core: &'a str,
}

impl Lines<'_> {
    fn comment(&mut self, flags: &'static str, text: &str) {
        self.flags(flags);
        let _ = writeln!(self.text, "-{text}");
    }

    fn flags(&mut self, flags: &'static str) {
        if self.flags != Some(flags) {
            let _ = writeln!(self.text, "@{flags}");
            self.flags = Some(flags);
        }
    }

    fn row(&mut self, row: &Row, signal: &Recorded) {
        self.signal(row.look, signal, &row.label);
    }

    fn signal(&mut self, look: Look, signal: &Recorded, label: &str) {
        let Recorded { path, width, number, .. } = signal;
        let core = self.core;
        match (look, number) {
            (Look::Number, Some(number)) => self.line("420", label, &format!("{core}.{number}")),
            (Look::Trace, Some(number)) => {
                let path = format!("{core}.{number}");
                self.line("420", label, &path);
                self.line("8420", label, &path);
                self.flags("20000");
                self.text += &"-\n".repeat(TRACE_LINES);
            }
            _ if *width == 1 => self.line("28", label, &format!("{core}.{path}")),
            _ => self.line("22", label, &format!("{core}.{path}[{}:0]", width - 1)),
        }
    }

    fn line(&mut self, flags: &'static str, label: &str, path: &str) {
        self.flags(flags);
        let _ = writeln!(self.text, "+{{{label}}} {path}");
    }
}
