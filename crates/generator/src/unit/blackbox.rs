//! A unit as a part of designs in Chisel and in LiteX.

use super::manifest::{UnitManifest, origin};
use crate::verilog::GeneratedFile;
use flashd_spec::unit::ports::{Interface, UnitPort, ports};
use std::fmt::Write;

/// `<name>.scala`: a Chisel `BlackBox`.
pub(super) fn chisel(manifest: &UnitManifest) -> GeneratedFile {
    let name = &manifest.array.name;
    let mut text = format!(
        "// {}\nimport chisel3._\nimport chisel3.util.HasBlackBoxResource\n\n/** An attention unit: registers at `s_axil_`, memory at \
         `m_axi_`. Its Verilog is a resource. */\nclass {name} extends BlackBox with HasBlackBoxResource {{\n  val io = IO(new Bundle {{\n",
        origin(manifest)
    );
    for port in ports(&manifest.array.configuration) {
        let kind = match (port.signal, port.bits) {
            ("aclk", _) => "Clock()".into(),
            (_, 1) => "Bool()".into(),
            (_, bits) => format!("UInt({bits}.W)"),
        };
        let direction = if port.output { "Output" } else { "Input" };
        let _ = writeln!(text, "    val {} = {direction}({kind})", port.name());
    }
    text += "  })\n";
    manifest.array.files.iter().for_each(|file| _ = writeln!(text, "  addResource(\"/{file}\")"));
    text += "}\n";
    GeneratedFile { name: format!("{name}.scala"), text }
}

/// Bits of an address on the buses of LiteX.
const LITEX_ADDRESS_BITS: u32 = 32;
/// The channels of AXI.
const CHANNELS: [&str; 5] = ["aw", "w", "b", "ar", "r"];

/// A port of an AXI interface in LiteX: `bus.aw.addr`. A bus of LiteX has whole addresses, of which registers see the low bits.
fn member(port: &UnitPort) -> Option<String> {
    let bus = match port.interface? {
        Interface::Registers => "registers",
        Interface::Memory => "memory",
    };
    let low = if bus == "registers" && port.signal.ends_with("addr") {
        format!("[:{}]", port.bits)
    } else {
        String::new()
    };
    // aw and ar before w and r: the longest beginning counts.
    let channel =
        CHANNELS.iter().filter(|channel| port.signal.starts_with(**channel)).max_by_key(|c| c.len())?;
    Some(format!("self.{bus}.{channel}.{}{low}", &port.signal[channel.len()..]))
}

/// `<name>_litex.py`: the unit as a module of LiteX.
pub(super) fn litex(manifest: &UnitManifest) -> GeneratedFile {
    let (name, config) = (&manifest.array.name, &manifest.array.configuration);
    let mut instance = String::new();
    for port in ports(config) {
        let wire = member(&port).unwrap_or_else(|| match port.signal {
            "aclk" => "ClockSignal()".into(),
            "aresetn" => "~ResetSignal()".into(),
            other => format!("self.{other}"),
        });
        let direction = if port.output { "o" } else { "i" };
        let _ = writeln!(instance, "            {direction}_{}={wire},", port.name());
    }
    let sources: Vec<String> = manifest.array.files.iter().map(|file| format!("\"{file}\"")).collect();
    let text = format!(
        r#""""{name} in LiteX: `registers` is a slave of AXI-Lite, `memory` a master of AXI, `irq` its interrupt.

    self.attention = Unit(platform)
    self.bus.add_slave("attention", self.attention.registers, SoCRegion(size=1 << {address}, cached=False))
    getattr(self, "dma_bus", self.bus).add_master("attention", self.attention.memory)
    self.irq.add("attention", use_loc_if_exists=True)

Buses of LiteX have {litex} bits of address: generate the unit with --address-bits {litex}. Its bridges to Wishbone answer every access
without an error. {origin}
"""

from pathlib import Path

from litex.gen import LiteXModule
from litex.soc.interconnect.axi import AXIInterface, AXILiteInterface
from litex.soc.interconnect.csr_eventmanager import SharedIRQ
from migen import ClockSignal, Instance, ResetSignal, Signal

SOURCES = [{sources}]


class Unit(LiteXModule):
    """The unit, in the clock domain `sys`."""

    def __init__(self, platform=None):
        self.registers = AXILiteInterface(data_width=32, address_width={litex})
        self.memory = AXIInterface(data_width={beat}, address_width={bits}, id_width={id})
        self.irq = Signal()
        # An event manager, by its name in LiteX; the unit has the enable and the pending bit itself.
        self.ev = SharedIRQ(self)
        self.specials += Instance(
            "{name}",
{instance}        )
        if platform is not None:
            for source in SOURCES:
                platform.add_source(str(Path(__file__).parent / source))
"#,
        origin = origin(manifest),
        sources = sources.join(", "),
        address = manifest.address_bits,
        litex = LITEX_ADDRESS_BITS,
        beat = config.beat_bits,
        bits = config.address_bits,
        id = flashd_spec::unit::ports::ID_BITS,
    );
    GeneratedFile { name: format!("{name}_litex.py"), text }
}
