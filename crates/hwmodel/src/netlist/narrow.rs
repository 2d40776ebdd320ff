//! Cuts every value to the bits that are read, so that no printed operator is wider than necessary.
//!
//! Functions over words compute in full widths and slice the result: a product is as wide as both factors together, a
//! shift as its operand. Numbers cost nothing extra by that, but Verilog would have bits that nothing reads.
//!
//! An operator is cut to bits `low..high` of its result only where that is exact: where the same operator, applied to
//! cut operands, gives these bits.
//!
//! | operator | low | high | because |
//! | --- | --- | --- | --- |
//! | bitwise, selection, table, join, slice | yes | yes | a bit of the result depends on no other place |
//! | sum, difference, product | no | yes | carries go up only |
//! | sum with `2^k`, read above k | yes | yes | below k nothing changes, and the bit at k is the carry out of it |
//! | shift left | no | yes | bits move up only |
//! | shift right | yes | no | bits move down only: `(x >> n) >> low` is `(x >> low) >> n` |
//! | comparison, and or or of all bits | no | no | the one bit of the result depends on every bit |

use super::net::{Net, Op};
use super::value::{binary, unary};
use crate::word::{Word, ones};
use std::collections::HashMap;
use std::collections::btree_map::{BTreeMap, Entry};
use std::ops::Range;

/// A range of bit places, from the lowest to one above the highest.
type Bits = Range<u32>;

/// Returns outputs that equal `outputs` bit for bit, with every value that they depend on cut to the bits that are
/// read.
pub fn narrow(outputs: &[(String, Net)]) -> Vec<(String, Net)> {
    // A node is made after its operands, so the order of ids is an order of evaluation.
    let mut nodes = BTreeMap::new();
    let mut open: Vec<Net> = outputs.iter().map(|(_, net)| net.clone()).collect();
    while let Some(net) = open.pop() {
        if let Entry::Vacant(entry) = nodes.entry(net.0.id) {
            open.extend(children(&net.0.op).into_iter().cloned());
            entry.insert(net);
        }
    }
    let mut kept: HashMap<usize, Bits> = HashMap::new();
    for (_, net) in outputs {
        kept.insert(net.0.id, 0..net.width());
    }
    for (id, net) in nodes.iter().rev() {
        // Nothing reads a node whose only reader is the unread half of a concatenation.
        let Some(read) = kept.get(id) else { continue };
        let bits = exact(net, read);
        for (child, read) in children(&net.0.op).into_iter().zip(operands(net, &bits)) {
            if !read.is_empty() {
                let all = kept.entry(child.0.id).or_insert_with(|| read.clone());
                *all = all.start.min(read.start)..all.end.max(read.end);
            }
        }
        kept.insert(*id, bits);
    }
    let mut cuts = Cuts::new();
    for (id, net) in &nodes {
        if let Some(bits) = kept.get(id) {
            let cut = rebuild(net, bits, &cuts);
            cuts.insert(*id, (bits.start, cut));
        }
    }
    outputs.iter().map(|(name, net)| (name.clone(), cuts[&net.0.id].1.clone())).collect()
}

/// By id, the cut node, and the place that its lowest bit had in the original.
type Cuts = HashMap<usize, (u32, Net)>;

/// If a node adds the constant `2^k` and only bits above place k are read, as in rounding half up, returns k.
fn rounding(net: &Net, read: &Bits) -> Option<u32> {
    let Op::Binary("+", _, one) = &net.0.op else { return None };
    let one = one.as_constant()?.value();
    (one.is_power_of_two() && read.start > one.trailing_zeros()).then(|| one.trailing_zeros())
}

/// The bits of a node that must be computed if `read` are read: at least these, as the table above says.
fn exact(net: &Net, read: &Bits) -> Bits {
    if let Some(place) = rounding(net, read) {
        return place + 1..read.end;
    }
    match net.0.op {
        // The interface of the module fixes the width of a port.
        Op::Input(_) => 0..net.width(),
        Op::Binary("+" | "-" | "<<", ..) | Op::Multiply(..) => 0..read.end,
        Op::Binary(">>", ..) => read.start..net.width(),
        _ => read.clone(),
    }
}

