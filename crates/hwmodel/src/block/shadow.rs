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
            /// The query that waits.
            waiting: Vec<Bus<Out>>,
            /// Its exponent.
            waiting_exponent: Vec<Bus<Out>>,
        }
        parts {
            /// The register.
            q_q: Vec<EnabledRegister>,
            /// The same for the exponent.
            exponent_q: Vec<EnabledRegister>,
        }
        config {
            d: usize,
            exponents: usize,
        }
    }
}

impl QueryShadow {
    /// A register for `d` elements of `width` bits and, with fixed-point lanes, an exponent of so many bits.
    pub fn new(d: usize, width: u32, exponent_bits: Option<u32>) -> Self {
        let exponents = exponent_bits.iter().len();
        let suffix = exponent_bits.map_or(String::new(), |bits| format!("_e{bits}"));
        QueryShadow {
            tag: Tag::module(format!("query_shadow_{d}x{width}{suffix}"), "A query of the next block."),
            quiet: false,
            clk: Bus::new(1),
            load: Bus::new(1),
            q: Bus::vector(d, width),
            exponent: exponent_bits.iter().map(|bits| Bus::new(*bits)).collect(),
            waiting: Bus::vector(d, width),
            waiting_exponent: exponent_bits.iter().map(|bits| Bus::new(*bits)).collect(),
            q_q: (0..d).map(|_| EnabledRegister::new(width)).collect(),
            exponent_q: exponent_bits.iter().map(|bits| EnabledRegister::new(*bits)).collect(),
            d,
            exponents,
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
    }
}
