//! A merge of two parts: scalars, and lanes in groups that share copies of the factor's registers.

/// Declares the merge of a kind of core. `scalars`: ports of a state's scalars in the weight unit, for part a, part b and
/// both, and the name of the vector's length where there may be none.
macro_rules! merge_node {
    (
        $(#[$meta:meta])*
        $name:ident { $weight:ident($n:ident) = $new_weight:expr, $lane:ident in $group:ident }
        factor = $factor_bits:expr;
        accumulator = $acc_bits:expr;
        scalars: [$($a:ident $b:ident $both:ident: $bits:expr),*];
        $(rooms: $rooms:ident $a_room:ident $b_room:ident $room:ident;)?
        doc = $doc:expr;
    ) => {
        $crate::circuit! {
            /// Up to 16 lanes and their copies of the factor.
            pub struct $group {
                ports {
                    /// Clock.
                    clk: Bus<In>,
                    /// Synchronous reset.
                    rst: Bus<In>,
                    /// A merge reaches the lanes in the next cycle.
                    valid: Bus<In>,
                    /// Its factor.
                    w: Bus<In>,
                    /// Which side it is for.
                    upper: Bus<In>,
                    /// Part a is empty.
                    take_b: Bus<In>,
                    /// Part b is empty.
                    keep_a: Bus<In>,
                    /// Accumulators of part a.
                    a: Vec<Bus<In>>,
                    /// Of part b.
                    b: Vec<Bus<In>>,
                    /// Of both.
                    o: Vec<Bus<Out>>,
                }
                parts {
                    /// Copy.
                    update_q: ResetRegister,
                    /// Copy.
                    w_q: EnabledRegister,
                    /// Copy.
                    upper_q: EnabledRegister,
                    /// Copy.
                    take_b_q: EnabledRegister,
                    /// Copy.
                    keep_a_q: EnabledRegister,
                    /// Lanes.
                    lane: Vec<$lane>,
                }
                config {
                    lanes: usize,
                }
            }
        }

        impl $group {
            /// A group of `lanes` lanes.
            pub fn new($n: &Arc<Numerics>, lanes: usize) -> Self {
                let lane: Vec<$lane> = (0..lanes).map(|_| $lane::new($n)).collect();
                $group {
                    tag: Tag::module(
                        format!("{}_group_{lanes}", lane[0].tag.name),
                        format!("{lanes} lanes and their copies of the factor."),
                    ),
                    unrest: Default::default(),
                    clk: Bus::new(1),
                    rst: Bus::new(1),
                    valid: Bus::new(1),
                    w: Bus::new($factor_bits),
                    upper: Bus::new(1),
                    take_b: Bus::new(1),
                    keep_a: Bus::new(1),
                    a: Bus::vector(lanes, $acc_bits),
                    b: Bus::vector(lanes, $acc_bits),
                    o: Bus::vector(lanes, $acc_bits),
                    update_q: ResetRegister::new(1, 0),
                    w_q: EnabledRegister::new($factor_bits),
                    upper_q: EnabledRegister::new(1),
                    take_b_q: EnabledRegister::new(1),
                    keep_a_q: EnabledRegister::new(1),
                    lane,
                    lanes,
                }
            }
        }

        impl Logic for $group {
            #[hdl_gen]
            fn update(&mut self) {
                self.update_q.clk.next = self.clk.val();
                self.update_q.rst.next = self.rst.val();
                self.update_q.d.next = self.valid.val();
                self.w_q.clk.next = self.clk.val();
                self.w_q.enable.next = self.valid.val();
                self.w_q.d.next = self.w.val();
                self.upper_q.clk.next = self.clk.val();
                self.upper_q.enable.next = self.valid.val();
                self.upper_q.d.next = self.upper.val();
                self.take_b_q.clk.next = self.clk.val();
                self.take_b_q.enable.next = self.valid.val();
                self.take_b_q.d.next = self.take_b.val();
                self.keep_a_q.clk.next = self.clk.val();
                self.keep_a_q.enable.next = self.valid.val();
                self.keep_a_q.d.next = self.keep_a.val();
                for i in 0..self.lanes {
                    self.lane[i].clk.next = self.clk.val();
                    self.lane[i].a.next = self.a[i].val();
                    self.lane[i].b.next = self.b[i].val();
                    self.lane[i].w.next = self.w_q.q.val();
                    self.lane[i].upper.next = self.upper_q.q.val();
                    self.lane[i].take_b.next = self.take_b_q.q.val();
                    self.lane[i].keep_a.next = self.keep_a_q.q.val();
                    self.lane[i].enable.next = self.update_q.q.val();
                    self.o[i].next = self.lane[i].o.val();
                }
            }
        }

        $crate::circuit! {
            $(#[$meta])*
            pub struct $name {
                ports {
                    /// Clock.
                    clk: Bus<In>,
                    /// Synchronous reset.
                    rst: Bus<In>,
                    /// Scalars of two parts are here; their accumulators come two cycles later.
                    valid: Bus<In>,
                    /// Part a is empty.
                    a_empty: Bus<In>,
                    /// Part b is empty.
                    b_empty: Bus<In>,
                    $(/// Scalar of part a.
                    $a: Bus<In>,
                    /// Of part b.
                    $b: Bus<In>,)*
                    $(/// Part a's room.
                    $a_room: Vec<Bus<In>>,
                    /// Part b's.
                    $b_room: Vec<Bus<In>>,)?
                    /// Accumulators of part a.
                    a: Vec<Bus<In>>,
                    /// Of part b.
                    b: Vec<Bus<In>>,
                    /// Scalars of both are here.
                    valid_out: Bus<Out>,
                    /// Both are empty.
                    empty: Bus<Out>,
                    $(/// Scalar of both.
                    $both: Bus<Out>,)*
                    $(/// The room of both.
                    $room: Vec<Bus<Out>>,)?
                    /// Accumulators of both: two cycles after those of the parts, in the last merge one cycle.
                    o: Vec<Bus<Out>>,
                }
                parts {
                    /// Scalars.
                    weight: $weight,
                    /// Second stage.
                    valid_q: ResetRegister,
                    /// Result.
                    valid_qq: ResetRegister,
                    /// Second stage.
                    a_empty_q: Register,
                    /// Second stage.
                    b_empty_q: Register,
                    /// Both.
                    both_empty: StateStep,
                    /// Result.
                    empty_q: Register,
                    /// Lanes.
                    group: Vec<$group>,
                    /// The next merge's factor takes a cycle more than its parts' accumulators.
                    o_q: Vec<Register>,
                }
                config {
                    delayed: usize,
                    $($rooms: usize,)?
                    full_groups: usize,
                    groups: usize,
                    last_lanes: usize,
                    late_groups: usize,
                    late_end: usize,
                    direct_tail: usize,
                }
            }
        }

        impl $name {
            /// A merge for cores of `d` lanes; the `last` one's accumulators are not delayed for another.
            pub fn new($n: &Arc<Numerics>, d: usize, last: bool) -> Self {
                $(
                    let $rooms = $n.budget.iter().len();
                    let $room = $crate::cores::hold_budget::room_bits($n);
                )?
                let group: Vec<$group> =
                    group_sizes(d).into_iter().map(|lanes| $group::new($n, lanes)).collect();
                let delayed = if last { 0 } else { d };
                let group_name = format!("{}_{d}", group[0].lane[0].tag.name);
                $name {
                    tag: Tag::module(
                        format!("merge_{}{}", group_name, if last { "_last" } else { "" }),
                        $doc,
                    ),
                    unrest: Default::default(),
                    clk: Bus::new(1),
                    rst: Bus::new(1),
                    valid: Bus::new(1),
                    a_empty: Bus::new(1),
                    b_empty: Bus::new(1),
                    $($a: Bus::new($bits), $b: Bus::new($bits), $both: Bus::new($bits),)*
                    $(
                        $a_room: Bus::vector($rooms, $room),
                        $b_room: Bus::vector($rooms, $room),
                        $room: Bus::vector($rooms, $room),
                    )?
                    a: Bus::vector(d, $acc_bits),
                    b: Bus::vector(d, $acc_bits),
                    valid_out: Bus::new(1),
                    empty: Bus::new(1),
                    o: Bus::vector(d, $acc_bits),
                    weight: $new_weight,
                    valid_q: ResetRegister::new(1, 0),
                    valid_qq: ResetRegister::new(1, 0),
                    a_empty_q: Register::new(1),
                    b_empty_q: Register::new(1),
                    both_empty: StateStep::new(StateStepFunction {}),
                    empty_q: Register::new(1),
                    group,
                    o_q: (0..delayed).map(|_| Register::new($acc_bits)).collect(),
                    delayed,
                    late_groups: if last { 0 } else { d / LANES_PER_GROUP },
                    late_end: if last { 0 } else { d.div_ceil(LANES_PER_GROUP) },
                    direct_tail: if last { d / LANES_PER_GROUP } else { d.div_ceil(LANES_PER_GROUP) },
                    $($rooms,)?
                    full_groups: d / LANES_PER_GROUP,
                    groups: d.div_ceil(LANES_PER_GROUP),
                    last_lanes: d % LANES_PER_GROUP,
                }
            }
        }

        impl Logic for $name {
            #[hdl_gen]
            fn update(&mut self) {
                self.weight.clk.next = self.clk.val();
                $(
                    self.weight.$a.next = self.$a.val();
                    self.weight.$b.next = self.$b.val();
                    self.$both.next = self.weight.$both.val();
                )*
                $(
                    for i in 0..self.$rooms {
                        self.weight.$a_room[i].next = self.$a_room[i].val();
                        self.weight.$b_room[i].next = self.$b_room[i].val();
                        self.$room[i].next = self.weight.$room[i].val();
                    }
                )?
                self.weight.a_empty.next = self.a_empty.val();
                self.weight.b_empty.next = self.b_empty.val();
                self.weight.valid.next = self.valid_q.q.val();
                self.valid_q.clk.next = self.clk.val();
                self.valid_q.rst.next = self.rst.val();
                self.valid_q.d.next = self.valid.val();
                self.valid_qq.clk.next = self.clk.val();
                self.valid_qq.rst.next = self.rst.val();
                self.valid_qq.d.next = self.valid_q.q.val();
                self.valid_out.next = self.valid_qq.q.val();
                self.a_empty_q.clk.next = self.clk.val();
                self.a_empty_q.d.next = self.a_empty.val();
                self.b_empty_q.clk.next = self.clk.val();
                self.b_empty_q.d.next = self.b_empty.val();
                self.both_empty.x.next = self.a_empty_q.q.val();
                self.both_empty.state.next = self.b_empty_q.q.val();
                self.empty_q.clk.next = self.clk.val();
                self.empty_q.d.next = self.both_empty.y.val();
                self.empty.next = self.empty_q.q.val();
                for g in 0..self.groups {
                    self.group[g].clk.next = self.clk.val();
                    self.group[g].rst.next = self.rst.val();
                    self.group[g].valid.next = self.valid_q.q.val();
                    self.group[g].w.next = self.weight.w.val();
                    self.group[g].upper.next = self.weight.upper.val();
                    self.group[g].take_b.next = self.a_empty_q.q.val();
                    self.group[g].keep_a.next = self.b_empty_q.q.val();
                }
                for g in 0..self.full_groups {
                    for i in 0..16 {
                        self.group[g].a[i].next = self.a[16 * g + i].val();
                        self.group[g].b[i].next = self.b[16 * g + i].val();
                    }
                }
                for g in self.full_groups..self.groups {
                    for i in 0..self.last_lanes {
                        self.group[g].a[i].next = self.a[16 * g + i].val();
                        self.group[g].b[i].next = self.b[16 * g + i].val();
                    }
                }
                for g in 0..self.late_groups {
                    for i in 0..16 {
                        self.o_q[16 * g + i].d.next = self.group[g].o[i].val();
                    }
                }
                for g in self.late_groups..self.late_end {
                    for i in 0..self.last_lanes {
                        self.o_q[16 * g + i].d.next = self.group[g].o[i].val();
                    }
                }
                for g in self.late_end..self.full_groups {
                    for i in 0..16 {
                        self.o[16 * g + i].next = self.group[g].o[i].val();
                    }
                }
                for g in self.direct_tail..self.groups {
                    for i in 0..self.last_lanes {
                        self.o[16 * g + i].next = self.group[g].o[i].val();
                    }
                }
                for i in 0..self.delayed {
                    self.o_q[i].clk.next = self.clk.val();
                    self.o[i].next = self.o_q[i].q.val();
                }
            }
        }
    };
}
pub(super) use merge_node;
