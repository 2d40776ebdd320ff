//! How vectors are cut into beats, and the leaves that join and split them.

use crate::rtl::{Pins, Tag, VectorFunction};
use crate::word::{Word, index_bits, ones};
use flashd_spec::config::{Carried, StreamWords, WrapperConfig};

/// One enable for each beat of a vector: the incoming beat's is set.
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

/// Joins words to an element, or splits an element into words, the lowest word first.
pub struct ElementWords {
    /// Words of an element.
    pub parts: usize,
    /// Bits of a word.
    pub width: u32,
    /// Bits of the element, at most `parts * width`.
    pub bits: u32,
    /// Join words to the element; otherwise split it.
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

/// How a vector is cut into beats. A word is the largest unit that divides both the beat and every element's room, so it
/// is an element where a beat has a whole number of elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The elements of a vector, grouped by width.
    elements: Vec<StreamWords>,
    /// Bits of a word.
    word: u32,
    /// Beats of a vector.
    pub beats: usize,
    /// Words of a beat.
    pub words: usize,
}

/// The greatest common divisor.
fn common(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { common(b, a % b) }
}

impl Shape {
    /// The shape of the vectors in a wrapper's stream.
    pub fn of(config: &WrapperConfig, carried: Carried) -> Self {
        Shape::in_beats(config.words(carried), config.beat_of(carried))
    }

    /// The shape of vectors of these elements in beats of `beat` bits, which may be more than a vector has.
    pub fn in_beats(elements: Vec<StreamWords>, beat: u32) -> Self {
        let word = elements.iter().fold(beat, |word, elements| common(word, elements.room));
        let bits: u32 = elements.iter().map(StreamWords::total).sum();
        Shape { elements, word, beats: bits.div_ceil(beat) as usize, words: (beat / word) as usize }
    }

    /// The shape of several vectors, each from a new beat of `beat` bits on, and the words of zeros that follow each.
    pub fn in_parts(parts: &[Vec<StreamWords>], beat: u32) -> (Shape, Vec<usize>) {
        let word = parts.iter().flatten().fold(beat, |word, elements| common(word, elements.room));
        let bits = |part: &[StreamWords]| part.iter().map(StreamWords::total).sum::<u32>();
        let fill =
            |part: &Vec<StreamWords>| ((bits(part).next_multiple_of(beat) - bits(part)) / word) as usize;
        let fills: Vec<usize> = parts.iter().map(fill).collect();
        let filled = |(part, &count): (&Vec<StreamWords>, &usize)| {
            let zeros = StreamWords { count, bits: word, room: word };
            part.iter().copied().chain((count > 0).then_some(zeros)).collect::<Vec<_>>()
        };
        let elements: Vec<StreamWords> = parts.iter().zip(&fills).flat_map(filled).collect();
        let beats = (bits(&elements) / beat) as usize;
        (Shape { elements, word, beats, words: (beat / word) as usize }, fills)
    }

    /// The same vector in one beat.
    #[must_use]
    pub fn whole(&self) -> Shape {
        Shape { beats: 1, words: self.beats * self.words, ..self.clone() }
    }

    /// Bits of a word.
    pub fn word_bits(&self) -> u32 {
        self.word
    }

    /// Words of a vector, without the zeros that fill its last beat.
    pub fn vector_words(&self) -> usize {
        self.parts().map(|(_, parts)| parts).sum()
    }

    /// Elements of a vector.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.elements.iter().map(|elements| elements.count).sum()
    }

    /// The elements of a vector, grouped by width.
    pub fn runs(&self) -> &[StreamWords] {
        &self.elements
    }

    /// For each element its bits and its number of words.
    pub fn parts(&self) -> impl Iterator<Item = (u32, usize)> {
        let one = |elements: &StreamWords| (elements.bits, (elements.room / self.word) as usize);
        self.elements.iter().flat_map(move |elements| std::iter::repeat_n(one(elements), elements.count))
    }

    /// For each element: its group in [`Shape::runs`], its place in the group, and its bits and number of words. The group is in instance
    /// names, so that instances of one name have one width.
    pub(super) fn places(&self) -> impl Iterator<Item = (usize, usize, (u32, usize))> {
        let numbers = |(run, elements): (usize, &StreamWords)| (0..elements.count).map(move |e| (run, e));
        self.elements
            .iter()
            .enumerate()
            .flat_map(numbers)
            .zip(self.parts())
            .map(|((run, e), of)| (run, e, of))
    }

    /// The leaf that joins or splits an element of `bits` bits in `parts` words; none if the element is a word.
    pub(crate) fn element(&self, (bits, parts): (u32, usize), join: bool) -> Option<ElementWords> {
        let is_word = parts == 1 && bits == self.word;
        (!is_word).then_some(ElementWords { parts, width: self.word, bits, join })
    }

    /// Cuts a vector into beats of words; zeros fill the last beat.
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

    /// Joins beats to a vector, the inverse of [`Shape::beats_of`].
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

    /// The shape's name within module names.
    pub fn ident(&self) -> String {
        let one = |StreamWords { count, bits, room }: &StreamWords| match bits == room {
            true => format!("{count}x{bits}"),
            false => format!("{count}x{bits}in{room}"),
        };
        let mut ident = self.elements.iter().map(one).collect::<Vec<_>>().join("_");
        if self.beats > 1 {
            ident += &format!("_{}", self.beats);
        }
        // If a vector fills its beats, their number gives their length.
        if self.beats * self.words != self.vector_words() {
            ident += &format!("_b{}", self.words as u32 * self.word);
        }
        ident
    }
}
