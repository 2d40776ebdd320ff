//! Prints a recorded function as the body of a Verilog module.

use super::keywords::is_keyword;
use super::narrow::children;
use super::narrow::narrow;
use super::net::{Net, Op};
use crate::word::{Word, ones};
use std::collections::{HashMap, HashSet};
use std::fmt::Write;

/// Length of the longest expression that is written in place, in characters. A longer one gets a wire.
const INLINE_LIMIT: usize = 60;

/// The body of a Verilog module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Body {
    /// The inputs some of whose bits nothing reads, each with the highest and the lowest bit that are read if these are contiguous.
    pub unread: Vec<(String, Option<(u32, u32)>)>,
    /// Declarations and assignments.
    pub text: String,
}

/// Prints a combinational function as the body of a Verilog module.
///
/// `outputs` are the output wires of the module; `assign` drives them. Every other named, shared or long expression
/// becomes a wire, narrowed to the bits that are read, and declared before it is used.
pub fn verilog_body(inputs: &[&str], outputs: &[(String, Net)]) -> Body {
    let outputs = &narrow(outputs);
    let ports: Vec<String> =
        inputs.iter().map(|i| i.to_string()).chain(outputs.iter().map(|(o, _)| o.clone())).collect();
    let mut printer = Printer::new(outputs, &ports);
    let unread = inputs.iter().filter_map(|input| Some((input.to_string(), printer.reads_part_of(input)?)));
    let unread = unread.collect();
    for (name, net) in outputs {
        // It was printed already, because another expression needed it.
        if printer.wires.get(&net.0.id) == Some(name) {
            continue;
        }
        let rhs = match net.0.op {
            Op::Lookup(..) => printer.identifier(net),
            Op::Input(_) => printer.operand(net),
            _ => printer.expression(net, true),
        };
        let _ = writeln!(printer.assigns, "    assign {name} = {rhs};");
        if !matches!(net.0.op, Op::Input(_) | Op::Constant(_)) {
            printer.wires.entry(net.0.id).or_insert_with(|| name.clone());
        }
    }
    Body { unread, text: printer.assigns }
}

struct Printer {
    /// The input nodes that outputs depend on: name, width and id.
    inputs: Vec<(String, u32, usize)>,
    uses: HashMap<usize, usize>,
    /// The bits of a node that are read, as a mask.
    read: HashMap<usize, u64>,
    wires: HashMap<usize, String>,
    /// The output that carries a node. Other expressions read the output, so the node needs no wire.
    outputs: HashMap<usize, String>,
    taken: HashSet<String>,
    assigns: String,
}

impl Printer {
    fn new(outputs: &[(String, Net)], reserved: &[String]) -> Printer {
        let mut printer = Printer {
            inputs: Vec::new(),
            uses: HashMap::new(),
            read: HashMap::new(),
            wires: HashMap::new(),
            outputs: outputs.iter().rev().map(|(name, net)| (net.0.id, name.clone())).collect(),
            taken: reserved.iter().cloned().collect(),
            assigns: String::new(),
        };
        for (_, net) in outputs {
            printer.count(net, ones(net.width()));
        }
        printer
    }

    /// If an input has unread bits: the highest and the lowest bit that are read, if they are contiguous.
    fn reads_part_of(&self, input: &str) -> Option<Option<(u32, u32)>> {
        let nodes: Vec<_> = self.inputs.iter().filter(|(name, ..)| name == input).collect();
        let read = |id: &usize| self.read.get(id).copied().unwrap_or_default();
        match nodes[..] {
            [] => Some(None),
            _ if nodes.iter().all(|(_, width, id)| read(id) == ones(*width)) => None,
            [(_, _, id)] => {
                let (low, high) = (read(id).trailing_zeros(), 63 - read(id).leading_zeros());
                let all = read(id) >> low == ones(high - low + 1);
                Some(all.then_some((high, low)))
            }
            _ => Some(None),
        }
    }

