//! Words of several runs brought beside each other: a word of memory of all runs is a vector, and each run has its own row of words.

/// Puts words of each run where those of all runs lie beside each other, `places` being where each word begins; runs without words
/// keep what is there. Says whether it could: this needs as many runs as a vector of this machine has words, and rows of one length.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
pub(crate) fn scatter<T: Copy + Into<u64>>(
    memory: &mut [u32],
    beside: usize,
    places: &[u32],
    rows: &[Option<&[T]>],
) -> bool {
    let Some(&any) = rows.iter().flatten().next() else { return true };
    if rows.iter().flatten().any(|row| row.len() != any.len()) || any.len() > places.len() {
        return false;
    }
    match beside {
        x86::Z if is_x86_feature_detected!("avx512f") => {
            let (rows, given) = x86::complete(rows, any);
            // SAFETY: the machine has these instructions.
            unsafe { x86::sixteen(memory, places, &rows, given) };
        }
        x86::Y if is_x86_feature_detected!("avx2") => {
            let (rows, given) = x86::complete(rows, any);
            // SAFETY: the machine has these instructions.
            unsafe { x86::eight(memory, places, &rows, given) };
        }
        _ => return false,
    }
    // What does not fill a block.
    for i in any.len() / beside * beside..any.len() {
        for (run, row) in rows.iter().enumerate() {
            row.iter().for_each(|row| memory[places[i] as usize + run] = row[i].into() as u32);
        }
    }
    true
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn scatter<T: Copy + Into<u64>>(_: &mut [u32], _: usize, _: &[u32], _: &[Option<&[T]>]) -> bool {
    false
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    /// Words of a vector of AVX-512 and of AVX2.
    pub(super) const Z: usize = 16;
    pub(super) const Y: usize = 8;

    /// Rows for all runs, and which of them are given: what stands for the others is not stored.
    pub(super) fn complete<'a, T, const N: usize>(
        rows: &[Option<&'a [T]>],
        any: &'a [T],
    ) -> ([&'a [T]; N], [bool; N]) {
        let (mut all, mut given) = ([any; N], [false; N]);
        for (run, row) in rows.iter().enumerate().take(N) {
            (all[run], given[run]) = (row.unwrap_or(any), row.is_some());
        }
        (all, given)
    }

    /// Words of a row as they stand in memory: with a length that is known, one instruction.
    #[inline(always)]
    fn widened<T: Copy + Into<u64>, const N: usize>(words: &[T; N]) -> [u32; N] {
        let mut wide = [0; N];
        wide.iter_mut().zip(words).for_each(|(to, &word)| *to = word.into() as u32);
        wide
    }

    /// Where a word of all runs is.
    #[inline(always)]
    fn vector<const N: usize>(memory: &mut [u32], place: u32) -> Option<&mut [u32; N]> {
        memory.get_mut(place as usize..)?.first_chunk_mut()
    }

    #[target_feature(enable = "avx512f")]
    #[allow(unsafe_code)]
    pub(super) fn sixteen<T: Copy + Into<u64>>(
        memory: &mut [u32],
        places: &[u32],
        rows: &[&[T]; Z],
        given: [bool; Z],
    ) {
        let mask = given.iter().rev().fold(0, |mask, &given| mask << 1 | __mmask16::from(given));
        let blocks = rows.map(|row| row.as_chunks::<Z>().0);
        for (part, places) in places.chunks(Z).enumerate().take(blocks[0].len()) {
            let mut t = [_mm512_setzero_si512(); Z];
            for i in 0..8 {
                // No closure: it would not have these instructions.
                // SAFETY: both are sixteen words of any bits; so they are below.
                let a = unsafe { std::mem::transmute::<[u32; Z], __m512i>(widened(&blocks[2 * i][part])) };
                // SAFETY: as above.
                let b =
                    unsafe { std::mem::transmute::<[u32; Z], __m512i>(widened(&blocks[2 * i + 1][part])) };
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
            for (&place, column) in places.iter().zip(columns) {
                let Some(to) = vector(memory, place) else { return };
                let mut kept = column;
                if mask != !0 {
                    // SAFETY: as above.
                    let now = unsafe { std::mem::transmute::<[u32; Z], __m512i>(*to) };
                    kept = _mm512_mask_blend_epi32(mask, now, column);
                }
                // SAFETY: as above.
                *to = unsafe { std::mem::transmute::<__m512i, [u32; Z]>(kept) };
            }
        }
    }

    #[target_feature(enable = "avx2")]
    #[allow(unsafe_code)]
    pub(super) fn eight<T: Copy + Into<u64>>(
        memory: &mut [u32],
        places: &[u32],
        rows: &[&[T]; Y],
        given: [bool; Y],
    ) {
        let mask = given.map(|given| 0u32.wrapping_sub(given.into()));
        // SAFETY: eight words of any bits; so they are below.
        let mask = unsafe { std::mem::transmute::<[u32; Y], __m256i>(mask) };
        let blocks = rows.map(|row| row.as_chunks::<Y>().0);
        for (part, places) in places.chunks(Y).enumerate().take(blocks[0].len()) {
            let mut t = [_mm256_setzero_si256(); Y];
            for i in 0..4 {
                // No closure: it would not have these instructions.
                // SAFETY: both are eight words of any bits; so they are below.
                let a = unsafe { std::mem::transmute::<[u32; Y], __m256i>(widened(&blocks[2 * i][part])) };
                // SAFETY: as above.
                let b =
                    unsafe { std::mem::transmute::<[u32; Y], __m256i>(widened(&blocks[2 * i + 1][part])) };
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
            for (&place, column) in places.iter().zip(columns) {
                let Some(to) = vector(memory, place) else { return };
                // SAFETY: as above.
                let now = unsafe { std::mem::transmute::<[u32; Y], __m256i>(*to) };
                let kept = _mm256_blendv_epi8(now, column, mask);
                // SAFETY: as above.
                *to = unsafe { std::mem::transmute::<__m256i, [u32; Y]>(kept) };
            }
        }
    }
}
