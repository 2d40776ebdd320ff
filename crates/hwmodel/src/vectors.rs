//! The layout of test vectors: which digits of a line belong to which port, and what is compared when.
//!
//! It follows from the port list of the design alone, so that the writer of vectors, the emitted testbench and the
//! C++ harness cannot disagree. A vector file is text for `$readmemh`: a comment with [`Layout::fields_text`], one line
//! of hexadecimal digits a cycle, and a line of `f` only, the end mark. A line holds every port but `clk` in the order
//! of the port list, each in as many digits as its bits need; of a vector element 0 is lowest. Behind them may follow what is
//! expected inside the cores ([`Quantity`]): of each quantity one bit a core that says whether it is compared, and a value a core.

use crate::array;
use crate::attention::inside::{Inside, Quantity};
use crate::catalogue;
use crate::rtl::{Block, Circuit, Probe, Tag};
use crate::split;
use flashd_spec::config::{ArrayConfig, ConfigError, CoreConfig, SplitConfig};
use rust_hdl::core::atom::AtomKind;
use rust_hdl::core::prelude::Atom;

/// A port of a design, its elements packed into one bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortShape {
    /// Name.
    pub name: String,
    /// Output or input.
    pub output: bool,
    /// Bits of an element.
    pub width: u32,
    /// Elements; element j is bits `[j*width +: width]`.
    pub elements: usize,
}

impl PortShape {
    /// Bits of the bus.
    pub fn bits(&self) -> usize {
        self.width as usize * self.elements
    }
}

/// `name$3` is element 3 of `name`.
pub fn split_index(name: &str) -> (String, Option<usize>) {
    let indexed =
        name.rsplit_once('$').and_then(|(base, index)| Some((base.to_string(), index.parse().ok()?)));
    indexed.map_or_else(|| (name.to_string(), None), |(base, index)| (base, Some(index)))
}

/// The ports of a design in order of declaration.
pub fn ports(design: &dyn Block) -> Vec<PortShape> {
    let mut walk = Walk { depth: 0, ports: Vec::new() };
    design.accept("top", &mut walk);
    walk.ports
}

struct Walk {
    depth: usize,
    ports: Vec<PortShape>,
}

impl Probe for Walk {
    fn visit_start_scope(&mut self, _name: &str, _node: &dyn Block) {
        self.depth += 1;
    }
    fn visit_atom(&mut self, name: &str, signal: &dyn Atom) {
        if self.depth != 1 || Tag::of(signal).is_some() {
            return;
        }
        let (name, index) = split_index(name);
        match self.ports.last_mut() {
            Some(last) if index.is_some_and(|i| i > 0) && last.name == name => last.elements += 1,
            _ => self.ports.push(PortShape {
                name,
                output: signal.kind() == AtomKind::OutputParameter,
                width: signal.bits() as u32,
                elements: 1,
            }),
        }
    }
    fn visit_end_scope(&mut self, _name: &str, _node: &dyn Block) {
        self.depth -= 1;
    }
}

/// When an output means something. Never while `rst` is high.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// In every cycle.
    Always,
    /// While `v_ren` is expected high.
    WithRead,
    /// While `o_valid` is expected high.
    WithResult,
    /// While `o_valid` is expected high and `o_empty` is not: a query without keys has no state.
    WithState,
}

impl Compared {
    fn of(output: &str) -> Compared {
        match output {
            // It says which of two things is asked for.
            "v_state" => Compared::WithRead,
            "o" | "o_invalid" | "o_overflow" | "o_empty" | "o_index" => Compared::WithResult,
            "o_lse" | "o_room" | "o_m" | "o_l" | "o_state" => Compared::WithState,
            // Flags, and ports that this table does not know: the strictest rule.
            _ => Compared::Always,
        }
    }
}

/// A port's place in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The port.
    pub port: PortShape,
    /// When the output is compared; None of an input.
    pub compared: Option<Compared>,
    /// Its first digit, from the left.
    pub first: usize,
}

impl Field {
    /// Digits in a line.
    pub fn digits(&self) -> usize {
        self.port.bits().div_ceil(4)
    }
}

/// What of a design is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Look {
    /// Its ports.
    Ports,
    /// Its ports, and [`Quantity`] by [`Quantity`] the scalar path inside every core.
    #[default]
    Inside,
}

/// The place of a quantity inside the design's cores, one element a core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InsideField {
    /// What it is.
    pub quantity: Quantity,
    /// In which cores it is compared; None of one that is compared in every cycle outside reset.
    pub due: Option<Field>,
    /// What is expected.
    pub value: Field,
}

/// The layout of a design's vectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The design's module.
    pub name: String,
    /// Whether it has a clock; otherwise a line is one evaluation.
    pub clocked: bool,
    /// Ports in the order of a line.
    pub fields: Vec<Field>,
    /// What is compared inside, behind the ports; nothing unless asked for.
    pub inside: Vec<InsideField>,
    /// Digits of a line.
    pub digits: usize,
}

impl Layout {
    /// The layout of a port list.
    pub fn new(name: String, ports: Vec<PortShape>) -> Layout {
        let clocked = ports.iter().any(|port| port.name == "clk");
        let mut digits = 0;
        let fields = ports
            .into_iter()
            .filter(|port| port.name != "clk")
            .map(|port| {
                let compared = port.output.then(|| Compared::of(&port.name));
                let field = Field { port, compared, first: digits };
                digits += field.digits();
                field
            })
            .collect();
        Layout { name, clocked, fields, inside: Vec::new(), digits }
    }

