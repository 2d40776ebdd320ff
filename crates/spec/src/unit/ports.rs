//! The ports of a unit: a row each, in the order of the Verilog.

use super::UnitConfig;
use crate::streams::REGISTER_PORT;

/// The beginning of the names of the memory port.
pub const MEMORY_PORT: &str = "m_axi_";
/// Bits of an ID of the memory port.
pub const ID_BITS: u32 = 3;
/// Bits of an address of the register port.
pub const REGISTER_ADDRESS_BITS: u32 = 10;

/// An interface of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    /// AXI4-Lite slave: the registers.
    Registers,
    /// AXI4 master: the memory.
    Memory,
}

impl Interface {
    /// The beginning of the names of its ports.
    pub fn prefix(self) -> &'static str {
        match self {
            Interface::Registers => REGISTER_PORT,
            Interface::Memory => MEMORY_PORT,
        }
    }
}

/// A port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitPort {
    /// Its interface; clock, reset and interrupt have none.
    pub interface: Option<Interface>,
    /// Name of the signal in its interface, or of the port.
    pub signal: &'static str,
    /// Driven by the unit.
    pub output: bool,
    /// Bits.
    pub bits: u32,
}

impl UnitPort {
    /// Name in the Verilog.
    pub fn name(&self) -> String {
        self.interface.map_or("", Interface::prefix).to_string() + self.signal
    }
}

/// The ports of a unit.
pub fn ports(config: &UnitConfig) -> Vec<UnitPort> {
    let port = |interface, signal, output, bits| UnitPort { interface, signal, output, bits };
    let of = |interface, master: bool, channels: &[(&'static str, bool, u32)]| -> Vec<UnitPort> {
        let rows = channels.iter();
        rows.map(|&(signal, to_slave, bits)| port(Some(interface), signal, to_slave == master, bits))
            .collect()
    };
    let alone = [port(None, "aclk", false, 1), port(None, "aresetn", false, 1), port(None, "irq", true, 1)];
    let registers = of(Interface::Registers, false, &lite());
    let memory = of(Interface::Memory, true, &full(config));
    alone.into_iter().chain(registers).chain(memory).collect()
}

/// Signals of AXI4-Lite: name, whether the master drives it, bits.
fn lite() -> [(&'static str, bool, u32); 17] {
    [
        ("awaddr", true, REGISTER_ADDRESS_BITS),
        ("awvalid", true, 1),
        ("wdata", true, 32),
        ("wstrb", true, 4),
        ("wvalid", true, 1),
        ("bready", true, 1),
        ("araddr", true, REGISTER_ADDRESS_BITS),
        ("arvalid", true, 1),
        ("rready", true, 1),
        ("awready", false, 1),
        ("wready", false, 1),
        ("bresp", false, 2),
        ("bvalid", false, 1),
        ("arready", false, 1),
        ("rdata", false, 32),
        ("rresp", false, 2),
        ("rvalid", false, 1),
    ]
}

/// The same of AXI4.
fn full(config: &UnitConfig) -> [(&'static str, bool, u32); 33] {
    let (address, beat) = (config.address_bits, config.beat_bits);
    [
        ("awid", true, ID_BITS),
        ("awaddr", true, address),
        ("awlen", true, 8),
        ("awsize", true, 3),
        ("awburst", true, 2),
        ("awcache", true, 4),
        ("awprot", true, 3),
        ("awvalid", true, 1),
        ("awready", false, 1),
        ("wdata", true, beat),
        ("wstrb", true, beat / 8),
        ("wlast", true, 1),
        ("wvalid", true, 1),
        ("wready", false, 1),
        ("bid", false, ID_BITS),
        ("bresp", false, 2),
        ("bvalid", false, 1),
        ("bready", true, 1),
        ("arid", true, ID_BITS),
        ("araddr", true, address),
        ("arlen", true, 8),
        ("arsize", true, 3),
        ("arburst", true, 2),
        ("arcache", true, 4),
        ("arprot", true, 3),
        ("arvalid", true, 1),
        ("arready", false, 1),
        ("rid", false, ID_BITS),
        ("rdata", false, beat),
        ("rresp", false, 2),
        ("rlast", false, 1),
        ("rvalid", false, 1),
        ("rready", true, 1),
    ]
}
