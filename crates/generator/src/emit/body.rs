//! The inside of a structural module: names for its wires, instances, assignments.

use super::vector::{Vector, is_register, vectors};
use crate::elaborate::{Child, Module, Signal};
use crate::kernel::Path;
use flashd_hwmodel::netlist::{is_keyword, range, unread_line};
use flashd_hwmodel::rtl::TagKind;
use std::collections::{HashMap, HashSet};
use std::fmt::Write;

/// A source of bits in a module: a packed signal and an element of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) signal: String,
    pub(super) width: u32,
    pub(super) elements: usize,
    pub(super) element: usize,
}

/// The inside of a structural module.
pub(super) struct Body<'a> {
    pub(super) module: &'a Module,
    pub(super) sources: HashMap<Path, Path>,
    /// Printed name of each child output family, by (instance, port).
    wires: HashMap<(String, String), String>,
    /// Child outputs that are the module's own output: no wire to declare.
    aliases: HashSet<(String, String)>,
    assigns: Vec<(String, Path)>,
}

impl<'a> Body<'a> {
    pub(super) fn new(module: &'a Module, sources: HashMap<Path, Path>) -> Self {
        let mut body =
            Body { module, sources, wires: HashMap::new(), aliases: HashSet::new(), assigns: Vec::new() };
        body.name_wires();
        body
    }

