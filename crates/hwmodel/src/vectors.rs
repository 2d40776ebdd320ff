//! The layout of test vectors: which digits of a line belong to which port, and in which cycles a port is compared.
//!
//! It follows from the design alone, so the writer of vectors, the emitted testbench and the C++ harness cannot
//! disagree. A vector file is text for `$readmemh`: a comment with [`Layout::fields_text`], a line of hexadecimal
//! digits for each cycle, and the end mark, a line of `f` only. A line has every port but `clk`, in the order of the
//! port list, each in as many digits as its bits need. Element 0 of a vector is lowest. The values that are expected
//! inside the cores ([`Quantity`]) may follow: for each quantity a field with a bit for each core, which says whether
//! the core is compared, and a field with a value for each core. The first field is missing where all cores are always
//! compared.

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
    /// Name of the port.
    pub name: String,
    /// Whether it is an output; otherwise, an input.
    pub output: bool,
    /// Width of an element in bits.
    pub width: u32,
    /// Number of elements; element j is bits `[j*width +: width]`.
    pub elements: usize,
}

impl PortShape {
    /// Width of the bus in bits.
    pub fn bits(&self) -> usize {
        self.width as usize * self.elements
    }
}

/// Splits the name of a signal into that of its port and the index of an element: `name$3` is element 3 of `name`.
pub fn split_index(name: &str) -> (String, Option<usize>) {
    let indexed =
        name.rsplit_once('$').and_then(|(base, index)| Some((base.to_string(), index.parse().ok()?)));
    indexed.map_or_else(|| (name.to_string(), None), |(base, index)| (base, Some(index)))
}

/// The ports of a design in the order of their declaration.
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

/// In which cycles an output is compared. None while `rst` is high.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// In every cycle.
    Always,
    /// While `v_ren` is expected high.
    WithRead,
    /// While `o_valid` is expected high.
    WithResult,
    /// While `o_valid` is expected high and `o_empty` low: a query that has not seen a key has no state.
    WithState,
}

impl Compared {
    fn of(output: &str) -> Compared {
        match output {
            // It says whether the read is for accumulators or for a value.
            "v_state" => Compared::WithRead,
            "o" | "o_invalid" | "o_overflow" | "o_empty" | "o_index" => Compared::WithResult,
            "o_lse" | "o_room" | "o_m" | "o_l" | "o_state" => Compared::WithState,
            // Handshakes and flags. The strictest rule also goes for ports that this table does not know.
            _ => Compared::Always,
        }
    }
}

/// The place of a port in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The port.
    pub port: PortShape,
    /// When the output is compared; None for an input, and for a field inside cores.
    pub compared: Option<Compared>,
    /// Place of its first digit, counted from the left from 0.
    pub first: usize,
}

impl Field {
    /// Number of its digits.
    pub fn digits(&self) -> usize {
        self.port.bits().div_ceil(4)
    }
}

/// Which signals of a design are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Look {
    /// Its ports.
    Ports,
    /// Its ports, and every [`Quantity`] of the scalar path inside every core.
    #[default]
    Inside,
}

/// The places of a quantity in a line, with one element for each core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InsideField {
    /// The quantity.
    pub quantity: Quantity,
    /// Whether it is compared, 1 bit a core; None if it is compared in every cycle outside reset.
    pub due: Option<Field>,
    /// The expected values.
    pub value: Field,
}

/// The layout of the vectors of a design.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Name of the module of the design.
    pub name: String,
    /// Whether the design has a clock. Without one, a line is one evaluation.
    pub clocked: bool,
    /// The ports, in the order of a line.
    pub fields: Vec<Field>,
    /// The quantities inside the cores, behind the ports; empty with [`Look::Ports`].
    pub inside: Vec<InsideField>,
    /// Number of digits in a line.
    pub digits: usize,
}

impl Layout {
    /// The layout for a list of ports.
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

    /// Appends the quantities inside the cores. `cores` has the signals of each core; the cores are alike.
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

    /// The layout for a core.
    ///
    /// # Errors
    /// If the configuration is not valid.
    pub fn of_core(config: &CoreConfig, compare: Look) -> Result<Layout, ConfigError> {
        Ok(Layout::of(config.name(), &catalogue::build(config)?, 1, compare))
    }

    /// The layout for an array.
    ///
    /// # Errors
    /// If the configuration is not valid.
    pub fn of_array(config: &ArrayConfig, compare: Look) -> Result<Layout, ConfigError> {
        Ok(Layout::of(config.name(), &array::build(config)?, config.queries, compare))
    }

    /// The layout for a split.
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

    /// The layout as text, `rst:1 q:16x64 ...`: for each port its name, the width of an element and, for a vector, the
    /// number of elements.
    pub fn fields_text(&self) -> String {
        let field = |f: &Field| match f.port.elements {
            1 => format!("{}:{}", f.port.name, f.port.width),
            n => format!("{}:{}x{n}", f.port.name, f.port.width),
        };
        let inside = self.inside.iter().flat_map(|f| f.due.iter().chain([&f.value]));
        self.fields.iter().chain(inside).map(field).collect::<Vec<_>>().join(" ")
    }

    /// The first line of a vector file, a comment.
    pub fn header(&self) -> String {
        format!("// {} {}\n", self.name, self.fields_text())
    }

    /// The last line of a vector file. No cycle has the same digits: while `rst` is high, expected outputs are zeros. A
    /// unit without a clock would need operands and a result of all ones, which is no number.
    pub fn end_mark(&self) -> String {
        "f".repeat(self.digits) + "\n"
    }

    /// Appends the line of a cycle.
    ///
    /// `value` appends the elements of a port to its vector. Outputs that are not compared in this cycle become zeros.
    /// `inside` has the expected values inside the cores, core by core, each in the order of [`Layout::inside`]; None
    /// is not compared. `inside` may be empty while `rst` is high, or if the layout has no quantities inside.
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

/// Appends a packed bus as hexadecimal digits, the most significant first.
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
