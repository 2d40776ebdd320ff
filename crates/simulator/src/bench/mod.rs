//! The bench of cores, arrays and split keys: one loop of cycles, one comparison.
//!
//! A machine's [`Protocol`] defines the inputs of a cycle and the outputs that are due. The device under test is an engine with the
//! hardware. Without one, the due outputs stand in for the device's, and the run only counts cycles.

mod divergence;
mod frame;
mod noise;

pub use divergence::{Divergence, RunError};
pub use frame::Frame;
pub(crate) use noise::Noise;

use crate::inside::InsideSchedule;
use crate::running::{RtlEngine, Running};
use flashd_golden::QueryResult;
use flashd_hwmodel::attention::inside::Inside;
use flashd_spec::config::ConfigError;
use flashd_spec::machine::Machine;
use flashd_spec::ports::{Compared, PORTS, Port};
use std::collections::VecDeque;

/// Cycles of reset at the start of a run.
pub const RESET_CYCLES: usize = 2;

/// The part of a bench that differs between machines: its stimulus, and the outputs that are due.
pub trait Protocol {
    /// Writes the inputs of a cycle. The frame still has the outputs of the cycle before.
    fn drive(&mut self, cycle: u64, frame: &mut Frame);

    /// Whether every key has been taken.
    fn is_finished(&self) -> bool;

    /// Cycles from the last key to the end of the run: to the last result, and some in which nothing more may come out.
    fn drain(&self) -> u64;

    /// Writes the outputs that are due in a cycle outside reset, and accepts the offers of its inputs.
    fn due(&mut self, cycle: u64, inputs: &Frame, due: &mut Due);

    /// A cycle of reset: everything under way is dropped.
    fn reset(&mut self);

    /// The query of the last result, for messages: ` of query 3`.
    fn of_query(&self) -> String;

    /// The last steps or transfers, the oldest first, for messages.
    fn history(&self) -> Vec<String>;
}

/// Expectations of a cycle.
pub struct Due {
    /// The outputs; words that are not compared keep their values from earlier cycles.
    pub frame: Frame,
    /// Quantities inside the cores.
    pub(crate) inside: InsideSchedule,
    /// A flag that is due, but has no port.
    absent: Option<Port>,
    /// The outputs, and when each is compared: flags of control first.
    outputs: Vec<(Port, Compared)>,
    /// Ports of the scalars of a result's state; none without partial results.
    scalars: Vec<Port>,
}

/// An output that is not as due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The port.
    pub port: Port,
    /// Place of the word in it.
    pub place: usize,
    /// The word that is due.
    pub expected: u64,
    /// The device's word.
    pub actual: u64,
}

impl Due {
    /// Nothing yet. `inside` are the quantities that are compared inside the cores.
    pub(crate) fn new(machine: &Machine, inside: &[Inside]) -> Due {
        let inside = InsideSchedule::new(machine, inside);
        let rows = PORTS.iter().filter(|row| row.words(machine).0 > 0);
        let mut outputs: Vec<_> = rows.filter_map(|row| Some((row.port, row.compared?))).collect();
        outputs.sort_by_key(|(_, compared)| *compared != Compared::Always);
        let frame = Frame::new(machine);
        let scalars = Port::state_scalars(machine).into_iter().map(|[_, port]| port);
        let scalars = scalars.filter(|&port| !frame[port].is_empty()).collect();
        Due { frame, inside, absent: None, outputs, scalars }
    }

    /// Nothing yet, for a device that nobody looks into.
    pub fn at_ports(machine: &Machine) -> Due {
        Due::new(machine, &[])
    }

    /// Puts a result on the output ports.
    pub(crate) fn result(&mut self, result: &QueryResult) {
        self.flag(Port::OInvalid, result.invalid);
        self.flag(Port::OSaturated, result.score_saturated);
        self.flag(Port::OOverflow, result.overflow);
        self.frame.set(Port::OEmpty, result.empty);
        self.frame[Port::O].copy_from_slice(&result.o);
        if let (false, Some(state)) = (self.scalars.is_empty(), &result.state) {
            self.scalars.iter().zip(state.scalars).for_each(|(&port, scalar)| self.frame.set(port, scalar));
            self.frame[Port::OState].copy_from_slice(&state.o);
        }
    }

    /// Sets a flag of a result. A machine without its port cannot show it, so it must be low there.
    fn flag(&mut self, port: Port, high: bool) {
        self.frame.set(port, high);
        if high && self.frame[port].is_empty() {
            self.absent = Some(port);
        }
    }

