//! Combinational leaves: modules whose function is evaluated on numbers and printed as Verilog.
//!
//! Most are a [`Function`] with a fixed number of input and output words, and one body for both readings. A unit over a
//! whole vector implements [`VectorFunction`], or [`Leaf`] itself.

use super::Tag;
use crate::netlist::{Body, Net, verilog_body};
use crate::word::{Num, Word};

/// A port of a leaf: one word, or a vector of words of equal width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pins {
    /// Name of the port.
    pub name: &'static str,
    /// Number of words; `None` for a port of one word that is not a vector.
    pub elements: Option<usize>,
    /// Width of a word in bits.
    pub width: u32,
}

impl Pins {
    /// A port of one word.
    pub fn word(name: &'static str, width: u32) -> Pins {
        Pins { name, elements: None, width }
    }

    /// A vector of words.
    pub fn vector(name: &'static str, elements: usize, width: u32) -> Pins {
        Pins { name, elements: Some(elements), width }
    }

    /// Number of words.
    pub fn count(&self) -> usize {
        self.elements.unwrap_or(1)
    }

    /// Element `index` as a word of a netlist.
    pub(crate) fn net(&self, index: usize) -> Net {
        match self.elements {
            Some(n) if n > 1 => Net::element(self.name, index, self.width),
            _ => Net::input(self.name, self.width),
        }
    }

    /// Element `index` as Verilog names it.
    pub(super) fn text(&self, index: usize) -> String {
        let (name, width) = (self.name, self.width);
        match (self.count(), width) {
            (1, _) => name.to_string(),
            (_, 1) => format!("{name}[{index}]"),
            _ => format!("{name}[{width}*{index} +: {width}]"),
        }
    }
}

/// A combinational module.
pub trait Leaf: Send + Sync {
    /// Name and description.
    fn tag(&self) -> Tag;
    /// Input ports in order.
    fn inputs(&self) -> Vec<Pins>;
    /// Output ports in order.
    fn outputs(&self) -> Vec<Pins>;
    /// The outputs' words from the inputs' words, both in the order of the ports.
    fn eval(&self, inputs: &[u64], outputs: &mut [u64]);
    /// The body of the Verilog module.
    fn verilog(&self) -> Body;
    /// The outputs' words as expressions of the inputs' words, for [`Steps::of`](crate::netlist::Steps::of). An input word is an
    /// input net or an element of a packed one.
    fn netlist(&self) -> Vec<Net>;
    /// The places `(gate, ignored)` of two inputs. While the gate is low, the outputs do not depend on the ignored input, so they
    /// need not be computed again when only that input changes.
    fn at_rest(&self) -> Option<(usize, usize)> {
        None
    }
}

/// A combinational function with `I` input words and `O` output words.
pub trait Function<const I: usize, const O: usize>: Clone + Send + Sync + 'static {
    /// Name of the emitted module.
    fn name(&self) -> String;
    /// The function, for the module's header comment.
    fn doc(&self) -> String;
    /// Names of the input and output ports in order.
    fn ports(&self) -> ([&'static str; I], [&'static str; O]);
    /// Their widths in bits.
    fn widths(&self) -> ([u32; I], [u32; O]);
    /// The function itself.
    fn eval<W: Word>(&self, inputs: [W; I]) -> [W; O];
    /// The names `(gate, ignored)` of two inputs: while the gate is low, the outputs do not depend on the other, see [`Leaf::at_rest`].
    fn at_rest(&self) -> Option<(&'static str, &'static str)> {
        None
    }
}

