//! `hdl()` of each kind of block: assignments for a module, text for the others.

use crate::part::connect::{Connections, Fault, Source};
use crate::part::{Inside, Part};
use flashd_hwmodel::netlist::{is_keyword, range, rename};
use flashd_hwmodel::rtl::structure::Register;
use flashd_hwmodel::rtl::{Circuit, Leaf, Pins};
use flashd_hwmodel::vectors;
use rust_hdl::core::ast::{VerilogExpression, VerilogStatement};
use rust_hdl::prelude::{Verilog, Wrapper, generate_verilog};
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{Arc, OnceLock};

/// RustHDL's Verilog of a clocked design, and a module of the design's name whose ports are packed as in the Verilog of `flashd emit`.
///
/// # Errors
/// If the design is faulty, or RustHDL's checks refuse it.
pub fn verilog(circuit: &Circuit) -> Result<String, Fault> {
    let top = Part::checked(circuit.structure())?;
    let ports = vectors::ports(circuit);
    let mut text = generate_verilog(&top);
    let _ = writeln!(text, "\nmodule {} (", circuit.name());
    let declared = ports.iter().map(|port| {
        let direction = if port.output { "output" } else { "input" };
        format!("    {direction} wire {}{}", range(port.bits() as u32), port.name)
    });
    let pins = ports.iter().zip(top.ports().into_iter().filter(|(_, pins)| !pins.is_empty()));
    let pins = pins.flat_map(|(port, (_, pins))| {
        let top = &top;
        pins.enumerate().map(move |(i, pin)| {
            let bits = element(port.width, port.elements, i);
            format!("        .{}({}{bits})", top.pins()[pin].name, port.name)
        })
    });
    let (declared, pins): (Vec<String>, Vec<String>) = (declared.collect(), pins.collect());
    let _ = write!(
        text,
        "{}\n);\n    top top (\n{}\n    );\nendmodule\n",
        declared.join(",\n"),
        pins.join(",\n")
    );
    Ok(text)
}

/// The bits of an element in a packed vector of `count`.
fn element(width: u32, count: usize, i: usize) -> String {
    match (count, width) {
        (1, _) => String::new(),
        (_, 1) => format!("[{i}]"),
        _ => format!("[{width}*{i} +: {width}]"),
    }
}

/// A name that RustHDL's generator can print: no keyword, and not the `next` that RustHDL takes for the field of a signal.
pub(crate) fn legal(name: &str) -> String {
    if is_keyword(name) || name.starts_with("next") { format!("_{name}") } else { name.to_string() }
}

/// The wire in a kernel that closes a combinational loop: RustHDL refuses a wire that is read before it is written.
pub(crate) fn closing(part: &str, pin: &str) -> String {
    format!("{part}${pin}$loop")
}

/// A leaf and its text, which its instances share.
pub(crate) struct LeafText {
    leaf: Arc<dyn Leaf>,
    text: OnceLock<String>,
}

impl LeafText {
    pub(crate) fn new(leaf: Arc<dyn Leaf>) -> LeafText {
        LeafText { leaf, text: OnceLock::new() }
    }

    pub(crate) fn leaf(&self) -> &dyn Leaf {
        &*self.leaf
    }

    fn text(&self) -> &str {
        self.text.get_or_init(|| leaf(&*self.leaf))
    }
}

/// The Verilog of a block.
pub(crate) fn of(part: &Part, inside: &Inside) -> Verilog {
    let code = match inside {
        Inside::Module { parts, connections, .. } => {
            return Verilog::Combinatorial(kernel(part, parts, connections));
        }
        Inside::Leaf { text, .. } => text.text().to_string(),
        Inside::Register(kind) => register(*kind, part.pins()[part.pins().len() - 1].width),
        Inside::Gate { .. } => {
            "reg enabled;\nalways @(*) if (!clk) enabled = enable;\nassign gated = clk & enabled;".into()
        }
    };
    // A wrapper's outputs are nets, which its text assigns.
    Verilog::Wrapper(Wrapper { code, cores: String::new() })
}

fn register(register: Register, width: u32) -> String {
    let load = match register {
        Register::Plain => "value <= d;".to_string(),
        Register::Enabled => "if (enable) value <= d;".to_string(),
        Register::Reset(reset) => format!("value <= rst ? {width}'h{reset:x} : d;"),
    };
    format!("reg {}value;\nalways @(posedge clk) {load}\nassign q = value;", range(width))
}

/// The body of a leaf, with its vectors packed as the body reads them.
fn leaf(leaf: &dyn Leaf) -> String {
    let mut text = String::new();
    let elements = |pins: &Pins| (0..pins.count()).map(|i| format!("{}${i}", pins.name)).collect::<Vec<_>>();
    let is_vector = |pins: &&Pins| pins.elements.is_some() && pins.count() > 0;
    let (inputs, outputs) = (leaf.inputs(), leaf.outputs());
    for pins in inputs.iter().filter(is_vector) {
        let words: Vec<String> = elements(pins).into_iter().rev().collect();
        let bits = range(pins.width * words.len() as u32);
        let _ = writeln!(text, "wire {bits}{} = {{{}}};", pins.name, words.join(", "));
    }
    for pins in outputs.iter().filter(is_vector) {
        let (words, width) = (elements(pins), pins.width);
        let _ = writeln!(text, "wire {}{};", range(width * words.len() as u32), pins.name);
        for (i, word) in words.iter().enumerate() {
            let bits = element(width, words.len(), i);
            let _ = writeln!(text, "assign {word} = {}{bits};", pins.name);
        }
    }
    text += &leaf.verilog().text;
    let names = inputs.iter().chain(&outputs).map(|pins| pins.name).filter(|name| legal(name) != *name);
    rename(&text, &names.map(|name| (name, legal(name))).collect::<HashMap<&str, String>>())
}

/// One assignment for each connection of a module.
fn kernel(module: &Part, parts: &[Part], connections: &Connections) -> Vec<VerilogStatement> {
    let of_part =
        |part: usize, pin: usize| format!("{}${}", parts[part].name(), parts[part].pins()[pin].name);
    let closing = |part: usize, pin: usize| closing(parts[part].name(), &parts[part].pins()[pin].name);
    let plain = |source: Source| match source {
        Source::Own(pin) => module.pins()[pin].name.clone(),
        Source::Part(part, pin) => of_part(part, pin),
    };
    let name = |source: Source| match source {
        Source::Part(part, pin) if connections.closes == Some(source) => closing(part, pin),
        source => plain(source),
    };
    let assign = |to: String, from: String| {
        VerilogStatement::Assignment(VerilogExpression::Signal(to), VerilogExpression::Signal(from))
    };
    let clocks = connections.clocks.iter().map(|&(part, pin, from)| assign(of_part(part, pin), plain(from)));
    let data = connections.data.iter().flat_map(|to| to.pins.iter().map(|&(pin, from)| (to.part, pin, from)));
    let data = data.map(|(part, pin, from)| assign(of_part(part, pin), name(from)));
    let outputs =
        connections.outputs.iter().map(|&(pin, from)| assign(module.pins()[pin].name.clone(), plain(from)));
    let mut code: Vec<VerilogStatement> = clocks.chain(data).chain(outputs).collect();
    if let Some(Source::Part(part, pin)) = connections.closes {
        code.push(assign(closing(part, pin), of_part(part, pin)));
    }
    code
}
