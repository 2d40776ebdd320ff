//! How vectors are cut into beats, and the leaves that do it.

use crate::rtl::{Pins, Tag, VectorFunction};
use crate::word::{Word, index_bits, ones};
use flashd_spec::config::WrapperConfig;

/// Which beat of a vector is stored.
pub struct BeatSelect {
    /// Beats of a vector, at least two.
    pub beats: usize,
}

impl VectorFunction for BeatSelect {
    fn header(&self) -> (Tag, Vec<Pins>, Vec<Pins>) {
        let tag = Tag::module(format!("beat_select_{}", self.beats), "Stores the beat in its place.");
        let inputs = vec![Pins::vector("fill", 1, 1), Pins::vector("beat", 1, index_bits(self.beats))];
        (tag, inputs, vec![Pins::vector("enable", self.beats, 1)])
    }

    fn eval<W: Word>(&self, inputs: &[Vec<W>]) -> Vec<Vec<W>> {
        let (fill, beat) = (&inputs[0][0], &inputs[1][0]);
        let is = |i: usize| beat.eq(&W::constant(beat.width(), i as u64)).and(fill);
        vec![(0..self.beats).map(is).collect()]
    }
}

/// An element from the words of beats that are no whole number of elements; or its words, for such beats.
pub struct ElementWords {
    /// Words of an element.
    pub parts: usize,
    /// Bits of a word.
    pub width: u32,
    /// The element from the words.
    pub join: bool,
}

impl VectorFunction for ElementWords {
    fn header(&self) -> (Tag, Vec<Pins>, Vec<Pins>) {
        let ElementWords { parts, width, join } = *self;
        let (element, words) = (parts as u32 * width, format!("{parts}x{width}"));
        if join {
            let tag = Tag::module(format!("element_join_{words}"), "Words to an element, the lowest first.");
            return (tag, vec![Pins::vector("x", parts, width)], vec![Pins::vector("y", 1, element)]);
        }
        let tag = Tag::module(format!("element_split_{words}"), "An element to words, the lowest first.");
        (tag, vec![Pins::vector("x", 1, element)], vec![Pins::vector("y", parts, width)])
    }

    fn eval<W: Word>(&self, inputs: &[Vec<W>]) -> Vec<Vec<W>> {
        let x = &inputs[0];
        if self.join {
            return vec![vec![x.iter().skip(1).fold(x[0].clone(), |low, high| high.concat(&low))]];
        }
        vec![(0..self.parts as u32).map(|i| x[0].slice(i * self.width, self.width)).collect()]
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
    /// That of a wrapper.
    pub fn of(config: &WrapperConfig) -> Self {
        Shape::new(config.array.core.d, config.element_bits(), config.beat())
    }

    /// Vectors of `d` elements of `width` bits in beats of `beat` bits.
    fn new(d: usize, width: u32, beat: u32) -> Self {
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
