//! Prints each distinct module once.

use crate::elaborate::{Child, Module, Signal};
use crate::kernel::{connections, Path};
use crate::GenerateError;
use flashd_hwmodel::netlist::{UNREAD_MARK, is_keyword, range};
use flashd_hwmodel::rtl::{TagKind, Verilog};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;

/// One emitted module.
#[derive(Clone, Debug)]
pub struct EmittedModule {
    /// Unique name.
    pub name: String,
    /// Verilog text, from header comment to `endmodule`.
    pub text: String,
    /// Instances in the whole design.
    pub instances: usize,
    /// Direct children and how many of each.
    pub children: BTreeMap<String, usize>,
}

/// All distinct modules of a design, the top first.
#[derive(Clone, Debug)]
pub struct Emitted {
    /// The modules.
    pub modules: Vec<EmittedModule>,
    /// Ports of the top: (name, output, element width, elements).
    pub ports: Vec<(String, bool, u32, usize)>,
}

/// Prints a hierarchy.
///
/// # Errors
/// If a structural kernel does more than connect.
pub fn emit(top: &Module) -> Result<Emitted, GenerateError> {
    let mut emitter = Emitter::default();
    let root = emitter.module(top)?;
    let mut counts = vec![0usize; emitter.modules.len()];
    counts[root] = 1;
    // Children were emitted before their parents, so one pass from the top counts all instances.
    for id in (0..=root).rev() {
        for (&child, &n) in &emitter.children[id] {
            counts[child] += counts[id] * n;
        }
    }
    let mut modules: Vec<EmittedModule> = Vec::new();
    for (id, (name, text)) in emitter.modules.iter().enumerate().rev() {
        let children = emitter.children[id]
            .iter()
            .map(|(&child, &n)| (emitter.modules[child].0.clone(), n))
            .collect();
        modules.push(EmittedModule { name: name.clone(), text: text.clone(), instances: counts[id], children });
    }
    let ports = vectors(&top.ports)
        .into_iter()
        .map(|v| (v.name, v.output, v.width, v.elements))
        .collect();
    Ok(Emitted { modules, ports })
}

/// A port as it is printed: elements packed into one bus.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Vector {
    name: String,
    output: bool,
    width: u32,
    elements: usize,
}

impl Vector {
    fn bits(&self) -> u32 {
        self.width * self.elements as u32
    }
}

fn vectors(ports: &[Signal]) -> Vec<Vector> {
    let mut vectors: Vec<Vector> = Vec::new();
    for port in ports {
        match vectors.last_mut() {
            Some(last) if port.index.is_some_and(|i| i > 0) && last.name == port.name => last.elements += 1,
            _ => vectors.push(Vector {
                name: port.name.clone(),
                output: port.output,
                width: port.width,
                elements: 1,
            }),
        }
    }
    vectors
}

#[derive(Default)]
struct Emitter {
    modules: Vec<(String, String)>,
    children: Vec<BTreeMap<usize, usize>>,
    by_text: HashMap<String, usize>,
    names: HashSet<String>,
}

impl Emitter {
    /// Emits a module (its children first) and returns its id; equal text means equal module.
    fn module(&mut self, module: &Module) -> Result<usize, GenerateError> {
        let flat;
        let (module, sources) = match &module.code {
            Verilog::Combinatorial(_) => {
                let (dissolved, sources) = dissolve(module)?;
                flat = dissolved;
                (&flat, sources)
            }
            _ => (module, HashMap::new()),
        };
        let body = Body::new(module, sources);
        let mut ids = Vec::new();
        for child in &module.children {
            ids.push(match child.module.tag.kind {
                TagKind::Register { .. } => None,
                _ if body.inlined(child).is_some() => None,
                _ => Some(self.module(&child.module)?),
            });
        }
        let mut children = BTreeMap::new();
        for id in ids.iter().flatten() {
            *children.entry(*id).or_default() += 1;
        }
        let body = match &module.code {
            Verilog::Custom(text) => text.clone(),
            Verilog::Combinatorial(_) => {
                let names: Vec<Option<&str>> =
                    ids.iter().map(|id| id.map(|i| self.modules[i].0.as_str())).collect();
                body.print(&names)
            }
            other => {
                return Err(GenerateError::Kernel {
                    module: module.tag.name.clone(),
                    detail: format!("{other:?}"),
                });
            }
        };
        let text = print_module("", module, &body);
        let key = format!("{}\n{text}", module.tag.name);
        if let Some(&id) = self.by_text.get(&key) {
            return Ok(id);
        }
        let mut name = module.tag.name.clone();
        let mut n = 2;
        while !self.names.insert(name.clone()) {
            name = format!("{}_{n}", module.tag.name);
            n += 1;
        }
        let id = self.modules.len();
        self.modules.push((name.clone(), print_module(&name, module, &body)));
        self.children.push(children);
        self.by_text.insert(key, id);
        Ok(id)
    }
}