    /// Whether outputs of a kind are due.
    fn compared(&self, compared: Compared) -> bool {
        let result = self.frame.is_high(Port::OValid);
        match compared {
            Compared::Always => true,
            Compared::WithRead => self.frame[Port::VRen].contains(&1),
            Compared::WithResult => result,
            Compared::WithState => result && !self.frame.is_high(Port::OEmpty),
        }
    }

    /// Compares a cycle's outputs, flags of control first: the number of words compared.
    ///
    /// # Errors
    /// The first difference.
    pub fn compare(&self, actual: &Frame) -> Result<u64, Difference> {
        if let Some(port) = self.absent {
            return Err(Difference { port, place: 0, expected: 1, actual: 0 });
        }
        let mut words = 0;
        for &(port, _) in self.outputs.iter().filter(|(_, compared)| self.compared(*compared)) {
            let (expected, actual) = (&self.frame[port], &actual[port]);
            if let Some(place) = (0..expected.len()).find(|&place| expected[place] != actual[place]) {
                return Err(Difference { port, place, expected: expected[place], actual: actual[place] });
            }
            words += expected.len() as u64;
        }
        Ok(words)
    }
}

/// A settled cycle of a run.
#[derive(Clone, Copy)]
pub struct Cycle<'a> {
    /// Its number, from the first cycle of reset.
    pub number: u64,
    /// The hardware; none in a run of the model.
    pub running: Option<&'a Running>,
    /// Inputs and outputs. Of a wrapper none.
    pub frame: Option<&'a Frame>,
    /// The model's values inside each core, one after another in the order of [`Inside`]; None where nothing is compared.
    pub inside: &'a [Option<u64>],
}

impl Cycle<'_> {
    /// A word at a port; 0 where there is no such port.
    pub fn get(&self, port: Port) -> u64 {
        self.frame.map_or(0, |frame| frame.get(port))
    }

    /// Whether a key is taken in this cycle.
    pub fn takes_key(&self) -> bool {
        let is_ready = |frame: &Frame| frame[Port::KReady].first().is_none_or(|&ready| ready != 0);
        let takes =
            |frame: &Frame| frame.is_high(Port::KValid) && !frame.is_high(Port::Rst) && is_ready(frame);
        self.frame.is_some_and(takes)
    }
}

/// Sees every settled cycle.
pub trait Observer {
    /// Called once a cycle, before the clock rises.
    ///
    /// # Errors
    /// An I/O error ends the run.
    fn cycle(&mut self, cycle: &Cycle) -> std::io::Result<()>;

    /// Whether it reads values inside of the hardware, not ports alone.
    fn reads_inside(&self) -> bool {
        true
    }
}

/// The hardware in one of its engines, or none.
pub(crate) struct Device {
    machine: Machine,
    running: Option<Running>,
}

impl Device {
    /// A machine's hardware before its first cycle.
    ///
    /// # Errors
    /// If the configuration is not valid, or the engine cannot run its design.
    pub(crate) fn hardware(machine: Machine, engine: RtlEngine) -> Result<Device, ConfigError> {
        let running = Some(Running::new(machine.clone(), engine)?);
        Ok(Device { machine, running })
    }

    /// No hardware: the model alone.
    pub(crate) fn model(machine: Machine) -> Device {
        Device { machine, running: None }
    }

    /// The run of a protocol to its end, for its counts.
    pub(crate) fn count(self, protocol: &mut dyn Protocol) {
        self.run(protocol, &mut []).unwrap_or_else(|e| panic!("the model differs from itself: {e}"));
    }

