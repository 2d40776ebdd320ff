//! Vector instructions, chosen when the program runs: one binary serves every machine.
//!
//! A [`Kernel`] is plain Rust over arrays of lanes. It is compiled once for each set of instructions, and the compiler vectorises it.

use std::fmt;

/// A set of vector instructions that this machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Isa(InstructionSet);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InstructionSet {
    /// AVX-512 F, BW, CD, DQ and VL, and FMA.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// The instructions that the program was compiled for.
    Plain,
}

/// Work that is compiled for every set of instructions. `run` and all that it calls must be `#[inline(always)]`.
pub trait Kernel {
    /// The result of the work.
    type Output;

    /// Does the work. `FMA`: the machine multiplies and adds in one instruction.
    fn run<const FMA: bool>(self) -> Self::Output;
}

impl InstructionSet {
    /// All of them, the widest first.
    const ALL: &[InstructionSet] = &[
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512,
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2,
        InstructionSet::Plain,
    ];

    fn is_available(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 => {
                InstructionSet::Avx2.is_available()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512cd")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
            }
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            InstructionSet::Plain => true,
        }
    }
}

impl Isa {
    /// The set with the widest vectors of this machine.
    pub fn best() -> Isa {
        Isa(InstructionSet::ALL
            .iter()
            .copied()
            .find(|set| set.is_available())
            .unwrap_or(InstructionSet::Plain))
    }

    /// All sets that this machine has, the widest first.
    pub fn available() -> Vec<Isa> {
        InstructionSet::ALL.iter().copied().filter(|set| set.is_available()).map(Isa).collect()
    }

    /// Whether this machine has AVX2.
    pub fn has_avx2() -> bool {
        Isa::best().0 != InstructionSet::Plain
    }

    /// Runs a kernel with these instructions.
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code)]
    pub fn run<K: Kernel>(self, kernel: K) -> K::Output {
        #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma")]
        fn avx512<K: Kernel>(kernel: K) -> K::Output {
            kernel.run::<true>()
        }
        #[target_feature(enable = "avx2,fma")]
        fn avx2<K: Kernel>(kernel: K) -> K::Output {
            kernel.run::<true>()
        }
        match self.0 {
            // SAFETY: only `best` and `available` make this value, after they have found the instructions.
            InstructionSet::Avx512 => unsafe { avx512(kernel) },
            // SAFETY: the same.
            InstructionSet::Avx2 => unsafe { avx2(kernel) },
            InstructionSet::Plain => kernel.run::<false>(),
        }
    }

    /// Runs a kernel with these instructions.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn run<K: Kernel>(self, kernel: K) -> K::Output {
        match self.0 {
            InstructionSet::Plain => kernel.run::<false>(),
        }
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 => "AVX-512",
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2 => "AVX2",
            InstructionSet::Plain => "baseline",
        })
    }
}
