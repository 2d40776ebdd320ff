//! The reading of [`Word`] functions as Verilog: expressions are recorded and printed as named wires.

use crate::word::{ones, Num, Word};
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::rc::Rc;

/// Longest expression that is written in place; longer ones get a wire of their own.
const INLINE_LIMIT: usize = 44;

#[derive(Debug)]
enum Op {
    /// A port, or the element of a packed port that starts at this bit.
    Input(Option<u32>),
    Constant(u64),
    Unary(&'static str, Net),
    Binary(&'static str, Net, Net),
    SignedLess(Net, Net),
    Multiply(Net, Net),
    Slice(Net, u32),
    Concat(Net, Net),
    Repeat(Net),
    Select(Net, Net, Net),
    Lookup(Net, Vec<u64>),
}

#[derive(Debug)]
struct Node {
    op: Op,
    width: u32,
    name: Option<String>,
    id: usize,
}

/// A word as a node of a netlist.
#[derive(Clone, Debug)]
pub struct Net(Rc<Node>);

thread_local! {
    static NEXT_ID: Cell<usize> = const { Cell::new(0) };
}

impl Net {
    fn new(op: Op, width: u32) -> Net {
        let id = NEXT_ID.with(|n| n.replace(n.get() + 1));
        Net(Rc::new(Node { op, width, name: None, id }))
    }

    /// An input port.
    pub fn input(name: &str, width: u32) -> Net {
        Net::port(name, None, width)
    }

    /// Element `index` of a packed port whose elements are `width` bits wide.
    pub fn element(name: &str, index: usize, width: u32) -> Net {
        Net::port(name, Some(index as u32 * width), width)
    }

    fn port(name: &str, offset: Option<u32>, width: u32) -> Net {
        let id = NEXT_ID.with(|n| n.replace(n.get() + 1));
        Net(Rc::new(Node { op: Op::Input(offset), width, name: Some(name.to_string()), id }))
    }

    /// `name[low + width - 1:low]` of a port or wire.
    fn bits(&self, identifier: &str, low: u32, width: u32) -> String {
        let (base, whole) = match self.0.op {
            Op::Input(Some(offset)) => (offset, false),
            _ => (0, width == self.width()),
        };
        match (whole, width) {
            (true, _) => identifier.to_string(),
            (false, 1) => format!("{identifier}[{}]", base + low),
            (false, w) => format!("{identifier}[{}:{}]", base + low + w - 1, base + low),
        }
    }

    fn as_constant(&self) -> Option<Num> {
        match self.0.op {
            Op::Constant(v) => Some(Num::new(self.0.width, v)),
            _ => None,
        }
    }

    fn from_num(n: Num) -> Net {
        Net::constant(n.width(), n.value())
    }

    fn fold1(&self, f: impl Fn(Num) -> Num, otherwise: impl FnOnce() -> Net) -> Net {
        self.as_constant().map_or_else(otherwise, |a| Net::from_num(f(a)))
    }

    fn fold2(&self, o: &Net, f: impl Fn(Num, Num) -> Num, otherwise: impl FnOnce() -> Net) -> Net {
        match (self.as_constant(), o.as_constant()) {
            (Some(a), Some(b)) => Net::from_num(f(a, b)),
            _ => otherwise(),
        }
    }

    fn binary(&self, op: &'static str, o: &Net, width: u32) -> Net {
        Net::new(Op::Binary(op, self.clone(), o.clone()), width)
    }

    fn is(&self, value: u64) -> bool {
        self.as_constant().is_some_and(|n| n.value() == value)
    }
}

impl Word for Net {
    fn constant(width: u32, value: u64) -> Net {
        assert!(value <= ones(width), "{value:#x} does not fit {width} bits");
        Net::new(Op::Constant(value), width)
    }
    fn width(&self) -> u32 {
        self.0.width
    }
    fn named(self, name: &str) -> Net {
        // Ports and constants keep their name; a second name goes to an alias only if the first is taken.
        match (&self.0.op, &self.0.name) {
            (Op::Input(_) | Op::Constant(_), _) | (_, Some(_)) => self,
            _ => match Rc::try_unwrap(self.0) {
                Ok(node) => Net(Rc::new(Node { name: Some(name.to_string()), ..node })),
                Err(shared) => Net(shared),
            },
        }
    }
    fn and(&self, o: &Net) -> Net {
        assert_eq!(self.width(), o.width());
        if self.is(0) || o.is(ones(o.width())) {
            return self.clone();
        }
        if o.is(0) || self.is(ones(self.width())) {
            return o.clone();
        }
        self.fold2(o, |a, b| a.and(&b), || self.binary("&", o, self.width()))
    }
    fn or(&self, o: &Net) -> Net {
        assert_eq!(self.width(), o.width());
        if o.is(0) || self.is(ones(self.width())) {
            return self.clone();
        }
        if self.is(0) || o.is(ones(o.width())) {
            return o.clone();
        }
        self.fold2(o, |a, b| a.or(&b), || self.binary("|", o, self.width()))
    }
    fn xor(&self, o: &Net) -> Net {
        assert_eq!(self.width(), o.width());
        self.fold2(o, |a, b| a.xor(&b), || self.binary("^", o, self.width()))
    }
    fn not(&self) -> Net {
        self.fold1(|a| a.not(), || Net::new(Op::Unary("~", self.clone()), self.width()))
    }
    fn add(&self, o: &Net) -> Net {
        assert_eq!(self.width(), o.width());
        if o.is(0) {
            return self.clone();
        }
        self.fold2(o, |a, b| a.add(&b), || self.binary("+", o, self.width()))
    }
    fn sub(&self, o: &Net) -> Net {
        assert_eq!(self.width(), o.width());
        if o.is(0) {
            return self.clone();
        }
        self.fold2(o, |a, b| a.sub(&b), || self.binary("-", o, self.width()))
    }
    fn mul(&self, o: &Net) -> Net {
        let width = self.width() + o.width();
        assert!(width <= 64, "product of {width} bits");
        self.fold2(o, |a, b| a.mul(&b), || Net::new(Op::Multiply(self.clone(), o.clone()), width))
    }
    fn shl(&self, o: &Net) -> Net {
        self.fold2(o, |a, b| a.shl(&b), || self.binary("<<", o, self.width()))
    }
    fn shr(&self, o: &Net) -> Net {
        self.fold2(o, |a, b| a.shr(&b), || self.binary(">>", o, self.width()))
    }
    fn slice(&self, low: u32, width: u32) -> Net {
        assert!(width >= 1 && low + width <= self.width(), "[{low} +: {width}] of {} bits", self.width());
        if width == self.width() {
            return self.clone();
        }
        match &self.0.op {
            // Look through unnamed packing, so that taking a word apart again costs no wire.
            Op::Slice(base, inner) if self.0.name.is_none() => base.slice(inner + low, width),
            Op::Concat(_, lo) if self.0.name.is_none() && low + width <= lo.width() => lo.slice(low, width),
            Op::Concat(hi, lo) if self.0.name.is_none() && low >= lo.width() => hi.slice(low - lo.width(), width),
            Op::Repeat(bit) if self.0.name.is_none() => match width {
                1 => bit.clone(),
                _ => Net::new(Op::Repeat(bit.clone()), width),
            },
            _ => self.fold1(|a| a.slice(low, width), || Net::new(Op::Slice(self.clone(), low), width)),
        }
    }
    fn concat(&self, low: &Net) -> Net {
        let width = self.width() + low.width();
        assert!(width <= 64, "word of {width} bits");
        if let Some(joined) = adjacent(self, low) {
            return joined;
        }
        if let (Op::Concat(hi, lo), None) = (&self.0.op, &self.0.name) {
            if let Some(joined) = adjacent(lo, low) {
                return hi.concat(&joined);
            }
        }
        self.fold2(low, |a, b| a.concat(&b), || Net::new(Op::Concat(self.clone(), low.clone()), width))
    }
    fn eq(&self, o: &Net) -> Net {
        assert_eq!(self.width(), o.width());
        self.fold2(o, |a, b| Word::eq(&a, &b), || self.binary("==", o, 1))
    }
    fn lt(&self, o: &Net) -> Net {
        assert_eq!(self.width(), o.width());
        self.fold2(o, |a, b| Word::lt(&a, &b), || self.binary("<", o, 1))
    }
    fn slt(&self, o: &Net) -> Net {
        assert_eq!(self.width(), o.width());
        if o.is(0) {
            return self.msb();
        }
        self.fold2(o, |a, b| a.slt(&b), || Net::new(Op::SignedLess(self.clone(), o.clone()), 1))
    }
    fn any(&self) -> Net {
        if self.width() == 1 {
            return self.clone();
        }
        self.fold1(|a| a.any(), || Net::new(Op::Unary("|", self.clone()), 1))
    }
    fn all(&self) -> Net {
        if self.width() == 1 {
            return self.clone();
        }
        self.fold1(|a| a.all(), || Net::new(Op::Unary("&", self.clone()), 1))
    }
    fn select(&self, then: &Net, otherwise: &Net) -> Net {
        assert_eq!((self.width(), then.width()), (1, otherwise.width()));
        match self.as_constant() {
            Some(n) if n.value() != 0 => then.clone(),
            Some(_) => otherwise.clone(),
            None => {
                Net::new(Op::Select(self.clone(), then.clone(), otherwise.clone()), then.width())
            }
        }
    }
    fn repeat(&self, count: u32) -> Net {
        match count {
            1 => self.clone(),
            _ => self.fold1(|a| a.repeat(count), || Net::new(Op::Repeat(self.clone()), count)),
        }
    }
    fn lookup(&self, entries: &[u64], width: u32) -> Net {
        Net::new(Op::Lookup(self.clone(), entries.to_vec()), width)
    }
}

/// `{base[i:j], base[j-1:k]}` as `base[i:k]`, and neighbouring constants as one.
fn adjacent(high: &Net, low: &Net) -> Option<Net> {
    match (&high.0.op, &low.0.op) {
        _ if high.0.name.is_some() || low.0.name.is_some() => None,
        (Op::Slice(a, above), Op::Slice(b, below)) if Rc::ptr_eq(&a.0, &b.0) => {
            (*above == below + low.width()).then(|| a.slice(*below, high.width() + low.width()))
        }
        (Op::Constant(a), Op::Constant(b)) => {
            Some(Net::constant(high.width() + low.width(), a << low.width() | b))
        }
        _ => None,
    }
}

/// Keywords of Verilog-2005 and SystemVerilog: no wire may be called so.
const KEYWORDS: &str = "\
    alias always always_comb always_ff always_latch and assert assign assume automatic before begin bind \
    bins binsof bit break buf bufif0 bufif1 byte case casex casez cell chandle checker class clocking \
    cmos config const constraint context continue cover covergroup coverpoint cross deassign default \
    defparam design disable dist do edge else end endcase endclass endclocking endconfig endfunction \
    endgenerate endgroup endinterface endmodule endpackage endprimitive endprogram endproperty \
    endsequence endspecify endtable endtask enum event eventually expect export extends extern final \
    first_match for force foreach forever fork forkjoin function generate genvar global highz0 highz1 if \
    iff ifnone ignore_bins illegal_bins implements implies import incdir include initial inout input \
    inside instance int integer interconnect interface intersect join join_any join_none large let \
    liblist library local localparam logic longint macromodule matches medium modport module nand \
    negedge nettype new nexttime nmos nor noshowcancelled not notif0 notif1 null or output package \
    packed parameter pmos posedge primitive priority program property protected pull0 pull1 pulldown \
    pullup pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase randsequence rcmos real \
    realtime ref reg reject_on release repeat restrict return rnmos rpmos rtran rtranif0 rtranif1 \
    s_always s_eventually s_nexttime s_until s_until_with scalared sequence shortint shortreal \
    showcancelled signed small soft solve specify specparam static string strong strong0 strong1 struct \
    super supply0 supply1 sync_accept_on sync_reject_on table tagged task this throughout time \
    timeprecision timeunit tran tranif0 tranif1 tri tri0 tri1 triand trior trireg type typedef union \
    unique unique0 unsigned until until_with untyped use uwire var vectored virtual void wait wait_order \
    wand weak weak0 weak1 while wildcard wire with within wor xnor xor";

/// Whether a name is a keyword of Verilog or SystemVerilog.
pub fn is_keyword(name: &str) -> bool {
    KEYWORDS.split_whitespace().any(|k| k == name)
}

/// First line of a body some of whose inputs are not read completely: their names follow.
pub const UNREAD_MARK: &str = "// unread:";

/// Prints a combinational function as the body of a Verilog module.
///
/// `outputs` are the module's output wires, driven by `assign`; every other named, shared or long
/// expression becomes a wire of its own, declared before it is used. Inputs with bits that nothing reads
/// are named in a first line that starts with [`UNREAD_MARK`].
pub fn verilog_body(inputs: &[&str], outputs: &[(String, Net)]) -> String {
    let ports: Vec<String> =
        inputs.iter().map(|i| i.to_string()).chain(outputs.iter().map(|(o, _)| o.clone())).collect();
    let mut printer = Printer::new(outputs, &ports);
    let unread: Vec<&str> = inputs.iter().copied().filter(|i| !printer.reads_all_of(i)).collect();
    if !unread.is_empty() {
        printer.assigns = format!("{UNREAD_MARK} {}\n", unread.join(" "));
    }
    for (name, net) in outputs {
        let rhs = match net.0.op {
            Op::Lookup(..) => printer.identifier(net),
            Op::Input(_) => printer.operand(net),
            _ if net.0.name.is_some() => printer.identifier(net),
            _ => printer.expression(net, true),
        };
        let _ = writeln!(printer.assigns, "    assign {name} = {rhs};");
    }
    printer.assigns
}

struct Printer {
    /// Input nodes met: name, width, id.
    inputs: Vec<(String, u32, usize)>,
    uses: HashMap<usize, usize>,
    /// Bits of a node that anything reads.
    read: HashMap<usize, u64>,
    wires: HashMap<usize, String>,
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
            taken: reserved.iter().cloned().collect(),
            assigns: String::new(),
        };
        for (_, net) in outputs {
            printer.count(net, ones(net.width()));
        }
        printer
    }

