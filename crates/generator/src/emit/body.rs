//! The inside of a structural module: names for its wires, instances, assignments.

use super::flat::{Bus, FlatModule, ModulePart};
use super::leaf::LeafText;
use flashd_hwmodel::netlist::{is_keyword, range};
use flashd_hwmodel::rtl::TagKind;
use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::rc::Rc;

/// An element of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SignalElement {
    pub(super) signal: usize,
    pub(super) element: usize,
}

/// A packed signal of a module: an input, or the outputs of all parts with one name.
pub(super) struct PackedSignal {
    pub(super) name: String,
    pub(super) width: u32,
    pub(super) nets: Vec<u32>,
}

/// The wire of an output of a family: its signal, and the keyword that declares it, unless it is an output of the module.
struct OutputWire {
    signal: usize,
    declared: Option<&'static str>,
}

/// The inside of a structural module.
pub(super) struct ModuleBody<'a> {
    pub(super) flat: FlatModule<'a>,
    kind: TagKind,
    pub(super) texts: Vec<Option<Rc<LeafText>>>,
    signals: Vec<PackedSignal>,
    /// The signal that has each net.
    sources: Vec<Option<SignalElement>>,
    pub(super) readers: Readers,
    wires: Vec<OutputWire>,
    assigns: Vec<(String, u32)>,
}

/// Who reads the nets of a flat module.
pub(super) struct Readers {
    /// Whether anything reads each net.
    any: Vec<bool>,
    /// Whether anything reads all bits of each net.
    whole: Vec<bool>,
}

impl Readers {
    /// Needs the texts of leaves, which list the bits that each leaf reads. Leaves the bits of each net that are read.
    pub(super) fn of(flat: &FlatModule, texts: &[Option<Rc<LeafText>>]) -> Readers {
        let (mut any, mut whole) = (vec![false; flat.nets], vec![false; flat.nets]);
        for &net in flat.ports.iter().filter(|port| port.output).flat_map(|port| &port.nets) {
            (any[net as usize], whole[net as usize]) = (true, true);
        }
        for (part, text) in flat.parts.iter().zip(texts) {
            for bus in part.pins.iter().filter(|bus| !bus.output) {
                let all = text.as_ref().is_none_or(|text| text.reads_all(bus.name));
                for &net in &bus.nets {
                    any[net as usize] = true;
                    whole[net as usize] |= all;
                }
            }
        }
        Readers { any, whole }
    }

    /// How many of some nets anything reads.
    fn count(&self, nets: &[u32]) -> usize {
        nets.iter().filter(|&&net| self.any[net as usize]).count()
    }

    /// Whether anything reads all bits of a net.
    pub(super) fn reads_whole(&self, net: u32) -> bool {
        self.whole[net as usize]
    }
}

impl<'a> ModuleBody<'a> {
    /// Needs a flat module, the texts of its leaves and the readers of its nets. Leaves a name for every wire, and for every net the signal
    /// that carries it; after that, all that is left is to print.
    pub(super) fn named(
        flat: FlatModule<'a>,
        kind: TagKind,
        texts: Vec<Option<Rc<LeafText>>>,
        readers: Readers,
    ) -> Self {
        let sources = vec![None; flat.nets];
        let (signals, wires, assigns) = (Vec::new(), Vec::new(), Vec::new());
        let mut body = ModuleBody { flat, kind, texts, readers, signals, sources, wires, assigns };
        body.name_wires();
        body
    }

    fn add_signal(&mut self, name: String, width: u32, nets: Vec<u32>) -> usize {
        let signal = self.signals.len();
        for (element, &net) in nets.iter().enumerate() {
            self.sources[net as usize] = Some(SignalElement { signal, element });
        }
        self.signals.push(PackedSignal { name, width, nets });
        signal
    }

