//! Simplification of steps: value numbering, constant folding, and peephole rules, also through slices and concatenations.

mod barrel_shifter;
mod prefix_adder;

use barrel_shifter::Shifted;
use flashd_hwmodel::netlist::{Operands, Operator, Step, Steps};
use flashd_hwmodel::word::{Num, Word};
use flashd_spec::bits::ones;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Evaluates a step.
pub(crate) fn compute(step: &Step, operands: &[Num]) -> Num {
    let (a, b) = (operands.first().copied(), operands.get(1).copied());
    let (a, b) = (a.unwrap_or(Num::new(1, 0)), b.unwrap_or(Num::new(1, 0)));
    match &step.operator {
        Operator::Input(_) => unreachable!("an input is no number"),
        Operator::Constant(value) => Num::new(step.width, *value),
        Operator::Not => a.not(),
        Operator::Any => a.any(),
        Operator::All => a.all(),
        Operator::And => a.and(&b),
        Operator::Or => a.or(&b),
        Operator::Xor => a.xor(&b),
        Operator::Add => a.add(&b),
        Operator::Sub => a.sub(&b),
        Operator::ShiftLeft => a.shl(&b),
        Operator::ShiftRight => a.shr(&b),
        Operator::Equal => Word::eq(&a, &b),
        Operator::Less => Word::lt(&a, &b),
        Operator::AtLeast => Word::lt(&a, &b).not(),
        Operator::SignedLess => a.slt(&b),
        Operator::Multiply => Num::new(step.width, a.value().wrapping_mul(b.value()) & ones(step.width)),
        Operator::Slice(low) => a.slice(*low, step.width),
        Operator::Concat => a.concat(&b),
        Operator::Repeat => a.repeat(step.width),
        Operator::Select => a.select(&b, &operands[2]),
        Operator::Lookup(entries) => a.lookup(entries, step.width),
    }
}

/// What steps compute from numbers, one for each input: their outputs.
pub fn evaluate(steps: &Steps, inputs: &[u64]) -> Vec<u64> {
    let mut now: Vec<Num> = Vec::with_capacity(steps.steps.len());
    for step in &steps.steps {
        let number = match step.operator {
            Operator::Input(place) => Num::new(step.width, inputs[place as usize] & ones(step.width)),
            _ => {
                let operands: Vec<Num> = step.operands.iter().map(|&operand| now[operand as usize]).collect();
                compute(step, &operands)
            }
        };
        now.push(number);
    }
    steps.outputs.iter().map(|&output| now[output as usize].value()).collect()
}

/// A list of steps that grows, each of them once.
#[derive(Default)]
pub(crate) struct Builder {
    steps: Vec<Step>,
    known: FxHashMap<Step, u32>,
    /// Results of shifts that were barrel shifters.
    shifts: FxHashMap<u32, Shifted>,
}

impl Builder {
    /// The steps of these outputs, without dead code.
    pub(crate) fn finish(self, outputs: Vec<u32>) -> Steps {
        let mut read = vec![false; self.steps.len()];
        outputs.iter().for_each(|&output| read[output as usize] = true);
        for (i, step) in self.steps.iter().enumerate().rev() {
            if read[i] {
                step.operands.iter().for_each(|&operand| read[operand as usize] = true);
            }
        }
        let mut now = vec![0; self.steps.len()];
        let mut steps = Vec::new();
        for (i, mut step) in self.steps.into_iter().enumerate().filter(|(i, _)| read[*i]) {
            step.operands.iter_mut().for_each(|operand| *operand = now[*operand as usize]);
            now[i] = steps.len() as u32;
            steps.push(step);
        }
        Steps { steps, outputs: outputs.into_iter().map(|output| now[output as usize]).collect() }
    }

