//! Bits of a deflate stream.

/// Bits that are put behind bytes, the lowest first.
pub(super) struct Bits<'a> {
    out: &'a mut Vec<u8>,
    at: usize,
    held: u64,
    count: u32,
}

impl<'a> Bits<'a> {
    /// Behind what is there already, with room for so many bytes, and for codes and their end.
    pub(super) fn new(out: &'a mut Vec<u8>, room: usize) -> Bits<'a> {
        let at = out.len();
        out.resize(at + room + 1024, 0);
        Bits { out, at, held: 0, count: 0 }
    }

    #[inline]
    pub(super) fn put(&mut self, bits: u32, count: u32) {
        self.add(bits.into(), count);
        self.flush();
    }

    /// Of these there are 56 at most until they are flushed.
    #[inline]
    pub(super) fn add(&mut self, bits: u64, count: u32) {
        self.held |= bits << self.count;
        self.count += count;
    }

    /// Leaves less than eight.
    #[inline]
    pub(super) fn flush(&mut self) {
        self.out[self.at..self.at + 8].copy_from_slice(&self.held.to_le_bytes());
        self.at += self.count as usize / 8;
        self.held >>= self.count & !7;
        self.count &= 7;
    }

    /// The first bytes of some.
    #[inline]
    pub(super) fn put_bytes(&mut self, rest: &[u8], count: usize, codes: &[(u32, u32); 256]) {
        // Few are put without branches, which would mostly be guessed wrong.
        if let (Some(three), ..=3) = (rest.first_chunk::<3>(), count) {
            for (i, byte) in three.iter().enumerate() {
                let (code, length) = codes[usize::from(*byte)];
                let mask = 0u32.wrapping_sub(u32::from(i < count));
                self.add((code & mask).into(), length & mask);
            }
            self.flush();
            return;
        }
        for three in rest[..count].chunks(3) {
            for byte in three {
                let (code, length) = codes[usize::from(*byte)];
                self.add(code.into(), length);
            }
            self.flush();
        }
    }

    pub(super) fn end(self) {
        let bytes = self.count.div_ceil(8) as usize;
        self.out[self.at..self.at + 8].copy_from_slice(&self.held.to_le_bytes());
        self.out.truncate(self.at + bytes);
    }
}
