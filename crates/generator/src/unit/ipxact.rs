//! Ports, registers and files as an IP-XACT component, IEEE 1685-2014.

use super::manifest::{UnitManifest, UnitRegister, fields_of, origin, reset_of};
use crate::verilog::GeneratedFile;
use flashd_hwmodel::wrapper::{Access, Field};
use flashd_spec::unit::ports::{Interface, UnitPort, ports};

/// XML of an element: its children as lines, each moved two places to the right.
fn element(name: &str, children: &[String]) -> String {
    let inside = children.concat().lines().map(|line| format!("  {line}\n")).collect::<String>();
    format!("<ipxact:{name}>\n{inside}</ipxact:{name}>\n")
}

fn leaf(name: &str, value: impl ToString) -> String {
    format!("<ipxact:{name}>{}</ipxact:{name}>\n", escaped(&value.to_string()))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn hexadecimal(value: u32) -> String {
    format!("'h{value:x}")
}

/// `component.xml`, the name by which tools look for a component.
pub(super) fn component(manifest: &UnitManifest) -> GeneratedFile {
    let ports = ports(&manifest.array.configuration);
    let interfaces = [
        interface(
            Interface::Registers,
            "AXI4-Lite",
            "slave",
            "memoryMapRef memoryMapRef=\"registers\"",
            &ports,
        ),
        interface(Interface::Memory, "AXI4", "master", "addressSpaceRef addressSpaceRef=\"memory\"", &ports),
    ];
    let parts = [
        leaf("vendor", "flashd"),
        leaf("library", "axi4"),
        leaf("name", &manifest.array.name),
        leaf("version", &manifest.array.version),
        element("busInterfaces", &interfaces),
        element("addressSpaces", &[memory(manifest)]),
        element("memoryMaps", &[registers(manifest)]),
        model(manifest, &ports),
        element("fileSets", &[files(manifest)]),
        leaf("description", format!("An attention unit. {}", origin(manifest))),
    ];
    let component = element("component", &parts).replacen(
        "<ipxact:component>",
        "<ipxact:component xmlns:ipxact=\"http://www.accellera.org/XMLSchema/IPXACT/1685-2014\">",
        1,
    );
    let text = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{component}");
    GeneratedFile { name: "component.xml".into(), text }
}

/// A bus interface by Arm's definitions of AXI.
fn interface(interface: Interface, bus: &str, mode: &str, reference: &str, ports: &[UnitPort]) -> String {
    let definition = |kind: &str, name: &str| {
        format!("<ipxact:{kind} vendor=\"amba.com\" library=\"AMBA4\" name=\"{name}\" version=\"r0p0_0\"/>\n")
    };
    let map = |logical: &str, physical: &str| {
        let logical = element("logicalPort", &[leaf("name", logical)]);
        element("portMap", &[logical, element("physicalPort", &[leaf("name", physical)])])
    };
    let clocks = [map("ACLK", "aclk"), map("ARESETn", "aresetn")];
    let signals = ports.iter().filter(|port| port.interface == Some(interface));
    let maps: Vec<String> = clocks
        .into_iter()
        .chain(signals.map(|port| map(&port.signal.to_uppercase(), &port.name())))
        .collect();
    let abstraction = [definition("abstractionRef", &format!("{bus}_rtl")), element("portMaps", &maps)];
    let name = interface.prefix().trim_end_matches('_');
    let parts = [
        leaf("name", name),
        definition("busType", bus),
        element("abstractionTypes", &[element("abstractionType", &abstraction)]),
        element(mode, &[format!("<ipxact:{reference}/>\n")]),
    ];
    element("busInterface", &parts)
}

fn memory(manifest: &UnitManifest) -> String {
    let config = &manifest.array.configuration;
    let range = format!("'h{:x}", 1u128 << config.address_bits);
    element(
        "addressSpace",
        &[
            leaf("name", "memory"),
            leaf("range", range),
            leaf("width", config.beat_bits),
            leaf("addressUnitBits", 8),
        ],
    )
}

fn registers(manifest: &UnitManifest) -> String {
    let mut block = vec![
        leaf("name", "registers"),
        leaf("baseAddress", hexadecimal(0)),
        leaf("range", hexadecimal(1 << manifest.address_bits)),
        leaf("width", 32),
        leaf("usage", "register"),
    ];
    block.extend(manifest.registers.iter().map(register));
    let parts = [leaf("name", "registers"), element("addressBlock", &block), leaf("addressUnitBits", 8)];
    element("memoryMap", &parts)
}

fn register(row: &UnitRegister) -> String {
    let mut parts = vec![
        leaf("name", &row.name),
        leaf("description", &row.meaning),
        leaf("addressOffset", hexadecimal(row.offset)),
        leaf("size", 32),
    ];
    parts.extend(fields_of(row).into_iter().map(|(field, access)| self::field(row, &field, access)));
    element("register", &parts)
}

fn field(row: &UnitRegister, field: &Field, access: Access) -> String {
    let reset = element("reset", &[leaf("value", hexadecimal(reset_of(row, field)))]);
    let (allowed, effect) = match access {
        Access::ReadOnly => ("read-only", None),
        Access::ReadWrite => ("read-write", None),
        Access::ClearByOne => ("read-write", Some("oneToClear")),
        Access::Command => ("write-only", Some("oneToSet")),
    };
    let mut parts = vec![
        leaf("name", &field.name),
        leaf("description", &field.meaning),
        leaf("bitOffset", field.bit),
        element("resets", &[reset]),
        leaf("bitWidth", field.width),
        leaf("volatile", access != Access::ReadWrite && row.reset == 0),
        leaf("access", allowed),
    ];
    parts.extend(effect.map(|effect| leaf("modifiedWriteValue", effect)));
    element("field", &parts)
}

fn model(manifest: &UnitManifest, ports: &[UnitPort]) -> String {
    let view = [
        leaf("name", "rtl"),
        leaf("envIdentifier", "verilogSource::"),
        leaf("componentInstantiationRef", "verilog"),
    ];
    let instantiation = [
        leaf("name", "verilog"),
        leaf("language", "verilog"),
        leaf("moduleName", &manifest.array.name),
        element("fileSetRef", &[leaf("localName", "verilog")]),
    ];
    let ports: Vec<String> = ports.iter().map(port).collect();
    let parts = [
        element("views", &[element("view", &view)]),
        element("instantiations", &[element("componentInstantiation", &instantiation)]),
        element("ports", &ports),
    ];
    element("model", &parts)
}

fn port(port: &UnitPort) -> String {
    let vector = element("vector", &[leaf("left", port.bits - 1), leaf("right", 0)]);
    let mut wire = vec![leaf("direction", if port.output { "out" } else { "in" })];
    wire.extend((port.bits > 1).then(|| element("vectors", &[vector])));
    element("port", &[leaf("name", port.name()), element("wire", &wire)])
}

fn files(manifest: &UnitManifest) -> String {
    let file = |name: &String| element("file", &[leaf("name", name), leaf("fileType", "verilogSource")]);
    let files = manifest.array.files.iter().map(file);
    let parts: Vec<String> = [leaf("name", "verilog")].into_iter().chain(files).collect();
    element("fileSet", &parts)
}