fn print_module(name: &str, module: &Module, body: &str) -> String {
    let mut text = String::new();
    let (unread, body) = match body.strip_prefix(UNREAD_MARK).and_then(|rest| rest.split_once('\n')) {
        Some((names, body)) => (names.split_whitespace().collect(), body),
        None => (Vec::new(), body),
    };
    for line in module.tag.doc.lines() {
        let _ = writeln!(text, "// {line}");
    }
    let ports: Vec<(bool, String)> = vectors(&module.ports)
        .iter()
        .map(|v| {
            let direction = if v.output { "output" } else { "input " };
            (unread.contains(&v.name.as_str()), format!("    {direction} wire {}{}", range(v.bits()), v.name))
        })
        .collect();
    let _ = writeln!(text, "module {name} (");
    for (i, (unread, port)) in ports.iter().enumerate() {
        let comma = if i + 1 < ports.len() { "," } else { "" };
        // Bits that the function drops on purpose are the only ones that may stay unread.
        let _ = match unread {
            true => writeln!(
                text,
                "    /* verilator lint_off UNUSEDSIGNAL */\n{port}{comma}\n    /* verilator lint_on UNUSEDSIGNAL */"
            ),
            false => writeln!(text, "{port}{comma}"),
        };
    }
    let _ = write!(text, ");\n{body}endmodule\n");
    text
}

/// A source of bits in a module: a packed signal and an element of it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Source {
    signal: String,
    width: u32,
    elements: usize,
    element: usize,
}

/// The inside of a structural module.
struct Body<'a> {
    module: &'a Module,
    sources: HashMap<Path, Path>,
    /// Printed name of each child output family, by (instance, port).
    wires: HashMap<(String, String), String>,
    /// Child outputs that are the module's own output: no wire to declare.
    aliases: HashSet<(String, String)>,
    assigns: Vec<(String, Path)>,
}

impl<'a> Body<'a> {
    fn new(module: &'a Module, sources: HashMap<Path, Path>) -> Self {
        let mut body = Body {
            module,
            sources,
            wires: HashMap::new(),
            aliases: HashSet::new(),
            assigns: Vec::new(),
        };
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
            let outputs: Vec<Vector> = vectors(&child.module.ports).into_iter().filter(|v| v.output).collect();
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
        (in_order == wanted).then_some((instance, port))
    }

