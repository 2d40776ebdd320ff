//! How vectors are cut into beats, and the leaves that do it.

use crate::rtl::{Pins, Tag, VectorFunction};
use crate::word::{Word, index_bits, ones};
use flashd_spec::config::{Carried, StreamWords, WrapperConfig};

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

/// An element from its words, or its words.
pub struct ElementWords {
    /// Words of an element.
    pub parts: usize,
    /// Bits of a word.
    pub width: u32,
    /// Bits of the element, at most those of its words.
    pub bits: u32,
    /// The element from the words.
    pub join: bool,
}

impl VectorFunction for ElementWords {
    fn header(&self) -> (Tag, Vec<Pins>, Vec<Pins>) {
        let ElementWords { parts, width, bits, join } = *self;
        let suffix = if bits == parts as u32 * width { String::new() } else { format!("_{bits}") };
        let words = format!("{parts}x{width}{suffix}");
        if join {
            let tag = Tag::module(format!("element_join_{words}"), "Words to an element, the lowest first.");
            return (tag, vec![Pins::vector("x", parts, width)], vec![Pins::vector("y", 1, bits)]);
        }
        let tag = Tag::module(format!("element_split_{words}"), "An element to words, the lowest first.");
        (tag, vec![Pins::vector("x", 1, bits)], vec![Pins::vector("y", parts, width)])
    }

    fn eval<W: Word>(&self, inputs: &[Vec<W>]) -> Vec<Vec<W>> {
        let x = &inputs[0];
        let room = self.parts as u32 * self.width;
        if self.join {
            let all = x.iter().skip(1).fold(x[0].clone(), |low, high| high.concat(&low));
            return vec![vec![if self.bits == room { all } else { all.slice(0, self.bits) }]];
        }
        let all = if self.bits == room { x[0].clone() } else { x[0].zext(room) };
        vec![(0..self.parts as u32).map(|i| all.slice(i * self.width, self.width)).collect()]
    }
}

/// How a vector is cut into beats. Beats and elements are whole numbers of words; a word is an element where beats
/// are whole numbers of elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The elements of a vector.
    elements: Vec<StreamWords>,
    /// Bits of a word.
    word: u32,
    /// Beats of a vector.
    pub beats: usize,
    /// Words of a beat.
    pub words: usize,
}

/// The greatest number that divides both.
fn common(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { common(b, a % b) }
}

impl Shape {
    /// That of the vectors that a stream of a wrapper carries.
    pub fn of(config: &WrapperConfig, carried: Carried) -> Self {
        let (elements, beat) = (config.words(carried), config.beat_of(carried));
        let word = elements.iter().fold(beat, |word, elements| common(word, elements.room));
        Shape { elements, word, beats: config.beats(carried) as usize, words: (beat / word) as usize }
    }

    /// Bits of a word.
    pub fn word_bits(&self) -> u32 {
        self.word
    }

    /// Words of a vector, without those that fill its last beat.
    pub fn vector_words(&self) -> usize {
        self.parts().map(|(_, parts)| parts).sum()
    }

    /// Elements of a vector.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.elements.iter().map(|elements| elements.count).sum()
    }

    /// The elements of a vector, by width.
    pub fn runs(&self) -> &[StreamWords] {
        &self.elements
    }

    /// Bits of each element, and its words.
    pub fn parts(&self) -> impl Iterator<Item = (u32, usize)> {
        let one = |elements: &StreamWords| (elements.bits, (elements.room / self.word) as usize);
        self.elements.iter().flat_map(move |elements| std::iter::repeat_n(one(elements), elements.count))
    }

    /// Each element by its width's place among [`Shape::runs`] and its own among those: with its bits and words. Instances of one name
    /// have one width.
    pub(super) fn places(&self) -> impl Iterator<Item = (usize, usize, (u32, usize))> {
        let numbers = |(run, elements): (usize, &StreamWords)| (0..elements.count).map(move |e| (run, e));
        self.elements
            .iter()
            .enumerate()
            .flat_map(numbers)
            .zip(self.parts())
            .map(|((run, e), of)| (run, e, of))
    }

    /// The leaf that joins or splits an element of so many bits and words; none where it is a word.
    pub(super) fn element(&self, (bits, parts): (u32, usize), join: bool) -> Option<ElementWords> {
        let is_word = parts == 1 && bits == self.word;
        (!is_word).then_some(ElementWords { parts, width: self.word, bits, join })
    }

    /// The beats of a vector, in words.
    pub fn beats_of(&self, vector: &[u64]) -> Vec<Vec<u64>> {
        let word = |element: u64, part: usize| element.checked_shr(part as u32 * self.word).unwrap_or(0);
        let mut words: Vec<u64> = vector
            .iter()
            .zip(self.parts())
            .flat_map(|(x, (_, parts))| (0..parts).map(move |part| word(*x, part) & ones(self.word)))
            .collect();
        words.resize(self.beats * self.words, 0);
        words.chunks(self.words).map(<[u64]>::to_vec).collect()
    }

    /// The vector that beats make.
    pub fn vector_of(&self, beats: &[Vec<u64>]) -> Vec<u64> {
        let mut words = beats.iter().flatten().copied();
        let mut element = |(bits, parts): (u32, usize)| {
            let all = (0..parts).fold(0, |low, part| {
                low | words.next().unwrap_or(0).checked_shl(part as u32 * self.word).unwrap_or(0)
            });
            all & ones(bits)
        };
        self.parts().map(&mut element).collect()
    }

    /// How it is called in module names.
    pub fn ident(&self) -> String {
        let one = |StreamWords { count, bits, room }: &StreamWords| match bits == room {
            true => format!("{count}x{bits}"),
            false => format!("{count}x{bits}in{room}"),
        };
        let mut ident = self.elements.iter().map(one).collect::<Vec<_>>().join("_");
        if self.beats > 1 {
            ident += &format!("_{}", self.beats);
        }
        // Where a vector fills its beats, their number says how long they are.
        if self.beats * self.words != self.vector_words() {
            ident += &format!("_b{}", self.words as u32 * self.word);
        }
        ident
    }
}
