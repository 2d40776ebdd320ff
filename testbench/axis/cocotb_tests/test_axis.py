"""Attention through the streams of a wrapper, with NumPy data and cocotbext-axi."""

import os
import random
import sys
from pathlib import Path

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, with_timeout
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp, AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent)]
from formats import FORMATS, encode, vector_bytes  # noqa: E402
from packets import Wrapper, read_blocks  # noqa: E402

SEED = int(os.environ["AXIS_SEED"])
CAUSAL = os.environ["AXIS_CAUSAL"] == "1"
RUN, CLEAR, BUSY = 1, 2, 1
PERIOD_NS = 2
LIMIT_US = 2000
"""Time after which a test hangs; the longest takes a tenth of it."""


def pauses(rng):
    """Whether a side of a stream pauses: by chance, in runs, in every second cycle, or never."""
    while True:
        kind = rng.randrange(4)
        chance = rng.random()
        for i in range(rng.randrange(1, 60)):
            if kind == 0:
                yield rng.random() < chance
            elif kind == 1:
                yield chance < 0.5
            elif kind == 2:
                yield i % 2 == 0
            else:
                yield False


class Bench:
    """A wrapper with a source or a sink at every port."""

    def __init__(self, dut):
        self.dut = dut
        self.wrapper = Wrapper(os.environ["AXIS_MANIFEST"])
        # Recorded heads are in one format and of one length.
        self.d = self.wrapper.manifest["configuration"]["block"]["core"]["d"]
        self.width = self.wrapper.beat["q"] * self.wrapper.beats["q"] // self.d
        self.format = self.wrapper.manifest["configuration"]["block"]["core"]["format"]
        self.rng = random.Random(SEED)
        dut._log.info("seed %d", SEED)
        cocotb.start_soon(Clock(dut.aclk, PERIOD_NS, unit="ns").start())
        dut.aresetn.value = 0
        reset = (dut.aclk, dut.aresetn, False)
        self.lite = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), *reset)
        self.ports = {}
        for name, stream in self.wrapper.streams.items():
            side = AxiStreamSource if stream["input"] else AxiStreamSink
            self.ports[name] = side(AxiStreamBus.from_prefix(dut, name), *reset)
            self.ports[name].log.setLevel("WARNING")
        for channel in (self.lite.write_if, self.lite.read_if):
            channel.log.setLevel("WARNING")

    def pause(self):
        """Pauses on all streams and channels from now on."""
        for port in self.ports.values():
            port.set_pause_generator(pauses(self.rng))
        write, read = self.lite.write_if, self.lite.read_if
        for channel in (write.aw_channel, write.w_channel, write.b_channel, read.ar_channel, read.r_channel):
            channel.set_pause_generator(pauses(self.rng))

    async def reset(self):
        """Reset, a few cycles long."""
        self.dut.aresetn.value = 0
        await ClockCycles(self.dut.aclk, 4)
        self.dut.aresetn.value = 1
        await ClockCycles(self.dut.aclk, 2)

    def offset(self, register):
        """Address of a register."""
        return self.wrapper.registers[register]["offset"]

    async def write(self, register, value):
        """Writes a register."""
        answer = await self.lite.write(self.offset(register), value.to_bytes(4, "little"))
        assert answer.resp == AxiResp.OKAY, f"{register}: {answer.resp!r}"

    async def read(self, register):
        """Reads a register."""
        answer = await self.lite.read(self.offset(register), 4)
        assert answer.resp == AxiResp.OKAY, f"{register}: {answer.resp!r}"
        return int.from_bytes(answer.data, "little")

    async def idle(self):
        """Waits for the end of all blocks."""
        while await self.read("STATUS") & BUSY:
            pass

    def packet(self, vectors, user=0):
        """A packet of vectors of codes; `user` counts on the last beat of each."""
        data = b"".join(vector_bytes(v, self.format) for v in vectors)
        return AxiStreamFrame(data, tuser=user)

    def send(self, name, vectors, user=0):
        """Queues a packet."""
        self.ports[name].send_nowait(self.packet(vectors, user))

    async def values(self, rows, asked):
        """The memory of the values: answers the requests of a block in order, each after a latency by chance."""
        requested = []
        for _ in asked:
            request = await self.ports["m_axis_vreq"].recv()
            requested.append(int.from_bytes(request.tdata, "little"))
            assert requested[-1] < len(rows), f"key {requested[-1]} of {len(rows)} was requested"
            await ClockCycles(self.dut.aclk, self.rng.choice([1, 1, 2, 3, 30]))
            self.send("s_axis_v", [rows[requested[-1]]])
        assert requested == asked, f"requested {requested}, needed {asked}"

    async def results(self, expected):
        """Compares the results of a block, bit for bit, and returns their flags."""
        frame = await self.ports["m_axis_o"].recv(compact=False)
        data = b"".join(vector_bytes(v, self.format) for v in expected)
        assert bytes(frame.tdata) == data, f"expected {data.hex()}, got {bytes(frame.tdata).hex()}"
        size = len(data) // len(expected)
        flags = [set(frame.tuser[i * size : (i + 1) * size]) for i in range(len(expected))]
        assert all(len(f) == 1 for f in flags), f"flags change within a result: {flags}"
        return [f.pop() for f in flags]


