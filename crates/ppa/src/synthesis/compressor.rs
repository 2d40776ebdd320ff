//! Sums of products as trees of full adders.
//!
//! Yosys describes a multiplication, or a sum of products and words, by one `$macc` cell. Its own mapping adds
//! whole words and leaves full adders with constant inputs all over. Here every bit of every partial product
//! is a dot in the column of its weight; columns are reduced in Dadda's order until two rows are left, which
//! one adder sums. Negative weights cost nothing: `-w x = w ~x - w`, and the constants add up beforehand.

use super::adders::FullAdder;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// One term `a`, or `a * b` when `b` has bits.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    signed: bool,
    subtract: bool,
    a: usize,
    b: usize,
}

/// Shape of a `$macc` cell, by its parameters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MaccShape {
    /// Parameter `CONFIG`, most significant bit first.
    pub config: String,
    pub a_width: usize,
    pub b_width: usize,
    pub y_width: usize,
}

/// A bit of some weight: an expression in Verilog, perhaps complemented, available after `depth` full adders.
#[derive(Clone, Debug)]
struct Dot {
    wire: String,
    inverted: bool,
    depth: usize,
}

impl MaccShape {
    /// The terms in the order of port `A`; bits of port `B` are one-bit terms.
    fn terms(&self) -> Option<Vec<Term>> {
        let mut bits = self.config.bytes().rev().map(|bit| usize::from(bit == b'1'));
        let mut number = |count: usize| -> Option<usize> {
            (0..count).try_fold(0, |sum, place| Some(sum | (bits.next()? << place)))
        };
        let size_bits = number(4)?;
        let mut terms = Vec::new();
        let mut used = 0;
        while used < self.a_width {
            let signed = number(1)? == 1;
            let subtract = number(1)? == 1;
            let (a, b) = (number(size_bits)?, number(size_bits)?);
            if a + b == 0 {
                return None;
            }
            used += a + b;
            terms.push(Term { signed, subtract, a, b });
        }
        (used == self.a_width).then_some(terms)
    }

    /// A techmap module for cells of this shape, or `None` if there is nothing to gain: fewer than three rows,
    /// or more bits than the constant's 128.
    pub(super) fn techmap(&self, index: usize, adder: &FullAdder) -> Option<String> {
        if self.y_width > 128 {
            return None;
        }
        let mut columns = Columns::new(self, &self.terms()?, adder);
        if columns.dots.iter().map(Vec::len).max()? < 3 {
            return None;
        }
        columns.reduce(adder);
        let body = columns.finish();
        let MaccShape { config, a_width, b_width, y_width } = self;
        Some(format!(
            "(* techmap_celltype = \"$macc\" *)\n\
             module compress_{index} (A, B, Y);\n\
             parameter CONFIG = 0; parameter CONFIG_WIDTH = 0;\n\
             parameter A_WIDTH = 0; parameter B_WIDTH = 0; parameter Y_WIDTH = 0;\n\
             input [{}:0] A; input [{}:0] B; output [{}:0] Y;\n\
             wire _TECHMAP_FAIL_ = CONFIG_WIDTH != {} || CONFIG != {}'b{config} || A_WIDTH != {a_width} \
             || B_WIDTH != {b_width} || Y_WIDTH != {y_width};\n{body}endmodule\n",
            a_width.max(&1) - 1,
            b_width.max(&1) - 1,
            y_width - 1,
            config.len(),
            config.len(),
        ))
    }
}

/// Dots by weight, with the Verilog that makes them.
struct Columns {
    dots: Vec<Vec<Dot>>,
    constant: u128,
    text: String,
    wires: usize,
}

impl Columns {
    fn new(shape: &MaccShape, terms: &[Term], adder: &FullAdder) -> Self {
        let mut columns =
            Columns { dots: vec![Vec::new(); shape.y_width], constant: 0, text: String::new(), wires: 0 };
        // Adders that complement take complements as gladly: NAND is smaller than AND.
        let inverted = adder.complements_both();
        let mut offset = 0;
        for term in terms {
            for i in 0..term.a {
                let a = format!("A[{}]", offset + i);
                let a_negative = term.signed && i + 1 == term.a;
                if term.b == 0 {
                    columns.add(&a, i, a_negative != term.subtract, false);
                }
                for j in 0..term.b {
                    let b = format!("A[{}]", offset + term.a + j);
                    let b_negative = term.signed && j + 1 == term.b;
                    let negative = (a_negative != b_negative) != term.subtract;
                    if i + j < columns.dots.len() {
                        let product =
                            columns.wire(&format!("{}({a} & {b})", if inverted { "~" } else { "" }));
                        columns.add(&product, i + j, negative, inverted);
                    }
                }
            }
            offset += term.a + term.b;
        }
        for i in 0..shape.b_width {
            columns.add(&format!("B[{i}]"), 0, false, false);
        }
        columns
    }

    fn wire(&mut self, expression: &str) -> String {
        let name = format!("w{}", self.wires);
        self.wires += 1;
        let _ = writeln!(self.text, "wire {name} = {expression};");
        name
    }

    /// Adds (or subtracts, if `negative`) the value of `wire` (complemented, if `inverted`) times 2^column.
    fn add(&mut self, wire: &str, column: usize, negative: bool, inverted: bool) {
        if column >= self.dots.len() {
            return;
        }
        if negative {
            self.constant = self.constant.wrapping_sub(1 << column);
        }
        self.dots[column].push(Dot { wire: wire.to_string(), inverted: inverted != negative, depth: 0 });
    }

