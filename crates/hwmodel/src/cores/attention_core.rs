//! What all cores have in common: ports, query register, control, and lanes around a scalar path.

/// Declares a core from a score unit, a scalar path and a group of lanes (see `flash_d.rs` and `fa2.rs`).
///
/// * `scalars`: ports of the scalar path that go to the groups' ports of the same names.
/// * `early`: whether the value is asked for one stage earlier than two stages after the weight state's.
/// * `finish`: the flags (`flags` at the value stage, `late_flags` one later) whose last step ends a query for the
///   lanes, and the part that is told.
/// * `fixed`: fixed-point lanes: stages between the exponent's use at the value and at the result, and what the
///   scalar path's own flag of overflow is, if it has one, as much later as the value comes.
/// * `partial`: cores that take over and hand out partial results: cycles from `v_state` to the flag that the groups
///   get, the accumulator's width, and the state's scalars: ports of core and scalar path, whether there is such a
///   scalar, width, and cycles from the scalar path's output to the result.
macro_rules! attention_core {
    (
        $(#[$meta:meta])*
        $name:ident { $score:ident, $weight:ident, $group:ident }
        weight($n:ident) = $new_weight:expr;
        early = $early:expr;
        scalars: [$($scalar:ident),*];
        $(finish: $finish:ident $finish_q:ident in $finish_stage:ident after $finish_delay:expr $(, $told:ident)?;)?
        $(fixed: $exponent:ident $exponent_q:ident $to_value:ident $to_result:ident($result_delay:expr),
            $outside:ident $any:ident $(or $scalar_overflow:ident after $scalar_delay:expr, $scalar_q:ident)?, $any_q:ident $overflow:ident $overflow_port:ident;)?
        $(partial: $restore:ident after $restore_delay:expr, $state_o:ident $o_state:ident: $acc_bits:expr,
            state [$($state_in:ident $state_out:ident $state_out_q:ident $state_count:ident if $has_state:expr;
                $state_bits:expr, $state_delay:expr),*];)?
        doc = $doc:expr;
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
                    /// The query register loads.
                    q_valid: Bus<In>,
                    $(/// Exponent field of the largest |v|, loaded with the query.
                    $exponent: Bus<In>,)?
                    /// Key.
                    k: Vec<Bus<In>>,
                    /// A key is accepted.
                    k_valid: Bus<In>,
                    /// It is its query's last.
                    k_last: Bus<In>,
                    /// With masks: the query does not see it.
                    k_mask: Vec<Bus<In>>,
                    /// With partial results: it is one.
                    k_state: Vec<Bus<In>>,
                    /// With partial results: the scalars of one are wanted in the next cycle.
                    state_ren: Vec<Bus<Out>>,
                    $($(/// Scalar of a partial result.
                    $state_in: Vec<Bus<In>>,)*)?
                    /// With partial results, beside `v_ren`: what is wanted are the accumulators of one.
                    v_state: Vec<Bus<Out>>,
                    $(/// These, when a value would come.
                    $state_o: Vec<Bus<In>>,)?
                    /// One step reaches the value stage.
                    v_step: Bus<Out>,
                    /// That step needs its value.
                    v_ren: Bus<Out>,
                    /// Value, one cycle after `v_ren`.
                    v: Vec<Bus<In>>,
                    /// Result.
                    o: Vec<Bus<Out>>,
                    /// The result is valid.
                    o_valid: Bus<Out>,
                    /// An operand was Inf or NaN.
                    o_invalid: Bus<Out>,
                    /// With masks: the query has seen no key, and the result is zero.
                    o_empty: Vec<Bus<Out>>,
                    $(/// A value was outside the range that `v_exponent` gives, or the sum too large.
                    $overflow_port: Bus<Out>,)?
                    $($(/// Scalar of the result's state.
                    $state_out: Vec<Bus<Out>>,)*
                    /// The result's accumulators.
                    $o_state: Vec<Bus<Out>>,)?
                }
                parts {
                    /// Query register.
                    q_q: Vec<EnabledRegister>,
                    /// Inf or NaN in q.
                    q_special: AnySpecial,
                    /// Inf or NaN in k.
                    k_special: AnySpecial,
                    /// Flags up to the score stage.
                    control: KeyControl,
                    /// `s`.
                    score: $score,
                    /// Flags from the score to the value stage.
                    flags: FlagPipe,
                    $(/// The step at the lanes is its query's last.
                    $finish: EndOfQuery,)?
                    /// The scalar path.
                    weight: $weight,
                    $(/// To the lanes, as late as the value comes.
                    $scalar: Delay,)*
                    $(/// The same of the end of a query.
                    $finish_q: Delay,)?
                    /// Flags, as late as the value comes.
                    value_flags: FlagPipe,
                    /// With masks: the steps that the weight unit knows of, and the masked ones.
                    steps: Vec<FlagOr>,
                    /// Flags one stage later.
                    late_flags: FlagPipe,
                    /// The step at the value stage reads v.
                    reads_v_q: ResetRegister,
                    /// The same with the late flags.
                    late_reads_v: Delay,
                    /// With masks: a query ends without having seen a key.
                    empty: Vec<EmptyQuery>,
                    /// With masks, where results are blanked: a query ends.
                    blank_end: Vec<QueryEnds>,
                    /// The same beside the result.
                    empty_q: Vec<Register>,
                    /// Inf or NaN in v.
                    v_special: AnySpecial,
                    /// The same with the late flags.
                    late_v_special: Delay,
                    $(/// The exponent register.
                    $exponent_q: EnabledRegister,
                    /// The exponent's way to the lanes' values.
                    $to_value: Delay,
                    /// And to their results.
                    $to_result: Delay,)?
                    /// `o`.
                    group: Vec<$group>,
                    $($(/// The scalar path's flag.
                    $scalar_q: Delay,)?
                    /// Groups' flags, one after the other.
                    $any: AnyFlag,
                    /// The flag with the late flags.
                    $any_q: Delay,
                    /// Overflow of a query.
                    $overflow: OverflowControl,)?
                    /// End of a query.
                    result: ResultControl,
                    /// From the score stage to `v_state`.
                    value_state: Vec<Delay>,
                    /// Beside the value: it is a partial result.
                    late_state: Vec<Delay>,
                    /// The step has read a value.
                    value_read: Vec<Unmasked>,
                    $(/// The flag for the groups.
                    $restore: Vec<Delay>,
                    $(/// To the result.
                    $state_out_q: Vec<Delay>,)*)?
                }
                config {
                    partials: usize,
                    $($($state_count: usize,)*)?
                    d: usize,
                    full_groups: usize,
                    groups: usize,
                    last_lanes: usize,
                    masks: usize,
                    blanks: usize,
                    early: usize,
                }
            }
        }

        impl $name {
            /// The core of a (valid) configuration.
            pub fn new(config: &CoreConfig, $n: &Arc<Numerics>) -> Self {
                let (d, fmt) = (config.d, $n.format);
                let width = fmt.width();
                let early = $early as usize;
                let late = $n.value_latency as usize - 1;
                let weight = $new_weight;
                let group: Vec<$group> =
                    group_sizes(d).into_iter().map(|lanes| $group::new($n, lanes)).collect();
                let masks = config.masks as usize;
                let partials = $n.partial as usize;
                let blanks = group.iter().map(|g| g.ends_query.len()).max().unwrap_or(0);
                $name {
                    tag: Tag::module(config.name(), $doc),
                    unrest: Default::default(),
                    clk: Bus::new(1),
                    rst: Bus::new(1),
                    q: Bus::vector(d, width),
                    q_valid: Bus::new(1),
                    $($exponent: Bus::new(fmt.exponent_bits),)?
                    k: Bus::vector(d, width),
                    k_valid: Bus::new(1),
                    k_last: Bus::new(1),
                    k_mask: Bus::vector(masks, 1),
                    k_state: Bus::vector(partials, 1),
                    state_ren: Bus::vector(partials, 1),
                    v_state: Bus::vector(partials, 1),
                    $(
                        $($state_in: Bus::vector(partials * $has_state as usize, $state_bits),)*
                        $state_o: Bus::vector(partials * d, $acc_bits),
                    )?
                    v_step: Bus::new(1),
                    v_ren: Bus::new(1),
                    v: Bus::vector(d, width),
                    o: Bus::vector(d, width),
                    o_valid: Bus::new(1),
                    o_invalid: Bus::new(1),
                    o_empty: Bus::vector(masks, 1),
                    $($overflow_port: Bus::new(1),)?
                    $(
                        $($state_out: Bus::vector(partials * $has_state as usize, $state_bits),)*
                        $o_state: Bus::vector(partials * d, $acc_bits),
                        $restore: (0..partials).map(|_| Delay::new(1, $restore_delay + late)).collect(),
                        $(
                            $state_out_q: (0..partials * $has_state as usize)
                                .map(|_| Delay::new($state_bits, $state_delay + late))
                                .collect(),
                            $state_count: partials * $has_state as usize,
                        )*
                    )?
                    value_state: (0..partials)
                        .map(|_| Delay::new(1, SCORE_TO_VALUE as usize - early))
                        .collect(),
                    late_state: (0..partials).map(|_| Delay::new(1, 1 + early + late)).collect(),
                    value_read: (0..partials).map(|_| unmasked()).collect(),
                    partials,
                    q_q: (0..d).map(|_| EnabledRegister::new(width)).collect(),
                    q_special: AnySpecial::new(fmt, d),
                    k_special: AnySpecial::new(fmt, d),
                    control: KeyControl::new(score_stage($n.tree_levels) as usize, config.masks, config.partial),
                    score: $score::new($n, d),
                    flags: FlagPipe::new(SCORE_TO_VALUE as usize),
                    $($finish: EndOfQuery::new(EndOfQueryFunction {}),)?
                    $($scalar: Delay::new(weight.$scalar.width(), late),)*
                    $($finish_q: Delay::new(1, $finish_delay * late),)?
                    value_flags: FlagPipe::new(late),
                    weight,
                    steps: (0..masks).map(|_| flag_or()).collect(),
                    late_flags: FlagPipe::new(1),
                    reads_v_q: ResetRegister::new(1, 0),
                    late_reads_v: Delay::new(1, early + late),
                    empty: (0..masks).map(|_| EmptyQuery::new(EmptyQueryFunction {})).collect(),
                    blank_end: (0..blanks).map(|_| QueryEnds::new(QueryEndsFunction {})).collect(),
                    empty_q: (0..masks).map(|_| Register::new(1)).collect(),
                    v_special: AnySpecial::new(fmt, d),
                    late_v_special: Delay::new(1, early),
                    $(
                        $exponent_q: EnabledRegister::new(fmt.exponent_bits),
                        // The groups' own registers are the last stage of both ways.
                        $to_value: Delay::new(
                            fmt.exponent_bits, (score_stage($n.tree_levels) + SCORE_TO_VALUE) as usize + late - early
                        ),
                        $to_result: Delay::new(fmt.exponent_bits, $result_delay),
                        $($scalar_q: Delay::new(1, $scalar_delay * late),)?
                        $any: AnyFlag::new(
                            group.len() + <[&str]>::len(&[$(stringify!($scalar_overflow))?]),
                            "Some lane's value has an exponent above the largest, or the scalar path overflows.",
                        ),
                        $any_q: Delay::new(1, early),
                        $overflow: OverflowControl::new(),
                    )?
                    group,
                    result: ResultControl::new(),
                    d,
                    full_groups: d / LANES_PER_GROUP,
                    groups: d.div_ceil(LANES_PER_GROUP),
                    last_lanes: d % LANES_PER_GROUP,
                    masks,
                    blanks,
                    early,
                }
            }
        }

        impl Logic for $name {
            #[hdl_gen]
            fn update(&mut self) {
                self.score.clk.next = self.clk.val();
                for i in 0..self.d {
                    self.q_q[i].clk.next = self.clk.val();
                    self.q_q[i].enable.next = self.q_valid.val();
                    self.q_q[i].d.next = self.q[i].val();
                    self.q_special.x[i].next = self.q[i].val();
                    self.k_special.x[i].next = self.k[i].val();
                    self.score.q[i].next = self.q_q[i].q.val();
                    self.score.k[i].next = self.k[i].val();
                    self.v_special.x[i].next = self.v[i].val();
                }
                self.control.clk.next = self.clk.val();
                self.control.rst.next = self.rst.val();
                self.control.q_valid.next = self.q_valid.val();
                self.control.q_special.next = self.q_special.any.val();
                self.control.k_valid.next = self.k_valid.val();
                self.control.k_last.next = self.k_last.val();
                self.control.k_special.next = self.k_special.any.val();
                self.weight.clk.next = self.clk.val();
                self.weight.rst.next = self.rst.val();
                self.weight.score.next = self.score.score.val();
                self.weight.first.next = self.control.first.val();
                for _plain in self.masks..1 {
                    self.weight.valid.next = self.control.valid.val();
                    self.v_step.next = self.weight.step.val();
                }
                for m in 0..self.masks {
                    self.control.k_mask[m].next = self.k_mask[m].val();
                    self.weight.valid.next = self.control.live[m].val();
                    self.steps[m].a.next = self.weight.step.val();
                    for _early in 0..self.early {
                        self.steps[m].b.next = self.flags.valid_before.val();
                    }
                    for _late in self.early..1 {
                        self.steps[m].b.next = self.flags.valid_out.val();
                    }
                    self.v_step.next = self.steps[m].y.val();
                    self.empty[m].valid.next = self.late_flags.valid_out.val();
                    self.empty[m].first.next = self.late_flags.first_out.val();
                    self.empty[m].last.next = self.late_flags.last_out.val();
                    self.empty[m].reads_v.next = self.late_reads_v.y.val();
                    self.empty_q[m].clk.next = self.clk.val();
                    self.empty_q[m].d.next = self.empty[m].empty.val();
                    self.o_empty[m].next = self.empty_q[m].q.val();
                    for g in 0..self.groups {
                        self.group[g].empty[m].next = self.empty[m].empty.val();
                    }
                }
                for m in 0..self.blanks {
                    self.blank_end[m].valid.next = self.late_flags.valid_out.val();
                    self.blank_end[m].last.next = self.late_flags.last_out.val();
                    for g in 0..self.groups {
                        self.group[g].ends_query[m].next = self.blank_end[m].ends.val();
                    }
                }
                for p in 0..self.partials {
                    self.control.k_state[p].next = self.k_state[p].val();
                    self.state_ren[p].next = self.control.state_next[p].val();
                    self.value_state[p].clk.next = self.clk.val();
                    self.value_state[p].x.next = self.control.state[p].val();
                    self.v_state[p].next = self.value_state[p].y.val();
                    self.late_state[p].clk.next = self.clk.val();
                    self.late_state[p].x.next = self.value_state[p].y.val();
                    // What the value port carries beside a partial result is no value.
                    self.value_read[p].x.next = self.late_reads_v.y.val();
                    self.value_read[p].mask.next = self.late_state[p].y.val();
                    self.result.reads_v.next = self.value_read[p].y.val();
                }
                $(
                    for p in 0..self.partials {
                        self.weight.state[p].next = self.control.state[p].val();
                        self.$restore[p].clk.next = self.clk.val();
                        self.$restore[p].x.next = self.value_state[p].y.val();
                        for g in 0..self.groups {
                            self.group[g].$restore[p].next = self.$restore[p].y.val();
                        }
                        for g in 0..self.full_groups {
                            for i in 0..16 {
                                self.group[g].$state_o[i].next = self.$state_o[16 * g + i].val();
                                self.$o_state[16 * g + i].next = self.group[g].$o_state[i].val();
                            }
                        }
                        for g in self.full_groups..self.groups {
                            for i in 0..self.last_lanes {
                                self.group[g].$state_o[i].next = self.$state_o[16 * g + i].val();
                                self.$o_state[16 * g + i].next = self.group[g].$o_state[i].val();
                            }
                        }
                    }
                    $(
                        for p in 0..self.$state_count {
                            self.weight.$state_in[p].next = self.$state_in[p].val();
                            self.$state_out_q[p].clk.next = self.clk.val();
                            self.$state_out_q[p].x.next = self.weight.$state_out[p].val();
                            self.$state_out[p].next = self.$state_out_q[p].y.val();
                        }
                    )*
                )?
                self.v_ren.next = self.weight.reads.val();
                self.flags.clk.next = self.clk.val();
                self.flags.rst.next = self.rst.val();
                self.flags.valid.next = self.control.valid.val();
                self.flags.first.next = self.control.first.val();
                self.flags.last.next = self.control.last.val();
                self.flags.invalid.next = self.control.invalid.val();
                self.late_flags.clk.next = self.clk.val();
                self.late_flags.rst.next = self.rst.val();
                self.value_flags.clk.next = self.clk.val();
                self.value_flags.rst.next = self.rst.val();
                self.value_flags.valid.next = self.flags.valid_out.val();
                self.value_flags.first.next = self.flags.first_out.val();
                self.value_flags.last.next = self.flags.last_out.val();
                self.value_flags.invalid.next = self.flags.invalid_out.val();
                self.late_flags.valid.next = self.value_flags.valid_out.val();
                self.late_flags.first.next = self.value_flags.first_out.val();
                self.late_flags.last.next = self.value_flags.last_out.val();
                self.late_flags.invalid.next = self.value_flags.invalid_out.val();
                $(
                    self.$finish.valid.next = self.$finish_stage.valid_out.val();
                    self.$finish.last.next = self.$finish_stage.last_out.val();
                    $(self.$told.finish.next = self.$finish.end.val();)?
                    self.$finish_q.clk.next = self.clk.val();
                    self.$finish_q.x.next = self.$finish.end.val();
                )?
                $(
                    self.$scalar.clk.next = self.clk.val();
                    self.$scalar.x.next = self.weight.$scalar.val();
                )*
                for g in 0..self.groups {
                    self.group[g].clk.next = self.clk.val();
                    self.group[g].rst.next = self.rst.val();
                    $(self.group[g].$scalar.next = self.$scalar.y.val();)*
                    $(self.group[g].finish.next = self.$finish_q.y.val();)?
                }
                $(
                    self.$exponent_q.clk.next = self.clk.val();
                    self.$exponent_q.enable.next = self.q_valid.val();
                    self.$exponent_q.d.next = self.$exponent.val();
                    self.$to_value.clk.next = self.clk.val();
                    self.$to_value.x.next = self.$exponent_q.q.val();
                    self.$to_result.clk.next = self.clk.val();
                    self.$to_result.x.next = self.$to_value.y.val();
                    for g in 0..self.groups {
                        self.group[g].x.next = self.$to_value.y.val();
                        self.group[g].result_x.next = self.$to_result.y.val();
                        self.$any.x[g].next = self.group[g].$outside.val();
                    }
                    $(
                        self.$scalar_q.clk.next = self.clk.val();
                        self.$scalar_q.x.next = self.weight.$scalar_overflow.val();
                        for n in self.groups..(self.groups + 1) {
                            self.$any.x[n].next = self.$scalar_q.y.val();
                        }
                    )?
                    self.$any_q.clk.next = self.clk.val();
                    self.$any_q.x.next = self.$any.any.val();
                    self.$overflow.clk.next = self.clk.val();
                    self.$overflow.valid.next = self.late_flags.valid_out.val();
                    self.$overflow.first.next = self.late_flags.first_out.val();
                    for _keys in self.partials..1 {
                        self.$overflow.reads_v.next = self.late_reads_v.y.val();
                    }
                    for p in 0..self.partials {
                        self.$overflow.reads_v.next = self.value_read[p].y.val();
                    }
                    self.$overflow.outside.next = self.$any_q.y.val();
                    self.$overflow_port.next = self.$overflow.overflow.val();
                )?
                for g in 0..self.full_groups {
                    for i in 0..16 {
                        self.group[g].v[i].next = self.v[16 * g + i].val();
                        self.o[16 * g + i].next = self.group[g].o[i].val();
                    }
                }
                for g in self.full_groups..self.groups {
                    for i in 0..self.last_lanes {
                        self.group[g].v[i].next = self.v[16 * g + i].val();
                        self.o[16 * g + i].next = self.group[g].o[i].val();
                    }
                }
                self.reads_v_q.clk.next = self.clk.val();
                self.reads_v_q.rst.next = self.rst.val();
                self.reads_v_q.d.next = self.weight.reads.val();
                self.late_reads_v.clk.next = self.clk.val();
                self.late_reads_v.x.next = self.reads_v_q.q.val();
                self.late_v_special.clk.next = self.clk.val();
                self.late_v_special.x.next = self.v_special.any.val();
                self.result.clk.next = self.clk.val();
                self.result.rst.next = self.rst.val();
                self.result.valid.next = self.late_flags.valid_out.val();
                self.result.first.next = self.late_flags.first_out.val();
                self.result.last.next = self.late_flags.last_out.val();
                self.result.invalid.next = self.late_flags.invalid_out.val();
                for _keys in self.partials..1 {
                    self.result.reads_v.next = self.late_reads_v.y.val();
                }
                self.result.v_special.next = self.late_v_special.y.val();
                self.o_valid.next = self.result.done.val();
                self.o_invalid.next = self.result.done_invalid.val();
            }
        }

        impl Core for $name {
            fn ports(&mut self) -> CorePorts<'_> {
                CorePorts {
                    clk: &mut self.clk,
                    rst: &mut self.rst,
                    q: &mut self.q,
                    q_valid: &mut self.q_valid,
                    v_exponent: [$(&mut self.$exponent)?].into_iter().next(),
                    k: &mut self.k,
                    k_valid: &mut self.k_valid,
                    k_last: &mut self.k_last,
                    k_mask: self.k_mask.first_mut(),
                    k_state: self.k_state.first_mut(),
                    state_ren: self.state_ren.first(),
                    v_state: self.v_state.first(),
                    state: {
                        #[allow(unused_mut)]
                        let mut scalars: Vec<&mut Bus<In>> = Vec::new();
                        $($(scalars.extend(self.$state_in.iter_mut());)*)?
                        scalars
                    },
                    state_o: {
                        #[allow(unused_mut)]
                        let mut accumulators: Vec<&mut Bus<In>> = Vec::new();
                        $(accumulators.extend(self.$state_o.iter_mut());)?
                        accumulators
                    },
                    o_scalars: {
                        #[allow(unused_mut)]
                        let mut scalars: Vec<&Bus<Out>> = Vec::new();
                        $($(scalars.extend(self.$state_out.iter());)*)?
                        scalars
                    },
                    o_state: {
                        #[allow(unused_mut)]
                        let mut accumulators: Vec<&Bus<Out>> = Vec::new();
                        $(accumulators.extend(self.$o_state.iter());)?
                        accumulators
                    },
                    v_step: &self.v_step,
                    v_ren: &self.v_ren,
                    v: &mut self.v,
                    o: &self.o,
                    o_valid: &self.o_valid,
                    o_invalid: &self.o_invalid,
                    o_empty: self.o_empty.first(),
                    o_overflow: [$(&self.$overflow_port)?].into_iter().next(),
                }
            }
            fn inside(&self) -> Vec<Inside> {
                let mut all = vec![
                    Inside::new(Quantity::Valid, &self.weight.valid),
                    Inside::new(Quantity::Score, &self.score.score),
                ];
                all.extend(self.weight.inside());
                all
            }
        }
    };
}
pub(crate) use attention_core;