    /// The run of a protocol to its end; `observers` see every cycle. Returns the number of words compared with the model.
    ///
    /// # Errors
    /// The first difference, or an observer's I/O error.
    pub(crate) fn run(
        self,
        protocol: &mut dyn Protocol,
        observers: &mut [&mut dyn Observer],
    ) -> Result<u64, RunError> {
        let Device { machine, mut running } = self;
        let mut due = Due::new(&machine, running.as_ref().map_or(&[], Running::inside));
        let (mut frame, mut inside) = (Frame::new(&machine), Vec::new());
        let (mut cycle, mut comparisons) = (0, 0);
        let mut drain = protocol.drain();
        while drain > 0 {
            drain -= u64::from(protocol.is_finished());
            protocol.drive(cycle, &mut frame);
            if let Some(running) = &mut running {
                running.settle_frame(&mut frame);
            }
            let reset = frame.is_high(Port::Rst);
            if reset {
                protocol.reset();
                due.inside.reset();
            } else {
                protocol.due(cycle, &frame, &mut due);
            }
            due.inside.due(cycle, &mut inside);
            if running.is_none() {
                frame.copy_outputs(&due.frame);
            }
            // Observers first: a wave should show the cycle that differs.
            for observer in observers.iter_mut() {
                observer.cycle(&Cycle {
                    number: cycle,
                    running: running.as_ref(),
                    frame: Some(&frame),
                    inside: &inside,
                })?;
            }
            if let Some(running) = &mut running {
                if !reset {
                    let words = compare(&machine, &due, &frame, &inside, running.inside(), protocol);
                    comparisons += words.map_err(|(signal, [expected, actual])| {
                        let (core, history) = (machine.name(), protocol.history());
                        let divergence = Divergence { core, cycle, signal, expected, actual, history };
                        RunError::Divergence(Box::new(divergence))
                    })?;
                }
                running.clock();
            }
            cycle += 1;
        }
        Ok(comparisons)
    }
}

/// A signal that differs, and the bits and values that are due and that the device has.
type Differing = (String, [(u64, String); 2]);

/// Compares a cycle inside and at the ports: the number of words compared.
fn compare(
    machine: &Machine,
    due: &Due,
    frame: &Frame,
    due_inside: &[Option<u64>],
    inside: &[Inside],
    protocol: &dyn Protocol,
) -> Result<u64, Differing> {
    if let Some(differing) = due.inside.differs(due_inside, inside) {
        return Err(differing);
    }
    let words = due.compare(frame).map_err(|Difference { port, place, expected, actual }| {
        let text = |bits: u64| match port {
            Port::O => machine.core().formats().o.value(bits).to_string(),
            _ => bits.to_string(),
        };
        let mut signal = port.name().to_string();
        if frame[port].len() > 1 {
            signal += &format!("[{place}]");
        }
        if port == Port::O || port.row().compared == Some(Compared::WithState) {
            signal += &protocol.of_query();
        }
        (signal, [expected, actual].map(|bits| (bits, text(bits))))
    })?;
    Ok(words + due_inside.iter().flatten().count() as u64)
}

/// Steps of a queue on their way to a stage, each with the cycle in which it is due.
#[derive(Clone, Debug)]
pub(crate) struct Pending<T>(VecDeque<(u64, T)>);

impl<T> Default for Pending<T> {
    fn default() -> Self {
        Pending(VecDeque::new())
    }
}

impl<T> Pending<T> {
    /// Adds a step that is due in a cycle. Steps are added in order of cycles.
    pub(crate) fn push(&mut self, cycle: u64, step: T) {
        self.0.push_back((cycle, step));
    }

    /// The step that is due in a cycle, if any; to be asked for every cycle.
    pub(crate) fn due(&mut self, cycle: u64) -> Option<T> {
        self.0.front().filter(|(at, _)| *at == cycle)?;
        self.0.pop_front().map(|(_, step)| step)
    }

    /// Drops all.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// The last few steps or transfers, for messages.
#[derive(Clone, Debug)]
pub(crate) struct History<T>(VecDeque<T>);

/// How many of them a divergence reports.
const HISTORY: usize = 6;

impl<T> Default for History<T> {
    fn default() -> Self {
        History(VecDeque::new())
    }
}

impl<T> History<T> {
    pub(crate) fn push(&mut self, entry: T) {
        if self.0.len() == HISTORY {
            self.0.pop_front();
        }
        self.0.push_back(entry);
    }

    pub(crate) fn texts(&self, text: impl FnMut(&T) -> String) -> Vec<String> {
        self.0.iter().map(text).collect()
    }
}

/// Reads that the device asked for with `v_ren` in the cycles before, until the host answers.
pub(crate) struct Reads<T>(VecDeque<Option<T>>);

impl<T> Reads<T> {
    /// Starts with no reads. Values come `latency` cycles after `v_ren`.
    pub(crate) fn new(latency: u32) -> Reads<T> {
        Reads((1..latency).map(|_| None).collect())
    }

    /// Adds the read of the previous cycle, if any; returns the read that is answered in this cycle.
    pub(crate) fn next(&mut self, read: Option<T>) -> Option<T> {
        self.0.push_back(read);
        self.0.pop_front().flatten()
    }

    /// Drops all reads.
    pub(crate) fn reset(&mut self) {
        self.0.iter_mut().for_each(|read| *read = None);
    }
}
