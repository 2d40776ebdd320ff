//! Words of several runs brought beside each other: a word of memory of all runs is a vector, and each run has its own row of words.

/// Puts words of each run where those of all runs lie beside each other, `places` being where each of them begins; runs without words
/// keep what is there. They are of 2 to 32 bits. Says whether it could: this needs as many runs as a vector of this machine has words,
/// and rows of one length.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
pub(crate) fn scatter<T: Copy + Into<u64>>(
    memory: &mut [u32],
    beside: usize,
    (places, width): (&[u32], u32),
    all: &[Option<&[T]>],
) -> bool {
    use x86::{Pairs, Rows, Single, eight, sixteen};
    let Some(&any) = all.iter().flatten().next() else { return true };
    if any.len() > places.len() {
        return false;
    }
    // SAFETY, of each call: the machine has these instructions.
    match beside {
        x86::Z if is_x86_feature_detected!("avx512f") => match Rows::of(all, any) {
            Some(rows) if width <= 16 => unsafe { sixteen::<T, Pairs, 32>(memory, places, &rows) },
            Some(rows) => unsafe { sixteen::<T, Single, 16>(memory, places, &rows) },
            None => return false,
        },
        x86::Y if is_x86_feature_detected!("avx2") => match Rows::of(all, any) {
            Some(rows) if width <= 16 => unsafe { eight::<T, Pairs, 16>(memory, places, &rows) },
            Some(rows) => unsafe { eight::<T, Single, 8>(memory, places, &rows) },
            None => return false,
        },
        _ => return false,
    }
    // What does not fill a block.
    let block = if width <= 16 { 2 * beside } else { beside };
    for i in any.len() / block * block..any.len() {
        for (run, row) in all.iter().enumerate() {
            row.iter().for_each(|row| memory[places[i] as usize + run] = row[i].into() as u32);
        }
    }
    true
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn scatter<T: Copy + Into<u64>>(
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

    /// Words of a vector of AVX-512 and of AVX2.
    pub(super) const Z: usize = 16;
    pub(super) const Y: usize = 8;

    /// A row of words for each run, and whether it is given: what stands for the others is not stored.
    pub(super) struct Rows<'a, T, const N: usize> {
        all: [&'a [T]; N],
        given: [bool; N],
    }

    impl<'a, T, const N: usize> Rows<'a, T, N> {
        /// Those that are given, `any` being one; none if they are not of one length.
        pub(super) fn of(rows: &[Option<&'a [T]>], any: &'a [T]) -> Option<Rows<'a, T, N>> {
            let (mut all, mut given, mut alike) = ([any; N], [false; N], true);
            for (run, row) in rows.iter().enumerate().take(N) {
                (all[run], given[run]) = (row.unwrap_or(any), row.is_some());
                alike &= all[run].len() == any.len();
            }
            alike.then_some(Rows { all, given })
        }
    }

    /// How words of a row stand in a vector.
    pub(super) trait Form {
        /// Words in each element of 32 bits.
        const EACH: usize;
    }

    /// One in each element.
    pub(super) struct Single;
    /// Two of at most 16 bits: a vector transposes twice as many.
    pub(super) struct Pairs;

    impl Form for Single {
        const EACH: usize = 1;
    }

    impl Form for Pairs {
        const EACH: usize = 2;
    }

    /// Words of a row as elements of a vector. With a length that is known it is one instruction.
    #[inline(always)]
    #[allow(unsafe_code)]
    fn elements<T: Copy + Into<u64>, F: Form, const W: usize, const N: usize>(words: &[T; W]) -> [u32; N] {
        let mut elements = [0; N];
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

    /// Where a word of all runs is.
    #[inline(always)]
    fn vector<const N: usize>(memory: &mut [u32], place: u32) -> Option<&mut [u32; N]> {
        memory.get_mut(place as usize..)?.first_chunk_mut()
    }

    /// Sixteen runs, in blocks of `W` words. Closures would not have these instructions.
    #[target_feature(enable = "avx512f")]
    #[allow(unsafe_code)]
    pub(super) fn sixteen<T: Copy + Into<u64>, F: Form, const W: usize>(
        memory: &mut [u32],
        places: &[u32],
        rows: &Rows<T, Z>,
    ) {
        let mask = rows.given.iter().rev().fold(0, |mask, &given| mask << 1 | __mmask16::from(given));
        for (part, places) in places.chunks_exact(W).enumerate() {
            let mut t = [_mm512_setzero_si512(); Z];
            for i in 0..8 {
                let Some(a) = rows.all[2 * i].as_chunks::<W>().0.get(part) else { return };
                let Some(b) = rows.all[2 * i + 1].as_chunks::<W>().0.get(part) else { return };
                // SAFETY: both are sixteen words of any bits; so they are below.
                let a = unsafe { std::mem::transmute::<[u32; Z], __m512i>(elements::<T, F, W, Z>(a)) };
                // SAFETY: as above.
                let b = unsafe { std::mem::transmute::<[u32; Z], __m512i>(elements::<T, F, W, Z>(b)) };
                t[2 * i] = _mm512_unpacklo_epi32(a, b);
                t[2 * i + 1] = _mm512_unpackhi_epi32(a, b);
            }
            let mut u = t;
            for i in 0..4 {
                u[4 * i] = _mm512_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
                u[4 * i + 1] = _mm512_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
                u[4 * i + 2] = _mm512_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
                u[4 * i + 3] = _mm512_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
            }
            // Each quarter of u[4i + j] is now a column of four rows, from row 4i on.
            let mut columns = u;
            for j in 0..4 {
                let even = [
                    _mm512_shuffle_i32x4::<0x88>(u[j], u[4 + j]),
                    _mm512_shuffle_i32x4::<0x88>(u[8 + j], u[12 + j]),
                ];
                let odd = [
                    _mm512_shuffle_i32x4::<0xDD>(u[j], u[4 + j]),
                    _mm512_shuffle_i32x4::<0xDD>(u[8 + j], u[12 + j]),
                ];
                columns[j] = _mm512_shuffle_i32x4::<0x88>(even[0], even[1]);
                columns[4 + j] = _mm512_shuffle_i32x4::<0x88>(odd[0], odd[1]);
                columns[8 + j] = _mm512_shuffle_i32x4::<0xDD>(even[0], even[1]);
                columns[12 + j] = _mm512_shuffle_i32x4::<0xDD>(odd[0], odd[1]);
            }
            for (places, column) in places.chunks_exact(F::EACH).zip(columns) {
                for (i, &place) in places.iter().enumerate() {
                    let mut words = column;
                    if F::EACH == 2 {
                        let low = _mm512_and_si512(column, _mm512_set1_epi32(0xFFFF));
                        words = if i == 0 { low } else { _mm512_srli_epi32::<16>(column) };
                    }
                    let Some(to) = vector(memory, place) else { return };
                    if mask != !0 {
                        // SAFETY: as above.
                        let now = unsafe { std::mem::transmute::<[u32; Z], __m512i>(*to) };
                        words = _mm512_mask_blend_epi32(mask, now, words);
                    }
                    // SAFETY: as above.
                    *to = unsafe { std::mem::transmute::<__m512i, [u32; Z]>(words) };
                }
            }
        }
    }

    /// Eight runs, in blocks of `W` words.
    #[target_feature(enable = "avx2")]
    #[allow(unsafe_code)]
    pub(super) fn eight<T: Copy + Into<u64>, F: Form, const W: usize>(
        memory: &mut [u32],
        places: &[u32],
        rows: &Rows<T, Y>,
    ) {
        let mask = rows.given.map(|given| 0u32.wrapping_sub(given.into()));
        // SAFETY: both are eight words of any bits; so they are below.
        let mask = unsafe { std::mem::transmute::<[u32; Y], __m256i>(mask) };
        for (part, places) in places.chunks_exact(W).enumerate() {
            let mut t = [_mm256_setzero_si256(); Y];
            for i in 0..4 {
                let Some(a) = rows.all[2 * i].as_chunks::<W>().0.get(part) else { return };
                let Some(b) = rows.all[2 * i + 1].as_chunks::<W>().0.get(part) else { return };
                // SAFETY: as above.
                let a = unsafe { std::mem::transmute::<[u32; Y], __m256i>(elements::<T, F, W, Y>(a)) };
                // SAFETY: as above.
                let b = unsafe { std::mem::transmute::<[u32; Y], __m256i>(elements::<T, F, W, Y>(b)) };
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
                    let now = unsafe { std::mem::transmute::<[u32; Y], __m256i>(*to) };
                    words = _mm256_blendv_epi8(now, words, mask);
                    // SAFETY: as above.
                    *to = unsafe { std::mem::transmute::<__m256i, [u32; Y]>(words) };
                }
            }
        }
    }
}
