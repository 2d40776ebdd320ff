//! Counters of an algorithm: operations, accesses to slow memory, and extra memory.

use std::ops::AddAssign;

/// The matrices and vectors in slow memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryTensor {
    /// Queries, an input.
    Q,
    /// Keys, an input.
    K,
    /// Values, an input.
    V,
    /// Scores.
    S,
    /// Weights, the softmax of the scores.
    P,
    /// The output.
    O,
    /// Sum of exponentials, one element per query.
    Sum,
    /// Largest score, one element per query.
    Max,
    /// Additive mask, an input.
    Mask,
}

impl MemoryTensor {
    /// All tensors, in the order of reports.
    pub const ALL: [MemoryTensor; 9] = [
        MemoryTensor::Q,
        MemoryTensor::K,
        MemoryTensor::V,
        MemoryTensor::S,
        MemoryTensor::P,
        MemoryTensor::O,
        MemoryTensor::Sum,
        MemoryTensor::Max,
        MemoryTensor::Mask,
    ];

    /// Its letter.
    pub fn name(self) -> &'static str {
        ["Q", "K", "V", "S", "P", "O", "l", "m", "mask"][self as usize]
    }

    /// Set if it is neither input nor output: extra memory of the algorithm.
    pub(crate) fn is_extra(self) -> bool {
        matches!(self, MemoryTensor::S | MemoryTensor::P | MemoryTensor::Sum | MemoryTensor::Max)
    }
}

/// A floating-point operation. Each counts one, whatever it costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A product.
    Multiply,
    /// A sum or difference.
    Add,
    /// A quotient.
    Divide,
    /// The larger of two numbers.
    Maximum,
    /// An exponential.
    Exponential,
    /// A natural logarithm.
    Logarithm,
    /// A sigmoid.
    Sigmoid,
}

impl Operation {
    /// All operations, in the order of reports.
    pub const ALL: [Operation; 7] = [
        Operation::Multiply,
        Operation::Add,
        Operation::Divide,
        Operation::Maximum,
        Operation::Exponential,
        Operation::Logarithm,
        Operation::Sigmoid,
    ];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        ["multiply", "add", "divide", "maximum", "exponential", "logarithm", "sigmoid"][self as usize]
    }
}

/// Operations, accesses to slow memory and extra memory of a run.
///
/// An access reads or writes one element of Q, K, V, S, P, O, l, m or the mask in slow memory, outside the SRAM. Uses of data in the SRAM are free. Visibility
/// by position needs no read; an additive mask is a tensor and is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub(super) reads: [u64; MemoryTensor::ALL.len()],
    pub(super) writes: [u64; MemoryTensor::ALL.len()],
    pub(super) operations: [u64; Operation::ALL.len()],
    /// Elements of slow memory beyond Q, K, V and O.
    pub extra: u64,
}

impl Counts {
    /// Counts from a closed formula: (tensor, reads, writes), operations by kind, and extra memory.
    pub(super) fn of(
        accesses: &[(MemoryTensor, u64, u64)],
        operations: &[(Operation, u64)],
        extra: u64,
    ) -> Counts {
        let mut counts = Counts { extra, ..Counts::default() };
        for &(tensor, reads, writes) in accesses {
            counts.reads[tensor as usize] = reads;
            counts.writes[tensor as usize] = writes;
        }
        for &(operation, times) in operations {
            counts.operations[operation as usize] = times;
        }
        counts
    }

    /// Elements of `tensor` read from slow memory.
    pub fn reads(&self, tensor: MemoryTensor) -> u64 {
        self.reads[tensor as usize]
    }

    /// Elements of `tensor` written to slow memory.
    pub fn writes(&self, tensor: MemoryTensor) -> u64 {
        self.writes[tensor as usize]
    }

    /// Operations of one kind.
    pub fn operations(&self, operation: Operation) -> u64 {
        self.operations[operation as usize]
    }

    /// Elements of all tensors read from and written to slow memory.
    pub fn accesses(&self) -> u64 {
        self.reads.iter().chain(&self.writes).sum()
    }

    /// Operations of all kinds.
    pub fn flops(&self) -> u64 {
        self.operations.iter().sum()
    }
}

impl AddAssign<&Counts> for Counts {
    fn add_assign(&mut self, other: &Counts) {
        let add = |a: &mut [u64], b: &[u64]| a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        add(&mut self.reads, &other.reads);
        add(&mut self.writes, &other.writes);
        add(&mut self.operations, &other.operations);
        self.extra += other.extra;
    }
}