/// For each operand of a node, in the order of [`children`], its bits on which the node's bits `bits` depend.
fn operands(net: &Net, bits: &Bits) -> Vec<Bits> {
    if let Some(place) = rounding(net, bits) {
        return vec![place..bits.end, 0..0];
    }
    let all = |operand: &Net| 0..operand.width();
    match &net.0.op {
        Op::Input(_) | Op::Constant(_) => vec![],
        Op::Unary("~", _) => vec![bits.clone()],
        Op::Unary(_, a) | Op::Repeat(a) | Op::Lookup(a, _) => vec![all(a)],
        Op::Slice(_, low) => {
            let read = low + bits.start..low + bits.end;
            vec![read]
        }
        Op::Binary("&" | "|" | "^" | "+" | "-", ..) => vec![bits.clone(), bits.clone()],
        Op::Binary("<<" | ">>", _, amount) => vec![bits.clone(), all(amount)],
        Op::Binary(_, a, b) | Op::SignedLess(a, b) => vec![all(a), all(b)],
        Op::Multiply(a, b) => vec![0..bits.end.min(a.width()), 0..bits.end.min(b.width())],
        Op::Concat(_, low) => {
            let n = low.width();
            vec![bits.start.max(n) - n..bits.end.max(n) - n, bits.start.min(n)..bits.end.min(n)]
        }
        Op::Select(..) => vec![0..1, bits.clone(), bits.clone()],
    }
}

/// Makes bits `bits` of a node from its cut operands. The node itself, if nothing was cut.
fn rebuild(net: &Net, bits: &Bits, cuts: &Cuts) -> Net {
    let width = bits.end - bits.start;
    let operands: Vec<Option<Net>> = (children(&net.0.op).into_iter().zip(operands(net, bits)))
        .map(|(operand, read)| {
            let (low, cut) = cuts.get(&operand.0.id)?;
            (!read.is_empty()).then(|| cut.slice(read.start - low, read.end - read.start))
        })
        .collect();
    let same = |(new, old): (&Option<Net>, &Net)| new.as_ref().is_some_and(|new| new.is_same(old));
    if width == net.width() && operands.iter().zip(children(&net.0.op)).all(same) {
        return net.clone();
    }
    let cut = match (&net.0.op, &operands[..]) {
        (Op::Constant(_), _) => net.slice(bits.start, width),
        (Op::Unary(op, _), [Some(a)]) => unary(op, a),
        (Op::Slice(..), [Some(a)]) => a.clone(),
        (Op::Repeat(_), [Some(bit)]) => bit.repeat(width),
        (Op::Lookup(_, entries), [Some(index)]) => {
            let entries: Vec<u64> = entries.iter().map(|entry| entry >> bits.start & ones(width)).collect();
            index.lookup(&entries, width)
        }
        (Op::Binary(op, ..), [Some(a), Some(b)]) => binary(op, a, b),
        // Rounding half up: the carry out of the place of the constant is the bit of x there.
        (Op::Binary("+", ..), [Some(x), None]) => x.drop_low(1).add(&x.bit(0).zext(width)),
        (Op::SignedLess(..), [Some(a), Some(b)]) => a.slt(b),
        (Op::Multiply(..), [Some(a), Some(b)]) => a.product(b, width),
        (Op::Concat(..), [Some(high), Some(low)]) => high.concat(low),
        (Op::Concat(..), [Some(one), None] | [None, Some(one)]) => one.clone(),
        (Op::Select(..), [Some(condition), Some(then), Some(otherwise)]) => condition.select(then, otherwise),
        (op, _) => unreachable!("an operand of {op:?} is not read"),
    };
    match net.name() {
        Some(name) => cut.named(name),
        None => cut,
    }
}

/// The operands of an expression, in order.
pub(super) fn children(op: &Op) -> Vec<&Net> {
    match op {
        Op::Input(_) | Op::Constant(_) => vec![],
        Op::Unary(_, a) | Op::Slice(a, _) | Op::Repeat(a) | Op::Lookup(a, _) => vec![a],
        Op::Binary(_, a, b) | Op::SignedLess(a, b) | Op::Multiply(a, b) | Op::Concat(a, b) => vec![a, b],
        Op::Select(a, b, c) => vec![a, b, c],
    }
}
