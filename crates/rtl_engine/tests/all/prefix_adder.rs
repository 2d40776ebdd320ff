//! Prefix adders are sums to the engine.

use flashd_hwmodel::arith::prefix::prefix_sum;
use flashd_hwmodel::netlist::{Net, Operator, Steps};
use flashd_hwmodel::rtl::Pins;
use flashd_hwmodel::word::Word;
use flashd_rtl_engine::simplified;

fn adder(width: u32, sum: impl Fn(&Net, &Net) -> Net) -> Steps {
    let [a, b] = ["a", "b"].map(|name| Net::input(name, width));
    let pins = [Pins::word("a", width), Pins::word("b", width)];
    Steps::of(&pins, &[sum(&a, &b)])
}

#[test]
fn a_prefix_adder_is_one_sum() {
    for width in 2..=64 {
        let steps = simplified(&adder(width, prefix_sum)).steps;
        assert_eq!(steps.len(), 3, "{width} bits");
        assert_eq!(steps[2].operator, Operator::Add, "{width} bits");
    }
}

#[test]
fn a_network_that_lacks_a_carry_is_none() {
    let lacks = |a: &Net, b: &Net| {
        let up = |x: &Net, places| x.slice(0, 8 - places).append_zeros(places);
        let (half, both) = (a.xor(b), a.and(b));
        let two = both.or(&half.and(&up(&both, 1)));
        half.xor(&up(&two, 1))
    };
    let steps = simplified(&adder(8, lacks)).steps;
    assert!(steps.iter().all(|step| step.operator != Operator::Add));
}
