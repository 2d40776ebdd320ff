//! Idiom recognition: prefix adders become sums.
//!
//! [`prefix_sum`](flashd_hwmodel::arith::prefix::prefix_sum) describes a network of gates, so that synthesis builds that one. A processor
//! has one instruction for all of it. The pattern is the network of this function, step by step: any other network stays.

use super::Builder;
use flashd_hwmodel::netlist::Operator;

impl Builder {
    /// The summands, if the exclusive or of these is the last level of a prefix adder.
    pub(super) fn summands(&self, half: u32, carries: u32) -> Option<[u32; 2]> {
        let &[a, b] = self.operands_of(half, &Operator::Xor)?;
        let generates = self.shifted_up(carries, 1)?;
        let reach = self.generates(generates, half)?;
        // The topmost carry comes from all bits below.
        (reach + 1 >= self.width(half)).then_some([a, b])
    }

    /// The span of a generate signal of a prefix adder.
    fn generates(&self, step: u32, half: u32) -> Option<u32> {
        let summands: &[u32; 2] = self.operands_of(half, &Operator::Xor)?;
        if self.operands_of(step, &Operator::And) == Some(summands) {
            return Some(1);
        }
        let &[upper, both] = self.operands_of(step, &Operator::Or)?;
        let &[passes, below] = self.operands_of(both, &Operator::And)?;
        let reach = self.generates(upper, half)?;
        let is_next = self.propagates(passes, half)? == reach && self.shifted_up(below, reach)? == upper;
        is_next.then_some(2 * reach)
    }

    /// The span of a propagate signal.
    fn propagates(&self, step: u32, half: u32) -> Option<u32> {
        if step == half {
            return Some(1);
        }
        let &[upper, below] = self.operands_of(step, &Operator::And)?;
        let reach = self.propagates(upper, half)?;
        (self.shifted_up(below, reach)? == upper).then_some(2 * reach)
    }

    /// The operand of a left shift by `places`.
    fn shifted_up(&self, step: u32, places: u32) -> Option<u32> {
        let &[kept, zeros] = self.operands_of(step, &Operator::Concat)?;
        let &[whole] = self.operands_of(kept, &Operator::Slice(0))?;
        let is_it = self.is(zeros, 0) && self.width(zeros) == places && self.width(whole) == self.width(step);
        is_it.then_some(whole)
    }

    pub(super) fn operands_of<const N: usize>(&self, step: u32, operator: &Operator) -> Option<&[u32; N]> {
        let step = &self.steps[step as usize];
        if step.operator != *operator {
            return None;
        }
        step.operands[..].try_into().ok()
    }
}
