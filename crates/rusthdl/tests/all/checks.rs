//! RustHDL's checks on every kind of core, array and wrapper: no open input, no logic loop, no write to an input. And faults that are refused.

use flashd_hwmodel::catalogue::build;
use flashd_hwmodel::rtl::structure::{Kind, Node, Structure};
use flashd_hwmodel::rtl::{Circuit, Module, Tag, Wire};
use flashd_hwmodel::{array, function, wrapper};
use flashd_rusthdl::{Fault, Part};
use flashd_spec::config::{Accumulator, ArrayConfig, CoreConfig, Values, WrapperConfig};
use flashd_spec::format::Format;
use rust_hdl::core::check_error::CheckError;
use rust_hdl::prelude::{Block, check_all, simulate};
use std::sync::Arc;

/// RustHDL's checks on the blocks of a design.
fn checked(circuit: &Circuit) {
    refused(circuit.structure()).unwrap_or_else(|e| panic!("{}: {e:?}", circuit.name()));
}

fn refused(structure: &Arc<Structure>) -> Result<(), CheckError> {
    let mut top = Part::top(structure).unwrap();
    top.connect_all();
    check_all(&top)
}

fn check(config: &CoreConfig) {
    checked(&build(config).unwrap());
}

#[test]
fn shipped_cores_pass_rusthdl_checks() {
    for config in CoreConfig::shipped() {
        check(&config);
    }
}

/// Formats take turns with long vectors: the length changes the trees and the groups of lanes alike in all formats and accumulators and
/// with masks.
#[test]
fn odd_cores_pass_rusthdl_checks() {
    for ((_, format), long) in Format::NAMED.into_iter().zip([17, 48, 100].into_iter().cycle()) {
        for d in [2, 3, 5] {
            for config in CoreConfig::variants(d, format) {
                if !config.has_fixed_lanes() {
                    let accumulator = Some(Accumulator::Fraction(format.fraction_bits.max(16)));
                    check(&CoreConfig { accumulator, ..config.clone() });
                }
                check(&CoreConfig { masks: true, ..config.clone() });
                check(&config);
            }
        }
        CoreConfig::variants(long, format).iter().for_each(check);
    }
}

#[test]
fn arrays_pass_rusthdl_checks() {
    for queries in [1, 2, 3, 4, 5, 8, 13] {
        for core in CoreConfig::variants(3, Format::BF16) {
            for masks in [false, true] {
                let config = ArrayConfig::new(CoreConfig { masks, ..core.clone() }, queries);
                let array = array::build(&config).unwrap();
                checked(&array);
            }
        }
    }
}

#[test]
fn wrappers_pass_rusthdl_checks() {
    for queries in [1, 3] {
        for core in CoreConfig::variants(3, Format::BF16) {
            for (masks, values) in [(false, Values::Requested), (true, Values::All)] {
                for beat_bits in [48, 24, 8] {
                    let array = ArrayConfig::new(CoreConfig { masks, ..core.clone() }, queries);
                    let config =
                        WrapperConfig { beat_bits: Some(beat_bits), values, ..WrapperConfig::new(array) };
                    let wrapper = wrapper::build(&config).unwrap();
                    checked(&wrapper);
                }
            }
        }
    }
}

function! {
    /// A sum.
    pub struct Sum {}
    name(_this) = "sum";
    doc = "y = a + b.";
    inputs { a: 8, b: 8 }
    outputs { y: 8 }
    eval<W> { [a.add(&b)] }
}

/// A design with a module `inner` in it.
fn around(inner: impl FnOnce(&mut Module, Wire) -> Wire) -> Arc<Structure> {
    let mut bench = Module::bench();
    let x = bench.open(8);
    bench.part("top", Tag::module("outer", ""), |m| {
        m.clock();
        let x = m.input("x", x);
        let y = m.part("inner", Tag::module("inner", ""), |m| {
            m.clock();
            let x = m.input("x", x);
            let y = inner(m, x);
            m.output("y", y)
        });
        m.output("y", y)
    });
    bench.into_circuit().structure().clone()
}

/// A register and a sum: `y = x + q`, `q <= x`.
fn sound() -> Arc<Structure> {
    around(|m, x| {
        let q = m.register("x_q", x);
        m.call("sum", Sum {}, [x, q])[0]
    })
}

/// The sound design with another inner module.
fn changed(change: impl FnOnce(&mut Structure)) -> Arc<Structure> {
    let mut outer = Structure::clone(&sound());
    if let Kind::Module(inner) = &mut outer.nodes[0].kind {
        let mut changed = Structure::clone(inner);
        change(&mut changed);
        *inner = Arc::new(changed);
    }
    Arc::new(outer)
}

/// The paths and names of open pins.
fn open_pins(design: &Arc<Structure>) -> Vec<(String, String)> {
    let Err(CheckError::OpenSignal(pins)) = refused(design) else { panic!("not refused") };
    pins.into_values().map(|pin| (pin.path, pin.name)).collect()
}