    /// What a path reads.
    fn source(&self, path: &Path) -> Source {
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

    fn print(&self, names: &[Option<&str>]) -> String {
        let mut text = String::new();
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
                    let _ = writeln!(text, "    {kind} {}{};", range(bits), self.wires[&key]);
                }
            }
        }
        text.push('\n');
    }

    /// The expression that drives an input of a child.
    fn input(&self, child: &Child, port: &str, elements: &[Option<usize>]) -> String {
        let sources: Vec<Source> = elements
            .iter()
            .map(|&element| {
                let sink = Path {
                    instance: Some((child.name.clone(), child.index)),
                    port: port.to_string(),
                    element,
                };
                self.sources.get(&sink).map(|s| self.source(s)).unwrap_or_else(|| {
                    unreachable!("RustHDL's check leaves no input open: {sink:?}")
                })
            })
            .collect();
        join(&sources)
    }

    fn print_instance(&self, text: &mut String, child: &Child, module: &str) {
        let index = child.index.map_or(String::new(), |i| format!("_{i}"));
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
            } else {
                let is_vector = child.module.ports.iter().any(|p| p.name == v.name && p.index.is_some());
                let elements: Vec<Option<usize>> =
                    (0..v.elements).map(|e| is_vector.then_some(e)).collect();
                self.input(child, &v.name, &elements)
            };
            pins.push(format!(".{}({signal})", v.name));
        }
        let line = format!("    {module} u_{}{index} ({});", child.name, pins.join(", "));
        // One line while it is readable, one pin a line otherwise.
        if line.len() <= 118 {
            let _ = writeln!(text, "{line}");
        } else {
            let _ = writeln!(
                text,
                "    {module} u_{}{index} (\n        {}\n    );",
                child.name,
                pins.join(",\n        ")
            );
        }
    }

    /// The body of a small leaf, written into this module instead of an instance: few lines, and inputs that
    /// are whole signals wherever the leaf takes them apart.
    fn inlined(&self, child: &Child) -> Option<String> {
        let Verilog::Custom(body) = &child.module.code else { return None };
        let wires: Vec<&str> = body
            .lines()
            .filter_map(|l| l.trim().strip_prefix("wire "))
            .filter_map(|l| l.split(" = ").next()?.rsplit(' ').next())
            .collect();
        let plain = body.lines().all(|l| l.starts_with("    wire ") || l.starts_with("    assign "));
        if child.index.is_some() || is_register(child) || !plain || wires.len() > INLINE_WIRES {
            return None;
        }
        let mut names: HashMap<&str, String> = HashMap::new();
        for port in vectors(&child.module.ports) {
            let port_name = child.module.ports.iter().find(|p| p.name == port.name)?;
            let expression = match port.output {
                true => {
                    let path = Path {
                        instance: Some((child.name.clone(), None)),
                        port: port.name.clone(),
                        element: None,
                    };
                    join(&[self.source(&path)])
                }
                false => self.input(child, &port.name, &[None]),
            };
            let whole = expression.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            if port.elements > 1 || !whole && body.contains(&format!("{}[", port.name)) {
                return None;
            }
            names.insert(&port_name.name, expression);
        }
        for wire in wires {
            names.insert(wire, format!("{}_{wire}", child.name));
        }
        let doc = child.module.tag.doc.lines().next().unwrap_or_default();
        Some(format!("    // {doc}\n{}", rename(body, &names)))
    }

    /// Registers, grouped by their reset or enable into `always` blocks; neighbours whose data are
    /// neighbours too are written as one assignment.
    fn print_registers(&self, text: &mut String) {
        let mut groups: Vec<((String, String, String), Vec<String>, Vec<String>)> = Vec::new();
        let registers: Vec<&Child> =
            self.module.children.iter().filter(|c| is_register(c)).collect();
        let mut start = 0;
        while start < registers.len() {
            let first = registers[start];
            let key = self.register_key(first);
            let mut run = vec![self.register_data(first)];
            while let Some(next) = registers.get(start + run.len()) {
                let data = self.register_data(next);
                let last = &run[run.len() - 1];
                let follows = next.name == first.name
                    && self.register_key(next) == key
                    && data.signal == last.signal
                    && data.element == last.element + 1;
                if !follows {
                    break;
                }
                run.push(data);
            }
            let path = Path {
                instance: Some((first.name.clone(), first.index)),
                port: "q".into(),
                element: None,
            };
            let q = self.source(&path);
            let targets: Vec<Source> =
                (0..run.len()).map(|i| Source { element: q.element + i, ..q.clone() }).collect();
            let assignment = format!("{} <= {};", join(&targets), join(&run));
            let reset = match first.module.tag.kind {
                TagKind::Register { reset: Some(value), .. } => {
                    format!("{} <= {}'h{value:x};", join(&targets), q.width * run.len() as u32)
                }
                _ => String::new(),
            };
            match groups.iter_mut().find(|(k, ..)| *k == key) {
                Some((_, assignments, resets)) => {
                    assignments.push(assignment);
                    resets.push(reset);
                }
                None => groups.push((key, vec![assignment], vec![reset])),
            }
            start += run.len();
        }
        for ((clk, reset, enable), assignments, resets) in groups {
            let indent = |lines: &[String], by: &str| -> String {
                lines.iter().map(|l| format!("{by}{l}\n")).collect()
            };
            let _ = writeln!(text, "    always @(posedge {clk}) begin");
            match (reset.as_str(), enable.as_str()) {
                ("", "") => text.push_str(&indent(&assignments, "        ")),
                ("", enable) => {
                    let body = indent(&assignments, "            ");
                    let _ = writeln!(text, "        if ({enable}) begin\n{body}        end");
                }
                (rst, _) => {
                    let clear = indent(&resets, "            ");
                    let body = indent(&assignments, "            ");
                    let _ = writeln!(
                        text,
                        "        if ({rst}) begin\n{clear}        end else begin\n{body}        end"
                    );
                }
            }
            text.push_str("    end\n\n");
        }
    }

    fn register_key(&self, register: &Child) -> (String, String, String) {
        let control = |port: &str| match register.module.ports.iter().any(|p| p.name == port) {
            true => self.input(register, port, &[None]),
            false => String::new(),
        };
        (control("clk"), control("rst"), control("enable"))
    }

    fn register_data(&self, register: &Child) -> Source {
        let sink = Path {
            instance: Some((register.name.clone(), register.index)),
            port: "d".into(),
            element: None,
        };
        self.source(&self.sources[&sink])
    }
}

