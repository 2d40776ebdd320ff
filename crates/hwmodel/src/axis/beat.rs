//! How vectors are cut into beats, and the leaves that do it.

use super::leaf::vector_unit;
use crate::rtl::Tag;
use crate::word::{index_bits, ones};

vector_unit! {
    /// Which beat of a vector is stored.
    pub struct BeatSelect {}
    inputs { fill, beat }
    outputs { enable }
    eval<W>(this) {
        let (fill, beat) = (&fill[0], &beat[0]);
        let is = |i: usize| beat.eq(&W::constant(beat.width(), i as u64)).and(fill);
        ((0..this.enable.len()).map(is).collect(),)
    }
}

impl BeatSelect {
    /// For so many beats, at least two.
    pub fn new(beats: usize) -> Self {
        let tag = Tag::module(format!("beat_select_{beats}"), "Stores the beat in its place.");
        BeatSelect::with(tag, (1, 1), (1, index_bits(beats)), (beats, 1))
    }
}

vector_unit! {
    /// An element from the words of beats that are no whole number of elements.
    pub struct ElementJoin {}
    inputs { x }
    outputs { y }
    eval<W>(this) {
        let joined = x.iter().skip(1).fold(x[0].clone(), |low, high| high.concat(&low));
        (vec![joined],)
    }
}

impl ElementJoin {
    /// From `parts` words of `width` bits.
    pub fn new(parts: usize, width: u32) -> Self {
        let tag =
            Tag::module(format!("element_join_{parts}x{width}"), "Words to an element, the lowest first.");
        ElementJoin::with(tag, (parts, width), (1, parts as u32 * width))
    }
}

vector_unit! {
    /// The words of an element, for beats that are no whole number of elements.
    pub struct ElementSplit {}
    inputs { x }
    outputs { y }
    eval<W>(this) {
        let width = x[0].width() / this.y.len() as u32;
        ((0..this.y.len() as u32).map(|i| x[0].slice(i * width, width)).collect(),)
    }
}

impl ElementSplit {
    /// Into `parts` words of `width` bits.
    pub fn new(parts: usize, width: u32) -> Self {
        let tag =
            Tag::module(format!("element_split_{parts}x{width}"), "An element to words, the lowest first.");
        ElementSplit::with(tag, (1, parts as u32 * width), (parts, width))
    }
}

/// How a vector is cut into beats. Beats and elements are whole numbers of words; a word is an element where beats
/// are whole numbers of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Elements of a vector, d.
    pub d: usize,
    /// Bits of an element.
    pub width: u32,
    /// Beats of a vector.
    pub beats: usize,
    /// Words of an element.
    pub parts: usize,
    /// Words of a beat.
    pub words: usize,
}

impl Shape {
    /// Vectors of `d` elements of `width` bits in beats of `beat` bits.
    pub fn new(d: usize, width: u32, beat: u32) -> Self {
        let (mut a, mut b) = (width, beat);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        let beats = d * width as usize / beat as usize;
        Shape { d, width, beats, parts: (width / a) as usize, words: (beat / a) as usize }
    }

    /// Bits of a word.
    pub fn word_bits(&self) -> u32 {
        self.width / self.parts as u32
    }

    /// The beats of a vector, in words.
    pub fn beats_of(&self, vector: &[u64]) -> Vec<Vec<u64>> {
        let bits = self.word_bits();
        let word = |element: u64, part: usize| element >> (part as u32 * bits) & ones(bits);
        let words: Vec<u64> =
            vector.iter().flat_map(|x| (0..self.parts).map(move |part| word(*x, part))).collect();
        words.chunks(self.words).map(<[u64]>::to_vec).collect()
    }

    /// The vector that beats make.
    pub fn vector_of(&self, beats: &[Vec<u64>]) -> Vec<u64> {
        let bits = self.word_bits();
        let element = |words: &[u64]| words.iter().rev().fold(0, |high, word| high << bits | word);
        beats.concat().chunks(self.parts).map(element).collect()
    }

    /// How it is called in module names.
    pub fn ident(&self) -> String {
        let Shape { d, width, beats, .. } = self;
        match beats {
            1 => format!("{d}x{width}"),
            _ => format!("{d}x{width}_{beats}"),
        }
    }
}
