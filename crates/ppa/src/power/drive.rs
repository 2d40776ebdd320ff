//! Drives a netlist by the port protocol with 64 streams and checks its outputs.

use super::PowerError;
use super::conditions::Conditions;
use super::glitches::{CycleSample, GlitchActivity, GlitchCounter};
use super::stream::PowerStream;
use super::workload::{Feed, warm_up};
use crate::Target;
use crate::netlist::{Net, Netlist, Simulation};
use flashd_spec::ports::{Compared, PORTS, Port, PortRow};
use rayon::prelude::*;

/// Streams that are simulated at a time: the bits of a word.
pub const STREAMS: usize = u64::BITS as usize;

/// Cycles whose states are looked at for conditional tables and state-dependent leakage.
const SAMPLES: usize = 8;

/// Activity of the nets.
#[derive(Clone, Debug)]
pub struct Activity {
    /// Cycles counted, over all streams.
    pub cycles: u64,
    /// Toggles of each net in these.
    pub toggles: Vec<u32>,
    /// How often the conditions of the library's tables held.
    pub(super) conditions: Conditions,
    /// Comparisons with the model.
    pub outputs_checked: u64,
    /// Steps of the cores, and the steps among them that read no value.
    pub steps: (u64, u64),
    /// Toggles with delays, of some of the cycles, if asked for.
    pub glitches: Option<GlitchActivity>,
}

impl Activity {
    /// The same run with toggles from elsewhere, such as a simulation with delays.
    #[must_use]
    pub fn with_toggles(&self, toggles: Vec<u32>) -> Activity {
        Activity { toggles, ..self.clone() }
    }
}

/// Sees every cycle when all nets have settled: cycle, cycles in all, and the simulation.
pub type Observer<'a> = &'a mut dyn FnMut(usize, usize, &Simulation);

pub(super) fn drive(
    target: &Target,
    netlist: &Netlist,
    feeds: &[Feed],
    cycles: usize,
    glitches: Option<(GlitchCounter, usize)>,
    observer: Observer,
) -> Result<Activity, PowerError> {
    let ports = NetlistPorts::new(target, netlist)?;
    let mut streams: Vec<PowerStream> = feeds.par_iter().map(|feed| PowerStream::new(target, feed)).collect();
    let mut simulation = Simulation::new(netlist, streams.len() as u32);
    let mut conditions = Conditions::new(netlist);
    let (mut checked, mut steps) = (0, (0, 0));
    let warm_up = warm_up(target);
    let total = warm_up + cycles;
    let mut glitches =
        glitches.map(|(counter, wanted)| (counter, CycleSample::new(wanted, feeds.len(), cycles, warm_up)));
    for cycle in 0..total {
        if cycle == warm_up {
            simulation.reset_toggles();
        }
        if cycle > 0 {
            simulation.clock();
        }
        streams.iter_mut().for_each(|stream| stream.drive(cycle));
        ports.drive(&mut simulation, &streams);
        simulation.settle();
        ports.read(&simulation, &mut streams);
        for (index, stream) in streams.iter_mut().enumerate() {
            checked += stream.check(cycle).map_err(|problem| PowerError::Mismatch {
                core: target.name(),
                stream: index,
                cycle,
                problem,
            })?;
        }
        if let Some((counter, sample)) = &mut glitches {
            let values = simulation.values();
            let unsettled = sample.contains(cycle).then(|| counter.after(values)).flatten();
            if let Some((net, stream)) = unsettled {
                return Err(PowerError::Unsettled { core: target.name(), stream, cycle, net });
            }
            if sample.contains(cycle + 1) {
                counter.before(values);
            }
        }
        if cycle >= warm_up {
            let taken = streams.iter().map(|stream| &stream.frame).filter(|frame| frame.is_high(Port::VStep));
            taken.for_each(|frame| {
                steps = (steps.0 + 1, steps.1 + u64::from(!frame.is_high(Port::VRen)));
            });
            if (cycle - warm_up).is_multiple_of(cycles.div_ceil(SAMPLES)) {
                conditions.sample(netlist, &simulation);
            }
        }
        observer(cycle, total, &simulation);
    }
    Ok(Activity {
        cycles: (cycles * feeds.len()) as u64,
        toggles: simulation.toggles().to_vec(),
        conditions,
        outputs_checked: checked,
        steps,
        glitches: glitches.map(|(counter, _)| counter.finish(netlist.nets)),
    })
}

