//! Descriptions of modules: their number, and loops that no register cuts.

use flashd_hwmodel::array;
use flashd_hwmodel::catalogue::build;
use flashd_hwmodel::function;
use flashd_hwmodel::rtl::structure::Structure;
use flashd_hwmodel::rtl::{Circuit, Module, Tag};
use flashd_spec::config::{ArrayConfig, CoreConfig, Design};
use flashd_spec::format::Format;
use std::collections::HashSet;
use std::sync::Arc;

/// The modules that a design describes, below a module of it.
fn descriptions(module: &Arc<Structure>, found: &mut HashSet<*const Structure>) {
    if found.insert(Arc::as_ptr(module)) {
        module.modules().for_each(|(_, inner)| descriptions(inner, found));
    }
}

/// A module is described once, however many instances it has: an array of 9 describes what one of 3 does, a core of 80 lanes what one of
/// 48 does.
#[test]
fn descriptions_do_not_grow_with_instances() {
    let count = |design: &Circuit| {
        let mut found = HashSet::new();
        descriptions(design.structure(), &mut found);
        found.len()
    };
    for core in CoreConfig::variants(4, Format::BF16) {
        for masks in [false, true] {
            let core = CoreConfig { masks: masks && !core.follows_the_paper(), ..core.clone() };
            let [few, many] =
                [3, 9].map(|queries| count(&array::build(&ArrayConfig::new(core.clone(), queries)).unwrap()));
            assert_eq!(few, many, "{}", core.name());
        }
    }
    for design in Design::ALL {
        let [few, many] = [48, 80].map(|d| count(&build(&CoreConfig::new(design, d, Format::BF16)).unwrap()));
        assert!(many <= few + 1, "{design:?}: the adder tree may have a stage more");
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

/// Two leaves that feed each other count up for ever.
#[test]
#[should_panic(expected = "ring does not settle: ring has a combinational loop through first, second")]
fn a_ring_of_leaves_does_not_hang() {
    let mut bench = Module::bench();
    let x = bench.open(8);
    bench.part("top", Tag::module("ring", ""), |m| {
        let x = m.input("x", x);
        let later = m.later(8);
        let [first] = m.call("first", Sum {}, [x, later]);
        let [second] = m.call("second", Sum {}, [x, first]);
        m.drive(later, second);
        m.output("y", second)
    });
    let mut ring = bench.into_circuit();
    ring.set("x", 1u64);
    ring.settle();
}