    /// The same with what is compared inside its cores, which are alike.
    #[must_use]
    pub fn with_inside(mut self, cores: &[Vec<Inside>]) -> Layout {
        let mut digits = self.digits;
        let mut field = |name: String, width: u32| {
            let port = PortShape { name, output: true, width, elements: cores.len() };
            let field = Field { port, compared: None, first: digits };
            digits += field.digits();
            field
        };
        for Inside { quantity, width, .. } in cores.iter().take(1).flatten() {
            let name = quantity.name();
            let due = (!quantity.is_always_due()).then(|| field(format!("due_{name}"), 1));
            let value = field(format!("inside_{name}"), *width);
            self.inside.push(InsideField { quantity: *quantity, due, value });
        }
        self.digits = digits;
        self
    }

    /// That of a core.
    ///
    /// # Errors
    /// If the configuration is not valid.
    pub fn of_core(config: &CoreConfig, compare: Look) -> Result<Layout, ConfigError> {
        Ok(Layout::of(config.name(), &catalogue::build(config)?, 1, compare))
    }

    /// That of an array.
    ///
    /// # Errors
    /// If the configuration is not valid.
    pub fn of_array(config: &ArrayConfig, compare: Look) -> Result<Layout, ConfigError> {
        Ok(Layout::of(config.name(), &array::build(config)?, config.queries, compare))
    }

    /// That of split keys.
    ///
    /// # Errors
    /// If the configuration is not valid.
    pub fn of_split(config: &SplitConfig, compare: Look) -> Result<Layout, ConfigError> {
        Ok(Layout::of(config.name(), &split::build(config)?, config.parts, compare))
    }

    fn of(name: String, design: &Circuit, cores: usize, compare: Look) -> Layout {
        let layout = Layout::new(name, ports(design));
        match compare {
            Look::Ports => layout,
            Look::Inside => layout.with_inside(&Inside::of_cores(design, cores)),
        }
    }

    /// The field of a port.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.port.name == name)
    }

    /// The layout as text, `rst:1 q:16x64 ...`: ports with element bits and, of vectors, elements.
    pub fn fields_text(&self) -> String {
        let field = |f: &Field| match f.port.elements {
            1 => format!("{}:{}", f.port.name, f.port.width),
            n => format!("{}:{}x{n}", f.port.name, f.port.width),
        };
        let inside = self.inside.iter().flat_map(|f| f.due.iter().chain([&f.value]));
        self.fields.iter().chain(inside).map(field).collect::<Vec<_>>().join(" ")
    }

    /// The comment that a vector file begins with.
    pub fn header(&self) -> String {
        format!("// {} {}\n", self.name, self.fields_text())
    }

    /// The end mark. No cycle looks like it: while `rst` is high expected outputs are written as zeros, and a unit's
    /// vectors have all digits at most where operands and result are all ones, which is no number.
    pub fn end_mark(&self) -> String {
        "f".repeat(self.digits) + "\n"
    }

    /// Appends a cycle's line. `value` gives a port's elements; outputs that are not compared are written as zeros. `inside` are the
    /// values that are expected inside, of each core one after another in the order of [`Layout::inside`], None where nothing is
    /// compared; it may be empty while `rst` is high and where the layout has none.
    pub fn line(
        &self,
        out: &mut String,
        inside: &[Option<u64>],
        mut value: impl FnMut(&Field, &mut Vec<u64>),
    ) {
        let mut elements = Vec::new();
        let [reset, read, result, empty] = ["rst", "v_ren", "o_valid", "o_empty"].map(|name| {
            self.field(name).is_some_and(|field| {
                elements.clear();
                value(field, &mut elements);
                elements.first() == Some(&1)
            })
        });
        for field in &self.fields {
            let means_something = match field.compared {
                None => true,
                _ if reset => false,
                Some(Compared::Always) => true,
                Some(Compared::WithRead) => read,
                Some(Compared::WithResult) => result,
                Some(Compared::WithState) => result && !empty,
            };
            elements.clear();
            if means_something {
                value(field, &mut elements);
            }
            elements.resize(field.port.elements, 0);
            digits(out, &elements, field.port.width);
        }
        for (place, field) in self.inside.iter().enumerate() {
            let cores = field.value.port.elements;
            let expected = (0..cores).map(|core| {
                let value = inside.get(core * self.inside.len() + place).copied().flatten();
                value.filter(|_| !reset)
            });
            let expected: Vec<Option<u64>> = expected.collect();
            if field.due.is_some() {
                let due: Vec<u64> = expected.iter().map(|value| value.is_some().into()).collect();
                digits(out, &due, 1);
            }
            let values: Vec<u64> = expected.iter().map(|value| value.unwrap_or(0)).collect();
            digits(out, &values, field.value.port.width);
        }
        out.push('\n');
    }
}

/// A packed bus as hexadecimal digits, most significant first.
fn digits(out: &mut String, elements: &[u64], width: u32) {
    let start = out.len();
    let (mut pending, mut bits) = (0u128, 0);
    let digit = |nibble: u128| char::from(b"0123456789abcdef"[(nibble & 15) as usize]);
    for &element in elements {
        pending |= u128::from(element) << bits;
        bits += width;
        while bits >= 4 {
            out.push(digit(pending));
            pending >>= 4;
            bits -= 4;
        }
    }
    if bits > 0 {
        out.push(digit(pending));
    }
    let reversed: String = out[start..].chars().rev().collect();
    out.replace_range(start.., &reversed);
}