/// A port in the netlist.
struct NetPort<'a> {
    row: &'static PortRow,
    /// Nets of each word.
    words: Vec<&'a [Net]>,
}

/// The ports of a machine in its netlist: inputs, and outputs with those of control first.
struct NetlistPorts<'a> {
    inputs: Vec<NetPort<'a>>,
    outputs: Vec<NetPort<'a>>,
}

impl<'a> NetlistPorts<'a> {
    fn new(target: &Target, netlist: &'a Netlist) -> Result<Self, PowerError> {
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for row in &PORTS {
            let (count, width) = row.words(target);
            if count == 0 {
                continue;
            }
            let error = |problem: String| PowerError::Port { port: row.name.into(), problem };
            let port = netlist.port(row.name).filter(|port| port.is_input != row.is_output());
            let port = port.ok_or_else(|| error("is missing".into()))?;
            let bits = count * width as usize;
            if port.nets.len() != bits {
                return Err(error(format!("has {} bits instead of {bits}", port.nets.len())));
            }
            let list = if row.is_output() { &mut outputs } else { &mut inputs };
            list.push(NetPort { row, words: port.nets.chunks_exact(width as usize).collect() });
        }
        outputs.sort_by_key(|port: &NetPort| port.row.compared != Some(Compared::Always));
        Ok(NetlistPorts { inputs, outputs })
    }

    /// Puts the streams' inputs on the netlist's.
    fn drive(&self, simulation: &mut Simulation, streams: &[PowerStream]) {
        for NetPort { row, words } in &self.inputs {
            for (j, nets) in words.iter().enumerate() {
                let mut bits = [0; STREAMS];
                for (bits, stream) in bits.iter_mut().zip(streams) {
                    *bits = stream.frame[row.port][j];
                }
                match nets {
                    [net] => simulation.set(*net, bits.iter().enumerate().map(|(s, bit)| bit << s).sum()),
                    _ => {
                        transpose(&mut bits);
                        nets.iter().zip(bits).for_each(|(&net, bits)| simulation.set(net, bits));
                    }
                }
            }
        }
    }

    /// Reads the netlist's outputs into the streams; those of a result only where it is valid.
    fn read(&self, simulation: &Simulation, streams: &mut [PowerStream]) {
        for NetPort { row, words } in &self.outputs {
            for (s, stream) in streams.iter_mut().enumerate() {
                let is_control = row.compared == Some(Compared::Always);
                if !is_control && !stream.frame.is_high(Port::OValid) && row.port != Port::VState {
                    continue;
                }
                for (word, nets) in stream.frame[row.port].iter_mut().zip(words) {
                    let bits = nets.iter().enumerate();
                    *word = bits.map(|(b, &net)| (simulation.value(net) >> s & 1) << b).sum();
                }
            }
        }
    }
}

/// Transposes a matrix of bits: bit b of word s becomes bit s of word b.
fn transpose(words: &mut [u64; STREAMS]) {
    let mut half = STREAMS / 2;
    let mut mask = u64::MAX >> half;
    while half > 0 {
        for block in (0..STREAMS).step_by(2 * half) {
            for row in block..block + half {
                let swapped = (words[row] >> half ^ words[row + half]) & mask;
                words[row] ^= swapped << half;
                words[row + half] ^= swapped;
            }
        }
        half /= 2;
        mask ^= mask << half;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposition_exchanges_rows_and_columns() {
        let mut words: [u64; STREAMS] =
            std::array::from_fn(|i| (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let before = words;
        transpose(&mut words);
        for (s, row) in before.iter().enumerate() {
            for (b, column) in words.iter().enumerate() {
                assert_eq!(column >> s & 1, row >> b & 1, "row {s}, column {b}");
            }
        }
    }
}