    fn family(&self, name: &str) -> impl Iterator<Item = &'a Child> + use<'a, '_> {
        let name = name.to_string();
        self.module.children.iter().filter(move |c| c.name == name)
    }

    /// Chooses a name for every child output. A submodule output that is, element by element, an output of
    /// this module carries that output's name.
    fn name_wires(&mut self) {
        let own = vectors(&self.module.ports);
        let mut taken: HashSet<String> = own.iter().map(|v| v.name.clone()).collect();
        for output in own.iter().filter(|v| v.output) {
            let paths: Vec<Path> = (0..output.elements)
                .filter_map(|e| self.sources.get(&own_path(output, e, &self.module.ports)).cloned())
                .collect();
            let alias = self.alias_of(output, &paths);
            match alias {
                Some(key) if !self.aliases.contains(&key) => {
                    self.wires.insert(key.clone(), output.name.clone());
                    self.aliases.insert(key);
                }
                _ => {
                    for (e, path) in paths.into_iter().enumerate() {
                        let target = element_text(&output.name, output.width, output.elements, e);
                        self.assigns.push((target, path));
                    }
                }
            }
        }
        let mut done = HashSet::new();
        for child in &self.module.children {
            if !done.insert(&child.name) {
                continue;
            }
            let outputs: Vec<Vector> =
                vectors(&child.module.ports).into_iter().filter(|v| v.output).collect();
            for output in &outputs {
                let key = (child.name.clone(), output.name.clone());
                if self.wires.contains_key(&key) {
                    continue;
                }
                let wanted = match outputs.len() {
                    1 => child.name.clone(),
                    _ if output.name.starts_with(&child.name) => output.name.clone(),
                    _ => format!("{}_{}", child.name, output.name),
                };
                // An output that nothing here reads is there for others; Verilator knows by the name that this is meant.
                let wanted = match self.is_read(&key) {
                    true => wanted,
                    false => format!("{wanted}_unused"),
                };
                let mut name = wanted.clone();
                if is_keyword(&name) || !taken.insert(name.clone()) {
                    name = format!("{wanted}_{}", output.name);
                    let mut n = 2;
                    while !taken.insert(name.clone()) {
                        name = format!("{wanted}_{n}");
                        n += 1;
                    }
                }
                self.wires.insert(key, name);
            }
        }
    }

    /// The child output family that drives all elements of `output` in order, if it is one submodule
    /// family and drives nothing else.
    fn alias_of(&self, output: &Vector, paths: &[Path]) -> Option<(String, String)> {
        let (instance, _) = paths.first()?.instance.clone()?;
        let port = paths.first()?.port.clone();
        if paths.len() != output.elements {
            return None;
        }
        let children: Vec<&Child> = self.family(&instance).collect();
        if children.iter().any(|c| is_register(c)) {
            return None;
        }
        let mut in_order = Vec::new();
        for child in &children {
            let vector = vectors(&child.module.ports).into_iter().find(|v| v.name == port)?;
            if vector.width != output.width {
                return None;
            }
            for e in 0..vector.elements {
                in_order.push((child.index, e));
            }
        }
        let wanted: Vec<(Option<usize>, usize)> = paths
            .iter()
            .filter(|p| p.port == port && p.instance.as_ref().is_some_and(|(n, _)| *n == instance))
            .map(|p| (p.instance.as_ref().and_then(|(_, i)| *i), p.element.unwrap_or(0)))
            .collect();
        (wanted.len() == paths.len() && in_order == wanted).then_some((instance, port))
    }

    /// The reads of a path.
    pub(super) fn source(&self, path: &Path) -> Source {
        match &path.instance {
            None => {
                let own = vectors(&self.module.ports);
                let found = own.into_iter().find(|v| v.name == path.port);
                let (width, elements) = found.map_or((1, 1), |v| (v.width, v.elements));
                Source { signal: path.port.clone(), width, elements, element: path.element.unwrap_or(0) }
            }
            Some((instance, index)) => {
                let signal = self.wires[&(instance.clone(), path.port.clone())].clone();
                // A family of instances shares one packed wire; position counts the elements before.
                let (mut width, mut elements, mut element) = (1, 0, 0);
                for child in self.family(instance) {
                    if let Some(v) = vectors(&child.module.ports).into_iter().find(|v| v.name == path.port) {
                        if child.index == *index {
                            element = elements + path.element.unwrap_or(0);
                        }
                        width = v.width;
                        elements += v.elements;
                    }
                }
                Source { signal, width, elements, element }
            }
        }
    }

    pub(super) fn print(&self, names: &[Option<&str>]) -> String {
        let mut text = unread_line(&self.unread_in_part());
        self.print_declarations(&mut text);
        self.print_registers(&mut text);
        for (child, name) in self.module.children.iter().zip(names) {
            match (name, self.inlined(child)) {
                (Some(name), _) => self.print_instance(&mut text, child, name),
                (None, Some(lines)) => text.push_str(&lines),
                (None, None) => {}
            }
        }
        for (target, path) in &self.assigns {
            let _ = writeln!(text, "    assign {target} = {};", join(&[self.source(path)]));
        }
        text
    }

    fn print_declarations(&self, text: &mut String) {
        let mut done = HashSet::new();
        for child in &self.module.children {
            if !done.insert(&child.name) {
                continue;
            }
            let kind = if is_register(child) { "reg " } else { "wire" };
            for output in vectors(&child.module.ports).iter().filter(|v| v.output) {
                let key = (child.name.clone(), output.name.clone());
                if !self.aliases.contains(&key) {
                    let mut elements = 0;
                    for c in self.family(&child.name) {
                        let ports = vectors(&c.module.ports);
                        elements += ports.iter().find(|v| v.name == output.name).map_or(0, |v| v.elements);
                    }
                    let bits = output.width * elements as u32;
                    let wire = format!("    {kind} {}{};", range(bits), self.wires[&key]);
                    // The open module is the one that leaves elements of a family alone: a name is one for all of them.
                    let partly = self.module.tag.kind == TagKind::Open && self.reads(&key) != elements;
                    let _ = match (self.is_read(&key), partly) {
                        (false, _) => writeln!(text, "    (* unused *)\n{wire}"),
                        (true, false) => writeln!(text, "{wire}"),
                        (true, true) => writeln!(
                            text,
                            "    /* verilator lint_off UNUSEDSIGNAL */\n{wire}\n    /* verilator lint_on UNUSEDSIGNAL */"
                        ),
                    };
                }
            }
        }
        text.push('\n');
    }

    /// The inputs of an open module some elements of which nothing reads. An input without any reader is a mistake in an open module,
    /// too, and has no mark.
    fn unread_in_part(&self) -> Vec<String> {
        if self.module.tag.kind != TagKind::Open {
            return Vec::new();
        }
        let inputs = vectors(&self.module.ports).into_iter().filter(|v| !v.output);
        let in_part = |input: &Vector| {
            let own = self.sources.values().filter(|path| path.instance.is_none() && path.port == input.name);
            let read: HashSet<Option<usize>> = own.map(|path| path.element).collect();
            (1..input.elements).contains(&read.len())
        };
        inputs.filter(in_part).map(|input| input.name).collect()
    }

    /// Whether anything reads an output of a family.
    fn is_read(&self, (family, port): &(String, String)) -> bool {
        self.sources.values().any(|path| {
            path.port == *port && path.instance.as_ref().is_some_and(|(instance, _)| instance == family)
        })
    }

    /// How many elements of a family's output anything reads.
    fn reads(&self, (family, port): &(String, String)) -> usize {
        let of_family = |path: &&Path| {
            path.port == *port && path.instance.as_ref().is_some_and(|(instance, _)| instance == family)
        };
        let read: HashSet<(Option<usize>, Option<usize>)> = (self.sources.values())
            .filter(of_family)
            .map(|path| (path.instance.as_ref().and_then(|(_, index)| *index), path.element))
            .collect();
        read.len()
    }

    /// The expression that drives an input of a child.
    pub(super) fn input(&self, child: &Child, port: &str, elements: &[Option<usize>]) -> String {
        let sources: Vec<Source> = elements
            .iter()
            .map(|&element| {
                let sink = Path {
                    instance: Some((child.name.clone(), child.index)),
                    port: port.to_string(),
                    element,
                };
                self.sources
                    .get(&sink)
                    .map(|s| self.source(s))
                    .unwrap_or_else(|| unreachable!("RustHDL's check leaves no input open: {sink:?}"))
            })
            .collect();
        join(&sources)
    }

    fn print_instance(&self, text: &mut String, child: &Child, module: &str) {
        let instance = instance_name(&child.name, child.index);
        let given = self.given(child);
        let mut pins = Vec::new();
        for v in vectors(&child.module.ports) {
            let signal = if v.output {
                let key = (child.name.clone(), v.name.clone());
                let path = Path {
                    instance: Some((child.name.clone(), child.index)),
                    port: v.name.clone(),
                    element: Some(0),
                };
                let first = self.source(&path);
                let all: Vec<Source> =
                    (0..v.elements).map(|e| Source { element: first.element + e, ..first.clone() }).collect();
                debug_assert!(self.wires.contains_key(&key));
                join(&all)
            } else if let Some(&bits) = given.get(&v.name) {
                self.part(child, &v.name, bits)
            } else {
                let is_vector = child.module.ports.iter().any(|p| p.name == v.name && p.index.is_some());
                let elements: Vec<Option<usize>> = (0..v.elements).map(|e| is_vector.then_some(e)).collect();
                self.input(child, &v.name, &elements)
            };
            pins.push(format!(".{}({signal})", v.name));
        }
        let line = format!("    {module} {instance} ({});", pins.join(", "));
        // One line while it is readable, one pin a line otherwise.
        if line.len() <= 118 {
            let _ = writeln!(text, "{line}");
        } else {
            let _ = writeln!(text, "    {module} {instance} (\n        {}\n    );", pins.join(",\n        "));
        }
    }
}

