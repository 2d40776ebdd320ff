//! Progress on standard error: the expected duration, the share that is done and, with `--verbose`, the current step.
//!
//! On a terminal a bar is shown from the start. Elsewhere a line is printed every minute, and one at the start if the work takes more than
//! a minute. With `--quiet` standard error has nothing but errors.

mod plan;

pub use plan::{Phase, ProgressPlan};

use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use plan::Forecast;
use std::io::IsTerminal;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, LazyLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time between two lines where there is no terminal for a bar.
const LINE_EVERY: Duration = Duration::from_secs(60);
/// Time between two looks at the rate, until it is known.
const FIRST_LOOK: Duration = Duration::from_secs(2);
/// Below this a command says nothing about how long it takes.
const WORTH_SAYING: Duration = Duration::from_secs(60);

/// How much is said.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Level {
    /// Errors alone.
    Quiet,
    /// How far a command is.
    Usual,
    /// Each step too.
    Verbose,
}

static LEVEL: AtomicU8 = AtomicU8::new(Level::Usual as u8);
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Sets how much is said, for the whole process, and starts the clock of [`step`].
pub fn set(level: Level) {
    LazyLock::force(&START);
    LEVEL.store(level as u8, Ordering::Relaxed);
}

fn is(level: Level) -> bool {
    LEVEL.load(Ordering::Relaxed) == level as u8
}

/// With `--verbose`, a line that begins with the seconds since the start.
pub fn step(text: impl FnOnce() -> String) {
    if is(Level::Verbose) {
        eprintln!("{:8.2} s  {}", START.elapsed().as_secs_f64(), text());
    }
}

/// Seconds of processor time that one unit of a piece of work takes, measured on one core of a server of 2024. They serve to say "about
/// 4 minutes" before the first unit is done; from then on the measured rate counts.
pub mod rates {
    /// A multiplication and addition of attention in f64.
    pub const F64_TERM: f64 = 4e-9;
    /// A key and an element of its vector in the lock-step check, with the engine that is compiled.
    pub const LOCKSTEP_ELEMENT: f64 = 1e-8;
    /// An element of a key or value of 16 queries in the bit-exact model.
    pub const MODEL_ELEMENT: f64 = 3e-9;
    /// How much slower the reference simulator of `--engine reference` is.
    pub const REFERENCE: f64 = 20.0;
    /// How much slower RustHDL's simulator is.
    pub const RUSTHDL: f64 = 2000.0;
    /// Compiling a core with Verilator, without its lanes, and for each element.
    pub const VERILATOR: (f64, f64) = (15.0, 0.5);
    /// Mapping a core of which nothing is in the cache, for each element of its vectors.
    pub const MAPPING_ELEMENT: f64 = 8.0;
    /// A core on a head, and on one length of a stream.
    pub const CORE_ON_HEAD: f64 = 0.1;
    /// See [`CORE_ON_HEAD`].
    pub const CORE_ON_STREAM: f64 = 0.1;
    /// A core by the rule of equal error, up to 65,536 keys.
    pub const CORE_BY_RULE: f64 = 1.5;
    /// Errors of a core on the bundled heads, and on one seed of equal scores.
    pub const ERRORS: f64 = 2.0;
    /// See [`ERRORS`].
    pub const EQUAL_SCORES: f64 = 0.2;
}

/// Seconds of processor time on all processors, as time on the clock.
pub fn on_all_processors(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds / rayon::current_num_threads().max(1) as f64)
}

/// Work that a user sees the progress of, until it is dropped.
pub struct Work {
    bar: ProgressBar,
    /// Whether a line has said how long it takes.
    said: Arc<AtomicBool>,
    lines: Option<ProgressLines>,
    forecast: Option<Arc<Forecast>>,
}

impl Work {
    /// Work of `units` units. The template is indicatif's; without a known duration, the rate is measured over the first seconds.
    pub fn start(units: u64, template: &str) -> Work {
        Work::new(ProgressBar::new(units), template, None)
    }

    /// Work in phases, of which `forecast` says how far they are.
    fn planned(length: u64, forecast: &Arc<Forecast>) -> Work {
        let template = "{bar:30} {percent:>3} % {elapsed}, {forecast} {prefix} {wide_msg}";
        Work::new(ProgressBar::new(length), template, Some(Arc::clone(forecast)))
    }

