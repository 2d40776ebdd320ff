"""A SoC of LiteX with a VexRiscv, memory, a UART and an attention unit; its Verilog and its headers."""

import importlib.util

from litex.build.generic_platform import Pins, Subsignal
from litex.build.io import CRG
from litex.build.sim import SimPlatform
from litex.soc.integration import export
from litex.soc.integration.soc import SoCRegion
from litex.soc.integration.soc_core import SoCCore

CLOCK, BAUD = 10_000_000, 1_000_000
IO = [
    ("sys_clk", 0, Pins(1)),
    ("serial", 0, Subsignal("tx", Pins(1)), Subsignal("rx", Pins(1))),
]


def module(path):
    """The emitted module of LiteX in this file."""
    spec = importlib.util.spec_from_file_location("unit", path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


class SoC(SoCCore):
    """The unit's registers are on the processor's bus, its memory port is a master of it, its interrupt goes to the processor."""

    def __init__(self, unit):
        platform = SimPlatform("SIM", list(IO))
        self.crg = CRG(platform.request("sys_clk"))
        memory = {"integrated_rom_size": 0x10000, "integrated_sram_size": 0x2000, "integrated_main_ram_size": 0x10000}
        # The variant whose `wfi` waits.
        processor = {"cpu_type": "vexriscv", "cpu_variant": "full"}
        SoCCore.__init__(self, platform, CLOCK, **processor, **memory, uart_baudrate=BAUD, with_timer=False)
        self.attention = module(unit).Unit(platform)
        self.bus.add_slave("attention", self.attention.registers, SoCRegion(size=1 << 10, cached=False))
        getattr(self, "dma_bus", self.bus).add_master("attention", self.attention.memory)
        self.irq.add("attention", use_loc_if_exists=True)

    def headers(self, folder):
        """Writes the headers and the memory regions of firmware."""
        self.finalize()
        folder.mkdir(parents=True, exist_ok=True)
        csr = export.get_csr_header(self.csr_regions, self.constants, self.mem_regions["csr"].origin)
        texts = {
            "csr.h": csr,
            "soc.h": export.get_soc_header(self.constants),
            "mem.h": export.get_mem_header(self.mem_regions),
            "regions.ld": export.get_linker_regions(self.mem_regions),
        }
        for name, text in texts.items():
            (folder / name).write_text(text)

    def verilog(self, folder, firmware):
        """Writes `soc.v` and the contents of its memories. Returns all sources."""
        words = [int.from_bytes(firmware[i : i + 4], "little") for i in range(0, len(firmware), 4)]
        self.init_rom("rom", words, auto_size=False)
        output = self.platform.get_verilog(self.get_fragment(), name="soc")
        for name, text in {"soc.v": output.main_source, **output.data_files}.items():
            (folder / name).write_text(text)
        return [folder / "soc.v"] + [source[0] for source in self.platform.sources]