    /// Adds a step, or finds a known equal one.
    pub(crate) fn push(&mut self, operator: Operator, operands: &[u32], width: u32) -> u32 {
        let step = Step { operator, operands: operands.into(), width };
        if !operands.is_empty()
            && let Some(numbers) =
                operands.iter().map(|&o| self.number(o)).collect::<Option<SmallVec<[Num; 3]>>>()
        {
            return self.constant(width, compute(&step, &numbers).value());
        }
        if let Some(known) = self.simpler(&step) {
            return known;
        }
        if let Some(&known) = self.known.get(&step) {
            return known;
        }
        self.steps.push(step.clone());
        self.known.insert(step, self.steps.len() as u32 - 1);
        self.steps.len() as u32 - 1
    }

    pub(crate) fn input(&mut self, place: u32, width: u32) -> u32 {
        self.push(Operator::Input(place), &[], width)
    }

    fn constant(&mut self, width: u32, value: u64) -> u32 {
        self.push(Operator::Constant(value), &[], width)
    }

    fn number(&self, step: u32) -> Option<Num> {
        let Step { operator, width, .. } = &self.steps[step as usize];
        match operator {
            Operator::Constant(value) => Some(Num::new(*width, *value)),
            _ => None,
        }
    }

    fn is(&self, step: u32, value: u64) -> bool {
        self.number(step).is_some_and(|number| number.value() == value)
    }

    pub(crate) fn width(&self, step: u32) -> u32 {
        self.steps[step as usize].width
    }

    fn simpler(&mut self, step: &Step) -> Option<u32> {
        let Step { operator, operands, width } = step;
        let width = *width;
        if let (Operator::Xor, &[half, carries]) = (operator, &operands[..])
            && let Some(summands) = self.summands(half, carries)
        {
            return Some(self.push(Operator::Add, &summands, width));
        }
        match (operator, &operands[..]) {
            (Operator::Slice(low), &[a]) => self.slice(a, *low, width),
            (Operator::Concat, &[high, low]) => self.joined(high, low, width),
            (Operator::Not, &[a]) => match &self.steps[a as usize] {
                Step { operator: Operator::Not, operands, .. } => Some(operands[0]),
                _ => None,
            },
            (Operator::AtLeast, &[a, b]) => {
                let less = self.push(Operator::Less, &[a, b], 1);
                Some(self.push(Operator::Not, &[less], 1))
            }
            (Operator::Any, &[a]) => self.any(a),
            (Operator::All, &[a]) if self.width(a) == 1 => Some(a),
            (Operator::All, &[a]) => {
                let full = self.constant(self.width(a), ones(self.width(a)));
                Some(self.push(Operator::Equal, &[a, full], 1))
            }
            (Operator::And | Operator::Or, &[a, b]) if width == 1 && self.complements(a, b).is_some() => {
                // One complement instead of two.
                let [a, b] = self.complements(a, b)?;
                let other = if *operator == Operator::And { Operator::Or } else { Operator::And };
                let both = self.push(other, &[a, b], 1);
                Some(self.push(Operator::Not, &[both], 1))
            }
            (Operator::And | Operator::Or | Operator::Xor, &[a, b]) => self.bitwise(operator, [a, b], width),
            (Operator::Add, &[a, b]) if self.is(a, 0) => Some(b),
            (Operator::Add | Operator::Sub | Operator::ShiftLeft | Operator::ShiftRight, &[a, b])
                if self.is(b, 0) =>
            {
                Some(a)
            }
            (Operator::ShiftLeft | Operator::ShiftRight, &[a, b]) => {
                let places = self.number(b)?.value();
                if places >= u64::from(width) {
                    return Some(self.constant(width, 0));
                }
                let places = places as u32;
                let (left, zeros) = (*operator == Operator::ShiftLeft, self.constant(places, 0));
                let low = if left { 0 } else { places };
                let kept = self.push(Operator::Slice(low), &[a], width - places);
                let parts = if left { [kept, zeros] } else { [zeros, kept] };
                Some(self.push(Operator::Concat, &parts, width))
            }
            (Operator::Repeat, &[a]) if width == 1 => Some(a),
            (Operator::Select, &[condition, then, otherwise]) => {
                self.select(condition, then, otherwise, width)
            }
            _ => None,
        }
    }

