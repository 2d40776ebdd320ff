"""Jobs of an attention unit behind cocotbext-axi's memory and register master, with NumPy data."""

import json
import os
import random
import sys
from pathlib import Path

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, with_timeout
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[2] / "axis" / "cocotb_tests")]
from formats import encode, vector_bytes  # noqa: E402
from memory import Memory  # noqa: E402

SEED = int(os.environ["UNIT_SEED"])
MANIFEST = json.loads(Path(os.environ["UNIT_MANIFEST"]).read_text())
BLOCK = MANIFEST["configuration"]["block"]
CORE = BLOCK["core"]
FORMAT = CORE["format"]
DATA = np.load(os.environ["UNIT_DATA"])
FIELDS = {field["name"]: field for field in MANIFEST["descriptor"]}
REGISTERS = {register["name"]: register["offset"] for register in MANIFEST["registers"]}
FLAGS = {flag["name"]: 1 << flag["code"] for flag in MANIFEST["flags"]}
CODES = {code["name"]: code["code"] for code in MANIFEST["codes"]}
START, SOFT_RESET, IRQ_EN, QUEUE = 1, 2, 4, 1 << 8
BUSY, DONE, ERROR = 1, 2, 4
PERIOD_NS = 2
LIMIT_US = 400
SIZE = 1 << 20
# Jobs of a unit with a run-time factor of scores have theirs; a unit without one has 0 or its own.
HAS_SCALE = CORE.get("q_scales") == "row-q16"
SCALE = round(65536 / CORE["d"] ** 0.5) if HAS_SCALE else 0


def rows(name):
    """The rows of a tensor as bytes."""
    return [vector_bytes(encode(row, FORMAT), FORMAT) for row in DATA[name]]


def pauses(rng):
    """Whether a channel pauses: by chance, in runs, or never."""
    while True:
        kind, chance = rng.randrange(3), rng.random()
        for _ in range(rng.randrange(1, 60)):
            yield kind == 0 and rng.random() < chance or kind == 1 and chance < 0.5


