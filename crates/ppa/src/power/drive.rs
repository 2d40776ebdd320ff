//! Drives a netlist by the port protocol with 64 streams and checks what comes out.

use super::PowerError;
use super::conditions::Conditions;
use super::glitches::{GlitchActivity, GlitchCounter, Sample};
use super::stream::PowerStream;
use super::workload::{Feed, warm_up};
use crate::Target;
use crate::netlist::{Net, Netlist, Simulation};
use flashd_simulator::RESET_CYCLES;
use flashd_simulator::array::ArrayInputs;
use flashd_spec::config::ArrayConfig;
use flashd_spec::format::{Format, Formats};
use flashd_spec::numerics::BIAS;
use rayon::prelude::*;

/// Streams that are simulated at a time: the bits of a word.
pub const STREAMS: usize = u64::BITS as usize;

/// Cycles whose states are looked at for conditional tables and state-dependent leakage.
const SAMPLES: usize = 8;

/// What happened on the nets.
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
    /// Steps that the cores took, and those of them that read no value.
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
    mut glitches: Option<(GlitchCounter, usize)>,
    observer: Observer,
) -> Result<Activity, PowerError> {
    let ports = Ports::new(target, netlist)?;
    let mut streams: Vec<PowerStream> = feeds.par_iter().map(|feed| PowerStream::new(target, feed)).collect();
    let mut simulation = Simulation::new(netlist, streams.len() as u32);
    let mut conditions = Conditions::new(netlist);
    let mut checked = 0;
    let warm_up = warm_up(target);
    let total = warm_up + cycles;
    let sample = glitches.as_ref().map(|(_, wanted)| Sample::new(*wanted, feeds.len(), cycles, warm_up));
    let sampled = |cycle| sample.is_some_and(|sample| sample.contains(cycle));
    let mut steps = (0, 0);
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
        if cycle >= RESET_CYCLES {
            for (index, stream) in streams.iter_mut().enumerate() {
                checked += stream.check(cycle).map_err(|problem| PowerError::Mismatch {
                    core: target.name(),
                    stream: index,
                    cycle,
                    problem,
                })?;
            }
        }
        if let Some((counter, _)) = &mut glitches {
            if sampled(cycle)
                && let Some((net, stream)) = counter.after(simulation.values())
            {
                return Err(PowerError::Unsettled { core: target.name(), stream, cycle, net });
            }
            if sampled(cycle + 1) {
                counter.before(simulation.values());
            }
        }
        if cycle >= warm_up {
            for outputs in streams.iter().map(|stream| &stream.outputs.core).filter(|o| o.v_step) {
                steps = (steps.0 + 1, steps.1 + u64::from(!outputs.v_ren));
            }
        }
        if cycle >= warm_up && (cycle - warm_up).is_multiple_of(cycles.div_ceil(SAMPLES)) {
            conditions.sample(netlist, &simulation);
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

/// The core's ports in the netlist.
struct Ports<'a> {
    /// Bits of an element of q, k, v and o.
    widths: [usize; 4],
    rst: Net,
    q: &'a [Net],
    q_valid: Net,
    k: &'a [Net],
    k_valid: Net,
    k_last: Net,
    /// With masks only.
    k_mask: Option<Net>,
    /// With a bias only.
    k_bias: &'a [Net],
    v: &'a [Net],
    v_step: Net,
    v_ren: Net,
    o: &'a [Net],
    o_valid: Net,
    o_invalid: Net,
    o_saturated: Option<Net>,
    /// Of fixed-point lanes only.
    v_exponent: &'a [Net],
    /// Of fixed-point lanes only.
    o_overflow: Option<Net>,
    array: Option<ArrayPorts<'a>>,
}

/// What an array has besides.
struct ArrayPorts<'a> {
    q_last: Net,
    /// With masks only.
    q_from: &'a [Net],
    q_to: &'a [Net],
    q_ready: Net,
    k_ready: Net,
    o_index: &'a [Net],
    o_last: Net,
}

