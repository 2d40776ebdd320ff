//! Moves bytes between rows, which begin at any byte, and beats.

use crate::rtl::{Pins, Tag, VectorFunction};
use crate::word::Word;

/// Width of a word of a beat on the bus.
pub const BUS_WORD: u32 = 64;

/// Words joined or cut to words of `width` bits, the lowest first. Both widths are powers of two.
pub fn words_of<W: Word>(words: &[W], width: u32) -> Vec<W> {
    let from = words[0].width();
    if width < from {
        let parts = |word: &W| (0..from / width).map(|i| word.slice(i * width, width)).collect::<Vec<W>>();
        return words.iter().flat_map(parts).collect();
    }
    let join = |words: &[W]| words[1..].iter().fold(words[0].clone(), |low, high| high.concat(&low));
    words.chunks((width / from) as usize).map(join).collect()
}

/// Bytes rotated down by a number of places: byte i of the result is byte i + `by`.
fn rotate_down<W: Word>(bytes: &[W], by: &W) -> Vec<W> {
    let count = bytes.len();
    (0..by.width()).fold(bytes.to_vec(), |bytes, bit| {
        let step = 1 << bit;
        (0..count).map(|i| by.bit(bit).select(&bytes[(i + step) % count], &bytes[i])).collect()
    })
}

/// The bytes of a row from two beats: those from `offset` on of the last beat, and the lower ones of the beat that comes.
pub struct ReadAlign {
    /// Logarithm of the bytes of a beat.
    pub beat: u32,
    /// Bits of the words that are handed out.
    pub word: u32,
}

impl VectorFunction for ReadAlign {
    fn header(&self) -> (Tag, Vec<Pins>, Vec<Pins>) {
        let beat = 1usize << self.beat;
        let words = 8 * beat / BUS_WORD as usize;
        let out = 8 * beat / self.word as usize;
        let tag = Tag::module(
            format!("read_align_{beat}_{out}x{}", self.word),
            "The beat, if the row begins with one; else the upper bytes of the one before, and the lower ones of this.",
        );
        let inputs = vec![
            Pins::vector("now", words, BUS_WORD),
            Pins::vector("previous", words, BUS_WORD),
            Pins::word("offset", self.beat),
            Pins::word("absent", 1),
        ];
        (tag, inputs, vec![Pins::vector("y", out, self.word)])
    }

    fn eval<W: Word>(&self, inputs: &[Vec<W>]) -> Vec<Vec<W>> {
        let (now, before) = (words_of(&inputs[0], 8), words_of(&inputs[1], 8));
        let (offset, absent) = (&inputs[2][0], &inputs[3][0]);
        let aligned = offset.any().not().named("aligned");
        let chosen: Vec<W> = now
            .iter()
            .zip(&before)
            .enumerate()
            .map(|(i, (now, before))| {
                let below = W::constant(self.beat, i as u64).lt(offset).or(&aligned);
                below.and(&absent.not()).select(now, &absent.not().repeat(8).and(before))
            })
            .collect();
        let rotated = rotate_down(&chosen, offset);
        vec![words_of(&rotated, self.word)]
    }
}

/// The bytes of a written beat: first the rest of the row's last beat, then bytes of the row, moved up by `offset`.
pub struct WriteAlign {
    /// Logarithm of the bytes of a beat.
    pub beat: u32,
    /// Bits of the words that come.
    pub word: u32,
}

impl VectorFunction for WriteAlign {
    fn header(&self) -> (Tag, Vec<Pins>, Vec<Pins>) {
        let beat = 1usize << self.beat;
        let words = 8 * beat / BUS_WORD as usize;
        let x = 8 * beat / self.word as usize;
        let tag = Tag::module(
            format!("write_align_{beat}_{x}x{}", self.word),
            "Rotates bytes up by the offset; those that go round wait for the next beat. tail: no others follow them.",
        );
        let inputs = vec![
            Pins::vector("x", x, self.word),
            Pins::vector("left", words, BUS_WORD),
            Pins::word("offset", self.beat),
            Pins::word("tail", 1),
        ];
        (tag, inputs, vec![Pins::vector("y", words, BUS_WORD), Pins::vector("round", words, BUS_WORD)])
    }

    fn eval<W: Word>(&self, inputs: &[Vec<W>]) -> Vec<Vec<W>> {
        let (x, left, offset) = (words_of(&inputs[0], 8), words_of(&inputs[1], 8), &inputs[2][0]);
        let tail = &inputs[3][0];
        let down = W::zero(self.beat).sub(offset).named("down");
        let round = rotate_down(&x, &down);
        let y: Vec<W> = round
            .iter()
            .zip(&left)
            .enumerate()
            .map(|(i, (new, old))| W::constant(self.beat, i as u64).lt(offset).or(tail).select(old, new))
            .collect();
        vec![words_of(&y, BUS_WORD), words_of(&round, BUS_WORD)]
    }
}