fn node<'a>(module: &'a mut Structure, name: &str) -> &'a mut Node {
    module.nodes.iter_mut().find(|node| node.name == name).unwrap()
}

#[test]
fn a_sound_design_passes() {
    assert_eq!(refused(&sound()), Ok(()));
    assert_eq!(refused(&changed(|_| {})), Ok(()));
}

#[test]
fn an_open_input_is_refused() {
    let open = changed(|inner| {
        inner.widths.push(8);
        let slot = inner.widths.len() as u32 - 1;
        node(inner, "sum").inputs[1] = slot;
    });
    assert_eq!(open_pins(&open), [("uut$inner$sum".to_string(), "b".to_string())]);
}

#[test]
fn an_open_clock_and_an_open_output_are_refused() {
    let mut open = Structure::clone(&sound());
    open.clock = None;
    assert_eq!(open_pins(&Arc::new(open)), [("uut$inner".to_string(), "clk".to_string())]);
    let open = changed(|inner| {
        inner.widths.push(8);
        let slot = inner.widths.len() as u32 - 1;
        inner.ports.last_mut().unwrap().slots[0] = slot;
    });
    assert_eq!(open_pins(&open), [("uut$inner".to_string(), "y".to_string())]);
}

#[test]
fn two_drivers_of_a_wire_are_refused() {
    let doubled = changed(|inner| {
        let q = node(inner, "x_q").outputs[0];
        node(inner, "sum").outputs[0] = q;
    });
    let (first, second) = ("inner.x_q.q".into(), "inner.sum.y".into());
    let fault = Part::top(&doubled).err().unwrap();
    assert!(
        fault == Fault::TwoDrivers { first, second }
            || fault.to_string() == "inner.sum.y and inner.x_q.q drive one wire",
        "{fault}"
    );
}

#[test]
fn a_pin_of_another_width_is_refused() {
    let wide = changed(|inner| {
        let q = node(inner, "x_q").outputs[0];
        inner.widths[q as usize] = 9;
    });
    let pin = "inner.x_q.d".into();
    assert_eq!(Part::top(&wide).err(), Some(Fault::Width { pin, bits: 9, wire: 8 }));
}

/// RustHDL refuses the wire that closes a loop because it is read before it is written; without the check its simulation does not converge.
#[test]
fn a_ring_of_leaves_is_refused() {
    let ring = around(|m, x| {
        let later = m.later(8);
        let [first] = m.call("first", Sum {}, [x, later]);
        let [second] = m.call("second", Sum {}, [x, first]);
        m.drive(later, second);
        second
    });
    let Err(CheckError::LogicLoops(wires)) = refused(&ring) else { panic!("not refused") };
    assert_eq!(wires.len(), 1);
    assert_eq!(wires[0].path, "uut$inner");
    assert!(["first$y$loop", "second$y$loop"].contains(&&*wires[0].name), "{wires:?}");
    let mut top = Part::top(&ring).unwrap();
    top.connect_all();
    let x = top.pins_mut().iter_mut().find(|pin| pin.name() == "x").unwrap();
    x.next = 1;
    assert!(!simulate(&mut top, 100));
}

/// A ring through the ports of inner modules is found in the module around them.
#[test]
fn a_ring_of_modules_is_refused() {
    let mut bench = Module::bench();
    let x = bench.open(8);
    bench.part("top", Tag::module("outer", ""), |m| {
        let x = m.input("x", x);
        let later = m.later(8);
        let sum = |m: &mut Module, name: &str, other: Wire| {
            m.part(name, Tag::module("inner", ""), |m| {
                let inputs = [m.input("a", x), m.input("b", other)];
                let [y] = m.call("sum", Sum {}, inputs);
                m.output("y", y)
            })
        };
        let first = sum(m, "first", later);
        let second = sum(m, "second", first);
        m.drive(later, second);
        m.output("y", second)
    });
    let Err(CheckError::LogicLoops(wires)) = refused(bench.into_circuit().structure()) else {
        panic!("not refused")
    };
    assert_eq!(wires[0].path, "uut");
}

/// Two leaves that feed each other through independent outputs are no loop.
#[test]
fn leaves_that_only_exchange_words_pass() {
    function! {
        /// Passes two words on.
        pub struct Pass {}
        name(_this) = "pass";
        doc = "ya = a, yb = b.";
        inputs { a: 8, b: 8 }
        outputs { ya: 8, yb: 8 }
        eval<W> { [a, b] }
    }
    let exchange = around(|m, x| {
        let later = m.later(8);
        let [from_x, y] = m.call("first", Pass {}, [x, later]);
        let [back, _] = m.call("second", Pass {}, [from_x, x]);
        m.drive(later, back);
        y
    });
    assert_eq!(refused(&exchange), Ok(()));
    let mut top = Part::top(&exchange).unwrap();
    top.connect_all();
    top.pins_mut().iter_mut().find(|pin| pin.name() == "x").unwrap().next = 5;
    assert!(simulate(&mut top, 100));
    assert_eq!(top.pins().iter().find(|pin| pin.name() == "y").unwrap().value(), 5);
}