    /// Identities of AND, OR and XOR with constants and equal operands.
    fn bitwise(&mut self, operator: &Operator, [a, b]: [u32; 2], width: u32) -> Option<u32> {
        let all = ones(width);
        let (neutral, absorbing) = match operator {
            Operator::And => (all, Some(0)),
            Operator::Or => (0, Some(all)),
            _ => (0, None),
        };
        for (a, b) in [(a, b), (b, a)] {
            if self.is(b, neutral) {
                return Some(a);
            }
            match absorbing {
                Some(value) if self.is(b, value) => return Some(b),
                None if self.is(b, all) => return Some(self.push(Operator::Not, &[a], width)),
                _ => {}
            }
        }
        (a == b).then(|| if absorbing.is_some() { a } else { self.constant(width, 0) })
    }

    fn slice(&mut self, a: u32, low: u32, width: u32) -> Option<u32> {
        let Step { operator, operands, width: whole } = self.steps[a as usize].clone();
        if width == whole {
            return Some(a);
        }
        match (operator, &operands[..]) {
            (Operator::Slice(base), &[inner]) => {
                Some(self.push(Operator::Slice(base + low), &[inner], width))
            }
            (Operator::Repeat, &[bit]) => Some(self.push(Operator::Repeat, &[bit], width)),
            (Operator::Concat, &[high, rest]) => {
                let place = self.width(rest);
                if low + width <= place {
                    return Some(self.push(Operator::Slice(low), &[rest], width));
                }
                if low >= place {
                    return Some(self.push(Operator::Slice(low - place), &[high], width));
                }
                let high = self.push(Operator::Slice(0), &[high], low + width - place);
                let rest = self.push(Operator::Slice(low), &[rest], place - low);
                Some(self.push(Operator::Concat, &[high, rest], width))
            }
            (Operator::Add, &[a, b]) if low > 0 => {
                let sum = self.with_carry(a, b)?;
                Some(self.push(Operator::Slice(low - 1), &[sum], width))
            }
            _ => None,
        }
    }

    /// `a + b` without its lowest bit, where both are concatenations with a lowest bit: the sum of the upper parts and a carry.
    fn with_carry(&mut self, a: u32, b: u32) -> Option<u32> {
        let width = self.width(a) - 1;
        let ([a, low_of_a], [b, low_of_b]) = (self.above_a_bit(a)?, self.above_a_bit(b)?);
        let carry = self.push(Operator::And, &[low_of_a, low_of_b], 1);
        let sum = self.push(Operator::Add, &[a, b], width);
        if width == 1 {
            return Some(self.push(Operator::Xor, &[sum, carry], 1));
        }
        let zeros = self.constant(width - 1, 0);
        let carry = self.push(Operator::Concat, &[zeros, carry], width);
        Some(self.push(Operator::Add, &[sum, carry], width))
    }

    /// The parts of a concatenation with a lowest bit.
    fn above_a_bit(&mut self, word: u32) -> Option<[u32; 2]> {
        let Step { operator, operands, width } = self.steps[word as usize].clone();
        match (operator, &operands[..]) {
            (Operator::Concat, &[high, low]) if self.width(low) == 1 => Some([high, low]),
            (Operator::Constant(value), _) if width > 1 => {
                Some([self.constant(width - 1, value >> 1), self.constant(1, value & 1)])
            }
            _ => None,
        }
    }

