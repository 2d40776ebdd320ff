//! The array: cores between shadow registers and the queue of results.

/// Declares the array of a core. `fixed`: the core has fixed-point lanes; names of their two ports.
macro_rules! query_array {
    ($(#[$meta:meta])* $name:ident of $core:ident $(fixed: $exponent:ident $overflow:ident)?) => {
        $crate::circuit! {
            $(#[$meta])*
            pub struct $name {
                ports {
                    /// Clock.
                    clk: Bus<In>,
                    /// Synchronous reset.
                    rst: Bus<In>,
                    /// Query.
                    q: Vec<Bus<In>>,
                    /// A query is offered.
                    q_valid: Bus<In>,
                    /// It is its block's last.
                    q_last: Bus<In>,
                    /// A query is taken if offered.
                    q_ready: Bus<Out>,
                    /// With masks: the first key that the query sees.
                    q_from: Vec<Bus<In>>,
                    /// With masks: the first one that it sees no more.
                    q_to: Vec<Bus<In>>,
                    $(/// Exponent field of the largest |v|, loaded with the query.
                    $exponent: Bus<In>,)?
                    /// Key.
                    k: Vec<Bus<In>>,
                    /// A key is offered.
                    k_valid: Bus<In>,
                    /// It is its block's last.
                    k_last: Bus<In>,
                    /// A key is taken if offered.
                    k_ready: Bus<Out>,
                    /// With masks: no query sees the key.
                    k_mask: Vec<Bus<In>>,
                    /// One step reaches the value stage.
                    v_step: Bus<Out>,
                    /// Some query of the block needs its value.
                    v_ren: Bus<Out>,
                    /// Value, one cycle after `v_ren`.
                    v: Vec<Bus<In>>,
                    /// Result.
                    o: Vec<Bus<Out>>,
                    /// The result is valid.
                    o_valid: Bus<Out>,
                    /// Its query's place in the block.
                    o_index: Bus<Out>,
                    /// It is its block's last.
                    o_last: Bus<Out>,
                    /// An operand was Inf or NaN.
                    o_invalid: Bus<Out>,
                    /// With masks: the query has seen no key, and the result is zero.
                    o_empty: Vec<Bus<Out>>,
                    $(/// A value was outside the range that `v_exponent` gives, or the sum too large.
                    $overflow: Bus<Out>,)?
                }
                parts {
                    /// Handshakes.
                    control: BlockControl,
                    /// Queries of the next block.
                    shadow: Vec<QueryShadow>,
                    /// With masks: place of the key in its block.
                    counter: Vec<KeyCounter>,
                    /// With masks: what each query sees.
                    window: Vec<KeyWindow>,
                    /// The cores.
                    core: Vec<$core>,
                    /// Whether any core has a step: a tree, leaves first.
                    steps: Vec<FlagOr>,
                    /// The same for the cores that read the value.
                    reads: Vec<FlagOr>,
                    /// Nothing.
                    low: Low,
                    /// Results after the first, or their flags.
                    kept: Vec<KeptResult>,
                    /// First result or the others; none in an array of one core.
                    front: Vec<ResultSelect>,
                    /// Elements of the results that the cores hold.
                    pick: Vec<ResultPick>,
                    /// Another result follows.
                    more: Vec<Select>,
                    /// Place of the next result.
                    index_q: ResetRegister,
                    /// Position of the result.
                    order: Order,
                }
                config {
                    d: usize,
                    copied: usize,
                    picked: usize,
                    flag_count: usize,
                    queries: usize,
                    followers: usize,
                    last_follower: usize,
                    fronts: usize,
                    seconds: usize,
                    leaf_nodes: usize,
                    inner_nodes: usize,
                    masks: usize,
                    first_flags: usize,
                }
            }
        }

        impl $name {
            /// The array of a (valid) configuration.
            pub fn new(config: &BlockConfig, n: &Arc<Numerics>) -> Self {
                let (d, width, queries) = (config.core.d, n.format.width(), config.queries);
                let followers = queries - 1;
                let fronts = followers.min(1);
                let holds = config.core.design == Design::Fa2 && queries > 1;
                let (copied, picked) = if holds { (0, d) } else { (d, 0) };
                let exponent_bits = config.core.has_fixed_lanes().then_some(n.format.exponent_bits);
                let masks = config.core.masks as usize;
                let key_bits = config.core.masks.then(|| config.key_index_bits());
                let first_flags = 1 + <[&str]>::len(&[$(stringify!($overflow))?]);
                let flag_count = first_flags + masks;
                let limits = || Bus::vector(masks, config.key_index_bits());
                $name {
                    tag: Tag::module(
                        config.name(),
                        format!("{queries} queries at once: every key meets the query of every core."),
                    ),
                    unrest: Default::default(),
                    clk: Bus::new(1),
                    rst: Bus::new(1),
                    q: Bus::vector(d, width),
                    q_valid: Bus::new(1),
                    q_last: Bus::new(1),
                    q_ready: Bus::new(1),
                    q_from: limits(),
                    q_to: limits(),
                    $($exponent: Bus::new(n.format.exponent_bits),)?
                    k: Bus::vector(d, width),
                    k_valid: Bus::new(1),
                    k_last: Bus::new(1),
                    k_ready: Bus::new(1),
                    k_mask: Bus::vector(masks, 1),
                    v_step: Bus::new(1),
                    v_ren: Bus::new(1),
                    v: Bus::vector(d, width),
                    o: Bus::vector(d, width),
                    o_valid: Bus::new(1),
                    o_index: Bus::new(config.index_bits()),
                    o_last: Bus::new(1),
                    o_invalid: Bus::new(1),
                    o_empty: Bus::vector(masks, 1),
                    $($overflow: Bus::new(1),)?
                    control: BlockControl::new(queries),
                    shadow: (0..queries).map(|_| QueryShadow::new(d, width, exponent_bits, key_bits)).collect(),
                    counter: key_bits.iter().map(|bits| KeyCounter::new(*bits)).collect(),
                    window: (0..masks * queries).map(|_| KeyWindow::new(config.key_index_bits())).collect(),
                    core: (0..queries).map(|_| $core::new(&config.core, n)).collect(),
                    steps: (0..followers).map(|_| flag_or()).collect(),
                    reads: (0..followers).map(|_| flag_or()).collect(),
                    low: Low::new(LowFunction {}),
                    kept: (0..followers).map(|_| KeptResult::new(copied, width, flag_count)).collect(),
                    front: (0..fronts).map(|_| ResultSelect::new(copied, width, flag_count)).collect(),
                    pick: (0..picked).map(|_| ResultPick::new(queries, width)).collect(),
                    more: (0..fronts).map(|_| Select::new(SelectFunction { width: 1 })).collect(),
                    index_q: ResetRegister::new(config.index_bits(), 0),
                    order: Order::new(OrderFunction { bits: config.index_bits() }),
                    d,
                    copied,
                    picked,
                    flag_count,
                    queries,
                    followers,
                    last_follower: followers.saturating_sub(1),
                    fronts,
                    seconds: followers.min(2),
                    leaf_nodes: queries / 2,
                    inner_nodes: queries.div_ceil(2).min(followers),
                    masks,
                    first_flags,
                }
            }
        }

        impl Logic for $name {
            #[hdl_gen]
            fn update(&mut self) {
                self.control.clk.next = self.clk.val();
                self.control.rst.next = self.rst.val();
                self.control.q_valid.next = self.q_valid.val();
                self.control.q_last.next = self.q_last.val();
                self.control.k_valid.next = self.k_valid.val();
                self.control.k_last.next = self.k_last.val();
                self.q_ready.next = self.control.q_ready.val();
                self.k_ready.next = self.control.k_ready.val();
                for b in 0..self.queries {
                    self.shadow[b].clk.next = self.clk.val();
                    self.shadow[b].load.next = self.control.load[b].val();
                    $(
                        self.shadow[b].exponent[0].next = self.$exponent.val();
                        self.core[b].$exponent.next = self.shadow[b].waiting_exponent[0].val();
                    )?
                    self.core[b].clk.next = self.clk.val();
                    self.core[b].rst.next = self.rst.val();
                    self.core[b].q_valid.next = self.control.take_query[b].val();
                    self.core[b].k_valid.next = self.control.key[b].val();
                    self.core[b].k_last.next = self.k_last.val();
                    for i in 0..self.d {
                        self.shadow[b].q[i].next = self.q[i].val();
                        self.core[b].q[i].next = self.shadow[b].waiting[i].val();
                        self.core[b].k[i].next = self.k[i].val();
                        self.core[b].v[i].next = self.v[i].val();
                    }
                }
                for m in 0..self.masks {
                    self.counter[m].clk.next = self.clk.val();
                    self.counter[m].rst.next = self.rst.val();
                    // The first core has a query in every block.
                    self.counter[m].taken.next = self.control.key[0].val();
                    self.counter[m].k_last.next = self.k_last.val();
                    for b in 0..self.queries {
                        self.shadow[b].limit[0].next = self.q_from[m].val();
                        self.shadow[b].limit[1].next = self.q_to[m].val();
                        self.window[b].clk.next = self.clk.val();
                        self.window[b].load.next = self.control.take_query[b].val();
                        self.window[b].limit[0].next = self.shadow[b].waiting_limit[0].val();
                        self.window[b].limit[1].next = self.shadow[b].waiting_limit[1].val();
                        self.window[b].index.next = self.counter[m].index.val();
                        self.window[b].k_mask.next = self.k_mask[m].val();
                        self.core[b].k_mask[m].next = self.window[b].mask.val();
                    }
                }
                // Node i takes entries 2i and 2i+1 of the list of all cores, then all nodes.
                for i in 0..self.leaf_nodes {
                    self.reads[i].a.next = self.core[2 * i].v_ren.val();
                    self.steps[i].a.next = self.core[2 * i].v_step.val();
                    self.reads[i].b.next = self.core[2 * i + 1].v_ren.val();
                    self.steps[i].b.next = self.core[2 * i + 1].v_step.val();
                }
                for i in self.leaf_nodes..self.inner_nodes {
                    self.reads[i].a.next = self.core[2 * i].v_ren.val();
                    self.steps[i].a.next = self.core[2 * i].v_step.val();
                    self.reads[i].b.next = self.reads[0].y.val();
                    self.steps[i].b.next = self.steps[0].y.val();
                }
                for n in self.queries..(self.queries + 1) {
                    for i in self.inner_nodes..self.followers {
                        self.reads[i].a.next = self.reads[2 * i - n].y.val();
                        self.steps[i].a.next = self.steps[2 * i - n].y.val();
                        self.reads[i].b.next = self.reads[2 * i + 1 - n].y.val();
                        self.steps[i].b.next = self.steps[2 * i + 1 - n].y.val();
                    }
                }
                for i in self.last_follower..self.followers {
                    self.v_ren.next = self.reads[i].y.val();
                    self.v_step.next = self.steps[i].y.val();
                }
                for i in 0..self.followers {
                    self.kept[i].clk.next = self.clk.val();
                    self.kept[i].rst.next = self.rst.val();
                    self.kept[i].take.next = self.core[0].o_valid.val();
                    self.kept[i].own_valid.next = self.core[i + 1].o_valid.val();
                    self.kept[i].own_flags[0].next = self.core[i + 1].o_invalid.val();
                    $(self.kept[i].own_flags[1].next = self.core[i + 1].$overflow.val();)?
                    for f in self.first_flags..self.flag_count {
                        self.kept[i].own_flags[f].next = self.core[i + 1].o_empty[0].val();
                    }
                    for j in 0..self.copied {
                        self.kept[i].own[j].next = self.core[i + 1].o[j].val();
                    }
                }
                for i in 1..self.followers {
                    self.kept[i - 1].behind_valid.next = self.kept[i].valid.val();
                    for j in 0..self.flag_count {
                        self.kept[i - 1].behind_flags[j].next = self.kept[i].flags[j].val();
                    }
                    for j in 0..self.copied {
                        self.kept[i - 1].behind[j].next = self.kept[i].o[j].val();
                    }
                }
                // Behind the last one there is nothing: any data do.
                for i in self.last_follower..self.followers {
                    self.kept[i].behind_valid.next = self.low.y.val();
                    for j in 0..self.flag_count {
                        self.kept[i].behind_flags[j].next = self.low.y.val();
                    }
                    for j in 0..self.copied {
                        self.kept[i].behind[j].next = self.core[i + 1].o[j].val();
                    }
                }
                for i in 0..self.fronts {
                    self.front[i].take.next = self.core[0].o_valid.val();
                    self.front[i].own_valid.next = self.core[0].o_valid.val();
                    self.front[i].own_flags[0].next = self.core[0].o_invalid.val();
                    $(self.front[i].own_flags[1].next = self.core[0].$overflow.val();)?
                    for f in self.first_flags..self.flag_count {
                        self.front[i].own_flags[f].next = self.core[0].o_empty[0].val();
                        self.o_empty[0].next = self.front[i].flags[f].val();
                    }
                    self.front[i].behind_valid.next = self.kept[0].valid.val();
                    for j in 0..self.flag_count {
                        self.front[i].behind_flags[j].next = self.kept[0].flags[j].val();
                    }
                    for j in 0..self.copied {
                        self.front[i].own[j].next = self.core[0].o[j].val();
                        self.front[i].behind[j].next = self.kept[0].o[j].val();
                        self.o[j].next = self.front[i].o[j].val();
                    }
                    self.o_valid.next = self.front[i].valid.val();
                    self.o_invalid.next = self.front[i].flags[0].val();
                    $(self.$overflow.next = self.front[i].flags[1].val();)?
                    self.order.valid.next = self.front[i].valid.val();
                    self.more[i].take.next = self.core[0].o_valid.val();
                    self.more[i].own.next = self.core[1].o_valid.val();
                    self.order.more.next = self.more[i].y.val();
                }
                for i in 1..self.seconds {
                    self.more[0].behind.next = self.kept[i].valid.val();
                }
                for _none in self.queries..3 {
                    for i in 0..self.fronts {
                        self.more[i].behind.next = self.low.y.val();
                    }
                }
                for j in 0..self.picked {
                    self.pick[j].index.next = self.index_q.q.val();
                    for b in 0..self.queries {
                        self.pick[j].x[b].next = self.core[b].o[j].val();
                    }
                    self.o[j].next = self.pick[j].y.val();
                }
                // One core alone: its results need no place to wait.
                for _one in self.fronts..1 {
                    for j in 0..self.d {
                        self.o[j].next = self.core[0].o[j].val();
                    }
                    self.v_step.next = self.core[0].v_step.val();
                    self.v_ren.next = self.core[0].v_ren.val();
                    self.o_valid.next = self.core[0].o_valid.val();
                    self.o_invalid.next = self.core[0].o_invalid.val();
                    $(self.$overflow.next = self.core[0].$overflow.val();)?
                    for m in 0..self.masks {
                        self.o_empty[m].next = self.core[0].o_empty[m].val();
                    }
                    self.order.valid.next = self.core[0].o_valid.val();
                    self.order.more.next = self.low.y.val();
                }
                self.index_q.clk.next = self.clk.val();
                self.index_q.rst.next = self.rst.val();
                self.index_q.d.next = self.order.next_index.val();
                self.order.index.next = self.index_q.q.val();
                self.o_index.next = self.index_q.q.val();
                self.o_last.next = self.order.last.val();
            }
        }

        impl QueryArray for $name {
            fn inside(&self) -> Vec<Vec<Inside>> {
                self.core.iter().map(|core| core.inside()).collect()
            }
            fn ports(&mut self) -> ArrayPorts<'_> {
                ArrayPorts {
                    clk: &mut self.clk,
                    rst: &mut self.rst,
                    q: &mut self.q,
                    q_valid: &mut self.q_valid,
                    q_last: &mut self.q_last,
                    q_ready: &self.q_ready,
                    q_from: self.q_from.first_mut(),
                    q_to: self.q_to.first_mut(),
                    v_exponent: [$(&mut self.$exponent)?].into_iter().next(),
                    k: &mut self.k,
                    k_valid: &mut self.k_valid,
                    k_last: &mut self.k_last,
                    k_ready: &self.k_ready,
                    k_mask: self.k_mask.first_mut(),
                    v_step: &self.v_step,
                    v_ren: &self.v_ren,
                    v: &mut self.v,
                    o: &self.o,
                    o_valid: &self.o_valid,
                    o_index: &self.o_index,
                    o_last: &self.o_last,
                    o_invalid: &self.o_invalid,
                    o_empty: self.o_empty.first(),
                    o_overflow: [$(&self.$overflow)?].into_iter().next(),
                }
            }
        }
    };
}
pub(super) use query_array;
