//! The dot product `q . k` with every product and sum rounded to the format.

use super::plural;
use super::schedule::FrontSchedule;
use crate::circuit;
use crate::config::Dot;
use crate::numerics::Numerics;
use crate::rtl::{Bus, In, Logic, Out, Register, Tag, ast, hdl_gen, logic};
use crate::units::{Mixed, Operation, Product, ProductFunction};

circuit! {
    /// `d` products and the tree that adds them.
    pub struct DotProduct {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Query elements, any encoding.
            q: Vec<Bus<In>>,
            /// Key elements, any encoding.
            k: Vec<Bus<In>>,
            /// The rounded sum.
            dot: Bus<Out>,
        }
        parts {
            /// `q[i] k[i]`.
            product: Vec<Product>,
            /// Products, registered (all or none).
            product_q: Vec<Register>,
            /// The adder tree (one).
            tree: Vec<AdderTree>,
        }
        config {
            d: usize,
            registered: usize,
        }
    }
}

impl DotProduct {
    /// A dot product of `d` elements.
    pub fn new(n: &Numerics, d: usize) -> Self {
        let (format, width) = (n.format, n.format.width());
        let doc = format!("dot = sum of q[i] * k[i], d = {d}, every product and sum rounded to {format}.");
        let schedule = FrontSchedule::new(Dot::Tree, n.tree_levels);
        let registered = if schedule.after_products { d } else { 0 };
        let tree = AdderTree::new(n, d, &schedule.after_level);
        DotProduct {
            tag: Tag::module(format!("{}_dot_product_{d}", format.ident()), doc),
            unrest: Default::default(),
            clk: Bus::new(1),
            q: Bus::vector(d, width),
            k: Bus::vector(d, width),
            dot: Bus::new(width),
            product: (0..d).map(|_| Product::new(ProductFunction { format })).collect(),
            product_q: (0..registered).map(|_| Register::new(width)).collect(),
            // The first level is a part of the dot product's own module.
            tree: vec![AdderTree { tag: tree.tag.clone().dissolved(), ..tree }],
            d,
            registered,
        }
    }
}

impl Logic for DotProduct {
    #[hdl_gen]
    fn update(&mut self) {
        for i in 0..self.d {
            self.product[i].a.next = self.q[i].val();
            self.product[i].b.next = self.k[i].val();
        }
        for i in 0..self.registered {
            self.product_q[i].clk.next = self.clk.val();
            self.product_q[i].d.next = self.product[i].y.val();
            self.tree[0].x[i].next = self.product_q[i].q.val();
        }
        for i in self.registered..self.d {
            self.tree[0].x[i].next = self.product[i].y.val();
        }
        self.tree[0].clk.next = self.clk.val();
        self.dot.next = self.tree[0].y.val();
    }
}

circuit! {
    /// Adds `n` words: neighbours pairwise, an odd last word passes on. Nested: one level and the tree for its
    /// results.
    pub struct AdderTree {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// The words to add.
            x: Vec<Bus<In>>,
            /// Their sum.
            y: Bus<Out>,
        }
        parts {
            /// `x[2i] + x[2i+1]`.
            sum: Vec<Mixed>,
            /// Sums of this level, registered (all or none).
            sum_q: Vec<Register>,
            /// The tree over this level's results, if more than one.
            rest: Vec<AdderTree>,
        }
        config {
            pairs: usize,
            outputs: usize,
            registered_pairs: usize,
            registered: usize,
            deeper: usize,
        }
    }
}

impl AdderTree {
    /// A tree for `inputs >= 2` words; `registers` says for each level whether its sums are registered.
    pub fn new(n: &Numerics, inputs: usize, registers: &[bool]) -> Self {
        let (format, width) = (n.format, n.format.width());
        let (pairs, outputs) = (inputs / 2, inputs.div_ceil(2));
        let rest: Vec<AdderTree> = match outputs {
            1 => vec![],
            _ => {
                let rest = AdderTree::new(n, outputs, &registers[1..]);
                // Levels without a register between them are one stage, and one module.
                let tag = if registers[0] { rest.tag.clone() } else { rest.tag.clone().dissolved() };
                vec![AdderTree { tag, ..rest }]
            }
        };
        let registered = if registers[0] { outputs } else { 0 };
        let stages = registers.iter().filter(|r| **r).count();
        AdderTree {
            tag: Tag::module(
                format!("{}_adder_tree_{inputs}", format.ident()),
                format!("y = sum of {inputs} words, pairwise, {stages} cycle{} later.", plural(stages)),
            ),
            unrest: Default::default(),
            clk: Bus::new(1),
            x: Bus::vector(inputs, width),
            y: Bus::new(width),
            sum: (0..pairs).map(|_| Mixed::uniform(Operation::Add, format)).collect(),
            sum_q: (0..registered).map(|_| Register::new(width)).collect(),
            deeper: rest.len(),
            rest,
            pairs,
            outputs,
            registered_pairs: registered.min(pairs),
            registered,
        }
    }
}

impl Logic for AdderTree {
    #[hdl_gen]
    fn update(&mut self) {
        for i in 0..self.pairs {
            self.sum[i].a.next = self.x[2 * i].val();
            self.sum[i].b.next = self.x[2 * i + 1].val();
        }
        for i in 0..self.registered {
            self.sum_q[i].clk.next = self.clk.val();
        }
        for i in 0..self.registered_pairs {
            self.sum_q[i].d.next = self.sum[i].y.val();
        }
        for i in self.registered_pairs..self.registered {
            self.sum_q[i].d.next = self.x[2 * i].val();
        }
        for r in 0..self.deeper {
            self.rest[r].clk.next = self.clk.val();
            for i in 0..self.registered {
                self.rest[r].x[i].next = self.sum_q[i].q.val();
            }
            for i in self.registered_pairs..self.pairs {
                self.rest[r].x[i].next = self.sum[i].y.val();
            }
            for i in self.pairs..self.outputs {
                for _unregistered in self.registered..1 {
                    self.rest[r].x[i].next = self.x[2 * i].val();
                }
            }
            self.y.next = self.rest[r].y.val();
        }
        for i in self.deeper..1 {
            for _r in 0..self.registered {
                self.y.next = self.sum_q[i].q.val();
            }
            for _unregistered in self.registered..1 {
                self.y.next = self.sum[i].y.val();
            }
        }
    }
}