    /// `{a[i:j], a[j-1:k]}` as `a[i:k]`, and adjacent constants as one.
    fn joined(&mut self, high: u32, low: u32, width: u32) -> Option<u32> {
        let (above, below) = (self.steps[high as usize].clone(), self.steps[low as usize].clone());
        match (&above.operator, &below.operator) {
            (Operator::Slice(i), Operator::Slice(j))
                if above.operands == below.operands && *i == j + below.width =>
            {
                Some(self.push(Operator::Slice(*j), &above.operands, width))
            }
            // Joins lean to the left, so that neighbours meet.
            (_, Operator::Concat) => {
                let &[middle, last] = &below.operands[..] else { return None };
                let high = self.push(Operator::Concat, &[high, middle], above.width + self.width(middle));
                Some(self.push(Operator::Concat, &[high, last], width))
            }
            (Operator::Concat, _) => {
                let &[first, middle] = &above.operands[..] else { return None };
                let one = match (&self.steps[middle as usize], &below) {
                    (Step { operator: Operator::Constant(_), .. }, below) => {
                        matches!(below.operator, Operator::Constant(_))
                    }
                    (Step { operator: Operator::Slice(i), operands, .. }, below) => {
                        below.operands == *operands
                            && matches!(below.operator, Operator::Slice(j) if *i == j + below.width)
                    }
                    _ => false,
                };
                one.then(|| {
                    let low = self.push(Operator::Concat, &[middle, low], self.width(middle) + below.width);
                    self.push(Operator::Concat, &[first, low], width)
                })
            }
            _ => None,
        }
    }

    fn any(&mut self, a: u32) -> Option<u32> {
        let Step { operator, operands, width } = self.steps[a as usize].clone();
        match (operator, &operands[..]) {
            _ if width == 1 => Some(a),
            (Operator::Repeat, &[bit]) => Some(bit),
            (Operator::Concat, &[high, low]) => {
                let (high, low) = (self.push(Operator::Any, &[high], 1), self.push(Operator::Any, &[low], 1));
                Some(self.push(Operator::Or, &[high, low], 1))
            }
            _ => {
                let zero = self.constant(width, 0);
                let none = self.push(Operator::Equal, &[a, zero], 1);
                Some(self.push(Operator::Not, &[none], 1))
            }
        }
    }

    /// The operands, if both steps are complements.
    fn complements(&self, a: u32, b: u32) -> Option<[u32; 2]> {
        let of = |step: u32| match &self.steps[step as usize] {
            Step { operator: Operator::Not, operands, .. } => Some(operands[0]),
            _ => None,
        };
        Some([of(a)?, of(b)?])
    }

    fn select(&mut self, condition: u32, then: u32, otherwise: u32, width: u32) -> Option<u32> {
        if let Some(condition) = self.number(condition) {
            return Some(if condition.value() != 0 { then } else { otherwise });
        }
        if then == otherwise {
            return Some(then);
        }
        let Step { operator, operands, .. } = self.steps[condition as usize].clone();
        if let (Operator::Not, &[inner]) = (operator, &operands[..]) {
            return Some(self.push(Operator::Select, &[inner, otherwise, then], width));
        }
        // A word or nothing is a mask.
        if self.is(otherwise, 0) {
            let mask = self.push(Operator::Repeat, &[condition], width);
            return Some(self.push(Operator::And, &[mask, then], width));
        }
        self.barrel(condition, then, otherwise)
    }
}

/// Simplifies steps.
pub fn simplified(steps: &Steps) -> Steps {
    let mut builder = Builder::default();
    let outputs = append(&mut builder, steps, |builder, place, width| builder.input(place, width));
    builder.finish(outputs)
}

/// Appends steps to a list, with `input` for the inputs, and returns the outputs.
pub(crate) fn append(
    builder: &mut Builder,
    steps: &Steps,
    mut input: impl FnMut(&mut Builder, u32, u32) -> u32,
) -> Vec<u32> {
    let mut now: Vec<u32> = Vec::with_capacity(steps.steps.len());
    for step in &steps.steps {
        let step = match &step.operator {
            Operator::Input(place) => input(builder, *place, step.width),
            operator => {
                let operands: Operands = step.operands.iter().map(|&operand| now[operand as usize]).collect();
                builder.push(operator.clone(), &operands, step.width)
            }
        };
        now.push(step);
    }
    steps.outputs.iter().map(|&output| now[output as usize]).collect()
}
