//! The ports of cores, arrays and split keys: a row each. Stream wrappers have streams and a register port instead.
//!
//! Hardware declares ports in the order of this table; the bench, test vectors, waves and the power simulation find them by it.

use crate::machine::Machine;
use crate::numerics::{BIAS, Numerics};
use Compared::{Always, WithRead, WithResult, WithState};
use Port::*;

/// A port, by its place in [`PORTS`]. The clock `clk` comes before all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)] // Their meanings are in the table.
pub enum Port {
    Rst,
    Q,
    QValid,
    QLast,
    QReady,
    QFrom,
    QTo,
    VExponent,
    K,
    KValid,
    KLast,
    KReady,
    KMask,
    KBias,
    KState,
    KIndex,
    StateRen,
    StateLse,
    StateRoom,
    StateM,
    StateL,
    VState,
    StateO,
    VStep,
    VRen,
    V,
    O,
    OValid,
    OIndex,
    OLast,
    OInvalid,
    OSaturated,
    OEmpty,
    OOverflow,
    OLse,
    ORoom,
    OM,
    OL,
    OState,
}

/// When an output is compared; never during reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// In every cycle.
    Always,
    /// While `v_ren` is expected high.
    WithRead,
    /// While `o_valid` is expected high.
    WithResult,
    /// While `o_valid` is expected high and `o_empty` is not: a query without keys has no state.
    WithState,
}

/// Words of a port, and bits of each. A port without words does not exist.
pub type Words = (usize, u32);

/// A port.
#[derive(Clone, Copy, Debug)]
pub struct PortRow {
    /// Its place in the table.
    pub port: Port,
    /// Its name in Verilog.
    pub name: &'static str,
    /// When it is compared, if it is an output.
    pub compared: Option<Compared>,
    /// Its words in a machine.
    words: fn(&Machine) -> Words,
    /// Its contents and timing.
    pub meaning: &'static str,
}

impl PortRow {
    /// Whether it is an output.
    pub const fn is_output(&self) -> bool {
        self.compared.is_some()
    }

    /// Its words in a machine; none in a machine that does not have it.
    pub fn words(&self, machine: &Machine) -> Words {
        match machine {
            Machine::Wrapper(_) | Machine::Unit(_) => (0, 0),
            _ => (self.words)(machine),
        }
    }
}

impl Port {
    /// Its row.
    pub fn row(self) -> &'static PortRow {
        &PORTS[self as usize]
    }

    /// Its name in Verilog.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The port of a name.
    pub fn of_name(name: &str) -> Option<Port> {
        PORTS.iter().find(|row| row.name == name).map(|row| row.port)
    }

    /// The ports of a state's scalars, in the order of [`CoreConfig::state_scalars`](crate::config::CoreConfig::state_scalars): of the
    /// input state and of the output state.
    pub fn state_scalars(machine: &Machine) -> Vec<[Port; 2]> {
        let port = |prefix: &str, name: &str| {
            let port = Port::of_name(&format!("{prefix}{name}"));
            port.unwrap_or_else(|| panic!("no port for the scalar {name} of a state"))
        };
        let scalars = machine.core().state_scalars().iter();
        scalars.map(|name| ["state_", "o_"].map(|prefix| port(prefix, name))).collect()
    }
}

const fn input(
    port: Port,
    name: &'static str,
    words: fn(&Machine) -> Words,
    meaning: &'static str,
) -> PortRow {
    PortRow { port, name, compared: None, words, meaning }
}

const fn output(
    port: Port,
    name: &'static str,
    compared: Compared,
    words: fn(&Machine) -> Words,
    meaning: &'static str,
) -> PortRow {
    PortRow { port, name, compared: Some(compared), words, meaning }
}

