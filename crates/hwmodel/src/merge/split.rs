//! Cores that share a query, and the tree that merges their parts.

/// Declares the cores and the tree of a kind of core. `fixed`: the core has fixed-point lanes; `divides`: the result is divided
/// by this scalar of the state.
macro_rules! split_core {
    (
        $(#[$meta:meta])*
        $name:ident of $core:ident merged by $node:ident to $result:ident($n:ident);
        accumulator = $acc_bits:expr;
        scalars: [$($state_in:ident $o_scalar:ident $a:ident $b:ident $both:ident: $bits:expr),*];
        $(rooms: $rooms:ident $room_in:ident $o_room:ident $a_room:ident $b_room:ident $room:ident;)?
        $(fixed: $exponent:ident $exponent_q:ident $result_exponent:ident $overflow:ident $overflows:ident $overflow_q:ident;)?
        $(divides: $l:ident;)?
    ) => {
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
                    /// The query registers load.
                    q_valid: Bus<In>,
                    $(/// Exponent field of the largest |v|, loaded with the query.
                    $exponent: Bus<In>,)?
                    /// Keys, one for each part.
                    k: Vec<Bus<In>>,
                    /// Keys are accepted.
                    k_valid: Bus<In>,
                    /// They are the query's last.
                    k_last: Bus<In>,
                    /// The query does not see the key of a part.
                    k_mask: Vec<Bus<In>>,
                    /// One step reaches the value stage.
                    v_step: Bus<Out>,
                    /// That step needs the value of a part.
                    v_ren: Vec<Bus<Out>>,
                    /// Values, one for each part.
                    v: Vec<Bus<In>>,
                    /// Result.
                    o: Vec<Bus<Out>>,
                    /// The result is valid.
                    o_valid: Bus<Out>,
                    /// An operand was Inf or NaN.
                    o_invalid: Bus<Out>,
                    /// The query has seen no key, and the result is zero.
                    o_empty: Bus<Out>,
                    $(/// A value was outside the range that `v_exponent` gives.
                    $overflow: Bus<Out>,)?
                    $(/// Scalar of the merged state, beside the result.
                    $o_scalar: Bus<Out>,)*
                    $(/// What the hold rule has left.
                    $o_room: Vec<Bus<Out>>,)?
                    /// Accumulators of the merged state.
                    o_state: Vec<Bus<Out>>,
                }
                parts {
                    /// No step is a partial result.
                    low: Low,
                    $(/// No scalar of one.
                    $a: Zero,)*
                    $(/// Nor its room.
                    $a_room: Vec<Zero>,)?
                    /// Nor its accumulators.
                    zero: Zero,
                    /// The cores.
                    core: Vec<$core>,
                    /// Accumulators of the cores: the first merges' factors take two cycles.
                    core_o_q: Vec<Register>,
                    /// The same a cycle later.
                    core_o_qq: Vec<Register>,
                    /// Merges, a tree, leaves first.
                    merge: Vec<$node>,
                    /// The merged accumulators are there.
                    done_q: ResetRegister,
                    /// The result is there, where it takes a cycle more.
                    valid_q: Vec<ResetRegister>,
                    /// Any part has met Inf or NaN: a tree like that of the merges.
                    invalids: Vec<FlagOr>,
                    /// To the result.
                    invalid_q: Delay,
                    $(/// Any part has overflowed.
                    $overflows: Vec<FlagOr>,
                    /// To the result.
                    $overflow_q: Delay,
                    /// The exponent register.
                    $exponent_q: EnabledRegister,
                    /// To the result.
                    $result_exponent: Delay,)?
                    /// To the result.
                    empty_q: Delay,
                    $(/// To the result.
                    $both: Delay,)*
                    $(/// To the result.
                    $room: Vec<Delay>,)?
                    /// To the result.
                    state_q: Vec<Register>,
                    /// Result.
                    result: $result,
                }
                config {
                    d: usize,
                    parts: usize,
                    leaves: usize,
                    nodes: usize,
                    $($rooms: usize,)?
                    waits: usize,
                    states: usize,
                }
            }
        }

        impl $name {
            /// Cores and tree of a (valid) configuration.
            pub fn new(config: &SplitConfig, $n: &Arc<Numerics>) -> Self {
                let (d, parts, width) = (config.core.d, config.parts, $n.format.width());
                let nodes = parts - 1;
                let waits = result_cycles(&config.core) as usize;
                $(
                    let $rooms = $n.budget.iter().len();
                    let $room = room_bits($n);
                )?
                let merges = (MERGE_CYCLES * config.levels()) as usize;
                $name {
                    tag: Tag::module(
                        config.name(),
                        format!("{parts} cores for one query, each with a part of its keys, and the merges of their results."),
                    )
                    .open(),
                    unrest: Default::default(),
                    clk: Bus::new(1),
                    rst: Bus::new(1),
                    q: Bus::vector(d, width),
                    q_valid: Bus::new(1),
                    $($exponent: Bus::new($n.format.exponent_bits),)?
                    k: Bus::vector(parts * d, width),
                    k_valid: Bus::new(1),
                    k_last: Bus::new(1),
                    k_mask: Bus::vector(parts, 1),
                    v_step: Bus::new(1),
                    v_ren: Bus::vector(parts, 1),
                    v: Bus::vector(parts * d, width),
                    o: Bus::vector(d, width),
                    o_valid: Bus::new(1),
                    o_invalid: Bus::new(1),
                    o_empty: Bus::new(1),
                    $($overflow: Bus::new(1),)?
                    $($o_scalar: Bus::new($bits),)*
                    $($o_room: Bus::vector($rooms, $room),)?
                    o_state: Bus::vector(d, $acc_bits),
                    low: Low::new(LowFunction {}),
                    $($a: Zero::new(ZeroFunction { width: $bits }),)*
                    $($a_room: (0..$rooms).map(|_| Zero::new(ZeroFunction { width: $room })).collect(),)?
                    zero: Zero::new(ZeroFunction { width: $acc_bits }),
                    core: (0..parts).map(|_| $core::new(&config.core, $n)).collect(),
                    core_o_q: (0..parts * d).map(|_| Register::new($acc_bits)).collect(),
                    core_o_qq: (0..parts * d).map(|_| Register::new($acc_bits)).collect(),
                    merge: (0..nodes).map(|node| $node::new($n, d, node + 1 == nodes)).collect(),
                    done_q: ResetRegister::new(1, 0),
                    valid_q: (0..waits).map(|_| ResetRegister::new(1, 0)).collect(),
                    invalids: (0..nodes).map(|_| flag_or()).collect(),
                    invalid_q: Delay::new(1, merges + 1 + waits),
                    $(
                        $overflows: (0..nodes).map(|_| flag_or()).collect(),
                        $overflow_q: Delay::new(1, merges + 1 + waits),
                        $exponent_q: EnabledRegister::new($n.format.exponent_bits),
                        $result_exponent: Delay::new($n.format.exponent_bits, $n.latency() as usize + merges + 1),
                    )?
                    empty_q: Delay::new(1, 1 + waits),
                    $($both: Delay::new($bits, 1 + waits),)*
                    $($room: (0..$rooms).map(|_| Delay::new($room, 1 + waits)).collect(),)?
                    state_q: (0..waits * d).map(|_| Register::new($acc_bits)).collect(),
                    states: waits * d,
                    result: $result::new($n, d),
                    d,
                    parts,
                    leaves: parts / 2,
                    nodes,
                    $($rooms,)?
                    waits,
                }
            }
        }

        impl Logic for $name {
            #[hdl_gen]
            fn update(&mut self) {
                for p in 0..self.parts {
                    self.core[p].clk.next = self.clk.val();
                    self.core[p].rst.next = self.rst.val();
                    self.core[p].q_valid.next = self.q_valid.val();
                    self.core[p].k_valid.next = self.k_valid.val();
                    self.core[p].k_last.next = self.k_last.val();
                    self.core[p].k_mask[0].next = self.k_mask[p].val();
                    self.core[p].k_state[0].next = self.low.y.val();
                    self.v_ren[p].next = self.core[p].v_ren.val();
                    $(self.core[p].$exponent.next = self.$exponent.val();)?
                    for d in self.d..(self.d + 1) {
                        for i in 0..self.d {
                            self.core[p].q[i].next = self.q[i].val();
                            self.core[p].k[i].next = self.k[d * p + i].val();
                            self.core[p].v[i].next = self.v[d * p + i].val();
                            self.core[p].state_o[i].next = self.zero.y.val();
                            self.core_o_q[d * p + i].clk.next = self.clk.val();
                            self.core_o_q[d * p + i].d.next = self.core[p].o_state[i].val();
                            self.core_o_qq[d * p + i].clk.next = self.clk.val();
                            self.core_o_qq[d * p + i].d.next = self.core_o_q[d * p + i].q.val();
                        }
                    }
                }
                $(
                    for p in 0..self.parts {
                        self.core[p].$state_in[0].next = self.$a.y.val();
                    }
                )*
                $(
                    for r in 0..self.$rooms {
                        for p in 0..self.parts {
                            self.core[p].$room_in[r].next = self.$a_room[r].y.val();
                        }
                    }
                )?
                self.v_step.next = self.core[0].v_step.val();
                for i in 0..self.nodes {
                    self.merge[i].clk.next = self.clk.val();
                    self.merge[i].rst.next = self.rst.val();
                }
                for i in 0..self.leaves {
                    self.merge[i].valid.next = self.core[2 * i].o_valid.val();
                    self.merge[i].a_empty.next = self.core[2 * i].o_empty[0].val();
                    self.merge[i].b_empty.next = self.core[2 * i + 1].o_empty[0].val();
                    self.invalids[i].a.next = self.core[2 * i].o_invalid.val();
                    self.invalids[i].b.next = self.core[2 * i + 1].o_invalid.val();
                    $(
                        self.$overflows[i].a.next = self.core[2 * i].$overflow.val();
                        self.$overflows[i].b.next = self.core[2 * i + 1].$overflow.val();
                    )?
                    $(
                        self.merge[i].$a.next = self.core[2 * i].$o_scalar[0].val();
                        self.merge[i].$b.next = self.core[2 * i + 1].$o_scalar[0].val();
                    )*
                    $(
                        for r in 0..self.$rooms {
                            self.merge[i].$a_room[r].next = self.core[2 * i].$o_room[r].val();
                            self.merge[i].$b_room[r].next = self.core[2 * i + 1].$o_room[r].val();
                        }
                    )?
                    for d in self.d..(self.d + 1) {
                        for j in 0..self.d {
                            self.merge[i].a[j].next = self.core_o_qq[2 * d * i + j].q.val();
                            self.merge[i].b[j].next = self.core_o_qq[2 * d * i + d + j].q.val();
                        }
                    }
                }
                // Node i takes nodes 2i and 2i+1 of the list of all cores, then all nodes.
                for p in self.parts..(self.parts + 1) {
                    for i in self.leaves..self.nodes {
                        self.merge[i].valid.next = self.merge[2 * i - p].valid_out.val();
                        self.merge[i].a_empty.next = self.merge[2 * i - p].empty.val();
                        self.merge[i].b_empty.next = self.merge[2 * i + 1 - p].empty.val();
                        self.invalids[i].a.next = self.invalids[2 * i - p].y.val();
                        self.invalids[i].b.next = self.invalids[2 * i + 1 - p].y.val();
                        $(
                            self.$overflows[i].a.next = self.$overflows[2 * i - p].y.val();
                            self.$overflows[i].b.next = self.$overflows[2 * i + 1 - p].y.val();
                        )?
                        $(
                            self.merge[i].$a.next = self.merge[2 * i - p].$both.val();
                            self.merge[i].$b.next = self.merge[2 * i + 1 - p].$both.val();
                        )*
                        $(
                            for r in 0..self.$rooms {
                                self.merge[i].$a_room[r].next = self.merge[2 * i - p].$room[r].val();
                                self.merge[i].$b_room[r].next = self.merge[2 * i + 1 - p].$room[r].val();
                            }
                        )?
                        for j in 0..self.d {
                            self.merge[i].a[j].next = self.merge[2 * i - p].o[j].val();
                            self.merge[i].b[j].next = self.merge[2 * i + 1 - p].o[j].val();
                        }
                    }
                }
                self.done_q.clk.next = self.clk.val();
                self.done_q.rst.next = self.rst.val();
                self.invalid_q.clk.next = self.clk.val();
                self.empty_q.clk.next = self.clk.val();
                for n in self.nodes..(self.nodes + 1) {
                    self.done_q.d.next = self.merge[n - 1].valid_out.val();
                    self.invalid_q.x.next = self.invalids[n - 1].y.val();
                    self.empty_q.x.next = self.merge[n - 1].empty.val();
                    $(
                        self.$both.clk.next = self.clk.val();
                        self.$both.x.next = self.merge[n - 1].$both.val();
                        self.$o_scalar.next = self.$both.y.val();
                    )*
                    $(
                        for r in 0..self.$rooms {
                            self.$room[r].clk.next = self.clk.val();
                            self.$room[r].x.next = self.merge[n - 1].$room[r].val();
                            self.$o_room[r].next = self.$room[r].y.val();
                        }
                    )?
                    $(
                        self.$overflow_q.clk.next = self.clk.val();
                        self.$overflow_q.x.next = self.$overflows[n - 1].y.val();
                        self.$overflow.next = self.$overflow_q.y.val();
                        self.$exponent_q.clk.next = self.clk.val();
                        self.$exponent_q.enable.next = self.q_valid.val();
                        self.$exponent_q.d.next = self.$exponent.val();
                        self.$result_exponent.clk.next = self.clk.val();
                        self.$result_exponent.x.next = self.$exponent_q.q.val();
                        self.result.x.next = self.$result_exponent.y.val();
                        self.result.done.next = self.done_q.q.val();
                    )?
                    $(
                        self.result.clk.next = self.clk.val();
                        self.result.l.next = self.merge[n - 1].$l.val();
                        self.result.finish.next = self.merge[n - 1].valid_out.val();
                        self.result.done.next = self.done_q.q.val();
                    )?
                    for j in 0..self.d {
                        self.result.o[j].next = self.merge[n - 1].o[j].val();
                    }
                    for j in 0..self.states {
                        self.state_q[j].clk.next = self.clk.val();
                        self.state_q[j].d.next = self.merge[n - 1].o[j].val();
                        self.o_state[j].next = self.state_q[j].q.val();
                    }
                    for j in self.states..self.d {
                        self.o_state[j].next = self.merge[n - 1].o[j].val();
                    }
                }
                self.result.empty.next = self.empty_q.y.val();
                for j in 0..self.d {
                    self.o[j].next = self.result.y[j].val();
                }
                for w in 0..self.waits {
                    self.valid_q[w].clk.next = self.clk.val();
                    self.valid_q[w].rst.next = self.rst.val();
                    self.valid_q[w].d.next = self.done_q.q.val();
                    self.o_valid.next = self.valid_q[w].q.val();
                }
                for _soon in self.waits..1 {
                    self.o_valid.next = self.done_q.q.val();
                }
                self.o_invalid.next = self.invalid_q.y.val();
                self.o_empty.next = self.empty_q.y.val();
            }
        }

        impl SplitCore for $name {
            fn inside(&self) -> Vec<Vec<Inside>> {
                self.core.iter().map(|core| core.inside()).collect()
            }
            fn ports(&mut self) -> SplitPorts<'_> {
                SplitPorts {
                    clk: &mut self.clk,
                    rst: &mut self.rst,
                    q: &mut self.q,
                    q_valid: &mut self.q_valid,
                    v_exponent: [$(&mut self.$exponent)?].into_iter().next(),
                    k: &mut self.k,
                    k_valid: &mut self.k_valid,
                    k_last: &mut self.k_last,
                    k_mask: &mut self.k_mask,
                    v_step: &self.v_step,
                    v_ren: &self.v_ren,
                    v: &mut self.v,
                    o: &self.o,
                    o_valid: &self.o_valid,
                    o_invalid: &self.o_invalid,
                    o_empty: &self.o_empty,
                    o_overflow: [$(&self.$overflow)?].into_iter().next(),
                    o_scalars: {
                        #[allow(unused_mut)]
                        let mut scalars: Vec<&Bus<Out>> = vec![$(&self.$o_scalar),*];
                        $(scalars.extend(&self.$o_room);)?
                        scalars
                    },
                    o_state: &self.o_state,
                }
            }
        }
    };
}
pub(super) use split_core;
