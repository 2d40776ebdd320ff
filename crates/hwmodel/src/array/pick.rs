//! Chooses one of the results that the cores hold.

use crate::rtl::{Module, Pins, Tag, VectorFunction, VectorLeaf, Wire};
use crate::word::{Word, index_bits};

/// One element of the result of core `index`: `y = x[index]`. A tree of multiplexers uses a bit of the index in each
/// level, the lowest first.
pub struct ResultPick {
    /// Number of cores, at least two.
    pub queries: usize,
    /// Width of the element.
    pub width: u32,
}

impl VectorFunction for ResultPick {
    /// Inputs: `index`, the core; `x`, the element in every core.
    fn header(&self) -> (Tag, Vec<Pins>, Vec<Pins>) {
        let tag = Tag::module(format!("result_pick_{}x{}", self.queries, self.width), "y = x[index].");
        let index = Pins::word("index", index_bits(self.queries));
        (tag, vec![index, Pins::vector("x", self.queries, self.width)], vec![Pins::word("y", self.width)])
    }

    fn eval<W: Word>(&self, inputs: &[Vec<W>]) -> Vec<Vec<W>> {
        let index = &inputs[0][0];
        let mut level = inputs[1].clone();
        let mut bit = 0;
        while level.len() > 1 {
            let odd = index.bit(bit);
            level = level
                .chunks(2)
                .map(|pair| match pair {
                    [even, other] => odd.select(other, even).named("pair"),
                    single => single[0].clone(),
                })
                .collect();
            bit += 1;
        }
        vec![level]
    }
}

/// The words of core `index`.
pub fn picked<'a>(
    m: &mut Module,
    name: &'static str,
    index: Wire,
    cores: impl Iterator<Item = &'a [Wire]>,
) -> Vec<Wire> {
    let cores: Vec<&[Wire]> = cores.collect();
    let pick = ResultPick { queries: cores.len(), width: cores[0].first().map_or(1, |word| word.width()) };
    let inputs = (0..cores[0].len())
        .map(|j| [index].into_iter().chain(cores.iter().map(|words| words[j])).collect::<Vec<Wire>>());
    m.leaf_each(name, VectorLeaf::new(pick), inputs).concat()
}
