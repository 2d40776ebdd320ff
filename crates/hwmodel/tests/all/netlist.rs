//! How words are printed as Verilog.

use flashd_hwmodel::netlist::{Net, verilog_body};
use flashd_hwmodel::word::Word;

fn body(y: Net) -> String {
    verilog_body(&["a"], &[("y".to_string(), y)])
}

#[test]
fn unary_operators_never_run_together() {
    let a = Net::input("a", 4);
    assert_eq!(body(a.any().not()), "    assign y = ~(|a);\n");
    assert_eq!(body(a.any().not().not()), "    assign y = |a;\n");
    assert_eq!(body(a.not().any()), "    assign y = |(~a);\n");
}

#[test]
fn taking_apart_and_joining_costs_nothing() {
    let a = Net::input("a", 8);
    let joined = a.slice(6, 2).concat(&a.slice(3, 3)).concat(&a.slice(0, 3));
    assert_eq!(body(joined), "    assign y = a;\n");
}

#[test]
fn a_vector_of_one_bit_has_no_index() {
    let element = |i| Net::element("a", i, 1);
    assert_eq!(body(element(0)), "    assign y = a;\n");
    assert_eq!(body(element(0).not()), "    assign y = ~a;\n");
    assert_eq!(body(element(0).and(&element(1))), "    assign y = a[0] & a[1];\n");
}

#[test]
fn unread_inputs_are_named() {
    let a = Net::input("a", 8);
    assert_eq!(body(a.slice(0, 3)), "// unread: a\n    assign y = a[2:0];\n");
}