/// All ports, in the order of declaration.
pub static PORTS: [PortRow; 39] = [
    input(Rst, "rst", flag, "synchronous reset of the control state"),
    input(Q, "q", |m| (m.core().port_words().q, m.core().formats().q.width()), "query, and its scales"),
    input(QValid, "q_valid", flag, "the query register loads q; in an array, a query is offered"),
    input(QLast, "q_last", of_array, "with q_valid: the query is the last of its block"),
    output(QReady, "q_ready", Always, of_array, "a query is taken if one is offered"),
    input(QFrom, "q_from", key_place, "with q_valid: place of the first key that the query sees"),
    input(QTo, "q_to", key_place, "with q_valid: place after the last key that the query sees"),
    input(
        VExponent,
        "v_exponent",
        value_exponent,
        "with q_valid: exponent field of max|v| of the query's values",
    ),
    input(
        K,
        "k",
        |m| (parts(m) * m.core().port_words().k, m.core().formats().k.width()),
        "key, and its scales",
    ),
    input(KValid, "k_valid", flag, "a key is taken; in an array, offered"),
    input(KLast, "k_last", flag, "with k_valid: the key is its query's last"),
    output(KReady, "k_ready", Always, of_array, "a key is taken if one is offered"),
    input(KMask, "k_mask", mask, "with k_valid: the query does not see the key"),
    input(KBias, "k_bias", bias, "with k_valid: added to the score, for each core"),
    input(KState, "k_state", restoring, "with k_valid: the step restores a state, and k means nothing"),
    input(KIndex, "k_index", state_place, "with k_state: place in its block of the query whose state it is"),
    output(
        StateRen,
        "state_ren",
        Always,
        restoring,
        "the scalars of a state are read: they come in the next cycle",
    ),
    input(StateLse, "state_lse", |m| scalar_in(m, "lse"), "log-sum-exp of the state, base 2"),
    input(StateRoom, "state_room", |m| scalar_in(m, "room"), "what the hold budget of the state leaves"),
    input(StateM, "state_m", |m| scalar_in(m, "m"), "running maximum of the state, base 2"),
    input(StateL, "state_l", |m| scalar_in(m, "l"), "running sum of the state"),
    output(
        VState,
        "v_state",
        WithRead,
        restoring,
        "with v_ren: accumulators of a state are read, not a value",
    ),
    input(
        StateO,
        "state_o",
        |m| (restored(m) * m.core().dv(), m.core().accumulator_bits()),
        "accumulators of the state, when a value would come",
    ),
    output(VStep, "v_step", Always, flag, "a step reaches the stage where its value is read"),
    output(VRen, "v_ren", Always, |m| (parts(m), 1), "with v_step: the step reads its value"),
    input(
        V,
        "v",
        |m| (parts(m) * m.core().port_words().v, m.core().formats().v.width()),
        "value, and its scales, value_latency cycles after v_ren",
    ),
    output(O, "o", WithResult, |m| (m.core().dv(), m.core().formats().o.width()), "result"),
    output(OValid, "o_valid", Always, flag, "a result is there, for one cycle"),
    output(OIndex, "o_index", WithResult, query_place, "place in its block of the result's query"),
    output(OLast, "o_last", Always, of_array, "with o_valid: the result is the last of its block"),
    output(OInvalid, "o_invalid", WithResult, flag, "an operand that the query read is Inf or NaN"),
    output(
        OSaturated,
        "o_saturated",
        WithResult,
        |m| (usize::from(!m.core().follows_the_paper()), 1),
        "the score of a key that the query saw saturated",
    ),
    output(OEmpty, "o_empty", WithResult, |m| (usize::from(m.core().masks), 1), "the query saw no key"),
    output(
        OOverflow,
        "o_overflow",
        WithResult,
        |m| (usize::from(m.core().has_value_exponent()), 1),
        "a value that the query read is above v_exponent",
    ),
    output(OLse, "o_lse", WithState, |m| scalar(m, "lse"), "log-sum-exp after the last key, base 2"),
    output(
        ORoom,
        "o_room",
        WithState,
        |m| scalar(m, "room"),
        "what the hold budget leaves after the last key",
    ),
    output(OM, "o_m", WithState, |m| scalar(m, "m"), "running maximum after the last key, base 2"),
    output(OL, "o_l", WithState, |m| scalar(m, "l"), "running sum after the last key"),
    output(
        OState,
        "o_state",
        WithState,
        |m| (usize::from(m.core().partial) * m.core().dv(), m.core().accumulator_bits()),
        "accumulators after the last key",
    ),
];

fn flag(_: &Machine) -> Words {
    (1, 1)
}

fn is_array(machine: &Machine) -> bool {
    matches!(machine, Machine::Array(_))
}

fn of_array(machine: &Machine) -> Words {
    (is_array(machine).into(), 1)
}

/// Keys that come at the same time: one for each part.
fn parts(machine: &Machine) -> usize {
    if matches!(machine, Machine::Split(_)) { machine.cores() } else { 1 }
}

/// 1 in a machine that can start a query from a state. The cores of split keys start from nothing.
fn restored(machine: &Machine) -> usize {
    (machine.core().partial && !matches!(machine, Machine::Split(_))).into()
}

fn restoring(machine: &Machine) -> Words {
    (restored(machine), 1)
}

fn mask(machine: &Machine) -> Words {
    (if machine.core().masks { parts(machine) } else { 0 }, 1)
}

fn bias(machine: &Machine) -> Words {
    (if machine.core().bias { machine.places() } else { 0 }, BIAS.width())
}

fn value_exponent(machine: &Machine) -> Words {
    let core = machine.core();
    (core.has_value_exponent().into(), core.products().v.exponent_bits)
}

fn key_place(machine: &Machine) -> Words {
    match machine {
        Machine::Array(array) => (array.core.masks.into(), array.key_index_bits()),
        _ => (0, 0),
    }
}

fn query_place(machine: &Machine) -> Words {
    match machine {
        Machine::Array(array) => (1, array.index_bits()),
        _ => (0, 0),
    }
}

fn state_place(machine: &Machine) -> Words {
    let (_, bits) = query_place(machine);
    (usize::from(is_array(machine)) * restored(machine), bits)
}

/// A scalar of the state that a query ends with.
fn scalar(machine: &Machine, name: &str) -> Words {
    let core = machine.core();
    let place = core.state_scalars().iter().position(|scalar| *scalar == name).filter(|_| core.partial);
    place.map_or((0, 0), |place| (1, Numerics::new(core).scalar_bits(core)[place]))
}

/// A scalar of the state that a query starts from.
fn scalar_in(machine: &Machine, name: &str) -> Words {
    let (words, bits) = scalar(machine, name);
    (words * restored(machine), bits)
}