    /// Chooses a name for every output of a part. An output of a family that is, element by element, an output of this module carries
    /// that output's name.
    fn name_wires(&mut self) {
        // Given back below: signals are added while its parts are looked at.
        let flat = std::mem::take(&mut self.flat);
        let mut taken: HashSet<String> = flat.ports.iter().map(|port| port.name.to_string()).collect();
        for port in flat.ports.iter().filter(|port| !port.output) {
            self.add_signal(port.name.into(), port.width, port.nets.clone());
        }
        let families = families(&flat.parts);
        let alike: HashMap<&[u32], &Bus> =
            flat.ports.iter().filter(|port| port.output).rev().map(|port| (&port.nets[..], port)).collect();
        let mut carried: HashSet<&str> = HashSet::new();
        for family in &families {
            let first = family[0];
            let outputs: Vec<&Bus> = first.pins.iter().filter(|bus| bus.output).collect();
            for output in &outputs {
                let buses: Vec<&Bus> = family.iter().filter_map(|part| part.pins(output.name)).collect();
                let nets: Vec<u32> = buses.iter().flat_map(|bus| bus.nets.iter().copied()).collect();
                let width = buses.last().map_or(1, |bus| bus.width);
                let every = buses.len() == family.len() && buses.iter().all(|bus| bus.width == output.width);
                let own = alike.get(&nets[..]).filter(|own| {
                    every && own.width == width && !family.iter().any(|part| part.is_register())
                });
                let (name, declared) = match own {
                    Some(own) => {
                        carried.insert(own.name);
                        (own.name.to_string(), None)
                    }
                    None => {
                        let wanted = match outputs.len() {
                            1 => first.name.clone(),
                            _ if output.name.starts_with(&first.name) => output.name.into(),
                            _ => format!("{}_{}", first.name, output.name),
                        };
                        // An output that nothing here reads is there for others; Verilator knows by the name that this is meant.
                        let wanted = match self.readers.count(&nets) > 0 {
                            true => wanted,
                            false => format!("{wanted}_unused"),
                        };
                        let keyword = if first.is_register() { "reg " } else { "wire" };
                        (unique(wanted, output.name, &mut taken), Some(keyword))
                    }
                };
                let signal = self.add_signal(name, width, nets);
                self.wires.push(OutputWire { signal, declared });
            }
        }
        for port in flat.ports.iter().filter(|port| port.output && !carried.contains(port.name)) {
            for (element, &net) in port.nets.iter().enumerate() {
                self.assigns.push((element_text(port.name, port.width, port.nets.len(), element), net));
            }
        }
        drop((families, alike, carried));
        self.flat = flat;
    }

    /// What carries a net.
    pub(super) fn source(&self, net: u32) -> SignalElement {
        self.sources[net as usize].unwrap_or_else(|| unreachable!("every net has a driver"))
    }

    pub(super) fn signal(&self, source: SignalElement) -> &PackedSignal {
        &self.signals[source.signal]
    }

    /// The text of the module. Each part has the name of its module, or the lines that are [inlined](Body::inlined), or is a register.
    pub(super) fn print(&self, names: &[Option<&str>], inlined: &[Option<String>]) -> String {
        let mut text = String::new();
        self.print_declarations(&mut text);
        self.print_registers(&mut text);
        for (place, (name, lines)) in names.iter().zip(inlined).enumerate() {
            match (name, lines) {
                (Some(name), _) => self.print_instance(&mut text, place, name),
                (None, Some(lines)) => text.push_str(lines),
                (None, None) => {}
            }
        }
        for (target, net) in &self.assigns {
            let _ = writeln!(text, "    assign {target} = {};", self.expression(&[*net]));
        }
        text
    }

    fn print_declarations(&self, text: &mut String) {
        for &OutputWire { signal, declared } in &self.wires {
            let Some(keyword) = declared else { continue };
            let PackedSignal { name, width, nets } = &self.signals[signal];
            let wire = format!("    {keyword} {}{name};", range(width * nets.len() as u32));
            let read = self.readers.count(nets);
            // Only an open module leaves elements of a family unconnected; all elements share one name.
            let partly = self.kind == TagKind::Open && read != nets.len();
            let _ = match (read > 0, partly) {
                (false, _) => writeln!(text, "    (* unused *)\n{wire}"),
                (true, false) => writeln!(text, "{wire}"),
                (true, true) => writeln!(
                    text,
                    "    /* verilator lint_off UNUSEDSIGNAL */\n{wire}\n    /* verilator lint_on UNUSEDSIGNAL */"
                ),
            };
        }
        text.push('\n');
    }

