//! Recorded expressions as a list of steps, each of which reads earlier ones.

use super::narrow::children;
use super::net::{Net, Op};
use crate::rtl::Pins;
use crate::word::Word;
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
        Steps::with_names(inputs, outputs).0
    }

    /// [`Steps::of`], and the name of each step's wire, if it has one.
    ///
    /// # Panics
    /// If an output depends on an input that is not in the list.
    pub fn with_names(inputs: &[Pins], outputs: &[Net]) -> (Steps, Vec<Option<String>>) {
        let words =
            inputs.iter().flat_map(|pins| (0..pins.count()).map(|i| (pins.name, i as u32 * pins.width)));
        let places: FxHashMap<(&str, u32), u32> = words.zip(0..).collect();
        let mut result = Steps::default();
        let mut names = Vec::new();
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
            names.push(net.name().map(String::from));
        }
        result.outputs = outputs.iter().map(|net| known[&net.0.id]).collect();
        (result, names)
    }
}

/// The result of a step that is no input.
pub fn apply<W: Word>(step: &Step, operands: &[W]) -> W {
    let (a, b) = (operands.first(), operands.get(1));
    let of_two = |f: fn(&W, &W) -> W| match (a, b) {
        (Some(a), Some(b)) => f(a, b),
        _ => unreachable!("an operation on two words has two"),
    };
    let of_one = |f: &dyn Fn(&W) -> W| a.map_or_else(|| unreachable!("an operation has an operand"), f);
    match &step.operator {
        Operator::Input(_) => unreachable!("an input is no operation"),
        Operator::Constant(value) => W::constant(step.width, *value),
        Operator::Not => of_one(&W::not),
        Operator::Any => of_one(&W::any),
        Operator::All => of_one(&W::all),
        Operator::And => of_two(W::and),
        Operator::Or => of_two(W::or),
        Operator::Xor => of_two(W::xor),
        Operator::Add => of_two(W::add),
        Operator::Sub => of_two(W::sub),
        Operator::ShiftLeft => of_two(W::shl),
        Operator::ShiftRight => of_two(W::shr),
        Operator::Equal => of_two(W::eq),
        Operator::Less => of_two(W::lt),
        Operator::AtLeast => of_two(W::lt).not(),
        Operator::SignedLess => of_two(W::slt),
        Operator::Multiply => of_two(W::mul).slice(0, step.width),
        Operator::Slice(low) => of_one(&|a: &W| a.slice(*low, step.width)),
        Operator::Concat => of_two(W::concat),
        Operator::Repeat => of_one(&|a: &W| a.repeat(step.width)),
        Operator::Select => of_one(&|a: &W| a.select(&operands[1], &operands[2])),
        Operator::Lookup(entries) => of_one(&|a: &W| a.lookup(entries, step.width)),
    }
}

impl Steps {
    /// The words of the outputs, of a word for each input. `label` names the wire of a step.
    pub fn eval<W: Word>(&self, inputs: &[W], label: impl Fn(usize, W) -> W) -> Vec<W> {
        let mut words: Vec<W> = Vec::with_capacity(self.steps.len());
        for (place, step) in self.steps.iter().enumerate() {
            let word = match step.operator {
                Operator::Input(input) => inputs[input as usize].clone(),
                _ => {
                    let operands: SmallVec<[W; 3]> =
                        step.operands.iter().map(|&operand| words[operand as usize].clone()).collect();
                    label(place, apply(step, &operands))
                }
            };
            words.push(word);
        }
        self.outputs.iter().map(|&output| words[output as usize].clone()).collect()
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
