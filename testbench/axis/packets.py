#!/usr/bin/env python3
"""Turns a vector file of an array of cores into the packets of its stream wrapper.

    packets.py MANIFEST [VECTORS] --out DIR

MANIFEST is the wrapper's .json, VECTORS what `flashd simulate --queries B --vectors` has written for the same array.
The vector file holds the operands, the results and the keys whose value is asked for, bit for bit; nothing is
computed again here. Into DIR go q.hex, k.hex, v.hex, p.hex (states that queries begin from), o.hex, w.hex (which bits of
o.hex count), r.hex (requests) and s.hex (runs), bench.vh with their lengths, and the bench: all that a simulator needs. Without
VECTORS, bench.vh alone, without lengths.

A line of q, k, v, p, o and w is a beat: one digit of flags (bit 0 tlast, bits 3 to 1 tuser), then the data. A value that no
query needs is written with all bits ones, a NaN or the format's largest code, so that its use would show.
A run is a number of blocks between two starts: blocks whose masks follow from one setting of the registers.
"""

import argparse
import json
import math
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
BENCH = ("axis_tb.v", "axis_pace.v", "axis_host.vh")


def fail(message):
    """Ends the program as for any bad input."""
    print(f"packets.py: {message}", file=sys.stderr)
    sys.exit(2)


@dataclass
class Block:
    """A block: its queries, keys and results in the order in which they pass."""

    queries: list = field(default_factory=list)
    limits: list = field(default_factory=list)
    exponents: list = field(default_factory=list)
    keys: list = field(default_factory=list)
    masked: list = field(default_factory=list)
    asked: list = field(default_factory=list)
    values: list = field(default_factory=list)
    states: dict = field(default_factory=dict)
    results: list = field(default_factory=list)


@dataclass
class Run:
    """Blocks that one start of the wrapper takes, and the registers before it."""

    blocks: list
    exponent: int
    mode: int
    stride: int
    window: int
    position: int
    states: bool


class Wrapper:
    """A wrapper, by its manifest."""

    def __init__(self, path):
        try:
            self.manifest = json.loads(Path(path).read_text())
            block = self.manifest["configuration"]["block"]
            self.streams = {s["name"]: s for s in self.manifest["streams"]}
            self.registers = {r["name"]: r for r in self.manifest["registers"]}
        except (OSError, ValueError, KeyError, TypeError) as e:
            fail(f"{path} is not the manifest of a stream wrapper: {e}")
        self.name = self.manifest["name"]
        self.queries = block["queries"]
        self.masks = bool(self.signal("s_axis_k", "tuser"))
        self.fixed = "V_EXPONENT" in self.registers
        self.requested = "m_axis_vreq" in self.streams
        self.partial = "s_axis_s" in self.streams
        names = {"q": "s_axis_q", "k": "s_axis_k", "v": "s_axis_v", "o": "m_axis_o"} | ({"p": "s_axis_s"} if self.partial else {})
        # Beats of a vector and bits of a beat, by stream of vectors.
        self.beats = {letter: self.streams[name]["beats"] for letter, name in names.items()}
        self.beat = {letter: self.signal(name, "tdata") for letter, name in names.items()}
        self.value_latency = self.manifest["value_latency"]

    def signal(self, stream, signal):
        """Bits of a stream's signal; 0 where it has none."""
        widths = [s["width"] for s in self.streams[stream]["signals"] if s["port"] == f"{stream}_{signal}"]
        return widths[0] if widths else 0


