//! The signals of a design, in the order of its description.
//!
//! A signal is a name for a net of the design. Recording reads the net; unrecorded signals cost nothing.

use super::NUMBER_SUFFIX;
use flashd_hwmodel::rtl::{Circuit, Number, Role, Visitor, readable};
use std::collections::HashMap;

/// One bus of the design.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Signal {
    /// Dotted path from the core: `flash_d_bf16_d16.weight.score.score`.
    pub path: String,
    /// Width in bits.
    pub width: u32,
    /// The net that it shows.
    pub net: u32,
    /// The decimal value next to it.
    pub reading: Option<Reading>,
}

/// Where a decimal value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// From the bus itself, of this width.
    Own(Number, u32),
    /// FLASH-D's weight w. Another bus, of this width and at this place among the signals, carries the smaller one of `w` and
    /// `1 - w`; this bit is 1 if that is `1 - w`.
    Weight(Number, u32, usize),
}

impl Reading {
    /// The decimal value, from the bits of the bus and of the other one.
    pub(super) fn value(self, bits: u64, other: u64) -> f64 {
        match self {
            Reading::Own(number, width) => number.value(bits, width),
            Reading::Weight(number, width, _) if bits != 0 => 1.0 - number.value(other, width),
            Reading::Weight(number, width, _) => number.value(other, width),
        }
    }
}

impl Signal {
    /// The name of the variable with the decimal value.
    pub(super) fn number_name(&self) -> Option<String> {
        let name = match self.reading? {
            Reading::Own(..) => self.path.rsplit('.').next().unwrap_or_default(),
            Reading::Weight(..) => "weight",
        };
        Some(format!("{name}{NUMBER_SUFFIX}"))
    }

    /// The path below the design: `weight.score.score`, or `core_0.weight.score.score` of an array.
    pub(super) fn below_top(&self) -> &str {
        self.path.split_once('.').map_or(&self.path, |(_, rest)| rest)
    }

    /// Every module's clock is the design's, also in modules that a wrapper freezes: in the Verilog their registers have an
    /// enable.
    pub(super) fn is_clock(&self) -> bool {
        self.width == 1 && matches!(self.path.rsplit('.').next(), Some("clk" | "aclk"))
    }

    /// The clock at the ports.
    pub(super) fn is_top_clock(&self) -> bool {
        self.is_clock() && !self.below_top().contains('.')
    }
}

/// Lists the signals of a design that is called `name`.
pub(super) fn list(name: &str, design: &Circuit) -> Vec<Signal> {
    let mut walk = List { scope: String::new(), numbers: design.numbers(), signals: Vec::new() };
    design.visit(name, &mut walk);
    let mut signals = walk.signals;
    for paths in design.weights() {
        let [side, w] = paths.map(|path| signals.iter().position(|signal| signal.below_top() == path));
        if let (Some(side), Some(w)) = (side, w)
            && let Some(Reading::Own(number, width)) = signals[w].reading
        {
            signals[side].reading = Some(Reading::Weight(number, width, w));
        }
    }
    signals
}

/// The nets of the signals with these roles.
///
/// # Panics
/// If the design has none of a role.
pub(crate) fn nets_of<const N: usize>(design: &Circuit, roles: [Role; N]) -> [u32; N] {
    let signals = list(design.name(), design);
    roles.map(|role| {
        let mut rows = design.signals().iter();
        let row = rows.find(|row| row.role == Some(role));
        let signal = row.and_then(|row| signals.iter().find(|signal| signal.below_top() == row.path));
        signal.unwrap_or_else(|| panic!("{} has no signal for {role:?}", design.name())).net
    })
}

struct List {
    scope: String,
    /// The format of the number on each net.
    numbers: HashMap<u32, Number>,
    signals: Vec<Signal>,
}

impl Visitor for List {
    fn enter(&mut self, name: &str) {
        if !self.scope.is_empty() {
            self.scope.push('.');
        }
        self.scope += &readable(name);
    }

    fn word(&mut self, name: &str, width: u32, net: u32) {
        // A gated clock is an enable in the Verilog.
        if name != "gated" {
            let path = format!("{}.{}", self.scope, readable(name));
            let number = self.numbers.get(&net).filter(|number| width > 1 && **number != Number::Bits);
            let reading = number.map(|&number| Reading::Own(number, width));
            self.signals.push(Signal { path, width, net, reading });
        }
    }

    fn leave(&mut self) {
        self.scope.truncate(self.scope.rfind('.').unwrap_or(0));
    }
}