    /// Whether a port is an input of an open module some elements of which nothing reads. An input without any reader is a mistake in an
    /// open module, too, and has no mark.
    pub(super) fn is_unread_in_part(&self, port: &Bus) -> bool {
        let read = self.readers.count(&port.nets);
        self.kind == TagKind::Open && !port.output && (1..port.nets.len()).contains(&read)
    }

    fn print_instance(&self, text: &mut String, place: usize, module: &str) {
        let part = &self.flat.parts[place];
        let given = self.given(place);
        let pins: Vec<String> = (part.pins.iter())
            .map(|bus| {
                let part = given.iter().find(|(name, _)| name == bus.name);
                let signal = match part {
                    Some(&(_, bits)) => self.part(bus.nets[0], bits),
                    None => self.expression(&bus.nets),
                };
                format!(".{}({signal})", bus.name)
            })
            .collect();
        let line = format!("    {module} {} ({});", instance_name(part), pins.join(", "));
        // One line while it is readable, one pin a line otherwise.
        if line.len() <= 118 {
            let _ = writeln!(text, "{line}");
        } else {
            let instance = instance_name(part);
            let _ = writeln!(text, "    {module} {instance} (\n        {}\n    );", pins.join(",\n        "));
        }
    }

    /// Nets, element 0 first, as one expression.
    pub(super) fn expression(&self, nets: &[u32]) -> String {
        let sources: Vec<SignalElement> = nets.iter().map(|&net| self.source(net)).collect();
        self.join(&sources)
    }

    /// Sources, element 0 first, as one expression: a whole signal, a part of it, or a concatenation.
    pub(super) fn join(&self, sources: &[SignalElement]) -> String {
        let mut parts: Vec<String> = Vec::new();
        let mut start = 0;
        while start < sources.len() {
            let first = sources[start];
            let run = sources[start..]
                .iter()
                .enumerate()
                .take_while(|(i, s)| s.signal == first.signal && s.element == first.element + i)
                .count();
            let PackedSignal { name, width: w, nets } = self.signal(first);
            parts.push(match run {
                _ if run == nets.len() => name.clone(),
                1 => element_text(name, *w, nets.len(), first.element),
                n if *w == 1 => format!("{name}[{}:{}]", first.element + n - 1, first.element),
                n => format!("{name}[{w}*{} +: {w}*{n}]", first.element),
            });
            start += run;
        }
        parts.reverse();
        match parts.len() {
            1 => parts.remove(0),
            _ => format!("{{{}}}", parts.join(", ")),
        }
    }
}

/// The parts of each name, in order.
fn families<'f, 'a>(parts: &'f [ModulePart<'a>]) -> Vec<Vec<&'f ModulePart<'a>>> {
    let mut families: Vec<Vec<&ModulePart>> = Vec::new();
    let mut by_name: HashMap<&str, usize> = HashMap::new();
    for part in parts {
        let family = *by_name.entry(&part.name).or_insert(families.len());
        if family == families.len() {
            families.push(Vec::new());
        }
        families[family].push(part);
    }
    families
}

/// A name that no other wire has, nor the language.
fn unique(wanted: String, output: &str, taken: &mut HashSet<String>) -> String {
    let mut name = wanted.clone();
    if is_keyword(&name) || !taken.insert(name.clone()) {
        name = format!("{wanted}_{output}");
        let mut n = 2;
        while !taken.insert(name.clone()) {
            name = format!("{wanted}_{n}");
            n += 1;
        }
    }
    name
}

/// The name of an instance.
pub(super) fn instance_name(part: &ModulePart) -> String {
    format!("u_{}{}", part.name, part.index.map_or(String::new(), |i| format!("_{i}")))
}

/// `name`, `name[i]` or `name[w*i +: w]`.
fn element_text(signal: &str, width: u32, elements: usize, element: usize) -> String {
    match (elements, width) {
        (1, _) => signal.to_string(),
        (_, 1) => format!("{signal}[{element}]"),
        (_, w) => format!("{signal}[{w}*{element} +: {w}]"),
    }
}