    fn new(bar: ProgressBar, template: &str, forecast: Option<Arc<Forecast>>) -> Work {
        if let Ok(style) = ProgressStyle::with_template(template) {
            let of_plan = forecast.clone();
            let style =
                style.with_key("forecast", move |_: &ProgressState, out: &mut dyn std::fmt::Write| {
                    if let Some(forecast) = &of_plan {
                        let _ = write!(out, "{}: {}", plan::left_in_words(forecast), forecast.words());
                    }
                });
            bar.set_style(style.with_key(
                "per_sec",
                |state: &ProgressState, out: &mut dyn std::fmt::Write| {
                    // An error of writing to a line has nowhere to go.
                    let _ = out.write_str(&rate(state.per_sec()));
                },
            ));
        }
        if is(Level::Quiet) {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        let shown = std::io::stderr().is_terminal() || is(Level::Quiet);
        let said = Arc::default();
        Work { lines: (!shown).then(|| ProgressLines::start(&bar, &said, &forecast)), said, bar, forecast }
    }

    /// Says about how long it will take, if that is worth a line, and what that depends on.
    pub fn expect(&self, time: Duration, depends: &str) {
        if time >= WORTH_SAYING && !is(Level::Quiet) {
            self.said.store(true, Ordering::Relaxed);
            self.bar.suspend(|| eprintln!("this takes {}{depends}", about(time)));
        }
    }
}

impl Deref for Work {
    type Target = ProgressBar;
    fn deref(&self) -> &ProgressBar {
        &self.bar
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        drop(self.lines.take());
        // The words are made before: the bar is locked while it is suspended.
        let ended = state(&self.bar, self.forecast.as_deref());
        self.bar.suspend(|| step(|| ended));
        self.bar.finish_and_clear();
    }
}

/// Units a second, as exactly as one can read it from a line that moves: indicatif's own has four decimals.
fn rate(per_second: f64) -> String {
    match per_second {
        r if r < 10.0 => format!("{r:.1}/s"),
        r => format!("{}/s", HumanCount(r as u64)),
    }
}

/// A time in words, as roughly as it is known.
fn about(time: Duration) -> String {
    let minutes = time.as_secs_f64() / 60.0;
    match minutes {
        m if m < 0.75 => "less than a minute".into(),
        m if m < 1.5 => "about a minute".into(),
        m if m < 90.0 => format!("about {m:.0} minutes"),
        m if m < 48.0 * 60.0 => format!("about {:.0} hours", m / 60.0),
        m => format!("about {:.0} days", m / 60.0 / 24.0),
    }
}

/// Prints the bar's state as a line every minute.
struct ProgressLines {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ProgressLines {
    fn start(bar: &ProgressBar, said: &Arc<AtomicBool>, forecast: &Option<Arc<Forecast>>) -> ProgressLines {
        let (stop, stopped) = channel();
        let (bar, said, forecast) = (bar.clone(), said.clone(), forecast.clone());
        let print = |line| eprintln!("{line}");
        let thread = std::thread::spawn(move || {
            let state = || state(&bar, forecast.as_deref());
            if first((&bar, forecast.as_deref()), FIRST_LOOK, &said, &stopped, print) {
                lines(state, LINE_EVERY, &stopped, print);
            }
        });
        ProgressLines { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for ProgressLines {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It only prints.
            let _ = thread.join();
        }
    }
}

/// Prints the duration as soon as the rate is known, unless it was printed before or is too short. Polls until the first interval of
/// [`lines`] is over; returns false if the work has ended by then.
fn first(
    (bar, forecast): (&ProgressBar, Option<&Forecast>),
    every: Duration,
    said: &AtomicBool,
    stopped: &Receiver<()>,
    mut line: impl FnMut(String),
) -> bool {
    while bar.elapsed() < LINE_EVERY {
        if !matches!(stopped.recv_timeout(every), Err(RecvTimeoutError::Timeout)) {
            return false;
        }
        let (done, of) = (bar.position(), bar.length().unwrap_or(0));
        if said.load(Ordering::Relaxed) || !(1..of).contains(&done) {
            continue;
        }
        said.store(true, Ordering::Relaxed);
        let all = match forecast {
            Some(forecast) => bar.elapsed() + forecast.left(),
            None => bar.elapsed().mul_f64(of as f64 / done as f64),
        };
        if all >= WORTH_SAYING {
            line(format!("this takes {} at the rate of the first {} s", about(all), bar.elapsed().as_secs()));
        }
    }
    line(state(bar, forecast));
    true
}

/// A line after every interval until the other end is dropped.
fn lines(state: impl Fn() -> String, every: Duration, stopped: &Receiver<()>, mut line: impl FnMut(String)) {
    while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(every) {
        line(state());
    }
}

/// Time, units done, the time left by the rate so far, and the words of the bar.
fn state(bar: &ProgressBar, forecast: Option<&Forecast>) -> String {
    let seconds = bar.elapsed().as_secs();
    let mut text = format!("{}:{:02} min:", seconds / 60, seconds % 60);
    if let Some(forecast) = forecast {
        text += &format!(" {}, {}", forecast.words(), plan::left_in_words(forecast));
    } else if let Some(of) = bar.length() {
        let done = bar.position();
        text += &format!(" {done} of {of}");
        if (1..of).contains(&done) {
            let left = bar.elapsed().mul_f64((of - done) as f64 / done as f64);
            text += &format!(", {} left", about(left));
        }
    }
    for words in [bar.prefix(), bar.message()].iter().filter(|words| !words.is_empty()) {
        text += &format!(" {words}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_terminal_there_is_a_line_at_every_interval() {
        let bar = ProgressBar::hidden();
        bar.set_prefix("1 of 2, core:");
        bar.set_message("module 3 of 4");
        let (stop, stopped) = channel();
        let (out, written) = channel();
        let shared = bar.clone();
        let every = Duration::from_millis(10);
        let thread = std::thread::spawn(move || {
            lines(|| state(&shared, None), every, &stopped, |line| out.send(line).unwrap())
        });
        assert!(written.recv().unwrap().ends_with("min: 1 of 2, core: module 3 of 4"));
        bar.set_message("module 4 of 4");
        while !written.recv().unwrap().ends_with("module 4 of 4") {}
        drop(stop);
        thread.join().unwrap();
    }

    #[test]
    fn a_rate_has_as_many_digits_as_can_be_read() {
        assert_eq!([0.25, 9.96, 6_263_985.2].map(rate), ["0.2/s", "10.0/s", "6,263,985/s"]);
    }

    #[test]
    fn a_line_says_how_much_is_left() {
        let bar = ProgressBar::with_draw_target(Some(10), ProgressDrawTarget::hidden());
        bar.set_elapsed(Duration::from_secs(120));
        assert!(state(&bar, None).ends_with("min: 0 of 10"), "{}", state(&bar, None));
        bar.set_position(2);
        assert!(
            state(&bar, None).contains("2:00 min: 2 of 10, about 8 minutes left"),
            "{}",
            state(&bar, None)
        );
    }

    #[test]
    fn the_rate_tells_how_long_it_takes_once() {
        let bar = ProgressBar::with_draw_target(Some(100), ProgressDrawTarget::hidden());
        bar.set_elapsed(Duration::from_secs(10));
        bar.set_position(2);
        let (stop, stopped) = channel();
        let looking = std::thread::spawn(move || {
            let (said, mut lines) = (AtomicBool::new(false), Vec::new());
            let goes_on =
                first((&bar, None), Duration::from_millis(5), &said, &stopped, |line| lines.push(line));
            (goes_on, lines)
        });
        std::thread::sleep(Duration::from_millis(100));
        drop(stop);
        let (goes_on, lines) = looking.join().unwrap();
        assert!(!goes_on && lines.len() == 1, "{lines:?}");
        assert!(
            lines[0].starts_with("this takes about 8 minutes at the rate of the first 10 s"),
            "{lines:?}"
        );
    }

    #[test]
    fn times_are_in_words() {
        for (seconds, text) in [
            (20, "less than a minute"),
            (61, "about a minute"),
            (150, "about 2 minutes"),
            (7300, "about 2 hours"),
            (400_000, "about 5 days"),
        ] {
            assert_eq!(about(Duration::from_secs(seconds)), text);
        }
    }
}
