//! The table of signals: values of numbers, and rows of modules and of vectors of modules.

use flashd_hwmodel::rtl::{Circuit, Module, Name, Number, Stage, Tag, Wire, signed, unsigned};
use flashd_spec::format::Format;

#[test]
fn values() {
    assert_eq!((signed(4).value(0xf8, 8), unsigned(4).value(0xf8, 8)), (-0.5, 15.5));
    assert_eq!(Number::Float(Format::BF16).value(0xbfc0, 16), -1.5);
    let factor = Number::Factor { significand: 4, fraction: 3 };
    assert_eq!([0x008, 0x03c, 0x1f0].map(|bits| factor.value(bits, 9)), [1.0, 0.1875, 0.0]);
}

/// A delay of two cycles, with rows for its port `x` and its registers.
fn delay(around: &mut Module, name: Name, x: Wire, number: Number) -> Wire {
    around.part(name, Tag::module("delay", "y = x, two cycles later."), |m| {
        m.clock();
        let x = m.input("x", x);
        let once = m.register("once_q", x);
        m.signal(once, number, "x[#]");
        let twice = m.register("twice_q", once);
        m.show(twice, "twice");
        m.output("y", twice)
    })
}

fn delays(number: Number) -> Circuit {
    let mut bench = Module::bench();
    let words = bench.opens(6, 8);
    bench.part("top", Tag::module("delays", "Six delays."), |m| {
        m.clock();
        let words = m.inputs("x", &words);
        m.stage(Stage::Ports);
        let y = m.each("delay", words, |m, name, &x| delay(m, name, x, number));
        m.outputs("y", &y);
    });
    bench.into_circuit()
}

/// All rows of the first part, and the elements of the first four; the format reaches all nets of all parts.
#[test]
fn rows_and_numbers_of_a_vector_of_modules() {
    let design = delays(unsigned(2));
    let rows: Vec<_> = design.signals().iter().map(|row| (&*row.path, &*row.label)).collect();
    let expected = [
        ("delay_0.once_q.q", "x[0]"),
        ("delay_0.twice_q.q", "twice"),
        ("delay_1.once_q.q", "x[1]"),
        ("delay_2.once_q.q", "x[2]"),
        ("delay_3.once_q.q", "x[3]"),
    ];
    assert_eq!(rows, expected);
    // Each part has an input, the net between the registers, and an output.
    assert_eq!(design.numbers().len(), 18);
}

#[test]
#[should_panic(expected = "Float")]
fn a_float_is_as_wide_as_its_wire() {
    delays(Number::Float(Format::BF16));
}

#[test]
#[should_panic(expected = "nothing to show")]
fn a_port_that_is_shown_exists() {
    let mut bench = Module::bench();
    let x = bench.open(8);
    bench.part("top", Tag::module("top", ""), |m| {
        m.input("x", x);
        m.stage(Stage::Ports);
        m.show("xs", "x");
    });
}