/// Most wires that a leaf may have to be written into its parent.
const INLINE_WIRES: usize = 3;

fn is_register(child: &Child) -> bool {
    matches!(child.module.tag.kind, TagKind::Register { .. })
}

/// Replaces identifiers; constants like `4'hf` and system functions like `$signed` are none.
fn rename(text: &str, names: &HashMap<&str, String>) -> String {
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

/// A structural module with its dissolved children replaced by their contents, and what drives what in it.
fn dissolve(module: &Module) -> Result<(Module, HashMap<Path, Path>), GenerateError> {
    let Verilog::Combinatorial(block) = &module.code else {
        return Ok((module.clone(), HashMap::new()));
    };
    let mut sources: HashMap<Path, Path> = connections(&module.tag.name, block)?.into_iter().collect();
    let mut children = Vec::new();
    for child in &module.children {
        if child.module.tag.kind != TagKind::Dissolved {
            children.push(child.clone());
            continue;
        }
        let (inner, inner_sources) = dissolve(&child.module)?;
        let me = (child.name.clone(), child.index);
        let prefixed = |name: &str| format!("{}_{name}", child.name);
        // A path inside the child, seen from here: its ports become what drives them.
        let outward = |path: &Path, sources: &HashMap<Path, Path>| match &path.instance {
            Some((name, index)) => {
                Some(Path { instance: Some((prefixed(name), *index)), ..path.clone() })
            }
            None => sources.get(&Path { instance: Some(me.clone()), ..path.clone() }).cloned(),
        };
        let mut added = Vec::new();
        for (sink, source) in &inner_sources {
            if let (Some((name, index)), Some(source)) = (&sink.instance, outward(source, &sources)) {
                added.push((Path { instance: Some((prefixed(name), *index)), ..sink.clone() }, source));
            }
        }
        // Readers of the child's outputs read what drives those.
        for source in sources.values_mut() {
            if source.instance.as_ref() == Some(&me) {
                let own = Path { instance: None, ..source.clone() };
                if let Some((name, index)) = inner_sources.get(&own).and_then(|s| s.instance.clone()) {
                    let inner = &inner_sources[&own];
                    *source = Path { instance: Some((prefixed(&name), index)), ..inner.clone() };
                }
            }
        }
        sources.retain(|sink, _| sink.instance.as_ref() != Some(&me));
        sources.extend(added);
        children.extend(inner.children.into_iter().map(|c| Child { name: prefixed(&c.name), ..c }));
    }
    Ok((Module { children, ..module.clone() }, sources))
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
fn join(sources: &[Source]) -> String {
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