    /// Dadda's reduction: to heights 2, 3, 4, 6, 9, ... from above, each with as few adders as will do.
    fn reduce(&mut self, adder: &FullAdder) {
        let highest = self.dots.iter().map(Vec::len).max().unwrap_or(0);
        let mut heights = vec![2];
        while heights[heights.len() - 1] < highest {
            heights.push(heights[heights.len() - 1] * 3 / 2);
        }
        for &height in heights.iter().rev() {
            for column in 0..self.dots.len() {
                while self.dots[column].len() > height {
                    if self.dots[column].len() == height + 1 {
                        self.half(column);
                    } else {
                        self.full(column, adder);
                    }
                }
            }
        }
    }

    /// Takes the `count` dots that are ready first, of equal polarity as far as possible.
    fn take(&mut self, column: usize, count: usize) -> Vec<Dot> {
        let dots = &mut self.dots[column];
        dots.sort_by_key(|dot| (dot.depth, dot.inverted));
        dots.drain(..count).collect()
    }

    /// The dot's value, complemented or not as asked.
    fn polarity(&mut self, dot: &Dot, inverted: bool) -> String {
        if dot.inverted == inverted { dot.wire.clone() } else { self.wire(&format!("~{}", dot.wire)) }
    }

    fn full(&mut self, column: usize, adder: &FullAdder) {
        let dots = self.take(column, 3);
        let depth = dots.iter().map(|dot| dot.depth).max().unwrap_or(0) + 1;
        // Sum and majority of complements are the complements of sum and majority.
        let inverted = dots.iter().filter(|dot| dot.inverted).count() >= 2;
        let inputs: Vec<String> = dots.iter().map(|dot| self.polarity(dot, inverted)).collect();
        let (sum, carry) = (format!("s{}", self.wires), format!("c{}", self.wires));
        self.wires += 1;
        let _ = writeln!(
            self.text,
            "wire {sum}, {carry}; {} f{sum} (.A({}), .B({}), .C({}), .S({sum}), .CO({carry}));",
            super::adders::FULL_ADDER,
            inputs[0],
            inputs[1],
            inputs[2],
        );
        self.dots[column].push(Dot { wire: sum, inverted: inverted != adder.sum_inverted, depth });
        if column + 1 < self.dots.len() {
            let carry = Dot { wire: carry, inverted: inverted != adder.carry_inverted, depth };
            self.dots[column + 1].push(carry);
        }
    }

    fn half(&mut self, column: usize) {
        let dots = self.take(column, 2);
        let depth = dots.iter().map(|dot| dot.depth).max().unwrap_or(0) + 1;
        let (a, b) = (self.polarity(&dots[0], false), self.polarity(&dots[1], false));
        let (sum, carry) = (self.wire(&format!("{a} ^ {b}")), self.wire(&format!("{a} & {b}")));
        self.dots[column].push(Dot { wire: sum, inverted: false, depth });
        if column + 1 < self.dots.len() {
            self.dots[column + 1].push(Dot { wire: carry, inverted: false, depth });
        }
    }

    /// The last addition, of the two rows and the constant.
    fn finish(mut self) -> String {
        let width = self.dots.len();
        let rows: Vec<Vec<String>> = (0..2)
            .map(|row| {
                (0..width)
                    .map(|column| match self.dots[column].get(row).cloned() {
                        Some(dot) => self.polarity(&dot, false),
                        None => "1'b0".to_string(),
                    })
                    .collect()
            })
            .collect();
        let constant = if width == 128 { self.constant } else { self.constant & ((1 << width) - 1) };
        // Below the first column with two dots there is nothing to add.
        let two = (0..width).find(|&column| self.dots[column].len() > 1).unwrap_or(width);
        let first = two.min(constant.trailing_zeros() as usize);
        let vector = |row: &[String]| row.iter().rev().cloned().collect::<Vec<_>>().join(", ");
        let mut text = std::mem::take(&mut self.text);
        if first > 0 {
            let _ = writeln!(text, "assign Y[{}:0] = {{{}}};", first - 1, vector(&rows[0][..first]));
        }
        if first < width {
            let (x, y) = (vector(&rows[0][first..]), vector(&rows[1][first..]));
            let added = match constant >> first {
                0 => String::new(),
                constant => format!(" + {}'h{constant:x}", width - first),
            };
            let _ = writeln!(text, "assign Y[{}:{first}] = {{{x}}} + {{{y}}}{added};", width - 1);
        }
        text
    }
}

/// Shapes of the `$macc` cells in a module's JSON.
pub(crate) fn shapes(module: &super::structure::JsonModule) -> BTreeSet<MaccShape> {
    let number = |value: &serde_json::Value| usize::from_str_radix(value.as_str()?, 2).ok();
    let cells = module.cells.values().filter(|cell| cell.kind == "$macc");
    cells
        .filter_map(|cell| {
            let parameter = |name: &str| cell.parameters.get(name);
            Some(MaccShape {
                config: parameter("CONFIG")?.as_str()?.to_string(),
                a_width: number(parameter("A_WIDTH")?)?,
                b_width: number(parameter("B_WIDTH")?)?,
                y_width: number(parameter("Y_WIDTH")?)?,
            })
        })
        .collect()
}
