//! How words are printed as Verilog.

use flashd_hwmodel::netlist::{Net, narrow, verilog_body};
use flashd_hwmodel::word::{Num, Word};
use flashd_spec::bits::ones;
use std::fmt::Write;

fn body(y: Net) -> String {
    body_of(&["a"], y)
}

/// The body of a module, after a line with the inputs that it does not read completely.
fn body_of(inputs: &[&str], y: Net) -> String {
    let body = verilog_body(inputs, &[("y".to_string(), y)]);
    let mut text = String::new();
    for (input, bits) in &body.unread {
        let bits = bits.map_or(String::new(), |(high, low)| format!("[{high}:{low}]"));
        let _ = write!(text, " {input}{bits}");
    }
    if text.is_empty() { body.text } else { format!("// unread:{text}\n{}", body.text) }
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
    assert_eq!(body(a.slice(0, 3)), "// unread: a[2:0]\n    assign y = a[2:0];\n");
    // Bits that are not adjacent.
    assert_eq!(body(a.bit(6).and(&a.bit(1))), "// unread: a\n    assign y = a[6] & a[1];\n");
}

#[test]
fn constants_are_folded() {
    let a = Net::input("a", 4);
    let (one, zero) = (Net::constant(1, 1), Net::zero(1));
    let five = Net::constant(4, 5);
    assert_eq!(body(a.bit(3).xor(&one)), "// unread: a[3:3]\n    assign y = ~a[3];\n");
    assert_eq!(body(zero.xor(&a.bit(3))), "// unread: a[3:3]\n    assign y = a[3];\n");
    assert_eq!(body(five.or(&a).any()), "// unread: a\n    assign y = 1'b1;\n");
    assert_eq!(body(five.and(&a).all()), "// unread: a\n    assign y = 1'b0;\n");
    assert_eq!(body(a.bit(0).or(&a.bit(0))), "// unread: a[0:0]\n    assign y = a[0] | a[0];\n");
    assert_eq!(body(a.or(&a)), "    assign y = a;\n");
    assert_eq!(body(a.zext(9).any()), "    assign y = |a;\n");
    assert_eq!(body(a.bit(0).select(&one, &a.bit(1))), "// unread: a[1:0]\n    assign y = a[0] | a[1];\n");
    assert_eq!(body(a.at_least(5)), "    assign y = a >= 4'h5;\n");
    assert_eq!(body(a.shr(&Net::constant(3, 2))), "// unread: a[3:2]\n    assign y = {2'h0, a[3:2]};\n");
}

/// Every rule that shortens expressions keeps their value: checked on all expressions of two levels over two inputs and
/// all constants, of one and two bits, for all values.
#[test]
fn folded_expressions_have_the_same_value() {
    /// Inputs a and b, then all constants.
    fn leaf<W: Word>(index: u64, a: &W, b: &W) -> W {
        match index {
            0 => a.clone(),
            1 => b.clone(),
            i => W::constant(a.width(), i - 2),
        }
    }
    fn unary<W: Word>(index: u32, x: &W) -> W {
        let w = x.width();
        match index {
            0 => x.clone(),
            1 => x.not(),
            2 => x.any().zext(w),
            3 => x.all().repeat(w),
            4 => x.zext(w + 1).any().zext(w),
            5 => W::constant(1, 1).concat(x).all().zext(w),
            6 => x.msb().repeat(w),
            _ => x.lookup(&[3, 0, 2].map(|entry| entry & ones(w)), w),
        }
    }
    fn binary<W: Word>(index: u32, x: &W, y: &W) -> W {
        let w = x.width();
        match index {
            0 => x.and(y),
            1 => x.or(y),
            2 => x.xor(y),
            3 => x.add(y),
            4 => x.sub(y),
            5 => x.shl(y),
            6 => x.shr(y),
            7 => Word::eq(x, y).zext(w),
            8 => Word::lt(x, y).zext(w),
            9 => x.slt(y).zext(w),
            10 => x.bit(0).select(y, x),
            11 => y.msb().select(x, &W::zero(w)),
            12 => x.bit(0).select(&y.bit(0), &x.msb()).zext(w),
            13 => x.concat(y).slice(1, w),
            _ => x.mul(y).slice(0, w),
        }
    }
    let mut checked = 0;
    for width in 1..=2 {
        let (a, b) = (Net::input("a", width), Net::input("b", width));
        let leaves = 2 + (1 << width);
        let operands: Vec<(u64, u32)> = (0..leaves).flat_map(|l| (0..8).map(move |u| (l, u))).collect();
        for (&x, &y) in operands.iter().flat_map(|x| operands.iter().map(move |y| (x, y))) {
            for (op, outer) in (0..15).flat_map(|op| (0..4).map(move |outer| (op, outer))) {
                fn expression<W: Word>(x: (u64, u32), y: (u64, u32), op: u32, outer: u32, a: &W, b: &W) -> W {
                    let operand = |(l, u)| unary(u, &leaf(l, a, b));
                    unary(outer, &binary(op, &operand(x), &operand(y)))
                }
                let net = expression(x, y, op, outer, &a, &b);
                for (va, vb) in (0..=ones(width)).flat_map(|va| (0..=ones(width)).map(move |vb| (va, vb))) {
                    let wanted = expression(x, y, op, outer, &Num::new(width, va), &Num::new(width, vb));
                    let got = net.value(&|name| if name == "a" { va } else { vb });
                    assert_eq!(got, wanted, "{x:?} {y:?} {op} {outer} a={va} b={vb}: {net:?}");
                    checked += 1;
                }
            }
        }
    }
    assert!(checked > 1_000_000, "{checked}");
}

