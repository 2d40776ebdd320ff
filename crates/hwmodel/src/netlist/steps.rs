//! Recorded expressions as data: a list of steps, each of which reads earlier ones.

use super::narrow::children;
use super::net::{Net, Op};
use crate::rtl::Pins;
use std::collections::HashMap;

/// What a [`Step`] does with its operands, named in the order in which they stand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// An input word, by its place among all of them.
    Input(u32),
    /// This number.
    Constant(u64),
    /// Complement.
    Not,
    /// Or of all bits.
    Any,
    /// And of all bits.
    All,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Sum modulo two to the width.
    Add,
    /// Difference modulo two to the width.
    Sub,
    /// Shift left by the second operand.
    ShiftLeft,
    /// Shift right by the second operand.
    ShiftRight,
    /// Whether two words are equal.
    Equal,
    /// Whether the first word is less.
    Less,
    /// Whether the first word is not less.
    AtLeast,
    /// Whether the first word is less, both signed.
    SignedLess,
    /// The low bits of the product.
    Multiply,
    /// Bits from this place on.
    Slice(u32),
    /// The first operand above the second one.
    Concat,
    /// One bit again and again.
    Repeat,
    /// `first ? second : third`.
    Select,
    /// An entry of a table; an index past the end gives the last one.
    Lookup(Vec<u64>),
}

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// What is computed.
    pub operator: Operator,
    /// From which earlier steps.
    pub operands: Vec<u32>,
    /// Width of the result in bits.
    pub width: u32,
}

/// Expressions as steps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Steps {
    /// Sources first.
    pub steps: Vec<Step>,
    /// The steps whose results are the outputs.
    pub outputs: Vec<u32>,
}

impl Steps {
    /// The steps to outputs from the words of `inputs`.
    ///
    /// # Panics
    /// If an output depends on an input that is not in the list.
    pub fn of(inputs: &[Pins], outputs: &[Net]) -> Steps {
        let words =
            inputs.iter().flat_map(|pins| (0..pins.count()).map(|i| (pins.name, i as u32 * pins.width)));
        let places: HashMap<(&str, u32), u32> = words.zip(0..).collect();
        let mut result = Steps::default();
        let mut known: HashMap<usize, u32> = HashMap::new();
        // A node is asked for again behind what it reads.
        let mut open: Vec<&Net> = outputs.iter().rev().collect();
        while let Some(net) = open.pop() {
            if known.contains_key(&net.0.id) {
                continue;
            }
            let read = children(&net.0.op);
            let operands: Vec<u32> =
                read.iter().filter_map(|child| known.get(&child.0.id).copied()).collect();
            if operands.len() < read.len() {
                open.push(net);
                open.extend(read);
                continue;
            }
            let operator = operator(net, &places);
            known.insert(net.0.id, result.steps.len() as u32);
            result.steps.push(Step { operator, operands, width: net.0.width });
        }
        result.outputs = outputs.iter().map(|net| known[&net.0.id]).collect();
        result
    }
}

fn operator(net: &Net, places: &HashMap<(&str, u32), u32>) -> Operator {
    match &net.0.op {
        Op::Input(offset) => {
            let key = (net.name().unwrap_or_default(), offset.unwrap_or(0));
            Operator::Input(*places.get(&key).unwrap_or_else(|| panic!("no input {key:?}")))
        }
        Op::Constant(value) => Operator::Constant(*value),
        Op::Unary("~", _) => Operator::Not,
        Op::Unary("|", _) => Operator::Any,
        Op::Unary("&", _) => Operator::All,
        Op::Binary("&", ..) => Operator::And,
        Op::Binary("|", ..) => Operator::Or,
        Op::Binary("^", ..) => Operator::Xor,
        Op::Binary("+", ..) => Operator::Add,
        Op::Binary("-", ..) => Operator::Sub,
        Op::Binary("<<", ..) => Operator::ShiftLeft,
        Op::Binary(">>", ..) => Operator::ShiftRight,
        Op::Binary("==", ..) => Operator::Equal,
        Op::Binary("<", ..) => Operator::Less,
        Op::Binary(">=", ..) => Operator::AtLeast,
        Op::Unary(other, _) | Op::Binary(other, ..) => unreachable!("no operator {other}"),
        Op::SignedLess(..) => Operator::SignedLess,
        Op::Multiply(..) => Operator::Multiply,
        Op::Slice(_, low) => Operator::Slice(*low),
        Op::Concat(..) => Operator::Concat,
        Op::Repeat(_) => Operator::Repeat,
        Op::Select(..) => Operator::Select,
        Op::Lookup(_, entries) => Operator::Lookup(entries.clone()),
    }
}