/// The name of an instance.
pub(super) fn instance_name(name: &str, index: Option<usize>) -> String {
    format!("u_{name}{}", index.map_or(String::new(), |i| format!("_{i}")))
}

fn own_path(output: &Vector, element: usize, ports: &[Signal]) -> Path {
    let is_vector = ports.iter().any(|p| p.name == output.name && p.index.is_some());
    Path { instance: None, port: output.name.clone(), element: is_vector.then_some(element) }
}

/// `name`, `name[i]` or `name[w*i +: w]`.
fn element_text(signal: &str, width: u32, elements: usize, element: usize) -> String {
    match (elements, width) {
        (1, _) => signal.to_string(),
        (_, 1) => format!("{signal}[{element}]"),
        (_, w) => format!("{signal}[{w}*{element} +: {w}]"),
    }
}

/// Sources, element 0 first, as one expression: a whole signal, a part of it, or a concatenation.
pub(super) fn join(sources: &[Source]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut start = 0;
    while start < sources.len() {
        let first = &sources[start];
        let run = sources[start..]
            .iter()
            .enumerate()
            .take_while(|(i, s)| s.signal == first.signal && s.element == first.element + i)
            .count();
        let w = first.width;
        parts.push(match run {
            _ if run == first.elements => first.signal.clone(),
            1 => element_text(&first.signal, w, first.elements, first.element),
            n if w == 1 => format!("{}[{}:{}]", first.signal, first.element + n - 1, first.element),
            n => format!("{}[{w}*{} +: {w}*{n}]", first.signal, first.element),
        });
        start += run;
    }
    parts.reverse();
    match parts.len() {
        1 => parts.remove(0),
        _ => format!("{{{}}}", parts.join(", ")),
    }
}
