#!/usr/bin/env python3
"""Adds taints to a flat netlist: taint.py IN.json OUT.json MODULE

Every input x of the module gets a companion x_tainted and every output y a companion y_tainted, high where y can depend on a
tainted input or on what registers held at the beginning. The rules are the modules of taint.v; arithmetic is replaced by any
value at all, so that what is proved of taints holds for whatever it computes, and the proof does not grow with it.
"""

import json
import sys

BITWISE = {"$and": "taint_and", "$or": "taint_or", "$xor": "taint_xor", "$xnor": "taint_xor"}
REDUCED = {
    "$reduce_or": "taint_reduce_or",
    "$reduce_bool": "taint_reduce_or",
    "$logic_not": "taint_reduce_or",
    "$reduce_and": "taint_reduce_and",
}
COPIED = {"$not", "$pos"}
ARITHMETIC = {
    "$add", "$sub", "$mul", "$neg", "$alu", "$shl", "$shr", "$sshl", "$sshr", "$shift", "$shiftx",
    "$lt", "$le", "$gt", "$ge", "$eq", "$ne", "$reduce_xor", "$reduce_xnor",
}


class Netlist:
    def __init__(self, module):
        self.module = module
        used = [bit for net in module["netnames"].values() for bit in net["bits"]]
        used += [bit for cell in module["cells"].values() for bits in cell["connections"].values() for bit in bits]
        self.next = 1 + max(bit for bit in used if isinstance(bit, int))
        self.taints = {}
        self.cells = {}

    def new(self, width):
        self.next += width
        return list(range(self.next - width, self.next))

    def taint(self, bits):
        """The taints of these bits; constants have none."""
        for bit in bits:
            if isinstance(bit, int) and bit not in self.taints:
                (self.taints[bit],) = self.new(1)
        return [self.taints[bit] if isinstance(bit, int) else "0" for bit in bits]

    def add(self, kind, parameters, connections):
        outputs = {"Y", "YX", "Q", "QX"}
        self.cells[f"taint_{len(self.cells)}"] = {
            "hide_name": 1,
            "type": kind,
            "parameters": {name: f"{value:032b}" for name, value in parameters.items()},
            "attributes": {},
            "port_directions": {port: "output" if port in outputs else "input" for port in connections},
            "connections": connections,
        }

    def cell(self, name, cell):
        """Adds what computes a cell's taints; whether the cell itself stays."""
        kind, bits = cell["type"], cell["connections"]
        taint = self.taint

        def extended(port, width):
            signed = int(str(cell["parameters"].get(port + "_SIGNED", 0)), 2)
            have = bits[port][:width]
            return have + [have[-1] if signed else "0"] * (width - len(have))

        if kind in COPIED:
            y = bits["Y"]
            # Two drivers would be an error: a buffer a bit.
            self.add("taint_xor", {"W": len(y)}, {"AX": taint(extended("A", len(y))), "BX": ["0"] * len(y), "YX": taint(y)})
        elif kind in BITWISE:
            y = bits["Y"]
            a, b = extended("A", len(y)), extended("B", len(y))
            values = {} if BITWISE[kind] == "taint_xor" else {"A": a, "B": b}
            self.add(BITWISE[kind], {"W": len(y)}, {**values, "AX": taint(a), "BX": taint(b), "YX": taint(y)})
        elif kind in REDUCED:
            a, y = bits["A"], bits["Y"]
            self.add(REDUCED[kind], {"W": len(a)}, {"A": a, "AX": taint(a), "YX": taint(y[:1])})
            self.known(y[1:])
        elif kind in ("$logic_and", "$logic_or"):
            sides = []
            for port in "AB":
                (value,) = self.new(1)
                self.add("$reduce_bool", {"A_SIGNED": 0, "A_WIDTH": len(bits[port]), "Y_WIDTH": 1}, {"A": bits[port], "Y": [value]})
                (tainted,) = taint([value])
                self.add("taint_reduce_or", {"W": len(bits[port])}, {"A": bits[port], "AX": taint(bits[port]), "YX": [tainted]})
                sides.append((value, tainted))
            (a, ax), (b, bx) = sides
            rule = "taint_and" if kind == "$logic_and" else "taint_or"
            self.add(rule, {"W": 1}, {"A": [a], "B": [b], "AX": [ax], "BX": [bx], "YX": taint(bits["Y"][:1])})
            self.known(bits["Y"][1:])
        elif kind == "$mux":
            values = {port: bits[port] for port in "ABS"}
            taints = {port + "X": taint(bits[port]) for port in "ABSY"}
            self.add("taint_mux", {"W": len(bits["Y"])}, {**values, **taints})
        elif kind == "$pmux":
            taints = {port + "X": taint(bits[port]) for port in "ABSY"}
            self.add("taint_pmux", {"W": len(bits["Y"]), "N": len(bits["S"])}, {"S": bits["S"], **taints})
        elif kind == "$dff":
            self.add("taint_register", {"W": len(bits["Q"])}, {port: bits[port] for port in ("CLK", "D", "Q")})
            groups = {}
            for d, q in zip(bits["D"], bits["Q"]):
                groups.setdefault(taint([q])[0], []).append(d)
            for group, d in groups.items():
                self.add("taint_of_register", {"W": len(d)}, {"CLK": bits["CLK"], "DX": taint(d), "QX": [group]})
            return False
        elif kind in ARITHMETIC:
            inputs = [bit for port in ("A", "B") for bit in bits.get(port, [])]
            y = bits["Y"]
            self.add("taint_any", {"W": len(y), "V": len(inputs)}, {"AX": taint(inputs), "Y": y, "YX": taint(y)})
            return False
        else:
            sys.exit(f"taint.py: {name}: there is no rule for a cell of kind {kind}")
        return True

    def group_registers(self):
        """One taint for the bits of a register that come from the same registers, inputs and arithmetic: fewer to reason about."""
        drivers = {}
        registers = []
        for name, cell in self.module["cells"].items():
            bits = cell["connections"]
            if cell["type"] == "$dff":
                registers.append((name, bits["D"], bits["Q"]))
            elif cell["type"] in {"$mux", *BITWISE, *COPIED}:
                for i, bit in enumerate(bits["Y"]):
                    drivers[bit] = [bits[port][i] for port in "AB" if i < len(bits.get(port, []))]
            else:
                drivers.update({bit: name for bit in bits["Y"]})
        for name, port in self.module["ports"].items():
            if port["direction"] == "input":
                drivers.update({bit: name for bit in port["bits"]})
        group = {q: name for name, _, qs in registers for q in qs}

        def sources(bit, known):
            if bit not in known:
                driver = drivers.get(bit)
                if bit in group:
                    known[bit] = frozenset([group[bit]])
                elif isinstance(driver, list):
                    known[bit] = frozenset().union(*(sources(b, known) for b in driver if isinstance(b, int)))
                else:
                    known[bit] = frozenset([driver])
            return known[bit]

        # Bits stay in a group as long as they come from the same ones.
        while True:
            known = {}
            finer = {q: (name, sources(d, known)) for name, ds, qs in registers for d, q in zip(ds, qs)}
            names = {key: i for i, key in enumerate(dict.fromkeys(finer.values()))}
            count = len(set(group.values()))
            group = {q: names[key] for q, key in finer.items()}
            if len(names) == count:
                break
        taints = {name: self.new(1)[0] for name in names.values()}
        self.taints = {q: taints[name] for q, name in group.items()}

    def known(self, bits):
        for bit in bits:
            self.add("taint_xor", {"W": 1}, {"AX": ["0"], "BX": ["0"], "YX": self.taint([bit])})

    def tainted(self):
        self.group_registers()
        kept = {name: cell for name, cell in self.module["cells"].items() if self.cell(name, cell)}
        ports = dict(self.module["ports"])
        for name, port in self.module["ports"].items():
            if name != "clk":
                ports[name + "_tainted"] = {"direction": port["direction"], "bits": self.taint(port["bits"])}
        return {**self.module, "ports": ports, "cells": {**kept, **self.cells}}


def main():
    source, target, name = sys.argv[1:]
    with open(source, encoding="utf-8") as file:
        design = json.load(file)
    module = Netlist(design["modules"][name]).tainted()
    with open(target, "w", encoding="utf-8") as file:
        json.dump({**design, "modules": {name: module}}, file)


main()
