"""The cocotb bench of an emitted core or array, whose expectations are the model's. Benches from `flashd generate --cocotb` call it. `axis` has
the bench of a stream wrapper.

The bench keeps to the port protocol, with random gaps, and compares in every cycle: each step's v_step and v_ren, each query's result and its
flags, and that no others come.
"""

import argparse
import json
import os
import random
import sys
from collections import deque
from pathlib import Path

from .core import Core

PERIOD = 4
"""Nanoseconds of a cycle."""
READS = (0, 1)
"""Actions that read their value: a load, an update."""


def shapes(core):
    """Bits of a word and words of a vector, by operand."""
    return {operand: core._core.row(operand)[:2] for operand in "qkvo"}


def value_exponent(core):
    """The exponent field of fixed-point lanes for `vector`, whose numbers are below 4; 0 in cores without that port."""
    if not core._core.has_v_exponent:
        return 0
    _, _, bias, largest = core._core.row("v")
    return min(bias + 1, largest)


def vector(core, rng, operand):
    """The words of a vector of q, k or v: magnitudes from 1/16 to 3.5, in a core of integers with the scale of its row where rows have one."""
    d = core.dv if operand == "v" else core.d
    numbers = [rng.choice((-1, 1)) * 2.0 ** rng.randrange(-4, 2) * rng.uniform(1, 1.75) for _ in range(d)]
    return core.encode(operand, [numbers])[0].tolist()


def packed(core, operand, vector):
    """A vector as its port has it: word 0 in the low bits."""
    width = shapes(core)[operand][0]
    return sum(word << place * width for place, word in enumerate(vector))


def random_bias(rng):
    """A bf16 number from 1/16 to 4, which is added to a score."""
    return rng.getrandbits(1) << 15 | rng.randrange(123, 129) << 7 | rng.getrandbits(7)


def packed_biases(biases):
    """The biases of a key for all queries of a block, as the port has them."""
    return sum(bias << 16 * place for place, bias in enumerate(biases))


class Query:
    """A query of a block: its operands, and the model that meets its keys."""

    def __init__(self, bench):
        self.q = bench.vector("q")
        self.exponent = bench.exponent
        self.model = bench.core.steps()
        self.model.query(self.q, self.exponent)
        self.first, self.end = 0, None
        if bench.ranged and bench.rng.random() < 0.5:
            self.first, self.end = sorted(bench.rng.randrange(60) for _ in range(2))

    def sees(self, place, masked):
        """Whether it sees the key at a place of its block."""
        return not masked and self.first <= place and (self.end is None or place < self.end)

    def meets(self, k, masked, bias, v):
        """Whether the step reads its value."""
        *_, action, due = self.model.key(k, masked, bias)
        if due:
            self.model.value(v)
        return action in READS