impl<'a> Ports<'a> {
    fn new(target: &Target, netlist: &'a Netlist) -> Result<Self, PowerError> {
        let config = target.core();
        let Formats { q, k, v, o } = config.formats();
        let words = config.port_words();
        let bits = |d: usize, format: Format| d * format.width() as usize;
        let wide = |name: &str, is_input: bool, bits: usize| -> Result<&'a [Net], PowerError> {
            let port = netlist.port(name).filter(|port| port.is_input == is_input);
            let error = |problem: String| PowerError::Port { port: name.into(), problem };
            let port = port.ok_or_else(|| error("is missing".into()))?;
            match port.nets.len() == bits {
                true => Ok(&port.nets),
                false => Err(error(format!("has {} bits instead of {bits}", port.nets.len()))),
            }
        };
        let bit = |name: &str, is_input| wide(name, is_input, 1).map(|nets| nets[0]);
        let array = |array: &ArrayConfig| -> Result<ArrayPorts<'a>, PowerError> {
            let limit = |name| match config.masks {
                true => wide(name, true, array.key_index_bits() as usize),
                false => Ok(&[][..]),
            };
            Ok(ArrayPorts {
                q_last: bit("q_last", true)?,
                q_from: limit("q_from")?,
                q_to: limit("q_to")?,
                q_ready: bit("q_ready", false)?,
                k_ready: bit("k_ready", false)?,
                o_index: wide("o_index", false, array.index_bits() as usize)?,
                o_last: bit("o_last", false)?,
            })
        };
        Ok(Ports {
            array: match target {
                Target::Core(_) => None,
                Target::Array(config) => Some(array(config)?),
            },
            widths: [q, k, v, o].map(|format| format.width() as usize),
            rst: bit("rst", true)?,
            q: wide("q", true, bits(words.q, q))?,
            q_valid: bit("q_valid", true)?,
            k: wide("k", true, bits(words.k, k))?,
            k_valid: bit("k_valid", true)?,
            k_last: bit("k_last", true)?,
            k_mask: config.masks.then(|| bit("k_mask", true)).transpose()?,
            k_bias: match config.bias {
                true => wide("k_bias", true, target.queries() * BIAS.width() as usize)?,
                false => &[],
            },
            v: wide("v", true, bits(words.v, v))?,
            v_step: bit("v_step", false)?,
            v_ren: bit("v_ren", false)?,
            o: wide("o", false, bits(config.dv(), o))?,
            o_valid: bit("o_valid", false)?,
            o_invalid: bit("o_invalid", false)?,
            o_saturated: (!config.follows_the_paper()).then(|| bit("o_saturated", false)).transpose()?,
            v_exponent: match config.has_value_exponent() {
                true => wide("v_exponent", true, config.products().v.exponent_bits as usize)?,
                false => &[],
            },
            o_overflow: config.has_value_exponent().then(|| bit("o_overflow", false)).transpose()?,
        })
    }

    /// Puts the streams' inputs on the netlist's.
    fn drive(&self, simulation: &mut Simulation, streams: &[PowerStream]) {
        let mut bit = |net: Net, value: fn(&ArrayInputs) -> bool| {
            let word = streams.iter().enumerate().map(|(s, stream)| (value(&stream.inputs) as u64) << s);
            simulation.set(net, word.sum());
        };
        bit(self.rst, |inputs| inputs.core.rst);
        bit(self.q_valid, |inputs| inputs.core.q_valid);
        bit(self.k_valid, |inputs| inputs.core.k_valid);
        bit(self.k_last, |inputs| inputs.core.k_last);
        if let Some(net) = self.k_mask {
            bit(net, |inputs| inputs.core.k_mask);
        }
        if let Some(array) = &self.array {
            bit(array.q_last, |inputs| inputs.q_last);
        }
        let mut number = |nets: &[Net], value: fn(&ArrayInputs) -> u64| {
            for (b, &net) in nets.iter().enumerate() {
                let word =
                    streams.iter().enumerate().map(|(s, stream)| (value(&stream.inputs) >> b & 1) << s);
                simulation.set(net, word.sum());
            }
        };
        number(self.v_exponent, |inputs| inputs.core.v_exponent);
        if let Some(array) = &self.array {
            number(array.q_from, |inputs| inputs.q_from);
            number(array.q_to, |inputs| inputs.q_to);
        }
        let [q_width, k_width, v_width, _] = self.widths;
        let mut vector = |nets: &[Net], width: usize, value: fn(&ArrayInputs) -> &[u64]| {
            for (j, nets) in nets.chunks_exact(width).enumerate() {
                let mut words = [0; STREAMS];
                for (word, stream) in words.iter_mut().zip(streams) {
                    *word = value(&stream.inputs)[j];
                }
                transpose(&mut words);
                for (&net, &word) in nets.iter().zip(&words) {
                    simulation.set(net, word);
                }
            }
        };
        vector(self.q, q_width, |inputs| &inputs.core.q);
        vector(self.k, k_width, |inputs| &inputs.core.k);
        vector(self.v, v_width, |inputs| &inputs.core.v);
        vector(self.k_bias, BIAS.width() as usize, |inputs| &inputs.core.k_bias);
    }

    /// Reads the netlist's outputs into the streams; `o` only where it is valid.
    fn read(&self, simulation: &Simulation, streams: &mut [PowerStream]) {
        let bit = |net: Net, s: usize| simulation.value(net) >> s & 1 != 0;
        for (s, stream) in streams.iter_mut().enumerate() {
            let number = |nets: &[Net]| {
                nets.iter().enumerate().map(|(b, &net)| (simulation.value(net) >> s & 1) << b).sum::<u64>()
            };
            if let Some(array) = &self.array {
                stream.outputs.q_ready = bit(array.q_ready, s);
                stream.outputs.k_ready = bit(array.k_ready, s);
                stream.outputs.o_last = bit(array.o_last, s);
                stream.outputs.o_index = number(array.o_index);
            }
            let outputs = &mut stream.outputs.core;
            outputs.v_step = bit(self.v_step, s);
            outputs.v_ren = bit(self.v_ren, s);
            outputs.o_valid = bit(self.o_valid, s);
            outputs.o_invalid = bit(self.o_invalid, s);
            outputs.o_saturated = self.o_saturated.is_some_and(|net| bit(net, s));
            outputs.o_overflow = self.o_overflow.is_some_and(|net| bit(net, s));
            outputs.o.clear();
            if outputs.o_valid {
                outputs.o.extend(self.o.chunks_exact(self.widths[3]).map(number));
            }
        }
    }
}

/// Exchanges rows and columns: afterwards bit s of word b is what bit b of word s was.
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
