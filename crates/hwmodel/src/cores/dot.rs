//! The dot product `q . k`: d products, then a registered adder tree, one level a cycle.

use crate::circuit;
use crate::format::Format;
use crate::rtl::{Bus, In, Logic, Out, Register, Tag, ast, hdl_gen, logic};
use crate::units::{Mixed, Operation, Product, ProductFunction};

circuit! {
    /// `d` products and the tree that adds them; `dot` appears `1 + ceil(log2 d)` cycles after `k`.
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
            /// Products, registered.
            product_q: Vec<Register>,
            /// The adder tree (one).
            tree: Vec<AdderTree>,
        }
        config {
            d: usize,
        }
    }
}

impl DotProduct {
    /// A dot product of `d` elements.
    pub fn new(format: Format, d: usize) -> Self {
        let width = format.width();
        let doc = format!("dot = sum of q[i] * k[i], d = {d}, every product and sum rounded to {format}.");
        DotProduct {
            tag: Tag::module(format!("{}_dot_product_{d}", format.ident()), doc),
            quiet: false,
            clk: Bus::new(1),
            q: Bus::vector(d, width),
            k: Bus::vector(d, width),
            dot: Bus::new(width),
            product: (0..d).map(|_| Product::new(ProductFunction { format })).collect(),
            product_q: (0..d).map(|_| Register::new(width)).collect(),
            tree: vec![AdderTree::first_level(format, d)],
            d,
        }
    }
}

impl Logic for DotProduct {
    #[hdl_gen]
    fn update(&mut self) {
        for i in 0..self.d {
            self.product[i].a.next = self.q[i].val();
            self.product[i].b.next = self.k[i].val();
            self.product_q[i].clk.next = self.clk.val();
            self.product_q[i].d.next = self.product[i].y.val();
            self.tree[0].x[i].next = self.product_q[i].q.val();
        }
        self.tree[0].clk.next = self.clk.val();
        self.dot.next = self.tree[0].y.val();
    }
}

circuit! {
    /// Adds `n` words: neighbours pairwise, a register after each sum, an odd last word passes on. Nested:
    /// one level and the tree for its results.
    pub struct AdderTree {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// The words to add.
            x: Vec<Bus<In>>,
            /// Their sum, `ceil(log2 n)` cycles later.
            y: Bus<Out>,
        }
        parts {
            /// `x[2i] + x[2i+1]`.
            sum: Vec<Mixed>,
            /// Sums of this level, registered.
            sum_q: Vec<Register>,
            /// The tree over this level's results, if more than one.
            rest: Vec<AdderTree>,
        }
        config {
            pairs: usize,
            outputs: usize,
            deeper: usize,
        }
    }
}

impl AdderTree {
    /// A tree for `n >= 2` words.
    pub fn new(format: Format, n: usize) -> Self {
        let width = format.width();
        let outputs = n.div_ceil(2);
        let rest: Vec<AdderTree> = match outputs {
            1 => vec![],
            _ => vec![AdderTree::new(format, outputs)],
        };
        AdderTree {
            tag: Tag::module(
                format!("{}_adder_tree_{n}", format.ident()),
                format!("y = sum of {n} words, pairwise, one level a cycle."),
            ),
            quiet: false,
            clk: Bus::new(1),
            x: Bus::vector(n, width),
            y: Bus::new(width),
            sum: (0..n / 2).map(|_| Mixed::uniform(Operation::Add, format)).collect(),
            sum_q: (0..outputs).map(|_| Register::new(width)).collect(),
            deeper: rest.len(),
            rest,
            pairs: n / 2,
            outputs,
        }
    }
}

impl AdderTree {
    /// The tree's first level as a part of the dot product's own module.
    fn first_level(format: Format, d: usize) -> Self {
        let tree = AdderTree::new(format, d);
        AdderTree { tag: tree.tag.clone().dissolved(), ..tree }
    }
}

impl Logic for AdderTree {
    #[hdl_gen]
    fn update(&mut self) {
        for i in 0..self.pairs {
            self.sum[i].a.next = self.x[2 * i].val();
            self.sum[i].b.next = self.x[2 * i + 1].val();
            self.sum_q[i].d.next = self.sum[i].y.val();
        }
        for i in self.pairs..self.outputs {
            self.sum_q[i].d.next = self.x[2 * i].val();
        }
        for i in 0..self.outputs {
            self.sum_q[i].clk.next = self.clk.val();
        }
        for r in 0..self.deeper {
            self.rest[r].clk.next = self.clk.val();
            for i in 0..self.outputs {
                self.rest[r].x[i].next = self.sum_q[i].q.val();
            }
            self.y.next = self.rest[r].y.val();
        }
        for r in self.deeper..1 {
            self.y.next = self.sum_q[r].q.val();
        }
    }
}
