//! [`Net`], the implementation of [`Word`] that records operations as a netlist and simplifies them on the way.

use crate::word::{Num, Word, ones};
use std::cell::{Cell, OnceCell};
use std::rc::Rc;

#[derive(Debug)]
pub(super) enum Op {
    /// An input port; with an offset, the element of a packed port whose lowest bit is there.
    Input(Option<u32>),
    Constant(u64),
    Unary(&'static str, Net),
    Binary(&'static str, Net, Net),
    SignedLess(Net, Net),
    /// The product, cut to the width of the node.
    Multiply(Net, Net),
    Slice(Net, u32),
    Concat(Net, Net),
    Repeat(Net),
    Select(Net, Net, Net),
    Lookup(Net, Vec<u64>),
}

#[derive(Debug)]
pub(super) struct Node {
    pub(super) op: Op,
    pub(super) width: u32,
    /// Set at most once, also after other nodes have taken this one as an operand.
    name: OnceCell<String>,
    pub(super) id: usize,
}

/// A word whose value is an expression of input ports. Clones share the node.
#[derive(Clone, Debug)]
pub struct Net(pub(super) Rc<Node>);

thread_local! {
    static NEXT_ID: Cell<usize> = const { Cell::new(0) };
}

impl Net {
    fn new(op: Op, width: u32) -> Net {
        let id = NEXT_ID.with(|n| n.replace(n.get() + 1));
        Net(Rc::new(Node { op, width, name: OnceCell::new(), id }))
    }

    /// The input port `name`.
    pub fn input(name: &str, width: u32) -> Net {
        Net::port(name, None, width)
    }

    /// Element `index` of the packed port `name`, whose elements are `width` bits wide: bits `[index*width +: width]`.
    pub fn element(name: &str, index: usize, width: u32) -> Net {
        Net::port(name, Some(index as u32 * width), width)
    }

    fn port(name: &str, offset: Option<u32>, width: u32) -> Net {
        let id = NEXT_ID.with(|n| n.replace(n.get() + 1));
        Net(Rc::new(Node { op: Op::Input(offset), width, name: OnceCell::from(name.to_string()), id }))
    }

    /// Verilog for bits `[low +: width]` of the port or wire `identifier` that carries this word. Within a packed port,
    /// `low` counts from the element.
    pub(super) fn bits(&self, identifier: &str, low: u32, width: u32) -> String {
        let (base, whole) = match self.0.op {
            Op::Input(Some(offset)) => (offset, false),
            _ => (0, width == self.width()),
        };
        match (whole, width) {
            (true, _) => identifier.to_string(),
            (false, 1) => format!("{identifier}[{}]", base + low),
            (false, w) => format!("{identifier}[{}:{}]", base + low + w - 1, base + low),
        }
    }

    pub(super) fn as_constant(&self) -> Option<Num> {
        match self.0.op {
            Op::Constant(v) => Some(Num::new(self.0.width, v)),
            _ => None,
        }
    }

    fn from_num(n: Num) -> Net {
        Net::constant(n.width(), n.value())
    }

    fn fold1(&self, f: impl Fn(Num) -> Num, otherwise: impl FnOnce() -> Net) -> Net {
        self.as_constant().map_or_else(otherwise, |a| Net::from_num(f(a)))
    }

    fn fold2(&self, o: &Net, f: impl Fn(Num, Num) -> Num, otherwise: impl FnOnce() -> Net) -> Net {
        match (self.as_constant(), o.as_constant()) {
            (Some(a), Some(b)) => Net::from_num(f(a, b)),
            _ => otherwise(),
        }
    }

    fn binary(&self, op: &'static str, o: &Net, width: u32) -> Net {
        Net::new(Op::Binary(op, self.clone(), o.clone()), width)
    }

    /// The result of a bitwise and or or that is one of its operands: one of them is constant, or both are the same
    /// node. `zero` is the absorbing constant, which is the result whatever the other operand is; `one` is the neutral
    /// constant, with which the other operand is the result.
    fn absorbed(&self, o: &Net, zero: u64, one: u64) -> Option<Net> {
        assert_eq!(self.width(), o.width());
        if self.is(zero) || o.is(one) {
            return Some(self.clone());
        }
        (o.is(zero) || self.is(one) || self.is_same(o)).then(|| o.clone())
    }

    /// Reduces all bits of a word to one by `op`, `|` or `&`. `of_two` is the operation on words, `number` the
    /// reduction of a number.
    fn reduced(&self, op: &'static str, of_two: fn(&Net, &Net) -> Net, number: fn(Num) -> Num) -> Net {
        if self.width() == 1 {
            return self.clone();
        }
        let constant = |a: &Net, b: &Net| a.as_constant().is_some() || b.as_constant().is_some();
        match (&self.0.op, self.name()) {
            // The constant is neither absorbing nor neutral, or `absorbed` would have removed it. It has a 1, which
            // decides an or, and a 0, which decides an and.
            (Op::Binary(own, a, b), None) if *own == op && constant(a, b) => {
                Net::constant(1, (op == "|").into())
            }
            (Op::Concat(a, b), None) if constant(a, b) => {
                of_two(&a.reduced(op, of_two, number), &b.reduced(op, of_two, number))
            }
            (Op::Repeat(bit), None) => bit.clone(),
            _ => self.fold1(number, || Net::new(Op::Unary(op, self.clone()), 1)),
        }
    }

    /// A shift by a word. A shift by a constant number of places takes only wires, which `by_places` makes.
    fn shifted(&self, op: &'static str, amount: &Net, by_places: impl FnOnce(u32) -> Net) -> Net {
        match amount.as_constant().map(Num::value) {
            Some(0) => self.clone(),
            Some(n) if n >= u64::from(self.width()) => Net::zero(self.width()),
            Some(n) => by_places(n as u32),
            None if self.is(0) => self.clone(),
            None => self.binary(op, amount, self.width()),
        }
    }

    /// The low `width` bits of the product.
    pub(super) fn product(&self, o: &Net, width: u32) -> Net {
        self.fold2(
            o,
            |a, b| a.mul(&b).slice(0, width),
            || Net::new(Op::Multiply(self.clone(), o.clone()), width),
        )
    }

    fn is(&self, value: u64) -> bool {
        self.as_constant().is_some_and(|n| n.value() == value)
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.0.name.get().map(String::as_str)
    }

    pub(super) fn is_same(&self, o: &Net) -> bool {
        Rc::ptr_eq(&self.0, &o.0)
    }
}

impl Word for Net {
    fn constant(width: u32, value: u64) -> Net {
        assert!(value <= ones(width), "{value:#x} does not fit {width} bits");
        Net::new(Op::Constant(value), width)
    }
    fn width(&self) -> u32 {
        self.0.width
    }
    fn named(self, name: &str) -> Net {
        // A port keeps its name, a constant needs none, and the first name of a node stays.
        if !matches!(self.0.op, Op::Input(_) | Op::Constant(_)) {
            let _ = self.0.name.set(name.to_string());
        }
        self
    }
    fn and(&self, o: &Net) -> Net {
        let otherwise = || self.fold2(o, |a, b| a.and(&b), || self.binary("&", o, self.width()));
        self.absorbed(o, 0, ones(self.width())).unwrap_or_else(otherwise)
    }
    fn or(&self, o: &Net) -> Net {
        let otherwise = || self.fold2(o, |a, b| a.or(&b), || self.binary("|", o, self.width()));
        self.absorbed(o, ones(self.width()), 0).unwrap_or_else(otherwise)
    }
    fn xor(&self, o: &Net) -> Net {
        assert_eq!(self.width(), o.width());
        if self.is_same(o) {
            return Net::zero(self.width());
        }
        for (a, b) in [(self, o), (o, self)] {
            if a.is(0) {
                return b.clone();
            }
            if a.is(ones(a.width())) {
                return b.not();
            }
        }
        self.fold2(o, |a, b| a.xor(&b), || self.binary("^", o, self.width()))
    }
    fn not(&self) -> Net {
        if let (Op::Unary("~", inner), None) = (&self.0.op, self.name()) {
            return inner.clone();
        }
        if let (Op::Binary("<", a, b), None) = (&self.0.op, self.name()) {
            return a.binary(">=", b, 1);
        }
        self.fold1(|a| a.not(), || Net::new(Op::Unary("~", self.clone()), self.width()))
    }
    fn add(&self, o: &Net) -> Net {
        assert_eq!(self.width(), o.width());
        if o.is(0) {
            return self.clone();
        }
        if self.is(0) {
            return o.clone();
        }
        self.fold2(o, |a, b| a.add(&b), || self.binary("+", o, self.width()))
    }
    fn sub(&self, o: &Net) -> Net {
        assert_eq!(self.width(), o.width());
        if o.is(0) {
            return self.clone();
        }
        self.fold2(o, |a, b| a.sub(&b), || self.binary("-", o, self.width()))
    }
    fn mul(&self, o: &Net) -> Net {
        let width = self.width() + o.width();
        assert!(width <= 64, "product of {width} bits");
        self.product(o, width)
    }
    fn shl(&self, o: &Net) -> Net {
        self.shifted("<<", o, |n| self.slice(0, self.width() - n).append_zeros(n))
    }
    fn shr(&self, o: &Net) -> Net {
        self.shifted(">>", o, |n| self.drop_low(n).zext(self.width()))
    }
    fn slice(&self, low: u32, width: u32) -> Net {
        assert!(width >= 1 && low + width <= self.width(), "[{low} +: {width}] of {} bits", self.width());
        if width == self.width() {
            return self.clone();
        }
        match &self.0.op {
            // Look through unnamed concatenations, so that a word that is packed and sliced again costs no wire.
            Op::Slice(base, inner) if self.name().is_none() => base.slice(inner + low, width),
            Op::Concat(_, lo) if self.name().is_none() && low + width <= lo.width() => lo.slice(low, width),
            Op::Concat(hi, lo) if self.name().is_none() && low >= lo.width() => {
                hi.slice(low - lo.width(), width)
            }
            Op::Concat(hi, lo) if self.name().is_none() => {
                let high = hi.slice(0, low + width - lo.width());
                high.concat(&lo.drop_low(low))
            }
            Op::Repeat(bit) if self.name().is_none() => match width {
                1 => bit.clone(),
                _ => Net::new(Op::Repeat(bit.clone()), width),
            },
            _ => self.fold1(|a| a.slice(low, width), || Net::new(Op::Slice(self.clone(), low), width)),
        }
    }
    fn concat(&self, low: &Net) -> Net {
        let width = self.width() + low.width();
        assert!(width <= 64, "word of {width} bits");
        if let Some(joined) = adjacent(self, low) {
            return joined;
        }
        if let (Op::Concat(hi, lo), None) = (&self.0.op, self.name())
            && let Some(joined) = adjacent(lo, low)
        {
            return hi.concat(&joined);
        }
        if let (Op::Concat(middle, lowest), None) = (&low.0.op, low.name()) {
            let neighbour = match (&self.0.op, self.name()) {
                (Op::Concat(_, lo), None) => lo,
                _ => self,
            };
            if adjacent(neighbour, middle).is_some() {
                return self.concat(middle).concat(lowest);
            }
        }
        self.fold2(low, |a, b| a.concat(&b), || Net::new(Op::Concat(self.clone(), low.clone()), width))
    }
    fn eq(&self, o: &Net) -> Net {
        assert_eq!(self.width(), o.width());
        if self.is_same(o) {
            return Net::constant(1, 1);
        }
        if self.width() == 1 {
            for (a, b) in [(self, o), (o, self)] {
                match a.as_constant().map(Num::value) {
                    Some(0) => return b.not(),
                    Some(_) => return b.clone(),
                    None => {}
                }
            }
        }
        self.fold2(o, |a, b| Word::eq(&a, &b), || self.binary("==", o, 1))
    }
    fn lt(&self, o: &Net) -> Net {
        assert_eq!(self.width(), o.width());
        // No word is below zero, and none is above all ones.
        if o.is(0) || self.is(ones(self.width())) || self.is_same(o) {
            return Net::zero(1);
        }
        self.fold2(o, |a, b| Word::lt(&a, &b), || self.binary("<", o, 1))
    }
    fn slt(&self, o: &Net) -> Net {
        assert_eq!(self.width(), o.width());
        if o.is(0) {
            return self.msb();
        }
        if self.is_same(o) {
            return Net::zero(1);
        }
        self.fold2(o, |a, b| a.slt(&b), || Net::new(Op::SignedLess(self.clone(), o.clone()), 1))
    }
    fn any(&self) -> Net {
        self.reduced("|", Net::or, |a| a.any())
    }
    fn all(&self) -> Net {
        self.reduced("&", Net::and, |a| a.all())
    }
    fn select(&self, then: &Net, otherwise: &Net) -> Net {
        assert_eq!((self.width(), then.width()), (1, otherwise.width()));
        match self.as_constant() {
            Some(n) if n.value() != 0 => return then.clone(),
            Some(_) => return otherwise.clone(),
            None if then.is_same(otherwise) => return then.clone(),
            None => {}
        }
        if let (Op::Unary("~", inner), None) = (&self.0.op, self.name()) {
            return inner.select(otherwise, then);
        }
        if then.width() == 1 {
            match (then.as_constant().map(Num::value), otherwise.as_constant().map(Num::value)) {
                (Some(0), _) => return self.not().and(otherwise),
                (Some(_), _) => return self.or(otherwise),
                (_, Some(0)) => return self.and(then),
                (_, Some(_)) => return self.not().or(then),
                _ => {}
            }
        }
        Net::new(Op::Select(self.clone(), then.clone(), otherwise.clone()), then.width())
    }
    fn repeat(&self, count: u32) -> Net {
        match count {
            1 => self.clone(),
            _ => self.fold1(|a| a.repeat(count), || Net::new(Op::Repeat(self.clone()), count)),
        }
    }
    fn lookup(&self, entries: &[u64], width: u32) -> Net {
        if let Some(index) = self.as_constant() {
            return Net::from_num(index.lookup(entries, width));
        }
        Net::new(Op::Lookup(self.clone(), entries.to_vec()), width)
    }
}

/// Joins two unnamed neighbours in a concatenation, if possible: `{base[i:j], base[j-1:k]}` to `base[i:k]`, and two
/// constants to one.
fn adjacent(high: &Net, low: &Net) -> Option<Net> {
    match (&high.0.op, &low.0.op) {
        _ if high.name().is_some() || low.name().is_some() => None,
        (Op::Slice(a, above), Op::Slice(b, below)) if Rc::ptr_eq(&a.0, &b.0) => {
            (*above == below + low.width()).then(|| a.slice(*below, high.width() + low.width()))
        }
        (Op::Constant(a), Op::Constant(b)) => {
            Some(Net::constant(high.width() + low.width(), a << low.width() | b))
        }
        _ => None,
    }
}