class Bench:
    """A design in cocotb next to its model."""

    def __init__(self, dut, manifest, keys=None, seed=None):
        self.dut = dut
        self.manifest = json.loads(Path(manifest).read_text(encoding="utf-8"))
        configuration = self.manifest["configuration"]
        self.array = "core" in configuration
        self.core = Core.from_json(configuration["core"] if self.array else configuration)
        self.most = configuration["queries"] if self.array else 1
        self.keys = int(os.environ.get("FLASHD_KEYS", 400)) if keys is None else keys
        seed = int(os.environ.get("FLASHD_SEED", 1)) if seed is None else seed
        self.rng = random.Random(seed)
        self.ports = {port["name"]: port["width"] for port in self.manifest["ports"]}
        self.ranged = "q_from" in self.ports
        self.shapes = shapes(self.core)
        self.exponent = value_exponent(self.core)
        dut._log.info("seed %d", seed)
        self.loading, self.meeting = [], deque()
        self.left = 0
        self.sent = self.steps = self.results = 0
        self.at_value, self.at_result = deque(), deque()
        self.answers = deque([None] * (self.manifest["value_latency"] - 1))

    def vector(self, operand):
        """The words of a vector of q, k or v."""
        return vector(self.core, self.rng, operand)

    def packed(self, operand, vector):
        """A vector as its port has it; noise of nothing."""
        if vector is None:
            width, words = self.shapes[operand]
            return self.rng.getrandbits(width * words)
        return packed(self.core, operand, vector)

    def put(self, **values):
        """Drives the ports that there are."""
        for name, value in values.items():
            if name in self.ports:
                getattr(self.dut, name).value = int(value)

    def get(self, name):
        """A port's bits; 0 of one that is not there."""
        return int(getattr(self.dut, name).value) if name in self.ports else 0

    def offer_query(self):
        """A new query, if one may be offered: a block for an array, one query before the next keys for a core."""
        ahead = len(self.meeting) + (self.left > 0)
        if self.sent >= self.keys or ahead >= (2 if self.array else 1) or self.rng.random() < 0.3:
            return None
        return Query(self)

    async def run(self):
        """The whole bench; an AssertionError says what differed, and at which key."""
        import cocotb
        from cocotb.clock import Clock
        from cocotb.triggers import FallingEdge, Timer

        dut, rng = self.dut, self.rng
        cocotb.start_soon(Clock(dut.clk, PERIOD, unit="ns").start())
        inputs = [port["name"] for port in self.manifest["ports"] if port["direction"] == "input" and port["name"] != "clk"]
        # Ports that are not driven below, the ports of partial results, stay at 0.
        self.put(**{name: name == "rst" for name in inputs})
        for _ in range(3):
            await FallingEdge(dut.clk)
        query, key, value = None, None, None
        while True:
            busy = self.left or self.meeting or self.loading or self.at_value or self.at_result
            if not (busy or self.sent < self.keys):
                break
            query = query or self.offer_query()
            ends = query is not None and (len(self.loading) + 1 == self.most or rng.random() < 0.1)
            ready = self.left > 0 or bool(self.meeting)
            key = key or (self.next_key() if ready and rng.random() < 0.75 else None)
            self.put(
                rst=0, q_valid=query is not None, q=self.packed("q", query and query.q), q_last=ends,
                v_exponent=self.exponent if query else rng.getrandbits(4), k_valid=key is not None,
                k=self.packed("k", key and key["k"]), k_last=key["last"] if key else rng.getrandbits(1),
                k_mask=key["masked"] if key else rng.getrandbits(1) if "k_mask" in self.ports else 0,
                v=self.packed("v", value),
                k_bias=packed_biases(key["bias"] if key else [self.rng.getrandbits(16) for _ in range(self.most)]),
            )
            if self.ranged:
                whole = (1 << self.ports["q_to"]) - 1
                self.put(q_from=query.first if query else 0, q_to=whole if query is None or query.end is None else query.end)
            # Outputs settle; the edge comes later.
            await Timer(1, "ns")
            taken_key = key is not None and (not self.array or self.get("k_ready"))
            taken_query = query is not None and (not self.array or self.get("q_ready"))
            # Check this cycle before its accepted inputs become due.
            value = self.check()
            if taken_key:
                self.meet(key)
                key = None
            if taken_query:
                self.loading.append(query)
                query = None
                if ends:
                    self.meeting.append(self.loading)
                    self.loading = []
            await FallingEdge(dut.clk)
        dut._log.info("%d keys, %d steps, %d results are the model's", self.sent, self.steps, self.results)
        assert self.steps == self.sent >= self.keys and self.results > 0

    def next_key(self):
        """The next key of the block under way, or of the next block."""
        if self.left == 0:
            self.left = self.rng.randrange(1, 50)
            self.block, self.place = self.meeting.popleft(), 0
        masked = "k_mask" in self.ports and self.rng.random() < 0.1
        return {"k": self.vector("k"), "v": self.vector("v"), "last": self.left == 1, "masked": masked, "bias": [self.bias() for _ in range(self.most)]}

    def bias(self):
        """The bias of a score; 0 in a design without biases."""
        return random_bias(self.rng) if "k_bias" in self.ports else 0

    def meet(self, key):
        """A key is taken: the model meets it."""
        reads = [query.meets(key["k"], self.masks and not query.sees(self.place, key["masked"]), bias, key["v"])
                 for query, bias in zip(self.block, key["bias"])]
        self.at_value.append((self.sent, any(reads), key["v"]))
        self.sent, self.place, self.left = self.sent + 1, self.place + 1, self.left - 1
        if key["last"]:
            for index, query in enumerate(self.block):
                self.at_result.append((self.sent - 1, index, index + 1 == len(self.block), query.model.result()))

    @property
    def masks(self):
        return "k_mask" in self.ports

    def check(self):
        """Outputs of a cycle. Returns the value that is on the bus in the next one."""
        asked = None
        if self.get("v_step"):
            assert self.at_value, f"key {self.sent}: a v_step that no key has"
            number, reads, v = self.at_value.popleft()
            assert self.get("v_ren") == reads, f"key {number}: v_ren: expected {int(reads)}, got {self.get('v_ren')}"
            asked = v if reads else None
            self.steps += 1
        if self.get("o_valid"):
            assert self.at_result, f"key {self.sent}: a result that no query has"
            number, index, last, (o, *flags) = self.at_result.popleft()
            where = f"key {number}, query {index} of its block: "
            got = [self.get(name) for name in ("o_invalid", "o_overflow", "o_empty", "o_saturated")]
            assert got == [int(flag) for flag in flags], f"{where}flags: expected {flags}, got {got}"
            got = self.get("o")
            expected = self.packed("o", o)
            assert got == expected, f"{where}o: expected {expected:x}, got {got:x}"
            if self.array:
                assert (self.get("o_index"), self.get("o_last")) == (index, last), f"{where}o_index, o_last"
            self.results += 1
        self.answers.append(asked)
        return self.answers.popleft()


