"""A memory at an AXI4 port: cocotbext-axi's AxiSlave, with answers that are errors, and a record of what is read."""

import random

from cocotbext.axi import AxiBus, AxiResp, AxiSlave


class Refused(Exception):
    """An address that the memory answers with an error."""


class Memory:
    """Bytes, of which some ranges answer with an error."""

    def __init__(self, dut, size, seed):
        self.bytes = bytearray(random.Random(seed).randbytes(size))
        self.errors = []
        self.reads = []
        self.writes = []
        self.answer = None
        reset = (dut.aclk, dut.aresetn, False)
        clock, resetn, active = reset
        bus = AxiBus.from_prefix(dut, "m_axi")
        self.slave = AxiSlave(bus, clock, resetn, target=self, reset_active_level=active)
        read, write = self.slave.read_if, self.slave.write_if
        for side in (read, write):
            side.log.setLevel("CRITICAL")
        self.channels = (read.ar_channel, read.r_channel, write.aw_channel, write.w_channel, write.b_channel)
        read.r_channel.send = self.with_answer(read.r_channel.send, "rresp")
        write.b_channel.send = self.with_answer(write.b_channel.send, "bresp")

    def with_answer(self, send, field):
        """`send`, with the error of the memory in place of cocotbext-axi's SLVERR."""

        def sends(beat):
            if getattr(beat, field) != AxiResp.OKAY:
                setattr(beat, field, self.answer)
            return send(beat)

        return sends

    def pause(self, generator):
        """Pauses on all channels; `generator` makes one for each."""
        for channel in self.channels:
            channel.set_pause_generator(generator())

    def check(self, address, length):
        """Raises an error in a range that has one, and beyond the end."""
        if address + length > len(self.bytes):
            self.answer = AxiResp.DECERR
            raise Refused(hex(address))
        for low, high, answer in self.errors:
            if address < high and low < address + length:
                self.answer = answer
                raise Refused(hex(address))

    async def read(self, address, length):
        """Called by AxiSlave."""
        self.reads.append((address, length))
        self.check(address, length)
        return bytes(self.bytes[address : address + length])

    async def write(self, address, data):
        """Called by AxiSlave, with the bytes whose strobes are high."""
        self.writes.append((address, len(data)))
        self.check(address, len(data))
        self.bytes[address : address + len(data)] = data
