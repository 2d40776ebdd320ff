//! A query that waits for its block to start.

use crate::circuit;
use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, Tag, ast, hdl_gen, logic};

circuit! {
    /// Shadow register of one core's query.
    pub struct QueryShadow {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Take the query.
            load: Bus<In>,
            /// Query.
            q: Vec<Bus<In>>,
            /// Exponent field of the largest |v|, with fixed-point lanes.
            exponent: Vec<Bus<In>>,
            /// Limits of the keys that it sees, with masks.
            limit: Vec<Bus<In>>,
            /// The query that waits.
            waiting: Vec<Bus<Out>>,
            /// Its exponent.
            waiting_exponent: Vec<Bus<Out>>,
            /// Its limits.
            waiting_limit: Vec<Bus<Out>>,
        }
        parts {
            /// The register.
            q_q: Vec<EnabledRegister>,
            /// The same for the exponent.
            exponent_q: Vec<EnabledRegister>,
            /// The same for the limits.
            limit_q: Vec<EnabledRegister>,
        }
        config {
            d: usize,
            exponents: usize,
            limits: usize,
        }
    }
}

impl QueryShadow {
    /// A register for `d` elements of `width` bits and, with fixed-point lanes, an exponent of so many bits; with
    /// masks, two limits of so many bits.
    pub fn new(d: usize, width: u32, exponent_bits: Option<u32>, key_bits: Option<u32>) -> Self {
        let exponents = exponent_bits.iter().len();
        let limits = 2 * key_bits.iter().len();
        let limit_bits = key_bits.unwrap_or(1);
        let text = |letter: char, bits: Option<u32>| bits.map_or(String::new(), |n| format!("_{letter}{n}"));
        let suffix = text('e', exponent_bits) + &text('k', key_bits);
        QueryShadow {
            tag: Tag::module(format!("query_shadow_{d}x{width}{suffix}"), "A query of the next block."),
            unrest: Default::default(),
            clk: Bus::new(1),
            load: Bus::new(1),
            q: Bus::vector(d, width),
            exponent: exponent_bits.iter().map(|bits| Bus::new(*bits)).collect(),
            limit: Bus::vector(limits, limit_bits),
            waiting: Bus::vector(d, width),
            waiting_exponent: exponent_bits.iter().map(|bits| Bus::new(*bits)).collect(),
            waiting_limit: Bus::vector(limits, limit_bits),
            q_q: (0..d).map(|_| EnabledRegister::new(width)).collect(),
            exponent_q: exponent_bits.iter().map(|bits| EnabledRegister::new(*bits)).collect(),
            limit_q: (0..limits).map(|_| EnabledRegister::new(limit_bits)).collect(),
            d,
            exponents,
            limits,
        }
    }
}

impl Logic for QueryShadow {
    #[hdl_gen]
    fn update(&mut self) {
        for i in 0..self.d {
            self.q_q[i].clk.next = self.clk.val();
            self.q_q[i].enable.next = self.load.val();
            self.q_q[i].d.next = self.q[i].val();
            self.waiting[i].next = self.q_q[i].q.val();
        }
        for i in 0..self.exponents {
            self.exponent_q[i].clk.next = self.clk.val();
            self.exponent_q[i].enable.next = self.load.val();
            self.exponent_q[i].d.next = self.exponent[i].val();
            self.waiting_exponent[i].next = self.exponent_q[i].q.val();
        }
        for i in 0..self.limits {
            self.limit_q[i].clk.next = self.clk.val();
            self.limit_q[i].enable.next = self.load.val();
            self.limit_q[i].d.next = self.limit[i].val();
            self.waiting_limit[i].next = self.limit_q[i].q.val();
        }
    }
}
