//! Bitwise instructions on zmm joined: TERNLOG does in one what any two of them do on three vectors.

use super::assembler::Length;
use super::instruction::{Instruction, Virtual};
use super::op::{self, Code};

/// Inputs of a truth table, whose index has the bit of the first one on top.
const INPUTS: usize = 3;

/// A function of the bits of up to three vectors.
#[derive(Clone)]
struct Function {
    of: Vec<Virtual>,
    table: u8,
}

impl Function {
    fn new(of: &[Virtual], value: impl Fn(&[bool]) -> bool) -> Function {
        let table = (0..8u8).filter(|&index| value(&bits(index)[..of.len()])).fold(0, |all, i| all | 1 << i);
        Function { of: of.to_vec(), table }
    }

    /// What an instruction on zmm computes, if it is bitwise. `ones` is no input: all its bits are high.
    fn of(instruction: &Instruction, ones: Option<Virtual>) -> Option<Function> {
        let whole = Function::of_all(instruction)?;
        let Some(ones) = ones.filter(|ones| whole.of.contains(ones)) else { return Some(whole) };
        whole.with(ones, &Function { of: Vec::new(), table: u8::MAX })
    }

    fn of_all(instruction: &Instruction) -> Option<Function> {
        Some(match *instruction {
            Instruction::Two { code, length: Length::Z, a, b, .. } => {
                let value = bitwise(code)?;
                Function::new(&[a, b], |bits| value(bits[0], bits[1]))
            }
            Instruction::Logic { of, table, .. } => Function { of: of.to_vec(), table },
            _ => return None,
        })
    }

    fn value(&self, bits: &[bool]) -> bool {
        let index = bits.iter().enumerate().fold(0, |all, (i, &bit)| all | u8::from(bit) << (INPUTS - 1 - i));
        self.table >> index & 1 != 0
    }

    /// The same with what one of its inputs is put in its place; none if it has too many inputs then.
    fn with(&self, input: Virtual, inner: &Function) -> Option<Function> {
        let mut of: Vec<Virtual> =
            self.of.iter().copied().filter(|&v| v != input).chain(inner.of.iter().copied()).collect();
        of.sort_unstable();
        of.dedup();
        if of.len() > INPUTS {
            return None;
        }
        let at = |v: Virtual, bits: &[bool]| of.iter().position(|&other| other == v).is_some_and(|i| bits[i]);
        let all = |inputs: &[Virtual], bits: &[bool]| -> Vec<bool> {
            inputs.iter().map(|&v| at(v, bits)).collect()
        };
        let value = |bits: &[bool]| {
            let inside = inner.value(&all(&inner.of, bits));
            let outside: Vec<bool> =
                self.of.iter().map(|&v| if v == input { inside } else { at(v, bits) }).collect();
            self.value(&outside)
        };
        Some(Function::new(&of, value))
    }

    /// The instruction for it; none for a function of one vector, which needs no third operand.
    fn instruction(&self, to: Virtual) -> Option<Instruction> {
        match *self.of {
            [a, b] => {
                let is = |code: Code, [a, b]: [Virtual; 2]| {
                    let two = Instruction::Two { code, length: Length::Z, to, a, b, byte: None };
                    let same =
                        Function::of_all(&two)?.with(u32::MAX, &Function { of: Vec::new(), table: 0 })?;
                    (same.table == self.table && same.of == self.of).then_some(two)
                };
                let codes = [op::AND, op::OR, op::XOR, op::ANDN];
                let simple = codes.iter().find_map(|&code| is(code, [a, b]).or_else(|| is(code, [b, a])));
                Some(simple.unwrap_or_else(|| {
                    let value = |bits: &[bool]| self.value(&bits[..2]);
                    let table = Function::new(&[a, b, b], value).table;
                    Instruction::Logic { to, of: [a, b, b], table }
                }))
            }
            [a, b, c] => Some(Instruction::Logic { to, of: [a, b, c], table: self.table }),
            _ => None,
        }
    }
}

fn bits(index: u8) -> [bool; INPUTS] {
    [index & 4 != 0, index & 2 != 0, index & 1 != 0]
}

fn bitwise(code: Code) -> Option<fn(bool, bool) -> bool> {
    Some(match code {
        op::AND => |a, b| a && b,
        op::ANDN => |a, b| !a && b,
        op::OR => |a, b| a || b,
        op::XOR => |a, b| a != b,
        _ => return None,
    })
}

/// A truth table for operands in another order: by their places before.
pub(super) fn reordered(table: u8, order: [usize; INPUTS]) -> u8 {
    let before = |index: u8| {
        let now = bits(index);
        order.iter().zip(now).fold(0, |all, (&place, bit)| all | u8::from(bit) << (INPUTS - 1 - place))
    };
    (0..8).fold(0, |all, index| all | (table >> before(index) & 1) << index)
}

/// Puts bitwise instructions whose result only another one reads into that one. `ones` has all bits high.
pub(super) fn join(instructions: &mut [Instruction], registers: usize, ones: Option<Virtual>) {
    let mut uses = vec![0u32; registers];
    let mut made: Vec<Option<usize>> = vec![None; registers];
    for (i, instruction) in instructions.iter().enumerate().rev() {
        let Some(to) = instruction.result().filter(|&to| uses[to as usize] == 0) else {
            instruction.sources().into_iter().flatten().for_each(|v| uses[v as usize] += 1);
            if let Some(to) = instruction.result() {
                made[to as usize] = Some(i);
            }
            continue;
        };
        // Nothing reads it: it is left out.
        made[to as usize] = None;
    }
    for i in 0..instructions.len() {
        let Some(to) = instructions[i].result().filter(|&to| uses[to as usize] > 0) else { continue };
        let Some(mut function) = Function::of(&instructions[i], ones) else { continue };
        let mut joined = false;
        while let Some((input, inner, next)) = function.of.iter().find_map(|&input| {
            let once = uses[input as usize] == 1;
            let inner = Function::of(&instructions[made[input as usize]?], ones).filter(|_| once)?;
            let next = function.with(input, &inner).filter(|next| next.of.len() > 1)?;
            Some((input, inner, next))
        }) {
            uses[input as usize] = 0;
            // What both of them read is read once less, even if the instruction for the inner one names it twice.
            inner.of.iter().filter(|v| function.of.contains(v)).for_each(|&v| uses[v as usize] -= 1);
            (function, joined) = (next, true);
        }
        if joined && let Some(instruction) = function.instruction(to) {
            instructions[i] = instruction;
        }
    }
}