    fn count(&mut self, net: &Net, read: u64) {
        if let (Op::Input(_), Some(name), false) = (&net.0.op, net.name(), self.read.contains_key(&net.0.id))
        {
            self.inputs.push((name.to_string(), net.width(), net.0.id));
        }
        *self.read.entry(net.0.id).or_default() |= read;
        let uses = self.uses.entry(net.0.id).or_default();
        *uses += 1;
        if *uses > 1 {
            return;
        }
        match &net.0.op {
            Op::Slice(base, low) => self.count(base, ones(net.width()) << low),
            op => {
                for child in children(op) {
                    self.count(child, ones(child.width()));
                }
            }
        }
    }

    /// All bits of an input node. A packed port with a single element of one bit is a scalar in Verilog, which has no
    /// `c[0]`.
    fn port_bits(&mut self, net: &Net) -> String {
        let name = self.identifier(net);
        let nodes = self.inputs.iter().filter(|(other, ..)| *other == name).count();
        match net.0.op {
            Op::Input(Some(0)) if net.width() == 1 && nodes == 1 => name,
            _ => net.bits(&name, 0, net.width()),
        }
    }

    fn unique(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_string();
        let mut n = 2;
        while is_keyword(&name) || !self.taken.insert(name.clone()) {
            name = format!("{wanted}_{n}");
            n += 1;
        }
        name
    }

    /// The identifier that carries `net`. Prints its wire first if it has none yet.
    fn identifier(&mut self, net: &Net) -> String {
        if let Op::Input(_) = net.0.op {
            return net.name().unwrap_or_default().to_string();
        }
        if let Some(name) = self.wires.get(&net.0.id) {
            return name.clone();
        }
        let rhs = self.expression(net, true);
        if let (Some(output), false) = (self.outputs.get(&net.0.id), matches!(net.0.op, Op::Lookup(..))) {
            let _ = writeln!(self.assigns, "    assign {output} = {rhs};");
            self.wires.insert(net.0.id, output.clone());
            return output.clone();
        }
        let wanted = net.name().unwrap_or_else(|| fallback_name(&net.0.op));
        let name = self.unique(wanted);
        let range = range(net.width());
        let unread = self.read.get(&net.0.id).copied().unwrap_or(0) != ones(net.width());
        // Only bits that rounding or truncation drops on purpose stay unread here. `narrow` cannot remove the low bits
        // of a sum, a product or a left shift, nor the high bits of a right shift. Verilator has no other means to
        // accept them, and the two implementations of `Word` need operators as wide as their operands.
        let (off, on) = if unread {
            ("    /* verilator lint_off UNUSEDSIGNAL */\n", "    /* verilator lint_on UNUSEDSIGNAL */\n")
        } else {
            ("", "")
        };
        self.assigns.push_str(off);
        match &net.0.op {
            Op::Lookup(index, entries) => {
                let _ = writeln!(self.assigns, "    reg {range}{name};");
                self.assigns.push_str(on);
                self.print_case(&name, net.width(), index.width(), &rhs, entries);
            }
            _ => {
                let _ = writeln!(self.assigns, "    wire {range}{name} = {rhs};");
                self.assigns.push_str(on);
            }
        }
        self.wires.insert(net.0.id, name.clone());
        name
    }

    fn print_case(&mut self, name: &str, width: u32, index_width: u32, index: &str, entries: &[u64]) {
        let _ = writeln!(self.assigns, "    always @(*)\n        case ({index})");
        let reachable = entries.len().min(1usize << index_width.min(20));
        for (i, entry) in entries[..reachable].iter().enumerate() {
            let label = match i + 1 == reachable {
                true => "default".to_string(),
                false => format!("{index_width}'d{i}"),
            };
            let _ = writeln!(self.assigns, "            {label}: {name} = {width}'h{entry:x};");
        }
        self.assigns.push_str("        endcase\n");
    }

    /// An operand: an identifier, a constant, or a short expression written in place.
    fn operand(&mut self, net: &Net) -> String {
        let shared = self.uses.get(&net.0.id).copied().unwrap_or(0) > 1;
        match &net.0.op {
            Op::Input(_) => self.port_bits(net),
            Op::Lookup(..) => self.identifier(net),
            Op::Constant(_) | Op::Slice(..) if net.name().is_none() => self.expression(net, false),
            Op::Multiply(..) => self.identifier(net),
            _ if shared || net.name().is_some() || self.wires.contains_key(&net.0.id) => self.identifier(net),
            _ => {
                let text = self.expression(net, false);
                if text.len() > INLINE_LIMIT { self.identifier(net) } else { text }
            }
        }
    }