async def run_blocks(bench, q, k, v, o, needed):
    """Blocks of the array's number of queries, all with the same keys."""
    size = bench.wrapper.queries
    starts = range(0, len(q), size)
    for first in starts:
        bench.send("s_axis_q", q[first : first + size])
        bench.send("s_axis_k", k)
        if not bench.wrapper.requested:
            bench.send("s_axis_v", v)
    await bench.write("BLOCKS", len(starts))
    await bench.write("LENGTH", len(k))
    await bench.write("CONTROL", RUN | CLEAR)

    async def memory():
        for asked in needed:
            await bench.values(v, asked)

    answers = cocotb.start_soon(memory()) if bench.wrapper.requested else None
    for first in starts:
        flags = await with_timeout(bench.results(o[first : first + size]), LIMIT_US, "us")
        assert not any(flags), f"flags {flags}"
    if answers is not None:
        await with_timeout(answers, LIMIT_US, "us")
    await with_timeout(bench.idle(), LIMIT_US, "us")
    asked = sum(len(block) for block in needed)
    expected = {
        "STATUS": 0,
        "CONTROL": 0,
        "BLOCKS_DONE": len(starts),
        "KEYS": len(starts) * len(k),
        "VALUES_READ": asked,
        "VALUES_SKIPPED": len(starts) * len(k) - asked,
    }
    found = {name: await bench.read(name) for name in expected}
    assert found == expected, f"expected {expected}, got {found}"
    assert bench.ports["m_axis_o"].empty(), "more results than queries"


def operands(bench):
    """Codes of the data, and the keys of each block whose value is needed."""
    with np.load(os.environ["AXIS_DATA"]) as data:
        q, k, v, o = (encode(data[name], bench.format) for name in "qkvo")
    blocks = read_blocks(bench.wrapper, os.environ["AXIS_VECTORS"])
    needed = [[i for i, asked in enumerate(b.asked) if asked] for b in blocks]
    return q, k, v, o, needed


@cocotb.test()
async def attention(dut):
    """Two passes over the data: one with pauses everywhere, then one without, each bit for bit."""
    bench = Bench(dut)
    q, k, v, o, needed = operands(bench)
    bench.pause()
    await bench.reset()
    if bench.wrapper.fixed:
        # The largest exponent field, as `flashd simulate` chooses it.
        _, fraction_bits = FORMATS[bench.format]
        field = (1 << bench.width - 1 - fraction_bits) - 1
        await bench.write("V_EXPONENT", int(((v >> fraction_bits) & field).max()))
    for calm in (False, True):
        if calm:
            for port in bench.ports.values():
                port.clear_pause_generator()
                port.pause = False
        if CAUSAL:
            await bench.write("MASK_MODE", 1)
            await bench.write("STRIDE", 1)
            # The last key that the first query sees, as `flashd simulate` has it.
            _, end = read_blocks(bench.wrapper, os.environ["AXIS_VECTORS"])[0].limits[0]
            await bench.write("POSITION", end - 1)
        await run_blocks(bench, q, k, v, o, needed)
        dut._log.info("%s: %d cycles", "without pauses" if calm else "with pauses", await bench.read("CYCLES"))


