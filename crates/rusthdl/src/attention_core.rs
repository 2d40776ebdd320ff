//! A core as a block for designs that are written in RustHDL.

use crate::part::Part;
use flashd_hwmodel::catalogue;
use flashd_spec::config::{ConfigError, CoreConfig, Design};
use flashd_spec::format::Format;
use flashd_spec::machine::Machine;
use flashd_spec::ports::PORTS;
use rust_hdl::core::ast::{VerilogExpression, VerilogStatement};
use rust_hdl::prelude::*;
use std::ops::Range;

/// An attention core: queries and keys of `Q` bits, values and results of `V` bits, elements packed with element 0 lowest. The ports have
/// the names of the Verilog's; the core's manifest describes their timing.
///
/// Cores with masks, biases, partial results or value exponents have more ports and are refused.
#[derive(LogicBlock)]
pub struct Core<const Q: usize, const V: usize> {
    /// All registers take its rising edge.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset of the control state.
    pub rst: Signal<In, Bit>,
    /// Query.
    pub q: Signal<In, Bits<Q>>,
    /// The query register loads q.
    pub q_valid: Signal<In, Bit>,
    /// Key.
    pub k: Signal<In, Bits<Q>>,
    /// A key is taken.
    pub k_valid: Signal<In, Bit>,
    /// With `k_valid`: the key is its query's last.
    pub k_last: Signal<In, Bit>,
    /// A step reaches the stage where its value is read.
    pub v_step: Signal<Out, Bit>,
    /// With `v_step`: the step reads its value.
    pub v_ren: Signal<Out, Bit>,
    /// Value, `value_latency` cycles after `v_ren`.
    pub v: Signal<In, Bits<V>>,
    /// Result.
    pub o: Signal<Out, Bits<V>>,
    /// A result is there, for one cycle.
    pub o_valid: Signal<Out, Bit>,
    /// An operand that the query read is Inf or NaN.
    pub o_invalid: Signal<Out, Bit>,
    /// The score of a key that the query saw saturated; low in cores that follow the paper, which have no such flag.
    pub o_saturated: Signal<Out, Bit>,
    core: Part,
    _places: Places,
}

/// The places of the ports among the pins.
struct Places(Vec<(String, Range<usize>)>);

impl Places {
    fn of(&self, name: &str) -> Range<usize> {
        self.0.iter().find(|(port, _)| port == name).map_or(0..0, |(_, pins)| pins.clone())
    }
}

/// Ports whose elements are packed.
const VECTORS: [&str; 4] = ["q", "k", "v", "o"];
const FLAGS: [&str; 9] =
    ["rst", "q_valid", "k_valid", "k_last", "v_step", "v_ren", "o_valid", "o_invalid", "o_saturated"];

impl<const Q: usize, const V: usize> Core<Q, V> {
    /// A core before its first cycle.
    ///
    /// # Errors
    /// If the configuration is not valid, its vectors do not have these widths, or it has a port that this block does not have.
    pub fn new(config: &CoreConfig) -> Result<Self, ConfigError> {
        let circuit = catalogue::build(config)?;
        let machine = Machine::from(config);
        for row in PORTS.iter().filter(|row| row.words(&machine).0 > 0) {
            let (words, bits) = row.words(&machine);
            let bits = words * bits as usize;
            let block = match row.name {
                "q" | "k" => Q,
                "v" | "o" => V,
                name if FLAGS.contains(&name) => continue,
                name => {
                    let problem = format!(
                        "the RustHDL block has no port {name} ({}); take a core without it",
                        row.meaning
                    );
                    return Err(ConfigError { field: "options", problem });
                }
            };
            if block != bits {
                let problem = format!(
                    "{} of {} has {bits} bits, and Core<{Q}, {V}> has {block}",
                    row.name,
                    config.name()
                );
                return Err(ConfigError { field: "d", problem });
            }
        }
        let core = Part::top(circuit.structure())
            .map_err(|fault| ConfigError { field: "options", problem: fault.to_string() })?;
        Ok(Core {
            _places: Places(core.ports()),
            core,
            clock: Signal::default(),
            rst: Signal::default(),
            q: Signal::default(),
            q_valid: Signal::default(),
            k: Signal::default(),
            k_valid: Signal::default(),
            k_last: Signal::default(),
            v_step: Signal::default(),
            v_ren: Signal::default(),
            v: Signal::default(),
            o: Signal::default(),
            o_valid: Signal::default(),
            o_invalid: Signal::default(),
            o_saturated: Signal::default(),
        })
    }