def _save_file(build, told, sim):
    """Writes GTKWave's save file next to the dump, with the design's ports by their names in the dump."""
    name = told["name"]
    dump = next((build / file for file in (f"{name}.fst", "dump.fst", "dump.vcd") if (build / file).is_file()), None)
    if dump is None:
        return
    scope = name if sim == "icarus" else f"TOP.{name}"
    lines = [f'[dumpfile] "/{dump.name}"', f'[savefile] "/{name}.gtkw"', "[timestart] 0", f"[treeopen] {scope}."]
    for port in told["ports"]:
        width = port["width"]
        lines += ["@28" if width == 1 else "@22", f"{scope}.{port['name']}" + (f"[{width - 1}:0]" if width > 1 else "")]
    save = build / f"{name}.gtkw"
    save.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"waves: gtkwave {dump} {save}")


def main(bench, manifest):
    """Builds the design and runs the bench: the command line of what `generate --cocotb` writes."""
    from cocotb_tools.check_results import get_results
    from cocotb_tools.runner import get_runner

    parser = argparse.ArgumentParser(description=f"Runs {Path(bench).name} in a simulator.")
    parser.add_argument("--sim", choices=["icarus", "verilator"], default="icarus")
    parser.add_argument("--keys", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--build", type=Path, default=None, help="folder to build in (default: cocotb-<simulator> next to the bench)")
    parser.add_argument("--waves", action="store_true", help="write waves into the folder (WAVES=1 does so, too)")
    options = parser.parse_args()
    # cocotb's own module for the dump is SystemVerilog.
    waves = options.waves or os.environ.get("WAVES", "0") not in ("", "0")
    bench, manifest = Path(bench).resolve(), Path(manifest).resolve()
    told = json.loads(manifest.read_text(encoding="utf-8"))
    build = (options.build or bench.parent / f"cocotb-{options.sim}").resolve()
    runner = get_runner(options.sim)
    runner.build(
        sources=[manifest.parent / file for file in told["files"]], hdl_toplevel=told["name"], build_dir=build,
        build_args=["-g2012" if waves else "-g2005"] if options.sim == "icarus" else ["-Wno-fatal", "-O1"], timescale=("1ns", "1ps"),
        waves=waves,
    )
    path = os.pathsep.join([str(bench.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    results = runner.test(
        hdl_toplevel=told["name"], test_module=bench.stem, build_dir=build, test_dir=build, waves=waves,
        extra_env={"PYTHONPATH": path, "FLASHD_KEYS": str(options.keys), "FLASHD_SEED": str(options.seed)},
    )
    tests, failed = get_results(results)
    if waves:
        _save_file(build, told, options.sim)
    print(f"cocotb: {tests - failed} of {tests} tests passed")
    sys.exit(0 if tests and not failed else 1)
