//! Recorded expressions as a list of steps, each of which reads earlier ones.

use super::narrow::children;
use super::net::{Net, Op};
use crate::rtl::Pins;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::Arc;

/// The operation of a [`Step`] on its operands, in the order that each operation names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// The input word at this place among all input words.
    Input(u32),
    /// A constant with this value.
    Constant(u64),
    /// Bitwise complement.
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
    /// Sum modulo `2^width`.
    Add,
    /// First operand less the second, modulo `2^width`.
    Sub,
    /// First operand, shifted left by the second; bits beyond the width are lost.
    ShiftLeft,
    /// First operand, shifted right by the second; zeros enter.
    ShiftRight,
    /// Whether two words are equal.
    Equal,
    /// Whether the first word is less than the second, both unsigned.
    Less,
    /// Whether the first word is not less than the second, both unsigned.
    AtLeast,
    /// Whether the first word is less than the second, both signed.
    SignedLess,
    /// Product modulo `2^width`.
    Multiply,
    /// `width` bits from this place on.
    Slice(u32),
    /// The first operand above the second one.
    Concat,
    /// Copies of one bit, `width` of them.
    Repeat,
    /// `first ? second : third`.
    Select,
    /// The entry of this table at an index; an index beyond the end gives the last entry.
    Lookup(Arc<[u64]>),
}

/// Places of steps that a step reads; there are at most three.
pub type Operands = SmallVec<[u32; 3]>;

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// The operation.
    pub operator: Operator,
    /// Places of the steps whose results are its operands.
    pub operands: Operands,
    /// Width of the result in bits.
    pub width: u32,
}

/// The expressions of all outputs as steps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Steps {
    /// The steps, in topological order.
    pub steps: Vec<Step>,
    /// Places of the steps whose results are the outputs, in the order of the outputs.
    pub outputs: Vec<u32>,
}

impl Steps {
    /// The steps that compute `outputs` from the words of `inputs`, numbered port by port.
    ///
    /// # Panics
    /// If an output depends on an input that is not in the list.
    pub fn of(inputs: &[Pins], outputs: &[Net]) -> Steps {
        let words =
            inputs.iter().flat_map(|pins| (0..pins.count()).map(|i| (pins.name, i as u32 * pins.width)));
        let places: FxHashMap<(&str, u32), u32> = words.zip(0..).collect();
        let mut result = Steps::default();
        let mut known: FxHashMap<usize, u32> = FxHashMap::default();
        // A node whose operands have no step yet is visited again after them.
        let mut open: Vec<&Net> = outputs.iter().rev().collect();
        while let Some(net) = open.pop() {
            if known.contains_key(&net.0.id) {
                continue;
            }
            let read = children(&net.0.op);
            let operands: Operands =
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

fn operator(net: &Net, places: &FxHashMap<(&str, u32), u32>) -> Operator {
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
        Op::Lookup(_, entries) => Operator::Lookup(entries.as_slice().into()),
    }
}