    /// Drives a port of the core inside.
    fn drive(&mut self, name: &str, bit: impl Fn(usize) -> bool) {
        let mut first = 0;
        for pin in &mut self.core.pins_mut()[self._places.of(name)] {
            let width = pin.bits();
            pin.next = (0..width).fold(0, |word, i| word | u64::from(bit(first + i)) << i);
            first += width;
        }
    }

    fn is_high(&self, name: &str) -> bool {
        self.core.pins()[self._places.of(name)].iter().any(|pin| pin.value() != 0)
    }

    fn result(&self) -> Bits<V> {
        let mut result = self.o.val();
        let mut place = 0;
        for pin in &self.core.pins()[self._places.of("o")] {
            for bit in 0..pin.bits() {
                let value = pin.value() >> bit & 1 != 0;
                if result.get_bit(place) != value {
                    result = result.replace_bit(place, value);
                }
                place += 1;
            }
        }
        result
    }
}

/// The default FLASH-D core in bf16 with `Q / 16` elements, so that a design with a core in it can derive its own default.
///
/// # Panics
/// If it does not have these widths.
impl<const Q: usize, const V: usize> Default for Core<Q, V> {
    fn default() -> Self {
        let config = CoreConfig::new(Design::FlashD, Q / 16, Format::BF16);
        Core::new(&config).unwrap_or_else(|e| panic!("{}: {e}", config.name()))
    }
}

impl<const Q: usize, const V: usize> Logic for Core<Q, V> {
    fn update(&mut self) {
        let (q, k, v) = (self.q.val(), self.k.val(), self.v.val());
        self.drive("q", |bit| q.get_bit(bit));
        self.drive("k", |bit| k.get_bit(bit));
        self.drive("v", |bit| v.get_bit(bit));
        let flags = [
            ("clk", self.clock.val().clk),
            ("rst", self.rst.val()),
            ("q_valid", self.q_valid.val()),
            ("k_valid", self.k_valid.val()),
            ("k_last", self.k_last.val()),
        ];
        flags.into_iter().for_each(|(name, flag)| self.drive(name, |_| flag));
        self.v_step.next = self.is_high("v_step");
        self.v_ren.next = self.is_high("v_ren");
        self.o_valid.next = self.is_high("o_valid");
        self.o_invalid.next = self.is_high("o_invalid");
        self.o_saturated.next = self.is_high("o_saturated");
        self.o.next = self.result();
    }

    fn connect(&mut self) {
        self.v_step.connect();
        self.v_ren.connect();
        self.o.connect();
        self.o_valid.connect();
        self.o_invalid.connect();
        self.o_saturated.connect();
        self.core.pins_mut().iter_mut().filter(|pin| !pin.is_output()).for_each(crate::Pin::connect);
    }

    fn hdl(&self) -> Verilog {
        let signal = |name: &str| VerilogExpression::Signal(name.to_string());
        let inner = |pin: usize| signal(&format!("core${}", self.core.pins()[pin].name()));
        let mut code =
            vec![VerilogStatement::Assignment(inner(self._places.of("clk").start), signal("clock"))];
        for name in FLAGS {
            let (pins, is_output) = (self._places.of(name), name.starts_with("o_") || name.starts_with("v_"));
            code.push(match (pins.is_empty(), is_output) {
                (true, _) => {
                    VerilogStatement::Assignment(signal(name), VerilogExpression::Literal(false.into()))
                }
                (false, true) => VerilogStatement::Assignment(signal(name), inner(pins.start)),
                (false, false) => VerilogStatement::Assignment(inner(pins.start), signal(name)),
            });
        }
        for name in VECTORS {
            let mut first = 0;
            for pin in self._places.of(name) {
                let width = self.core.pins()[pin].bits();
                let offset = VerilogExpression::Literal((first as u32).into());
                code.push(match name {
                    "o" => VerilogStatement::SliceAssignment {
                        base: signal(name),
                        width,
                        offset,
                        replacement: inner(pin),
                    },
                    _ => {
                        let slice = VerilogExpression::Slice(Box::new(signal(name)), width, Box::new(offset));
                        VerilogStatement::Assignment(inner(pin), slice)
                    }
                });
                first += width;
            }
        }
        Verilog::Combinatorial(code)
    }
}
