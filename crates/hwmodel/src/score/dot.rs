//! The dot product `q . k` with every product and sum rounded to the format.

use super::{plural, show_sums};
use crate::attention::schedule::FrontSchedule;
use crate::rtl::{Module, Name, Number, Stage, Tag, Wire};
use crate::units::{MixedFunction, Operation, ProductFunction};
use flashd_spec::numerics::Numerics;

/// The rounded sum of the products of `q` and `k`, with elements of any encoding: products and the tree that adds them.
pub fn dot_product(around: &mut Module, name: impl Into<Name>, n: &Numerics, q: &[Wire], k: &[Wire]) -> Wire {
    let (format, d) = (n.formats.q, q.len());
    let tag = Tag::module(
        format!("{}_dot_product_{d}", format.ident()),
        format!("dot = sum of q[i] * k[i], d = {d}, every product and sum rounded to {format}."),
    );
    let schedule = FrontSchedule::new(true, n.tree_levels);
    around.part(name, tag, |m| {
        m.clock();
        let (q, k) = (m.inputs("q", q), m.inputs("k", k));
        let operands = q.iter().zip(&k).map(|(&q, &k)| [q, k]);
        let mut products = m.call_each("product", ProductFunction { format }, operands);
        m.stage(Stage::QueryAndKey);
        m.signals(&products, Number::Float(format), "q[#] k[#]");
        if schedule.after_products {
            products = m.registers("product_q", &products);
        }
        // The first level stays in the dot product's module.
        let at = [schedule.after_products.into(), 1];
        let sum = adder_tree(m, "tree", n, &products, &schedule.after_level, false, at);
        m.output("dot", sum)
    })
}

/// Adds two words or more: neighbours pairwise; an odd last word passes on. Builds one level, and calls itself for the
/// sums.
///
/// `registers` says for each level whether its sums are registered. Levels without a register between them form one
/// stage and one module. `own_module`: this level begins a module. The last argument gives the numbers of
/// its stage and of the level.
fn adder_tree(
    around: &mut Module,
    name: &str,
    n: &Numerics,
    x: &[Wire],
    registers: &[bool],
    own_module: bool,
    [stage, level]: [usize; 2],
) -> Wire {
    let (format, inputs) = (n.formats.q, x.len());
    let stages = registers.iter().filter(|r| **r).count();
    let tag = Tag::module(
        format!("{}_adder_tree_{inputs}", format.ident()),
        format!("y = sum of {inputs} words, pairwise, {stages} cycle{} later.", plural(stages)),
    );
    let tag = if own_module { tag } else { tag.dissolved() };
    around.part(name, tag, |m| {
        m.clock();
        let x = m.inputs("x", x);
        let pairs = x.chunks_exact(2).map(|pair| [pair[0], pair[1]]);
        let mut sums = m.call_each("sum", MixedFunction::uniform(Operation::Add, format), pairs);
        sums.extend(x.chunks_exact(2).remainder());
        show_sums(m, &sums[..inputs / 2], Number::Float(format), [stage, level]);
        if registers[0] {
            sums = m.registers("sum_q", &sums);
        }
        let y = match sums[..] {
            [sum] => sum,
            _ => {
                let at = [stage + usize::from(registers[0]), level + 1];
                adder_tree(m, "rest", n, &sums, &registers[1..], registers[0], at)
            }
        };
        m.output("y", y)
    })
}