/// Narrowing an expression to the bits that are read keeps their value: checked on chains of all operators over words
/// of four to eight bits. A counter's digits choose the operators, so that every pair of operators occurs.
#[test]
fn narrowed_expressions_have_the_same_value() {
    /// Builds words, each from the ones before, and returns the parts that are read: bits of the last and of the one
    /// before it.
    fn chain<W: Word>(mut digits: u64, a: &W, b: &W) -> Vec<W> {
        let mut digit = |n: u32| {
            let digit = digits % u64::from(n);
            digits = (digits / u64::from(n)) ^ (digits << 57);
            digit as u32
        };
        let w = a.width();
        let mut words = vec![a.clone(), b.clone(), W::constant(w, 5)];
        for i in 0..4 {
            let x = words[words.len() - 1 - digit(2) as usize].clone();
            let y = words[digit(words.len() as u32) as usize].clone();
            let word = match digit(14) {
                0 => x.and(&y),
                1 => x.or(&y).not(),
                2 => x.xor(&y),
                3 => x.add(&y),
                4 => x.sub(&y),
                5 => x.shl(&y),
                6 => x.shr(&y),
                7 => x.mul(&y).slice(digit(w + 1), w),
                8 => x.concat(&y).slice(digit(w + 1), w),
                9 => x.slt(&y).select(&x, &y),
                10 => Word::eq(&x, &y).or(&x.any()).repeat(w),
                11 => x.slice(0, 2).lookup(&[1, 6, 9].map(|e| e & ones(w)), w),
                12 => x.lt(&y).not().concat(&x.slice(1, w - 1)),
                _ => x.zext(w + 1).sub(&y.zext(w + 1)).drop_low(1),
            };
            words.push(if digit(2) == 0 { word.named(&format!("w{i}")) } else { word });
        }
        let last = words.pop().expect("a word");
        let low = digit(w);
        let part = last.slice(low, 1 + digit(w - low));
        let other = words.pop().expect("a word").slice(1, 2);
        vec![part, other]
    }
    let mut shorter = 0;
    for i in 0..40_000u64 {
        let (digits, w) = (i.wrapping_mul(0x9e37_79b9_7f4a_7c15), 4 + (i % 5) as u32);
        let outputs: Vec<(String, Net)> = (chain(digits, &Net::input("a", w), &Net::input("b", w))
            .into_iter())
        .map(|net| (String::new(), net))
        .collect();
        let cut = narrow(&outputs);
        let text = |outputs: &[(String, Net)]| format!("{outputs:?}").len();
        shorter += usize::from(text(&cut) < text(&outputs));
        for sample in 0..8 {
            let random = (digits ^ sample).wrapping_mul(0xd134_2543_de82_ef95) >> 40;
            let (a, b) = (random & ones(w), random >> 12 & ones(w));
            let wanted = chain(digits, &Num::new(w, a), &Num::new(w, b));
            for ((_, net), wanted) in cut.iter().zip(wanted) {
                let got = net.value(&|name| if name == "a" { a } else { b });
                assert_eq!(got, wanted, "{i}: a={a} b={b}: {outputs:?}");
            }
        }
    }
    assert!(shorter > 5_000, "{shorter}");
}

#[test]
fn values_are_narrowed_to_their_read_bits() {
    let (a, b) = (Net::input("a", 8), Net::input("b", 8));
    let text = |y: Net| body_of(&["a", "b"], y);
    let low = |net: Net| text(net.named("x").slice(0, 4));
    assert_eq!(low(a.add(&b)), "// unread: a[3:0] b[3:0]\n    assign y = a[3:0] + b[3:0];\n");
    assert_eq!(low(a.mul(&b)), "// unread: a[3:0] b[3:0]\n    assign y = a[3:0] * b[3:0];\n");
    assert_eq!(
        low(a.slice(0, 2).mul(&b)),
        "// unread: a[1:0] b[3:0]\n    assign y = {2'b0, a[1:0]} * b[3:0];\n"
    );
    assert_eq!(low(a.bit(7).select(&a, &b)), "// unread: a b[3:0]\n    assign y = a[7] ? a[3:0] : b[3:0];\n");
    // A sum's upper bits need the carry from the lower ones; a right shift brings upper bits down.
    let high = |net: Net| text(net.named("x").slice(4, 4));
    let unread = "    /* verilator lint_off UNUSEDSIGNAL */\n    wire [7:0] x = a + b;\n    /* verilator lint_on UNUSEDSIGNAL */\n";
    assert_eq!(high(a.add(&b)), format!("{unread}    assign y = x[7:4];\n"));
    assert_eq!(high(a.and(&b)), "// unread: a[7:4] b[7:4]\n    assign y = a[7:4] & b[7:4];\n");
    // Adding a half: the bits below it do not matter.
    let half = high(a.add(&Net::constant(8, 8)));
    assert_eq!(half, "// unread: a[7:3] b\n    assign y = a[7:4] + {3'h0, a[3]};\n");
    assert_eq!(high(a.shr(&b)), "// unread: a[7:4]\n    assign y = a[7:4] >> b;\n");
}