class Ports:
    """The ports of a vector file: words and bits of a word of each, and the packing of a state on its stream."""

    def __init__(self, shapes):
        self.shapes = shapes

    def bits(self, name):
        """Bits of a port."""
        words, width = self.shapes.get(name, (0, 0))
        return words * width

    def scalars(self, prefix):
        """The scalars of a state, by the names of their ports."""
        others = {"o", "o_valid", "o_invalid", "o_saturated", "o_overflow", "o_empty", "o_index", "o_last", "o_state", "state_ren", "state_o"}
        return [name for name in self.shapes if name.startswith(prefix) and name not in others]

    def state(self, accumulators, scalars, prefix):
        """A state as its stream has it: accumulators and scalars, each in whole bytes."""
        port = "o_state" if prefix == "o_" else "state_o"
        words, width = self.shapes[port]
        parts = [(accumulators >> place * width & (1 << width) - 1, width) for place in range(words)]
        parts += [(scalar, self.bits(name)) for scalar, name in zip(scalars, self.scalars(prefix))]
        packed, at = 0, 0
        for part, bits in parts:
            packed |= part << at
            at += -(-bits // 8) * 8
        return packed


def read_shapes(wrapper, path):
    """The ports of a vector file, and its cycles outside reset, with their line numbers: the value of each port, as digits."""
    try:
        head, *lines = Path(path).read_text().splitlines() or [""]
    except (OSError, UnicodeDecodeError) as e:
        fail(f"{path}: {e}")
    comment, _, ports = head.partition(" ")
    ports = [port.split(":") for port in ports.split()[1:]]
    if comment != "//" or not ports or any(len(port) != 2 for port in ports):
        fail(f"{path}, line 1: not the ports of a design, as flashd simulate --vectors writes them")
    places, length, shapes = {}, 0, {}
    for name, shape in ports:
        factors = [int(factor) for factor in shape.split("x")]
        # Bits of a word, and how many.
        shapes[name] = (math.prod(factors[1:]), factors[0])
        places[name] = slice(length, length + (math.prod(factors) + 3) // 4)
        length = places[name].stop
    of = Ports(shapes)
    beats = {"q": of.bits("q"), "k": of.bits("k") + of.bits("k_bias"), "v": of.bits("v")}
    wrong = any(not bits or -(-bits // wrapper.beat[name]) != wrapper.beats[name] for name, bits in beats.items())
    wrong |= wrapper.partial != ("k_state" in shapes) or not of.bits("o")
    needed = {"q_last", "k_ready", "o_last"} | ({"q_from", "q_to", "k_mask"} if wrapper.masks else set())
    if wrong or not needed <= places.keys():
        fail(f"{path}: not of the array in {wrapper.name}")
    if not lines or lines[-1] != "f" * length:
        fail(f"{path} has no end mark: it is cut off")

    def cycles():
        for number, line in enumerate(lines[:-1]):
            if len(line) != length:
                fail(f"{path}, line {number + 2}: {len(line)} digits, but a cycle has {length}")
            ports = {name: line[place] for name, place in places.items()}
            if ports["rst"] == "0":
                yield number, ports

    return of, cycles()


def read_blocks(wrapper, path):
    """The blocks of a vector file."""
    shapes, cycles = read_shapes(wrapper, path)
    unread = (1 << shapes.bits("v")) - 1
    loading, meeting, stepping, answering = [Block()], [], [], []
    # Values and accumulators by the line in which they come; states whose scalars, and whose accumulators, are still to be asked for.
    due, accumulators, scalars_due = {}, {}, None
    unasked, unread_states = [], []
    for number, ports in cycles:
        value = lambda name: int(ports.get(name, "0"), 16)
        q, v = value("q"), value("v")
        k = value("k") | value("k_bias") << shapes.bits("k")
        if number in due:
            of, place = due.pop(number)
            of.values[place] = v
        if number in accumulators:
            of, place, scalars = accumulators.pop(number)
            of.states[place] = shapes.state(value("state_o"), scalars, "state_")
        if scalars_due is not None:
            unread_states.append((*scalars_due, [value(name) for name in shapes.scalars("state_")]))
        # A core of d = 3 or 4 asks for a state's scalars in the cycle in which the state takes a key's place.
        if value("k_valid") and value("k_ready") and value("k_state"):
            unasked.append((meeting[0], value("k_index")))
        scalars_due = unasked.pop(0) if value("state_ren") else None
        if value("v_step") and value("v_state"):
            accumulators[number + wrapper.value_latency] = unread_states.pop(0)
        elif value("v_step"):
            while len(stepping[0].asked) == len(stepping[0].keys) and len(stepping) > 1:
                stepping.pop(0)
            of = stepping[0]
            of.asked.append(value("v_ren"))
            of.values.append(unread)
            if value("v_ren"):
                due[number + wrapper.value_latency] = (of, len(of.values) - 1)
        if value("k_valid") and value("k_ready") and not value("k_state"):
            of = meeting[0]
            of.keys.append(k)
            of.masked.append(value("k_mask"))
            if value("k_last"):
                meeting.pop(0)
        if value("q_valid") and value("q_ready"):
            of = loading[-1]
            of.queries.append(q)
            of.limits.append((value("q_from"), value("q_to")) if wrapper.masks else None)
            of.exponents.append(value("v_exponent"))
            if value("q_last") or len(of.queries) == wrapper.queries:
                meeting.append(of)
                stepping.append(of)
                answering.append(of)
                loading.append(Block())
        if value("o_valid"):
            of = next(b for b in answering if len(b.results) < len(b.queries))
            o, flags = value("o"), value("o_invalid") | value("o_overflow") << 1 | value("o_empty") << 2 | value("o_saturated") << 3
            counts = (1 << shapes.bits("o")) - 1
            if wrapper.partial and not value("o_empty"):
                o |= shapes.state(value("o_state"), [value(name) for name in shapes.scalars("o_")], "o_") << shapes.bits("o")
            # A result that has seen no key has no state.
            whole = 8 * (wrapper.beat["o"] * wrapper.beats["o"] // 8)
            of.results.append((o, flags, counts if value("o_empty") else (1 << whole) - 1))
            if value("o_last") != (len(of.results) == len(of.queries)):
                fail(f"{path}, line {number + 2}: o_last is not at its block's last result")
    blocks = loading[:-1]
    if not blocks or any(len(b.results) != len(b.queries) or len(b.asked) != len(b.keys) for b in blocks):
        fail(f"{path} ends before the last result")
    return blocks


def window_of(wrapper, blocks, path):
    """MASK_MODE and WINDOW with which all queries see the keys of the vector file."""
    limits = [(f, t, len(b.keys)) for b in blocks for f, t in b.limits]
    if all(f == 0 and t >= n for f, t, n in limits):
        return 0, 0
    if all(f == 0 for f, _, _ in limits):
        return 1, 0
    window = max(t - f for f, t, _ in limits)
    if window < 0 or any(f != max(t - window, 0) for f, t, _ in limits):
        fail(f"{path}: the queries see neither all keys, nor causal ones, nor a sliding window")
    return 2, window


def find_runs(wrapper, blocks, path):
    """The runs of the blocks, in order."""
    mode, window = window_of(wrapper, blocks, path) if wrapper.masks else (0, 0)
    runs = []
    following = None
    for block in blocks:
        if len(set(block.exponents)) != 1:
            fail(f"{path}: the queries of a block have different exponents of v")
        places = [t - 1 for _, t in block.limits] if mode else [0]
        stride = int(len(places) > 1 and places[1] != places[0])
        if min(places) < 0 or any(p != places[0] + stride * i for i, p in enumerate(places)):
            fail(f"{path}: the places of a block's queries are neither equal nor one after another")
        registers = (block.exponents[0], mode, stride, window, bool(block.states))
        # A block of one query fits either stride.
        same = runs and registers == (runs[-1].exponent, runs[-1].mode, runs[-1].stride, runs[-1].window, runs[-1].states)
        if same and (not mode or places[0] == following):
            runs[-1].blocks.append(block)
        else:
            *registers, states = registers
            runs.append(Run([block], *registers, position=places[0], states=states))
        following = places[0] + stride * len(block.queries)
    return runs


def packet(wrapper, stream, vectors, users=None, user_at_last=False, packets=True):
    """The beats of a packet of vectors, or of vectors where there are no packets."""
    bits, beats = wrapper.beat[stream], wrapper.beats[stream]
    lines = []
    for place, vector in enumerate(vectors):
        for i in range(beats):
            final = i == beats - 1
            user = users[place] if users and (final or not user_at_last) else 0
            last = packets and final and place == len(vectors) - 1
            lines.append(f"{user << 1 | last:x}{vector >> i * bits & (1 << bits) - 1:0{bits // 4}x}")
    return lines


def write(wrapper, blocks, runs, out):
    """The .hex files, and the bench itself."""
    streams = {name: [] for name in "qkvporsw"}
    row = 0
    for run in runs:
        counts = {"keys": 0, "read": 0}
        for b in run.blocks:
            streams["q"] += packet(wrapper, "q", b.queries)
            streams["k"] += packet(wrapper, "k", b.keys, b.masked, user_at_last=True)
            streams["v"] += packet(wrapper, "v", b.values, packets=not wrapper.requested)
            streams["o"] += packet(wrapper, "o", [o for o, *_ in b.results], [u for _, u, _ in b.results])
            streams["w"] += packet(wrapper, "o", [w for *_, w in b.results], [7 for _ in b.results])
            if run.states:
                states = [b.states.get(place) for place in range(len(b.queries))]
                none = [int(state is None) for state in states]
                streams["p"] += packet(wrapper, "p", [state or 0 for state in states], none, user_at_last=True)
            streams["r"] += [f"{row + i:08x}{i:08x}" for i, asked in enumerate(b.asked) if asked]
            row += len(b.keys)
            counts["keys"] += len(b.keys)
            counts["read"] += sum(b.asked)
        lengths = {len(b.keys) for b in run.blocks}
        words = [len(run.blocks), run.exponent, run.mode, run.stride, run.window, run.position]
        # LENGTH that may be set: 0 where the blocks differ.
        words += [lengths.pop() if len(lengths) == 1 else 0, counts["keys"], counts["read"]]
        words += [len(streams[name]) for name in "qkor"] + [int(run.states)]
        streams["s"].append("".join(f"{word:08x}" for word in reversed(words)))
    for name, lines in streams.items():
        # A memory has at least one word.
        (out / f"{name}.hex").write_text("\n".join(lines or ["0"]) + "\n")
    if HERE != out.resolve():
        for file in BENCH:
            shutil.copy(HERE / file, out / file)
    return streams


def write_header(wrapper, streams, out):
    """bench.vh: what Verilog needs to know of the wrapper and the packets."""
    defines = {
        "TOP": wrapper.name,
        "V_BEATS": wrapper.beats["v"],
        "ADDRESS_BITS": wrapper.manifest["address_bits"],
    }
    defines |= {f"{stream.upper()}_BEAT": bits for stream, bits in wrapper.beat.items()}
    for flag, name in ((wrapper.partial, "STATES"), (wrapper.masks, "MASKS"), (wrapper.fixed, "FIXED"), (wrapper.requested, "REQUESTED")):
        if flag:
            defines[f"HAS_{name}"] = ""
    for name, lines in streams.items():
        defines[f"N_{name.upper()}"] = len(lines)
    for name, register in wrapper.registers.items():
        defines[f"REG_{name}"] = f"'h{register['offset']:x}"
    lines = [f"// Made by packets.py for {wrapper.name}.\n"]
    lines += [f"`define AXIS_{name} {value}".rstrip() + "\n" for name, value in defines.items()]
    (out / "bench.vh").write_text("".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("manifest", help="the wrapper's .json")
    parser.add_argument("vectors", nargs="?", help="vector file of the same array")
    parser.add_argument("--out", required=True, type=Path, help="folder to write to")
    options = parser.parse_args()
    wrapper = Wrapper(options.manifest)
    options.out.mkdir(parents=True, exist_ok=True)
    if options.vectors is None:
        write_header(wrapper, {}, options.out)
        return
    blocks = read_blocks(wrapper, options.vectors)
    runs = find_runs(wrapper, blocks, options.vectors)
    streams = write(wrapper, blocks, runs, options.out)
    write_header(wrapper, streams, options.out)
    asked, keys = len(streams["r"]), sum(len(b.keys) for b in blocks)
    print(f"{wrapper.name}: {len(blocks)} blocks in {len(runs)} runs, {keys} keys, {asked} values needed")


if __name__ == "__main__":
    main()
