//! The signals of a design, in the order in which RustHDL's probe visits them.
//!
//! A signal is a name for a net of the design. Recording reads the net; unrecorded signals cost nothing.

use flashd_hwmodel::rtl::{Block, Circuit, Probe};
use rust_hdl::core::prelude::Atom;

/// One bus of the design.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Signal {
    /// Dotted path from the core: `flash_d_bf16_d16.weight.score.score`.
    pub path: String,
    /// Width in bits.
    pub width: u32,
    /// The net that it shows.
    pub net: u32,
    /// Start of the part of the path below the core; `None` outside cores.
    core: Option<usize>,
}

impl Signal {
    /// The path below the design: `weight.score.score`, or `core_0.weight.score.score` of an array.
    pub(super) fn below_top(&self) -> &str {
        self.path.split_once('.').map_or(&self.path, |(_, rest)| rest)
    }

    /// The path below its core: `weight.score.score`. Port elements of machines made of cores count as a core's.
    pub(super) fn in_core(&self) -> Option<&str> {
        self.core.map(|from| &self.path[from..])
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

/// Lists the signals of a core that is called `name`.
pub(super) fn list(name: &str, design: &Circuit) -> Vec<Signal> {
    let mut signals = all(name, design);
    signals.iter_mut().for_each(|signal| signal.core = Some(name.len() + 1));
    signals
}

/// Lists the signals of something that is made of cores.
pub(super) fn list_with_cores(name: &str, design: &Circuit) -> Vec<Signal> {
    let mut signals = all(name, design);
    for signal in &mut signals {
        let below = signal.below_top();
        let below = below.strip_prefix(ARRAY).unwrap_or(below);
        let from = signal.path.len() - below.len();
        let of_vector = |name: &str| {
            name.rsplit_once('_').is_some_and(|(vector, index)| {
                VECTORS.contains(&vector) && index.bytes().all(|b| b.is_ascii_digit())
            })
        };
        signal.core = match below.split_once('.') {
            Some((scope, _)) if scope.starts_with(CORE) => Some(from + scope.len() + 1),
            Some(_) => None,
            None => of_vector(below).then_some(from),
        };
    }
    signals
}

/// Ports whose elements are numbers as at a core.
const VECTORS: [&str; 4] = ["q", "k", "v", "o"];

/// Prefix of names inside a wrapper's array.
pub(crate) const ARRAY: &str = "array.";
/// In a wrapper: whether the array moves in this cycle. Else everything in it stays.
pub(crate) const MOVES: &str = "gate.enable";

/// The nets of signals by their paths below a design.
///
/// # Panics
/// If there is no such signal.
pub(crate) fn nets_of<const N: usize>(name: &str, design: &Circuit, paths: [&str; N]) -> [u32; N] {
    let signals = all(name, design);
    paths.map(|path| {
        let found = signals.iter().find(|signal| signal.below_top() == path);
        found.unwrap_or_else(|| panic!("{name} has no signal {path}")).net
    })
}

/// Prefix of the names of cores in machines made of cores, followed by the place.
pub(super) const CORE: &str = "core_";

fn all(name: &str, design: &Circuit) -> Vec<Signal> {
    let mut walk = List { scope: String::new(), signals: Vec::new() };
    design.accept(name, &mut walk);
    walk.signals
}

struct List {
    scope: String,
    signals: Vec<Signal>,
}

/// RustHDL calls element 3 of a vector `x$3`. It becomes `x_3`, as in the emitted Verilog's instances:
/// GTKWave takes `x[3]` for bit 3 of a bus `x`.
fn readable(name: &str) -> String {
    name.replace('$', "_")
}

impl Probe for List {
    fn visit_start_scope(&mut self, name: &str, _node: &dyn Block) {
        if !self.scope.is_empty() {
            self.scope.push('.');
        }
        self.scope += &readable(name);
    }

    fn visit_atom(&mut self, name: &str, signal: &dyn Atom) {
        // A gated clock is an enable in the Verilog.
        if name != "gated" {
            let path = format!("{}.{}", self.scope, readable(name));
            let (width, net) = (signal.bits() as u32, signal.id() as u32);
            self.signals.push(Signal { path, width, net, core: None });
        }
    }

    fn visit_end_scope(&mut self, _name: &str, _node: &dyn Block) {
        self.scope.truncate(self.scope.rfind('.').unwrap_or(0));
    }
}
