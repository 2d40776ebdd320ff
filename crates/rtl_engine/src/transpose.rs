//! Transposition of driven words: from a row of words for each run to a vector of runs for each word.

/// Drives words of 2 to 32 bits in a vector of runs; `places` are their first words. Runs without a row keep their values. Returns false
/// if it did nothing: it needs AVX2 and rows of one length.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
pub(crate) fn drive<T: Copy + Into<u64>>(
    memory: &mut [u32],
    lanes: usize,
    (places, width): (&[u32], u32),
    all: &[Option<&[T]>],
) -> bool {
    use flashd_spec::isa::Isa;
    use x86::{LANES, Pairs, RunRows, Single, transpose};
    let Some(&any) = all.iter().flatten().next() else { return true };
    if any.len() > places.len() {
        return false;
    }
    if lanes != LANES || !Isa::has_avx2() {
        return false;
    }
    let Some(rows) = RunRows::of(all, any) else { return false };
    match width {
        // SAFETY: the machine has AVX2.
        ..=16 => unsafe { transpose::<T, Pairs, 16>(memory, places, &rows) },
        // SAFETY: the same.
        _ => unsafe { transpose::<T, Single, 8>(memory, places, &rows) },
    }
    // The last, partial block.
    let block = if width <= 16 { 2 * lanes } else { lanes };
    for i in any.len() / block * block..any.len() {
        for (run, row) in all.iter().enumerate() {
            row.iter().for_each(|row| memory[places[i] as usize + run] = row[i].into() as u32);
        }
    }
    true
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn drive<T: Copy + Into<u64>>(
    _: &mut [u32],
    _: usize,
    _: (&[u32], u32),
    _: &[Option<&[T]>],
) -> bool {
    false
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    /// Words of a vector.
    pub(super) const LANES: usize = 8;

    /// A row of words for each run, and whether it is given: other rows are placeholders and not stored.
    pub(super) struct RunRows<'a, T> {
        all: [&'a [T]; LANES],
        given: [bool; LANES],
    }

    impl<'a, T> RunRows<'a, T> {
        /// The given rows, `any` being one; none if their lengths differ.
        pub(super) fn of(rows: &[Option<&'a [T]>], any: &'a [T]) -> Option<RunRows<'a, T>> {
            let (mut all, mut given, mut alike) = ([any; LANES], [false; LANES], true);
            for (run, row) in rows.iter().enumerate().take(LANES) {
                (all[run], given[run]) = (row.unwrap_or(any), row.is_some());
                alike &= all[run].len() == any.len();
            }
            alike.then_some(RunRows { all, given })
        }
    }

    /// The format of words in a vector.
    pub(super) trait WordForm {
        /// Words in each element of 32 bits.
        const EACH: usize;
    }

    /// One in each element.
    pub(super) struct Single;
    /// Two of at most 16 bits: a vector transposes twice as many.
    pub(super) struct Pairs;

    impl WordForm for Single {
        const EACH: usize = 1;
    }

    impl WordForm for Pairs {
        const EACH: usize = 2;
    }

    /// Words of a row as elements of a vector. With a length that is known it is one instruction.
    #[inline(always)]
    #[allow(unsafe_code)]
    fn elements<T: Copy + Into<u64>, F: WordForm, const W: usize>(words: &[T; W]) -> [u32; LANES] {
        let mut elements = [0; LANES];
        if F::EACH == 1 {
            elements.iter_mut().zip(words).for_each(|(to, &word)| *to = word.into() as u32);
            return elements;
        }
        let mut halves = [0u16; W];
        halves.iter_mut().zip(words).for_each(|(to, &word)| *to = word.into() as u16);
        assert!(size_of_val(&halves) == size_of_val(&elements), "two in each");
        // SAFETY: both are as many bits, and any bits are words.
        unsafe { std::mem::transmute_copy(&halves) }
    }

    /// The vector of a word.
    #[inline(always)]
    fn vector(memory: &mut [u32], place: u32) -> Option<&mut [u32; LANES]> {
        memory.get_mut(place as usize..)?.first_chunk_mut()
    }

    /// Transposes blocks of `W` words. Closures would not have these instructions.
    #[target_feature(enable = "avx2")]
    #[allow(unsafe_code)]
    pub(super) fn transpose<T: Copy + Into<u64>, F: WordForm, const W: usize>(
        memory: &mut [u32],
        places: &[u32],
        rows: &RunRows<T>,
    ) {
        let mask = rows.given.map(|given| 0u32.wrapping_sub(given.into()));
        // SAFETY: both are eight words of any bits; so they are below.
        let mask = unsafe { std::mem::transmute::<[u32; LANES], __m256i>(mask) };
        for (part, places) in places.chunks_exact(W).enumerate() {
            let mut t = [_mm256_setzero_si256(); LANES];
            for i in 0..4 {
                let Some(a) = rows.all[2 * i].as_chunks::<W>().0.get(part) else { return };
                let Some(b) = rows.all[2 * i + 1].as_chunks::<W>().0.get(part) else { return };
                // SAFETY: as above.
                let a = unsafe { std::mem::transmute::<[u32; LANES], __m256i>(elements::<T, F, W>(a)) };
                // SAFETY: as above.
                let b = unsafe { std::mem::transmute::<[u32; LANES], __m256i>(elements::<T, F, W>(b)) };
                t[2 * i] = _mm256_unpacklo_epi32(a, b);
                t[2 * i + 1] = _mm256_unpackhi_epi32(a, b);
            }
            let mut u = t;
            for i in 0..2 {
                u[4 * i] = _mm256_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
                u[4 * i + 1] = _mm256_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
                u[4 * i + 2] = _mm256_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
                u[4 * i + 3] = _mm256_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
            }
            let mut columns = u;
            for j in 0..4 {
                columns[j] = _mm256_permute2x128_si256::<0x20>(u[j], u[4 + j]);
                columns[4 + j] = _mm256_permute2x128_si256::<0x31>(u[j], u[4 + j]);
            }
            for (places, column) in places.chunks_exact(F::EACH).zip(columns) {
                for (i, &place) in places.iter().enumerate() {
                    let mut words = column;
                    if F::EACH == 2 {
                        let low = _mm256_and_si256(column, _mm256_set1_epi32(0xFFFF));
                        words = if i == 0 { low } else { _mm256_srli_epi32::<16>(column) };
                    }
                    let Some(to) = vector(memory, place) else { return };
                    // SAFETY: as above.
                    let now = unsafe { std::mem::transmute::<[u32; LANES], __m256i>(*to) };
                    words = _mm256_blendv_epi8(now, words, mask);
                    // SAFETY: as above.
                    *to = unsafe { std::mem::transmute::<__m256i, [u32; LANES]>(words) };
                }
            }
        }
    }
}