    fn reads_all_of(&self, input: &str) -> bool {
        let mut nodes = self.inputs.iter().filter(|(name, ..)| name == input).peekable();
        nodes.peek().is_some() && nodes.all(|(_, width, id)| self.read.get(id) == Some(&ones(*width)))
    }

    fn count(&mut self, net: &Net, read: u64) {
        if let (Op::Input(_), Some(name), false) = (&net.0.op, &net.0.name, self.read.contains_key(&net.0.id)) {
            self.inputs.push((name.clone(), net.width(), net.0.id));
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

    fn unique(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_string();
        let mut n = 2;
        while is_keyword(&name) || !self.taken.insert(name.clone()) {
            name = format!("{wanted}_{n}");
            n += 1;
        }
        name
    }

    /// The identifier that carries `net`, printing its wire first if it has none yet.
    fn identifier(&mut self, net: &Net) -> String {
        if let Op::Input(_) = net.0.op {
            return net.0.name.clone().unwrap_or_default();
        }
        if let Some(name) = self.wires.get(&net.0.id) {
            return name.clone();
        }
        let rhs = self.expression(net, true);
        let wanted = net.0.name.clone().unwrap_or_else(|| fallback_name(&net.0.op).to_string());
        let name = self.unique(&wanted);
        let range = range(net.width());
        let unread = self.read.get(&net.0.id).copied().unwrap_or(0) != ones(net.width());
        // Bits that rounding or truncation drops on purpose are the only ones that may stay unread.
        let (off, on) = if unread {
            (
                "    /* verilator lint_off UNUSEDSIGNAL */\n",
                "    /* verilator lint_on UNUSEDSIGNAL */\n",
            )
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
            Op::Input(_) => net.bits(&self.identifier(net), 0, net.width()),
            Op::Lookup(..) => self.identifier(net),
            Op::Constant(_) | Op::Slice(..) if net.0.name.is_none() => self.expression(net, false),
            Op::Multiply(..) => self.identifier(net),
            _ if shared || net.0.name.is_some() || self.wires.contains_key(&net.0.id) => self.identifier(net),
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
            Op::Input(_) => net.bits(&self.identifier(net), 0, net.width()),
            Op::Constant(v) if net.width() == 1 => format!("1'b{v}"),
            Op::Constant(v) => format!("{}'h{v:x}", net.width()),
            Op::Unary(op, a) => format!("{op}{}", self.operand(a)),
            Op::Binary(op, a, b) => {
                format!("{open}{} {op} {}{close}", self.operand(a), self.operand(b))
            }
            Op::SignedLess(a, b) => {
                format!("{open}$signed({}) < $signed({}){close}", self.operand(a), self.operand(b))
            }
            Op::Multiply(a, b) => {
                // Operands are extended to the product's width here, not by Verilog's context rules.
                let (wa, wb) = (a.width(), b.width());
                format!("{open}{{{wb}'b0, {}}} * {{{wa}'b0, {}}}{close}", self.operand(a), self.operand(b))
            }
            Op::Slice(base, low) => {
                let name = self.identifier(base);
                base.bits(&name, *low, net.width())
            }
            Op::Concat(..) => {
                let mut parts = Vec::new();
                flatten_concat(net, true, &mut parts);
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
}

fn children(op: &Op) -> Vec<&Net> {
    match op {
        Op::Input(_) | Op::Constant(_) => vec![],
        Op::Unary(_, a) | Op::Slice(a, _) | Op::Repeat(a) | Op::Lookup(a, _) => vec![a],
        Op::Binary(_, a, b) | Op::SignedLess(a, b) | Op::Multiply(a, b) | Op::Concat(a, b) => vec![a, b],
        Op::Select(a, b, c) => vec![a, b, c],
    }
}

/// The parts of nested unnamed concatenations, most significant first.
fn flatten_concat(net: &Net, outermost: bool, parts: &mut Vec<Net>) {
    match &net.0.op {
        Op::Concat(hi, lo) if outermost || (net.0.name.is_none() && Rc::strong_count(&net.0) == 1) => {
            flatten_concat(hi, false, parts);
            flatten_concat(lo, false, parts);
        }
        _ => parts.push(net.clone()),
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
        Op::Binary("==" | "<", ..) | Op::SignedLess(..) => "condition",
        _ => "term",
    }
}

/// `[w-1:0] `, or nothing for a single bit.
pub fn range(width: u32) -> String {
    match width {
        1 => String::new(),
        w => format!("[{}:0] ", w - 1),
    }
}