/// Implements [`Function`] from a name, a description, port widths and an expression over words.
#[macro_export]
macro_rules! function {
    (@count) => { 0 };
    (@count $head:ident $($tail:ident)*) => { 1 + $crate::function!(@count $($tail)*) };
    (
        $(#[$meta:meta])*
        pub struct $type:ident { $($field:ident: $field_type:ty),* $(,)? }
        name($this:ident) = $name:expr;
        doc = $doc:expr;
        inputs { $($input:ident: $in_width:expr),* }
        outputs { $($output:ident: $out_width:expr),* $(,)? }
        $(at_rest { $gate:ident ignores $ignored:ident })?
        eval<$w:ident> { $($body:tt)* }
    ) => {
        $(#[$meta])*
        #[derive(Clone)]
        pub struct $type {
            $(
                /// Configuration.
                pub $field: $field_type,
            )*
        }

        impl $crate::rtl::Function<
            { $crate::function!(@count $($input)*) }, { $crate::function!(@count $($output)*) }
        > for $type {
            fn name(&self) -> String {
                let $this = self;
                let _ = $this;
                ($name).to_string()
            }
            fn doc(&self) -> String {
                let $this = self;
                let _ = $this;
                ($doc).to_string()
            }
            fn ports(&self) -> (
                [&'static str; { $crate::function!(@count $($input)*) }],
                [&'static str; { $crate::function!(@count $($output)*) }],
            ) {
                ([$(stringify!($input)),*], [$(stringify!($output)),*])
            }
            $(fn at_rest(&self) -> Option<(&'static str, &'static str)> {
                Some((stringify!($gate), stringify!($ignored)))
            })?
            fn widths(&self) -> (
                [u32; { $crate::function!(@count $($input)*) }], [u32; { $crate::function!(@count $($output)*) }]
            ) {
                let $this = self;
                let _ = $this;
                ([$($in_width),*], [$($out_width),*])
            }
            fn eval<$w: $crate::word::Word>(
                &self, inputs: [$w; { $crate::function!(@count $($input)*) }]
            ) -> [$w; { $crate::function!(@count $($output)*) }] {
                let $this = self;
                let _ = $this;
                let [$($input),*] = inputs;
                $($body)*
            }
        }
    };
}

/// A [`Function`] as a leaf.
pub(super) struct FunctionLeaf<F, const I: usize, const O: usize> {
    function: F,
    /// Widths of the inputs, kept because every evaluation needs them.
    inputs: [u32; I],
}

impl<F: Function<I, O>, const I: usize, const O: usize> FunctionLeaf<F, I, O> {
    pub(super) fn new(function: F) -> Self {
        FunctionLeaf { inputs: function.widths().0, function }
    }
}

// There are some two hundred functions, and all of this is compiled for each of them: what does not depend on the function is below.
impl<F: Function<I, O>, const I: usize, const O: usize> Leaf for FunctionLeaf<F, I, O> {
    fn tag(&self) -> Tag {
        Tag::module(self.function.name(), self.function.doc())
    }

    fn inputs(&self) -> Vec<Pins> {
        scalar_ports(&self.function.ports().0, &self.inputs)
    }

    fn outputs(&self) -> Vec<Pins> {
        scalar_ports(&self.function.ports().1, &self.function.widths().1)
    }

    #[inline]
    fn eval(&self, inputs: &[u64], outputs: &mut [u64]) {
        store(self.function.eval(numbers(&self.inputs, inputs)), outputs);
    }

    fn verilog(&self) -> Body {
        let (inputs, outputs) = self.function.ports();
        let texts = outputs.iter().map(ToString::to_string).collect();
        body(&inputs, texts, self.netlist())
    }

    fn netlist(&self) -> Vec<Net> {
        self.function.eval(nets(&self.function.ports().0, &self.inputs)).into()
    }

    fn at_rest(&self) -> Option<(usize, usize)> {
        place_each(&self.function.ports().0, self.function.at_rest()?)
    }
}

/// Ports of one word each.
fn scalar_ports(names: &[&'static str], widths: &[u32]) -> Vec<Pins> {
    names.iter().zip(widths).map(|(name, &width)| Pins::word(name, width)).collect()
}

/// The words of as many ports.
#[inline]
fn numbers<const I: usize>(widths: &[u32; I], values: &[u64]) -> [Num; I] {
    let Ok(values) = <&[u64; I]>::try_from(values) else {
        unreachable!("a function has as many inputs as it says");
    };
    std::array::from_fn(|i| Num::new(widths[i], values[i]))
}

/// Writes the values of words where they belong.
#[inline]
fn store<const O: usize>(words: [Num; O], values: &mut [u64]) {
    assert_eq!(values.len(), O, "a function has as many outputs as it says");
    for (value, word) in values.iter_mut().zip(&words) {
        *value = word.value();
    }
}

/// Input ports as words of a netlist.
fn nets<const I: usize>(names: &[&'static str; I], widths: &[u32; I]) -> [Net; I] {
    std::array::from_fn(|i| Net::input(names[i], widths[i]))
}

/// The body of a Verilog module that drives each output, as it is written, by a net.
pub(super) fn body(inputs: &[&str], outputs: Vec<String>, nets: Vec<Net>) -> Body {
    verilog_body(inputs, &outputs.into_iter().zip(nets).collect::<Vec<_>>())
}

/// The places of two ports.
fn place_each(ports: &[&str], (gate, ignored): (&str, &str)) -> Option<(usize, usize)> {
    let place = |name| ports.iter().position(|port| *port == name);
    place(gate).zip(place(ignored))
}

/// A combinational function whose ports are vectors of words.
pub trait VectorFunction: Send + Sync + 'static {
    /// Name and description; input and output ports in order.
    fn header(&self) -> (Tag, Vec<Pins>, Vec<Pins>);
    /// The words of each output from the words of each input.
    fn eval<W: Word>(&self, inputs: &[Vec<W>]) -> Vec<Vec<W>>;
}

/// A [`VectorFunction`] as a leaf.
pub struct VectorLeaf<F> {
    function: F,
    tag: Tag,
    inputs: Vec<Pins>,
    outputs: Vec<Pins>,
}

impl<F: VectorFunction> VectorLeaf<F> {
    /// The leaf that computes `function`.
    pub fn new(function: F) -> Self {
        let (tag, inputs, outputs) = function.header();
        VectorLeaf { function, tag, inputs, outputs }
    }
}

impl<F: VectorFunction> Leaf for VectorLeaf<F> {
    fn tag(&self) -> Tag {
        self.tag.clone()
    }

    fn inputs(&self) -> Vec<Pins> {
        self.inputs.clone()
    }

    fn outputs(&self) -> Vec<Pins> {
        self.outputs.clone()
    }

    fn eval(&self, inputs: &[u64], outputs: &mut [u64]) {
        let mut values = inputs.iter();
        let words: Vec<Vec<Num>> = (self.inputs.iter())
            .map(|pins| {
                values.by_ref().take(pins.count()).map(|&value| Num::new(pins.width, value)).collect()
            })
            .collect();
        let results = self.function.eval(&words);
        for (output, word) in outputs.iter_mut().zip(results.iter().flatten()) {
            *output = word.value();
        }
    }

    fn verilog(&self) -> Body {
        let texts = self.outputs.iter().flat_map(|pins| (0..pins.count()).map(|i| pins.text(i)));
        let names: Vec<&str> = self.inputs.iter().map(|pins| pins.name).collect();
        body(&names, texts.collect(), self.netlist())
    }

    fn netlist(&self) -> Vec<Net> {
        let words: Vec<Vec<Net>> =
            self.inputs.iter().map(|pins| (0..pins.count()).map(|i| pins.net(i)).collect()).collect();
        self.function.eval(&words).into_iter().flatten().collect()
    }
}
