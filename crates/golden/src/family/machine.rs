//! A processor with a small fast and a large slow memory that counts its operations and accesses.

use super::counts::{Counts, MemoryTensor, Operation};
use super::softmax::dot;

/// Counters, and the number of elements in fast memory.
#[derive(Default)]
pub(super) struct AccessCounter {
    pub(super) counts: Counts,
    resident: usize,
    /// Peak of the elements in fast memory.
    pub(super) working_set: usize,
}

/// A block in fast memory; [`AccessCounter::release`] frees it.
pub(super) type Fast = Vec<f64>;

impl AccessCounter {
    fn count(&mut self, operation: Operation, times: usize) {
        self.counts.operations[operation as usize] += times as u64;
    }

    /// Allocates elements in fast memory.
    pub(super) fn allocate(&mut self, elements: usize) -> Fast {
        self.resident += elements;
        self.working_set = self.working_set.max(self.resident);
        vec![0.0; elements]
    }

    pub(super) fn release(&mut self, block: Fast) {
        self.resident -= block.len();
    }

    /// Reads elements of a tensor that are consumed at once.
    pub(super) fn read(&mut self, tensor: MemoryTensor, elements: usize) {
        self.counts.reads[tensor as usize] += elements as u64;
    }

    /// Loads elements of a tensor into fast memory.
    pub(super) fn load(&mut self, tensor: MemoryTensor, slow: &[f64]) -> Fast {
        let mut fast = self.allocate(slow.len());
        fast.copy_from_slice(slow);
        self.read(tensor, slow.len());
        fast
    }

    /// Writes elements of a tensor back.
    pub(super) fn store(&mut self, tensor: MemoryTensor, fast: &[f64], slow: &mut [f64]) {
        slow.copy_from_slice(fast);
        self.counts.writes[tensor as usize] += slow.len() as u64;
    }

    /// Writes elements of a tensor for the first time, which allocates slow memory.
    pub(super) fn create(&mut self, tensor: MemoryTensor, fast: &[f64]) -> Vec<f64> {
        let mut slow = vec![0.0; fast.len()];
        self.store(tensor, fast, &mut slow);
        if tensor.is_extra() {
            self.counts.extra += slow.len() as u64;
        }
        slow
    }

    /// A score `a . b * scale`. The vectors are not empty.
    pub(super) fn score(&mut self, a: &[f64], b: &[f64], scale: f64) -> f64 {
        self.count(Operation::Multiply, a.len() + 1);
        self.count(Operation::Add, a.len() - 1);
        dot(a, b) * scale
    }

    /// The maximum of at least one element.
    pub(super) fn largest(&mut self, x: &[f64]) -> f64 {
        self.count(Operation::Maximum, x.len() - 1);
        x.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    /// The sum of at least one element.
    pub(super) fn sum(&mut self, x: &[f64]) -> f64 {
        self.count(Operation::Add, x.len() - 1);
        x.iter().sum()
    }

    /// Replaces each x by `e^(x - top)`.
    pub(super) fn exponentials(&mut self, x: &mut [f64], top: f64) {
        self.count(Operation::Add, x.len());
        self.count(Operation::Exponential, x.len());
        x.iter_mut().for_each(|x| *x = (*x - top).exp());
    }

    /// `e^x`.
    pub(super) fn exponential(&mut self, x: f64) -> f64 {
        self.count(Operation::Exponential, 1);
        x.exp()
    }

    /// `ln x`.
    pub(super) fn logarithm(&mut self, x: f64) -> f64 {
        self.count(Operation::Logarithm, 1);
        x.ln()
    }

    /// Counts operations whose results are computed elsewhere, where f64 needs more steps than the algorithm to keep rounding errors small.
    pub(super) fn count_all(&mut self, operations: &[(Operation, usize)]) {
        operations.iter().for_each(|&(operation, times)| self.count(operation, times));
    }

    /// `sum_i p_i v_i` over at least one vector.
    pub(super) fn weighted_sum(&mut self, p: &[f64], v: &[f64], sum: &mut [f64]) {
        let d = sum.len();
        sum.fill(0.0);
        for (i, (p, v)) in p.iter().zip(v.chunks_exact(d)).enumerate() {
            self.count(Operation::Multiply, d);
            // The first product starts the sum.
            self.count(Operation::Add, if i == 0 { 0 } else { d });
            sum.iter_mut().zip(v).for_each(|(sum, v)| *sum += p * v);
        }
    }

    /// Replaces each x by `a x + b y`.
    pub(super) fn blend(&mut self, x: &mut [f64], a: f64, y: &[f64], b: f64) {
        self.count(Operation::Multiply, 2 * x.len());
        self.count(Operation::Add, x.len());
        x.iter_mut().zip(y).for_each(|(x, y)| *x = *x * a + y * b);
    }

    /// Replaces each x by `a x + y`.
    pub(super) fn scale_add(&mut self, x: &mut [f64], a: f64, y: &[f64]) {
        self.count(Operation::Multiply, x.len());
        self.count(Operation::Add, x.len());
        x.iter_mut().zip(y).for_each(|(x, y)| *x = *x * a + y);
    }

    /// Replaces each x by `x + (y - x) w`.
    pub(super) fn move_by(&mut self, x: &mut [f64], y: &[f64], w: f64) {
        self.count(Operation::Multiply, x.len());
        self.count(Operation::Add, 2 * x.len());
        x.iter_mut().zip(y).for_each(|(x, y)| *x += (y - *x) * w);
    }

    /// Replaces each x by `x a`.
    pub(super) fn multiply_all(&mut self, x: &mut [f64], a: f64) {
        self.count(Operation::Multiply, x.len());
        x.iter_mut().for_each(|x| *x *= a);
    }

    pub(super) fn add(&mut self, a: f64, b: f64) -> f64 {
        self.count(Operation::Add, 1);
        a + b
    }

    pub(super) fn multiply(&mut self, a: f64, b: f64) -> f64 {
        self.count(Operation::Multiply, 1);
        a * b
    }

    pub(super) fn divide(&mut self, a: f64, b: f64) -> f64 {
        self.count(Operation::Divide, 1);
        a / b
    }

    pub(super) fn maximum(&mut self, a: f64, b: f64) -> f64 {
        self.count(Operation::Maximum, 1);
        a.max(b)
    }
}
