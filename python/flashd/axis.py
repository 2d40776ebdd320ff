"""The cocotb bench of an emitted stream wrapper, whose expectations are the model's. Benches from `flashd generate --cocotb` call it.

Blocks of random queries and keys go through the streams, with random pauses on all of them: every request for a value, every result with its flags,
and the counters of the registers are the model's. In a wrapper with states queries of later blocks start from the states that came with results.
"""

import json
import os
import random
from itertools import zip_longest
from pathlib import Path

from .bench import READS, packed, packed_biases, random_bias, shapes, value_exponent, vector
from .core import Core

PERIOD = 4
"""Nanoseconds of a cycle."""
RUN, CLEAR, BUSY = 1, 2, 1
"""Bits of CONTROL and STATUS."""
MOST_BLOCKS = 6
"""Blocks between two starts."""
PATIENCE = 4000
"""Microseconds after which a block hangs."""


def pauses(rng):
    """Whether a side of a stream pauses: by chance or not at all, for some cycles each."""
    while True:
        chance = rng.choice((0, 0, 0.2, 0.5, 0.9))
        for _ in range(rng.randrange(1, 60)):
            yield rng.random() < chance


def packed_words(words):
    """Words and their bits, one after another, each in whole bytes: a state as its stream has it."""
    data = b"".join(word.to_bytes(-(-bits // 8), "little") for word, bits in words)
    return int.from_bytes(data, "little")


class Resolved:
    """A signal whose undefined bits are read as random ones. A sink reads whole beats, but the bits after a result without a state are undefined.
    Where a bit counts, random ones soon differ from the expected value."""

    def __init__(self, signal):
        self.signal = signal

    @property
    def value(self):
        return self.signal.value.resolve("random")


class Masks:
    """The keys that queries see, by the registers."""

    def __init__(self, rng, masked):
        self.mode = rng.randrange(4) if masked else 0
        self.stride, self.window, self.position = rng.getrandbits(1), rng.randrange(20), rng.randrange(30)
        self.first = self.position

    def of_next_query(self):
        """The range of keys that it sees: first and end; None for no end."""
        to = self.position + 1
        self.position += self.stride
        if self.mode == 0:
            return 0, None
        return (max(0, to - self.window) if self.mode > 1 else 0), to


class Block:
    """A block and the model's results for it. With `states`, it brings a packet of states."""

    def __init__(self, bench, masks, states):
        rng, core = bench.rng, bench.core
        self.queries = [vector(core, rng, "q") for _ in range(rng.randrange(1, bench.most + 1))]
        keys = rng.randrange(1, 40)
        self.keys, self.values = ([vector(core, rng, operand) for _ in range(keys)] for operand in "kv")
        self.hidden = [bench.masked and rng.random() < 0.1 for _ in range(keys)]
        # One for every query that a block can have; none in a core without a bias.
        self.biases = [[random_bias(rng) for _ in range(bench.most)] if core._core.bias else [] for _ in range(keys)]
        # Queries after the last state start without one, as do queries whose state is None.
        brought = rng.randrange(1, len(self.queries) + 1) if states else 0
        self.begins = [bench.some_state() for _ in range(brought)]
        models = []
        for q, state in zip_longest(self.queries, self.begins):
            model = core.steps()
            model.query(q, bench.exponent)
            if state is not None:
                model.restore(*state)
            models.append((model, *masks.of_next_query()))
        self.asked = []
        for place in range(keys):
            reads = [self.meet(index, place, *model) for index, model in enumerate(models)]
            if any(reads):
                self.asked.append(place)
        results = [model.result() for model, _, _ in models]
        self.results = [o for o, *_ in results]
        self.flags = [invalid | overflow << 1 | empty << 2 | saturated << 3 for _, invalid, overflow, empty, saturated in results]
        # A query that has seen no key has none.
        self.states = [None if empty else model.state() for (model, _, _), (*_, empty, _) in zip(models, results)]

    def meet(self, index, place, model, first, end):
        """Whether a query reads the value of a key."""
        seen = not self.hidden[place] and first <= place and (end is None or place < end)
        # Without masks every key is seen.
        *_, action, due = model.key(self.keys[place], not seen, *self.biases[place][index : index + 1])
        if due:
            model.value(self.values[place])
        return action in READS


class Bench:
    """A wrapper in cocotb next to its model, with a source or a sink at every port."""

    def __init__(self, dut, manifest, keys=None, seed=None):
        from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiStreamBus, AxiStreamSink, AxiStreamSource

        self.dut = dut
        self.manifest = json.loads(Path(manifest).read_text(encoding="utf-8"))
        block = self.manifest["configuration"]["block"]
        self.core, self.most = Core.from_json(block["core"]), block["queries"]
        self.keys = int(os.environ.get("FLASHD_KEYS", 400)) if keys is None else keys
        seed = int(os.environ.get("FLASHD_SEED", 1)) if seed is None else seed
        self.rng = random.Random(seed)
        self.exponent = value_exponent(self.core)
        self.registers = {register["name"]: register for register in self.manifest["registers"]}
        self.masked = "MASK_MODE" in self.registers
        dut._log.info("seed %d", seed)
        reset = (dut.aclk, dut.aresetn, False)
        self.lite = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), *reset)
        self.ports, self.sizes = {}, {}
        for stream in self.manifest["streams"]:
            beat = next(one["width"] for one in stream["signals"] if one["port"].endswith("_tdata"))
            self.sizes[stream["name"]] = beat * stream["beats"] // 8
            side = AxiStreamSource if stream["input"] else AxiStreamSink
            self.ports[stream["name"]] = side(AxiStreamBus.from_prefix(dut, stream["name"]), *reset)
        write, read = self.lite.write_if, self.lite.read_if
        for one in (*self.ports.values(), write, read):
            one.log.setLevel("WARNING")
        for one in (*self.ports.values(), write.aw_channel, write.w_channel, write.b_channel, read.ar_channel, read.r_channel):
            one.set_pause_generator(pauses(self.rng))
        self.requested = "m_axis_vreq" in self.ports
        self.partial = "s_axis_s" in self.ports
        if self.partial:
            bus = self.ports["m_axis_o"].bus
            bus.tdata = Resolved(bus.tdata)
        self.widths, self.states = list(self.core.state_widths.values()), []
        self.sent = self.begun = self.results = self.requests = 0

    def packed(self, operand, vectors):
        """Vectors of q, k, v or o as their streams have them, word 0 in the low bits."""
        return [packed(self.core, operand, one) for one in vectors]

    def bits(self, operand):
        """Bits of a vector of q, k, v or o."""
        width, words = shapes(self.core)[operand]
        return width * words

    def some_state(self):
        """A state of the last block, which many queries may start from; None for none."""
        return self.rng.choice(self.states) if self.states and self.rng.random() < 0.8 else None

    def packed_state(self, state):
        """A state as its stream has it: accumulators, then scalars. Where there is none, noise, which the wrapper does not use."""
        if state is None:
            return self.rng.getrandbits(8 * self.sizes["s_axis_s"])
        scalars, o = state
        accumulator, *others = self.widths
        return packed_words([*((word, accumulator) for word in o), *zip(scalars, others)])

    def send(self, port, numbers, user=None):
        """A packet of vectors, the last beat of each filled up with zeros; `user` has a bit for each, which counts on its last beat."""
        from cocotbext.axi import AxiStreamFrame

        data = b"".join(one.to_bytes(self.sizes[port], "little") for one in numbers)
        users = None if user is None else [int(bit) for bit in user for _ in range(self.sizes[port])]
        self.ports[port].send_nowait(AxiStreamFrame(data, tuser=users) if users else AxiStreamFrame(data))

    async def write(self, register, value):
        """Writes a register, if there is one."""
        if register in self.registers:
            answer = await self.lite.write(self.registers[register]["offset"], value.to_bytes(4, "little"))
            assert int(answer.resp) == 0, f"{register}: {answer.resp!r}"

    async def read(self, register):
        """Reads a register."""
        answer = await self.lite.read(self.registers[register]["offset"], 4)
        assert int(answer.resp) == 0, f"{register}: {answer.resp!r}"
        return int.from_bytes(answer.data, "little")

    async def memory(self, blocks):
        """Answers requests: each is the model's next one."""
        from cocotb.triggers import ClockCycles

        for block, number in blocks:
            for place in block.asked:
                request = await self.ports["m_axis_vreq"].recv()
                got = int.from_bytes(request.tdata, "little")
                assert got == place, f"key {number + place}: a request of key {place} of its block is due, got {got}"
                if self.rng.random() < 0.3:
                    await ClockCycles(self.dut.aclk, self.rng.randrange(1, 30))
                self.send("s_axis_v", self.packed("v", [block.values[place]]))
                self.requests += 1

    async def answers(self, block, number):
        """Compares the results of a block."""
        frame = await self.ports["m_axis_o"].recv(compact=False)
        data, size, bits = bytes(frame.tdata), self.sizes["m_axis_o"], self.bits("o")
        assert len(data) == size * len(block.results), f"key {number}: {len(data) // size} results of {len(block.results)} queries"
        for index, (o, flags, state) in enumerate(zip(self.packed("o", block.results), block.flags, block.states)):
            where = f"key {number + len(block.keys) - 1}, query {index} of its block: "
            got = int.from_bytes(data[index * size :][:size], "little")
            after, got = got >> bits, got & (1 << bits) - 1
            assert got == o, f"{where}o: expected {o:x}, got {got:x}"
            # Bits after a result without a state do not count; a wrapper without states pads the last beat with zeros.
            if not self.partial or state is not None:
                due = self.packed_state(state) if self.partial else 0
                assert after == due, f"{where}state: expected {due:x}, got {after:x}"
            told = set(frame.tuser[index * size :][:size])
            assert told == {flags}, f"{where}flags: expected {flags}, got {told}"
            self.results += 1

    async def start(self):
        """Some blocks, from a start of the wrapper to its end."""
        import cocotb
        from cocotb.triggers import with_timeout

        masks = Masks(self.rng, self.masked)
        states = self.partial and self.rng.random() < 0.8
        blocks, numbered = [], []
        for _ in range(self.rng.randrange(1, MOST_BLOCKS + 1)):
            blocks.append(Block(self, masks, states))
            self.states = [state for state in blocks[-1].states if state is not None]
        for block in blocks:
            numbered.append((block, self.sent))
            self.sent += len(block.keys)
        lengths = {len(block.keys) for block in blocks}
        length = lengths.pop() if len(lengths) == 1 and self.rng.getrandbits(1) else 0
        for register, value in (("MASK_MODE", masks.mode), ("STRIDE", masks.stride), ("WINDOW", masks.window), ("POSITION", masks.first),
                                ("V_EXPONENT", self.exponent), ("STATES", int(states)), ("LENGTH", length), ("BLOCKS", len(blocks))):
            await self.write(register, value)
        for block in blocks:
            self.send("s_axis_q", self.packed("q", block.queries))
            biases = (packed_biases(one) << self.bits("k") for one in block.biases)
            keys = [key | behind for key, behind in zip(self.packed("k", block.keys), biases)]
            self.send("s_axis_k", keys, block.hidden if self.masked else None)
            if states:
                self.send("s_axis_s", map(self.packed_state, block.begins), [state is None for state in block.begins])
                self.begun += sum(state is not None for state in block.begins)
            if not self.requested:
                self.send("s_axis_v", self.packed("v", block.values))
        memory = cocotb.start_soon(self.memory(numbered)) if self.requested else None
        await self.write("CONTROL", RUN | CLEAR)
        for block, number in numbered:
            await with_timeout(self.answers(block, number), PATIENCE, "us")
        if memory is not None:
            await with_timeout(memory, PATIENCE, "us")
        while await self.read("STATUS") & BUSY:
            pass
        keys, asked = (sum(len(of(block)) for block in blocks) for of in (lambda b: b.keys, lambda b: b.asked))
        expected = {"STATUS": 0, "CONTROL": 0, "BLOCKS_DONE": len(blocks), "KEYS": keys, "VALUES_READ": asked, "VALUES_SKIPPED": keys - asked}
        found = {name: await self.read(name) for name in expected}
        assert found == expected, f"key {self.sent}: expected {expected}, got {found}"
        assert all(self.ports[name].empty() for name in ("m_axis_o", "m_axis_vreq") if name in self.ports), f"key {self.sent}: more than is due"

    async def run(self):
        """The whole bench; an AssertionError says what differed, and at which key."""
        import cocotb
        from cocotb.clock import Clock
        from cocotb.triggers import ClockCycles

        cocotb.start_soon(Clock(self.dut.aclk, PERIOD, unit="ns").start())
        self.dut.aresetn.value = 0
        await ClockCycles(self.dut.aclk, 4)
        self.dut.aresetn.value = 1
        await ClockCycles(self.dut.aclk, 2)
        while self.sent < self.keys or (self.partial and self.begun == 0):
            await self.start()
        begun = f"{self.begun} states, " if self.partial else ""
        self.dut._log.info("%d keys, %s%d requests, %d results are the model's", self.sent, begun, self.requests, self.results)
        assert self.results > 0 and (self.requests > 0 or not self.requested)