class Bench:
    """A unit, its memory and its host."""

    def __init__(self, dut, seed=SEED):
        self.dut = dut
        self.rng = random.Random(seed)
        cocotb.start_soon(Clock(dut.aclk, PERIOD_NS, unit="ns").start())
        dut.aresetn.value = 0
        self.lite = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.aclk, dut.aresetn, False)
        for channel in (self.lite.write_if, self.lite.read_if):
            channel.log.setLevel("WARNING")
        self.memory = Memory(dut, SIZE, seed)
        self.free = 0x1000
        self.fault = 0

    def pause(self):
        """Pauses on all channels from now on."""
        self.memory.pause(lambda: pauses(self.rng))

    async def reset(self, cycles=4):
        """Reset, a few cycles long."""
        self.dut.aresetn.value = 0
        await ClockCycles(self.dut.aclk, cycles)
        self.dut.aresetn.value = 1
        await ClockCycles(self.dut.aclk, 2)

    async def write(self, offset, value):
        """Writes a register."""
        answer = await self.lite.write(offset, (value & 0xFFFFFFFF).to_bytes(4, "little"))
        assert answer.resp == AxiResp.OKAY, f"{offset:#x}: {answer.resp!r}"

    async def read(self, offset):
        """Reads a register."""
        answer = await self.lite.read(offset, 4)
        assert answer.resp == AxiResp.OKAY, f"{offset:#x}: {answer.resp!r}"
        return int.from_bytes(answer.data, "little")

    def place(self, size, align=256):
        """A free range of memory."""
        at = -(-self.free // align) * align
        self.free = at + size
        assert self.free < SIZE
        return at

    def store(self, lines, stride, base=None):
        """Rows in memory. Returns the address of the first."""
        base = self.place(len(lines) * stride + 64) if base is None else base
        for i, line in enumerate(lines):
            self.memory.bytes[base + i * stride : base + i * stride + len(line)] = line
        return base

    def load(self, base, stride, count, length):
        """Rows of memory."""
        return [bytes(self.memory.bytes[base + i * stride : base + i * stride + length]) for i in range(count)]

    async def fields(self, job):
        """Writes all fields of a job to the registers."""
        words = descriptor(job)
        for i in range(0, len(words), 4):
            await self.write(0x100 + i, int.from_bytes(words[i : i + 4], "little"))

    async def ended(self):
        """Waits for the interrupt. Returns STATUS and keeps the address of an error, then clears both."""

        async def rises():
            while not self.dut.irq.value:
                await RisingEdge(self.dut.aclk)

        await with_timeout(rises(), LIMIT_US, "us")
        status = await self.read(REGISTERS["STATUS"])
        self.fault = await self.read(REGISTERS["FAULT_LO"])
        await self.write(REGISTERS["STATUS"], 0xFFFFFFFF)
        return status

    async def run(self, job):
        """Runs a job from the registers. Returns STATUS."""
        await self.fields(job)
        await self.write(REGISTERS["CTRL"], START | IRQ_EN)
        return await self.ended()


def descriptor(job):
    """The bytes of a descriptor."""
    end = max(field["offset"] + -(-field["bits"] // 8) for field in FIELDS.values())
    words = bytearray(-(-end // 4) * 4)
    for name, value in job.items():
        field = FIELDS[name]
        size = -(-field["bits"] // 8)
        words[field["offset"] : field["offset"] + size] = (value & (1 << field["bits"]) - 1).to_bytes(size, "little")
    return bytes(words)


def dense(bench, tokens, causal=False, extra=0, shift=0):
    """A job of one head whose rows are `extra` bytes longer and begin at any byte."""
    job = {"QUERIES": tokens, "KEYS": tokens, "GROUP": 1, "K_HEADS": 1, "FLAGS": FLAGS["CAUSAL"] if causal else 0, "SCALE": SCALE}
    for name in "qkv":
        lines = rows(name)[:tokens]
        stride = len(lines[0]) + extra
        job[name.upper()] = bench.store(lines, stride, bench.place(tokens * stride + 256) + shift)
        job[f"{name.upper()}_ROW"] = stride
    stride = len(rows("v")[0]) + extra
    job["O"] = bench.place(tokens * stride + 256) + shift
    job["O_ROW"] = stride
    return job


def results(bench, job, count=None):
    """The results of a job."""
    return bench.load(job["O"], job["O_ROW"], job["QUERIES"] if count is None else count, len(rows("v")[0]))


def expected(causal):
    """The results of the array in the software model."""
    return [vector_bytes(encode(row, FORMAT), FORMAT) for row in DATA["causal" if causal else "o"]]


@cocotb.test()
async def registers_of_the_contest(dut):
    """The registers below 0x44 alone run a causal job, and its results are those of the software model."""
    bench = Bench(dut)
    await bench.reset()
    tokens = len(DATA["q"])
    job = dense(bench, tokens, causal=True)
    before = bytes(bench.memory.bytes)
    await bench.write(0x08, 1)
    await bench.write(0x0C, tokens)
    await bench.write(0x10, tokens)
    for i, name in enumerate("QKVO"):
        await bench.write(0x14 + 8 * i, job[name])
        await bench.write(0x18 + 8 * i, job[name] >> 32)
    await bench.write(0x34, job["Q_ROW"])
    await bench.write(0x38, 0x8000)
    await bench.write(0x3C, SCALE)
    await bench.write(0x00, START | IRQ_EN)
    assert await bench.ended() & (DONE | ERROR | BUSY) == DONE
    assert results(bench, job) == expected(True)
    inside = {job["O"] + i * job["O_ROW"] + j for i in range(tokens) for j in range(len(rows("v")[0]))}
    assert all(i in inside for i, (a, b) in enumerate(zip(before, bench.memory.bytes)) if a != b)
    assert await bench.read(0x40) > 0


@cocotb.test()
async def strides_bytes_and_pauses(dut):
    """Rows of any distance that begin at any byte, behind channels that pause."""
    bench = Bench(dut)
    await bench.reset()
    bench.pause()
    tokens = len(DATA["q"])
    for causal, extra, shift in [(False, 0, 0), (True, 1, 3), (False, 17, 5), (True, 64, 4090)]:
        job = dense(bench, tokens, causal, extra, shift)
        assert await bench.run(job) & ERROR == 0
        assert results(bench, job) == expected(causal), f"{causal} {extra} {shift}"


@cocotb.test()
async def pages(dut):
    """Paged keys and values give the results of dense ones bit for bit, with a last page that is not full."""
    bench = Bench(dut)
    await bench.reset()
    tokens = len(DATA["q"])
    for size_bits in (1, 2, 4):
        job = dense(bench, tokens, causal=True)
        size = 1 << size_bits
        count = -(-tokens // size)
        pool = count + 3
        order = bench.rng.sample(range(pool), count)
        job |= {"FLAGS": FLAGS["CAUSAL"] | FLAGS["PAGED"], "PAGE": size_bits, "PAGES": pool}
        for name in "kv":
            stride = job[f"{name.upper()}_ROW"]
            base = bench.place(pool * size * stride)
            for page, number in enumerate(order):
                bench.store(rows(name)[page * size : (page + 1) * size], stride, base + number * size * stride)
            job[name.upper()], job[f"{name.upper()}_PAGE"] = base, size * stride
        job["TABLE"] = bench.store([number.to_bytes(4, "little") for number in order], 4, bench.place(4 * count + 8) + 4)
        assert await bench.run(job) & ERROR == 0
        assert results(bench, job) == expected(True), f"pages of {size}"
    # A number that no page has is an error with its address.
    bench.memory.bytes[job["TABLE"] : job["TABLE"] + 4] = pool.to_bytes(4, "little")
    status = await bench.run(job)
    assert status & ERROR and status >> 8 & 0xFF == CODES["PAGE_BEYOND"]
    assert bench.fault == job["TABLE"]


@cocotb.test()
async def groups_and_offsets(dut):
    """A token of a group of heads is a block; the position and a window decide which keys a query sees."""
    bench = Bench(dut)
    await bench.reset()
    tokens, group = len(DATA["q"]), 3
    job = dense(bench, tokens)
    length = len(rows("v")[0])
    # The heads of a group are queries 5, 6 and 7 of the head, all at the last place.
    job |= {"QUERIES": 1, "GROUP": group, "Q": job["Q"] + 5 * job["Q_ROW"], "Q_HEAD": job["Q_ROW"], "O_HEAD": job["O_ROW"]}
    job |= {"FLAGS": FLAGS["CAUSAL"], "POSITION": tokens - 1}
    assert await bench.run(job) & ERROR == 0
    assert results(bench, job, group) == expected(False)[5 : 5 + group]
    # Two tokens at the places that they have in the head.
    job = dense(bench, tokens, causal=True)
    job |= {"QUERIES": 2, "Q": job["Q"] + 9 * job["Q_ROW"], "POSITION": 9}
    assert await bench.run(job) & ERROR == 0
    assert results(bench, job) == expected(True)[9:11]
    # A window of one key gives that key's value; a position before all keys gives zeros.
    job |= {"FLAGS": FLAGS["CAUSAL"] | FLAGS["WINDOW"], "WINDOW": 1}
    assert await bench.run(job) & ERROR == 0
    assert results(bench, job) == rows("v")[9:11]
    job |= {"POSITION": -1}
    assert await bench.run(job) & ERROR == 0
    assert results(bench, job) == [bytes(length), rows("v")[0]]


@cocotb.test()
async def chains_and_lengths(dut):
    """A chain of descriptors, with jobs of no queries, of no keys and of one key among them."""
    bench = Bench(dut)
    await bench.reset()
    bench.pause()
    tokens = len(DATA["q"])
    jobs = [dense(bench, tokens, causal=True) for _ in range(4)]
    jobs[1]["QUERIES"] = 0
    jobs[2]["KEYS"] = 0
    jobs[3]["KEYS"] = 1
    places = [bench.place(256) for _ in jobs]
    for i, (job, place) in enumerate(zip(jobs, places)):
        if i + 1 < len(jobs):
            job["FLAGS"] |= FLAGS["NEXT"]
            job["NEXT"] = places[i + 1]
        bench.store([descriptor(job)], 256, place)
    untouched = results(bench, jobs[1], tokens)
    await bench.write(REGISTERS["QUEUE_LO"], places[0])
    await bench.write(REGISTERS["QUEUE_HI"], 0)
    await bench.write(REGISTERS["CTRL"], QUEUE | IRQ_EN)
    assert await bench.ended() & (DONE | ERROR) == DONE
    length = len(rows("v")[0])
    assert results(bench, jobs[0]) == expected(True)
    assert results(bench, jobs[1], tokens) == untouched
    assert results(bench, jobs[2]) == [bytes(length)] * tokens
    assert results(bench, jobs[3]) == [rows("v")[0]] * tokens


def rounded(name):
    """The rows of a tensor as the unit reads them, in bf16."""
    codes = encode(DATA[name], FORMAT).astype(np.uint32)
    return (codes << 16).view(np.float32).astype(np.float64)


@cocotb.test(skip=not CORE.get("partial"))
async def states_and_log_sum_exps(dut):
    """Keys in two jobs of a chain, the second from the states of the first, give what one job gives; log-sum-exps are those of NumPy."""
    bench = Bench(dut)
    await bench.reset()
    bench.pause()
    tokens, first = len(DATA["q"]), 9
    size = await bench.read(REGISTERS["STATE_BYTES"])
    job = dense(bench, tokens) | {"STATE_ROW": size + 3, "LSE_ROW": 5}
    job |= {"STATE_OUT": bench.place(tokens * (size + 3)) + 2, "LSE": bench.place(tokens * 5) + 1}
    ways = FLAGS["LSE"] | FLAGS["STATE_OUT"]
    before = job | {"KEYS": first, "FLAGS": ways}
    after = job | {"KEYS": tokens - first, "FLAGS": ways | FLAGS["STATE_IN"]}
    after |= {"K": job["K"] + first * job["K_ROW"], "V": job["V"] + first * job["V_ROW"]}
    after |= {"STATE_IN": before["STATE_OUT"], "STATE_OUT": bench.place(tokens * (size + 3)), "LSE": bench.place(tokens * 5)}
    places = [bench.place(256), bench.place(256)]
    before |= {"FLAGS": ways | FLAGS["NEXT"], "NEXT": places[1]}
    for one, place in zip((before, after), places):
        bench.store([descriptor(one)], 256, place)
    await bench.write(REGISTERS["QUEUE_LO"], places[0])
    await bench.write(REGISTERS["QUEUE_HI"], 0)
    await bench.write(REGISTERS["CTRL"], QUEUE | IRQ_EN)
    assert await bench.ended() & (DONE | ERROR) == DONE
    assert results(bench, after) == expected(False)
    scores = rounded("q") @ rounded("k").T * 2.0 ** CORE.get("score_shift", -2)
    for one, keys in [(before, slice(0, first)), (after, slice(0, tokens))]:
        log_sums = np.log2(np.exp(scores[:, keys]).sum(axis=1))
        written = b"".join(bench.load(one["LSE"], 5, tokens, 4))
        # A score is off by half of its last place, 2^-10, and by what the alignment of its products cuts off.
        np.testing.assert_allclose(np.frombuffer(written, dtype="<f4"), log_sums, rtol=0, atol=2**-8)
    # A query without keys has minus infinity, whose state leaves the next job as it is.
    nothing = after | {"FLAGS": ways | FLAGS["CAUSAL"], "POSITION": -1000}
    assert await bench.run(nothing) & ERROR == 0
    assert bench.load(nothing["LSE"], 5, tokens, 4) == [b"\x00\x00\x80\xff"] * tokens
    again = job | {"FLAGS": FLAGS["STATE_IN"], "STATE_IN": nothing["STATE_OUT"]}
    assert await bench.run(again) & ERROR == 0
    assert results(bench, again) == expected(False)


@cocotb.test()
async def refusals(dut):
    """A job that cannot be right is refused with its code, and nothing is read or written."""
    bench = Bench(dut)
    await bench.reset()
    job = dense(bench, len(DATA["q"]), causal=True)
    end = 1 << MANIFEST["configuration"]["address_bits"]
    wrong = [
        ({"GROUP": 0}, "HEADS"),
        ({"K_HEADS": 0}, "HEADS"),
        ({"KEYS": CORE["max_keys"] + 1}, "LENGTH"),
        ({"FLAGS": FLAGS["CAUSAL"] | FLAGS["WINDOW"], "WINDOW": 0}, "WINDOW"),
        ({"FLAGS": FLAGS["PAGED"], "PAGE": 17, "PAGES": 4}, "PAGE"),
        ({"V_ROW": 1}, "STRIDE"),
        ({"K": end - 16}, "ADDRESS"),
        ({"O": end}, "ADDRESS"),
    ]
    if not CORE.get("partial"):
        wrong += [({"FLAGS": FLAGS[name]}, "UNSUPPORTED") for name in ("LSE", "STATE_IN", "STATE_OUT")]
    if not HAS_SCALE:
        wrong.append(({"SCALE": 0x1234}, "UNSUPPORTED"))
    bench.memory.reads.clear()
    for change, code in wrong:
        status = await bench.run(job | change)
        assert status & (DONE | ERROR | BUSY) == ERROR and status >> 8 & 0xFF == CODES[code], f"{change}: {status:#x}"
    assert not bench.memory.reads and not bench.memory.writes
    assert await bench.run(job) & ERROR == 0
    assert results(bench, job) == expected(True)


@cocotb.test()
async def errors_of_the_memory(dut):
    """SLVERR and DECERR of each kind end a job with their code and address, and the next job is right."""
    bench = Bench(dut)
    await bench.reset()
    bench.pause()
    job = dense(bench, len(DATA["q"]), causal=True)
    for name in "QKVO":
        for answer, word in [(AxiResp.SLVERR, "SLVERR"), (AxiResp.DECERR, "DECERR")]:
            at = job[name] + bench.rng.randrange(job["QUERIES"]) * job[f"{name}_ROW"]
            bench.memory.errors = [(at, at + 1, answer)]
            status = await bench.run(job)
            code = CODES[f"{'WRITE' if name == 'O' else 'READ'}_{word}"]
            assert status & ERROR and status >> 8 & 0xFF == code, f"{name} {word}: {status:#x}"
            assert bench.fault == at, f"{name} {word}: {bench.fault:#x} for {at:#x}"
            bench.memory.errors = []
            assert await bench.run(job) & ERROR == 0
            assert results(bench, job) == expected(True), f"after {name} {word}"


@cocotb.test()
async def resets_in_the_middle(dut):
    """A soft reset at any time ends with an idle unit whose next job is right; so does a reset of the whole system."""
    bench = Bench(dut)
    await bench.reset()
    bench.pause()
    job = dense(bench, len(DATA["q"]), causal=True)
    for _ in range(12):
        await bench.fields(job)
        await bench.write(REGISTERS["CTRL"], START | IRQ_EN)
        await ClockCycles(dut.aclk, bench.rng.randrange(1, 900))
        await bench.write(REGISTERS["CTRL"], SOFT_RESET)
        for _ in range(200):
            if not await bench.read(REGISTERS["STATUS"]) & BUSY:
                break
        else:
            raise AssertionError("busy after a soft reset")
        await bench.write(REGISTERS["STATUS"], 0xFFFFFFFF)
    assert await bench.run(job) & ERROR == 0
    assert results(bench, job) == expected(True)