@cocotb.test()
async def registers(dut):
    """Access to registers, strobes, and errors."""
    bench = Bench(dut)
    bench.pause()
    await bench.reset()
    addresses = {r["offset"] for r in bench.wrapper.registers.values()}
    for address in range(0, 1 << bench.wrapper.manifest["address_bits"], 4):
        answer = await bench.lite.read(address, 4)
        assert answer.resp == (AxiResp.OKAY if address in addresses else AxiResp.SLVERR), hex(address)
        assert int.from_bytes(answer.data, "little") == 0, f"0x{address:x} is not 0 after reset"
    for name, register in bench.wrapper.registers.items():
        if register["access"] == "read-only":
            answer = await bench.lite.write(register["offset"], bytes(4))
            assert answer.resp == AxiResp.SLVERR, name
        elif name not in ("CONTROL", "STATUS"):
            ones = (1 << register["width"]) - 1
            await bench.write(name, 0xFFFF_FFFF)
            assert await bench.read(name) == ones, name
            await bench.write(name, 0)
    await bench.write("LENGTH", 0x1234_5678)
    await bench.lite.write(bench.offset("LENGTH") + 1, b"\xab")
    assert await bench.read("LENGTH") == 0x1234_AB78


@cocotb.test()
async def wrong_packets(dut):
    """Packets that are too long or too short set their error, and the next block is not harmed."""
    bench = Bench(dut)
    q, k, v, o, needed = operands(bench)
    await bench.reset()
    fields = {f["name"]: f["bit"] for f in bench.wrapper.registers["STATUS"]["fields"]}
    size = bench.wrapper.queries

    async def block(keys, length, error):
        bench.send("s_axis_q", np.zeros((size + (error == "Q_LONG"), bench.d), int))
        bench.send("s_axis_k", np.zeros((keys, bench.d), int))
        zero = np.zeros(bench.d, int)
        if not bench.wrapper.requested:
            bench.send("s_axis_v", [zero] * min(keys, length or keys))

        async def memory():
            while True:
                await bench.ports["m_axis_vreq"].recv()
                bench.send("s_axis_v", [zero])

        answers = cocotb.start_soon(memory()) if bench.wrapper.requested else None
        await bench.write("BLOCKS", 1)
        await bench.write("LENGTH", length)
        await bench.write("CONTROL", RUN)
        frame = await with_timeout(bench.ports["m_axis_o"].recv(), LIMIT_US, "us")
        assert len(frame.tdata) == size * bench.d * bench.width // 8
        await with_timeout(bench.idle(), LIMIT_US, "us")
        if answers is not None:
            answers.cancel()
        expected = 1 << fields[error] if error else 0
        status = await bench.read("STATUS")
        assert status == expected, f"{error}: STATUS is 0x{status:x}, expected 0x{expected:x}"
        await bench.write("STATUS", 0)
        assert await bench.read("STATUS") == expected, "an error was cleared by a 0"
        await bench.write("STATUS", expected)
        assert await bench.read("STATUS") == 0, "an error was not cleared by a 1"

    await block(3, 0, None)
    await block(3, 0, "Q_LONG")
    await block(3, 2, "K_LONG")
    await block(3, 4, "K_SHORT")
    await block(3, 3, None)


@cocotb.test()
async def masked_keys(dut):
    """A block whose keys are all masked: every result is empty, and no value is requested."""
    bench = Bench(dut)
    await bench.reset()
    if not bench.wrapper.masks:
        dut._log.info("a wrapper without masks: nothing to check")
        return
    size = bench.wrapper.queries
    zeros = np.zeros((size, bench.d), int)
    for _ in range(2):
        bench.send("s_axis_q", zeros)
        bench.send("s_axis_k", np.zeros((5, bench.d), int), user=1)
        if not bench.wrapper.requested:
            bench.send("s_axis_v", np.zeros((5, bench.d), int))
    await bench.write("BLOCKS", 2)
    await bench.write("CONTROL", RUN)
    for _ in range(2):
        flags = await with_timeout(bench.results(zeros), LIMIT_US, "us")
        assert flags == [4] * size, flags
    await with_timeout(bench.idle(), LIMIT_US, "us")
    assert await bench.read("VALUES_READ") == 0
    assert await bench.read("VALUES_SKIPPED") == 10
    if bench.wrapper.requested:
        await RisingEdge(dut.aclk)
        assert bench.ports["m_axis_vreq"].empty(), "a value was requested"
