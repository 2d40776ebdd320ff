//! A design in RustHDL's `Simulation`.

use crate::part::Fault;
use crate::part::Part;
use flashd_hwmodel::rtl::{Circuit, PortPlace, Visitor};
use rust_hdl::prelude::{Sim, SimError, Simulation};
use std::ops::Range;
use std::sync::mpsc;
use std::thread::JoinHandle;

/// Half a period of the clock, in picoseconds of RustHDL's time.
const HALF: u64 = 500;

/// A design and a clock in RustHDL's event loop. The testbench is the caller: between two calls it holds the design,
/// a quarter of a period after an edge.
///
/// A cycle is [`Simulated::settle`] and [`Simulated::clock`], as of the other engines; values are read after `settle`.
pub struct Simulated {
    sim: Sim<Part>,
    /// The design, unless the event loop has it.
    held: Option<Box<Part>>,
    simulation: Option<JoinHandle<Result<(), SimError>>>,
    /// The pins of each port, without the clock.
    ports: Vec<Range<usize>>,
    /// The net of each pin, in the order of [`Part::each_pin`], and the value of each net in the settled cycle.
    nets: Vec<u32>,
    values: Vec<u64>,
    clock_is_high: bool,
}

/// Collects the net of each word.
struct Nets(Vec<u32>);

impl Visitor for Nets {
    fn enter(&mut self, _: &str) {}

    fn word(&mut self, _: &str, _: u32, net: u32) {
        self.0.push(net);
    }

    fn leave(&mut self) {}
}

impl Simulated {
    /// A clocked design before its first cycle.
    ///
    /// # Errors
    /// If the design is faulty, or RustHDL's checks refuse it.
    ///
    /// # Panics
    /// If the design has no clock.
    pub fn new(circuit: &Circuit) -> Result<Simulated, Fault> {
        let structure = circuit.structure();
        let top = Box::new(Part::checked(structure)?);
        let Some(clock) = structure.pins().iter().position(|pin| pin.clock) else {
            panic!("{} has no clock", circuit.name())
        };
        let ports =
            top.ports().into_iter().map(|(_, pins)| pins).filter(|pins| !pins.contains(&clock)).collect();
        let mut nets = Nets(Vec::new());
        circuit.visit("top", &mut nets);
        let values = vec![0; nets.0.iter().max().map_or(0, |&net| net as usize + 1)];
        let (endpoint, endpoints) = mpsc::channel();
        let simulation = std::thread::spawn(move || {
            let mut simulation = Simulation::new();
            simulation.add_clock(HALF, move |top: &mut Box<Part>| top.pins_mut()[clock].next ^= 1);
            // The other end is waited for.
            let _ = endpoint.send(simulation.endpoint());
            simulation.run(top, u64::MAX)
        });
        let Ok(sim) = endpoints.recv() else { panic!("RustHDL's simulation has not begun") };
        let held = None;
        let simulation = Some(simulation);
        let mut simulated =
            Simulated { sim, held, simulation, ports, nets: nets.0, values, clock_is_high: false };
        simulated.held = simulated.sim.init().ok();
        simulated.wait(HALF / 2);
        Ok(simulated)
    }

    /// The event loop runs for a time in picoseconds, until nothing changes.
    fn wait(&mut self, time: u64) {
        let held = self.held.take().and_then(|top| self.sim.wait(time, top).ok());
        if held.is_none() {
            let ended = self.simulation.take().map(JoinHandle::join);
            panic!("RustHDL's simulation has ended: {ended:?}");
        }
        self.held = held;
    }

    fn top(&self) -> &Part {
        self.held.as_ref().unwrap_or_else(|| unreachable!("the design is held between two calls"))
    }

    /// Drives the words of an input; with no words it keeps its value.
    pub fn drive(&mut self, port: PortPlace, words: &[u64]) {
        let pins = self.ports[port.0].clone();
        let Some(top) = &mut self.held else { return };
        top.pins_mut()[pins].iter_mut().zip(words).for_each(|(pin, &word)| pin.next = word);
    }

    /// The words on a port.
    pub fn read(&self, port: PortPlace) -> impl Iterator<Item = u64> + '_ {
        self.top().pins()[self.ports[port.0].clone()].iter().map(crate::Pin::value)
    }

    /// The clock is low, and all logic settles.
    pub fn settle(&mut self) {
        self.wait(if self.clock_is_high { HALF } else { 0 });
        self.clock_is_high = false;
        let Simulated { held: Some(top), nets, values, .. } = self else { return };
        let mut nets = nets.iter();
        top.each_pin(&mut |pin| nets.next().into_iter().for_each(|&net| values[net as usize] = pin.value()));
    }

    /// The clock rises.
    pub fn clock(&mut self) {
        self.wait(HALF);
        self.clock_is_high = true;
    }

    /// The value of a net in the settled cycle.
    pub fn value(&self, net: u32) -> u64 {
        self.values[net as usize]
    }

    /// Visits the value of every pin of every block, with the net that it is connected to.
    pub fn each_pin(&self, visit: &mut dyn FnMut(u32, &crate::Pin)) {
        let mut nets = self.nets.iter();
        self.top().each_pin(&mut |pin| nets.next().into_iter().for_each(|&net| visit(net, pin)));
    }
}

impl Drop for Simulated {
    fn drop(&mut self) {
        // With no one but the clock left, the event loop ends.
        if let Some(top) = self.held.take() {
            let _ = self.sim.done(top);
        }
        if let Some(simulation) = self.simulation.take() {
            let _ = simulation.join();
        }
    }
}