    fn expression(&mut self, net: &Net, outermost: bool) -> String {
        if let (true, Some(name)) = (outermost, self.wires.get(&net.0.id)) {
            return name.clone();
        }
        let (open, close) = if outermost { ("", "") } else { ("(", ")") };
        match &net.0.op {
            Op::Input(_) => self.port_bits(net),
            Op::Constant(v) if net.width() == 1 => format!("1'b{v}"),
            Op::Constant(v) => format!("{}'h{v:x}", net.width()),
            Op::Unary(op, a) => match self.operand(a) {
                // Some tools read `~~x` and `|~x` as single tokens.
                text if text.starts_with(['~', '|', '&', '^']) => format!("{op}({text})"),
                text => format!("{op}{text}"),
            },
            Op::Binary(op, a, b) => {
                format!("{open}{} {op} {}{close}", self.operand(a), self.operand(b))
            }
            Op::SignedLess(a, b) => {
                format!("{open}$signed({}) < $signed({}){close}", self.operand(a), self.operand(b))
            }
            Op::Multiply(a, b) => {
                // Operands are extended to the product's width here, not by Verilog's context rules.
                let mut factor = |x: &Net| match net.width() - x.width() {
                    0 => self.operand(x),
                    zeros => format!("{{{zeros}'b0, {}}}", self.operand(x)),
                };
                format!("{open}{} * {}{close}", factor(a), factor(b))
            }
            Op::Slice(base, low) => {
                let name = self.identifier(base);
                base.bits(&name, *low, net.width())
            }
            Op::Concat(..) => {
                let mut parts = Vec::new();
                self.flatten_concat(net, true, &mut parts);
                let texts: Vec<String> = parts.iter().map(|p| self.operand(p)).collect();
                format!("{{{}}}", texts.join(", "))
            }
            Op::Repeat(bit) => format!("{{{}{{{}}}}}", net.width(), self.operand(bit)),
            Op::Select(c, t, e) => {
                format!("{open}{} ? {} : {}{close}", self.operand(c), self.operand(t), self.operand(e))
            }
            Op::Lookup(index, _) => match outermost {
                true if !self.wires.contains_key(&net.0.id) => self.operand(index),
                _ => self.identifier(net),
            },
        }
    }

    /// Collects the parts of nested concatenations that are neither named nor shared, the most significant first.
    fn flatten_concat(&self, net: &Net, outermost: bool, parts: &mut Vec<Net>) {
        let shared = || self.uses.get(&net.0.id).copied().unwrap_or(0) > 1;
        match &net.0.op {
            Op::Concat(hi, lo) if outermost || (net.name().is_none() && !shared()) => {
                self.flatten_concat(hi, false, parts);
                self.flatten_concat(lo, false, parts);
            }
            _ => parts.push(net.clone()),
        }
    }
}

fn fallback_name(op: &Op) -> &'static str {
    match op {
        Op::Select(..) => "selected",
        Op::Binary("+", ..) => "sum",
        Op::Binary("-", ..) => "difference",
        Op::Binary("<<" | ">>", ..) => "shifted",
        Op::Multiply(..) => "product",
        Op::Concat(..) => "joined",
        Op::Lookup(..) => "entry",
        Op::Binary("|", ..) => "any_of",
        Op::Binary("==" | "<", ..) | Op::SignedLess(..) => "condition",
        _ => "term",
    }
}

/// The range of a declaration, `[w-1:0] ` with its space, or nothing for a single bit.
pub fn range(width: u32) -> String {
    match width {
        1 => String::new(),
        w => format!("[{}:0] ", w - 1),
    }
}

/// Replaces identifiers in Verilog; constants like `4'hf` and system functions like `$signed` are none.
pub fn rename(text: &str, names: &HashMap<&str, String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$' || c == '\'';
        let end = rest.find(|c: char| !word(c)).unwrap_or(rest.len()).max(c.len_utf8());
        let token = &rest[..end];
        match names.get(token) {
            Some(new) => out.push_str(new),
            None => out.push_str(token),
        }
        rest = &rest[end..];
    }
    out
}
