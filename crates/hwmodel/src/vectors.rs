//! The layout of test vectors: which digits of a line belong to which port, and when each output is compared.
//!
//! It follows from the design alone, so that the writer of vectors, the emitted testbench and the C++ harness cannot
//! disagree. A vector file is text for `$readmemh`: a comment with [`Layout::fields_text`], one line of hexadecimal
//! digits a cycle, and the end mark, a line of `f` only. A line has every port but `clk` in the order of the port list,
//! each in its width in hexadecimal digits; element 0 of a vector is lowest. Values that are expected inside the cores
//! may follow ([`Quantity`]): for each quantity one bit a core that says whether it is compared, and one value a core.
//! Quantities that are compared in every cycle have no such bits.

use crate::attention::inside::{Inside, Quantity};
use crate::rtl::{Circuit, Pins};
use flashd_spec::config::ConfigError;
use flashd_spec::machine::Machine;
use flashd_spec::ports::{Compared, Port};

/// A port of a design, its elements packed into one bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortShape {
    /// Name of the port.
    pub name: String,
    /// Whether the port is an output.
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

/// The ports of a design in order of declaration.
pub fn ports(design: &Circuit) -> Vec<PortShape> {
    let shape =
        |name: &str, output, width, elements| PortShape { name: name.to_string(), output, width, elements };
    let pins = |pins: Pins, output| shape(pins.name, output, pins.width, pins.count());
    let all: Vec<PortShape> = match design.single_leaf() {
        Some(leaf) => {
            let inputs = leaf.inputs().into_iter().map(|p| pins(p, false));
            inputs.chain(leaf.outputs().into_iter().map(|p| pins(p, true))).collect()
        }
        None => {
            let ports = design.structure().ports.iter();
            ports.map(|port| shape(&port.name, port.output, port.width, port.slots.len())).collect()
        }
    };
    all.into_iter().filter(|port| port.elements > 0).collect()
}

/// A port's place in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The port.
    pub port: PortShape,
    /// Its row in the table of ports; `None` for a port of a unit and for a quantity inside cores.
    pub known: Option<Port>,
    /// When the output is compared; `None` for an input.
    pub compared: Option<Compared>,
    /// Place of its first digit in the line, from the left.
    pub first: usize,
}

impl Field {
    /// The number of its digits.
    pub fn digits(&self) -> usize {
        self.port.bits().div_ceil(4)
    }
}

/// Which values of a design are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Look {
    /// Its ports.
    Ports,
    /// Its ports, and inside every core each [`Quantity`] of the scalar path.
    #[default]
    Inside,
}

/// The places of a quantity's values in a line, one element a core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InsideField {
    /// The quantity.
    pub quantity: Quantity,
    /// One bit a core: whether it is compared there. `None` for a quantity that is compared in every cycle outside
    /// reset.
    pub due: Option<Field>,
    /// The expected values.
    pub value: Field,
}

/// The layout of a design's vectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Name of the design's module.
    pub name: String,
    /// Whether the design has a clock; otherwise each line is one evaluation.
    pub clocked: bool,
    /// Ports in the order of a line.
    pub fields: Vec<Field>,
    /// The quantities inside the cores, after the ports; empty if only ports are compared.
    pub inside: Vec<InsideField>,
    /// The number of digits of a line.
    pub digits: usize,
}

impl Layout {
    /// The layout of a port list, without quantities inside cores.
    pub fn new(name: String, ports: Vec<PortShape>) -> Layout {
        let clocked = ports.iter().any(|port| port.name == "clk");
        let mut digits = 0;
        let fields = ports
            .into_iter()
            .filter(|port| port.name != "clk")
            .map(|port| {
                let known = Port::of_name(&port.name);
                // Outputs of units are compared in every cycle.
                let of_row = known.and_then(|port| port.row().compared);
                let compared = port.output.then(|| of_row.unwrap_or(Compared::Always));
                let field = Field { port, known, compared, first: digits };
                digits += field.digits();
                field
            })
            .collect();
        Layout { name, clocked, fields, inside: Vec::new(), digits }
    }

    /// This layout with the quantities that are compared inside the cores, which must be alike.
    #[must_use]
    pub fn with_inside(mut self, cores: &[Vec<Inside>]) -> Layout {
        let mut digits = self.digits;
        let mut field = |name: String, width: u32| {
            let port = PortShape { name, output: true, width, elements: cores.len() };
            let field = Field { port, known: None, compared: None, first: digits };
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

    /// The layout of a core, an array or split keys.
    ///
    /// # Errors
    /// If the configuration is not valid.
    pub fn of(machine: impl Into<Machine>, look: Look) -> Result<Layout, ConfigError> {
        let machine = machine.into();
        let design = crate::build(&machine)?;
        let layout = Layout::new(machine.name(), ports(&design));
        Ok(match look {
            Look::Ports => layout,
            Look::Inside => layout.with_inside(&Inside::of_cores(&design, machine.cores())),
        })
    }

    /// The field of a port.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.port.name == name)
    }

    /// The layout as text, `rst:1 q:16x64 ...`: each port with the bits of an element and, if it is a vector, the
    /// number of elements.
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

    /// The end mark. No cycle's line looks like it: while `rst` is high expected outputs are written as zeros, and a
    /// line of a unit would need operands and a result of all ones, which is no number.
    pub fn end_mark(&self) -> String {
        "f".repeat(self.digits) + "\n"
    }

    /// Appends a cycle's line to `out`. `value` appends a port's elements to its second argument; outputs that are not
    /// compared are written as zeros. `inside` are the expected values inside the cores, core after core, each in the
    /// order of [`Layout::inside`], and `None` for a value that is not compared. It may be empty while `rst` is high,
    /// or if the layout has no quantities.
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
