//! The wrapper: streams and registers around an array.

/// Declares the wrapper of an array. `fixed`: the array has fixed-point lanes.
macro_rules! axis_wrapper {
    ($(#[$meta:meta])* $name:ident of $array:ident $(fixed: $exponent:ident $overflow:ident)?) => {
        $crate::circuit! {
            $(#[$meta])*
            #[allow(missing_docs)]
            pub struct $name {
                ports {
                    aclk: Bus<In>,
                    aresetn: Bus<In>,
                    s_axis_q_tvalid: Bus<In>,
                    s_axis_q_tready: Bus<Out>,
                    s_axis_q_tdata: Vec<Bus<In>>,
                    s_axis_q_tlast: Bus<In>,
                    s_axis_k_tvalid: Bus<In>,
                    s_axis_k_tready: Bus<Out>,
                    s_axis_k_tdata: Vec<Bus<In>>,
                    s_axis_k_tlast: Bus<In>,
                    s_axis_k_tuser: Vec<Bus<In>>,
                    m_axis_vreq_tvalid: Vec<Bus<Out>>,
                    m_axis_vreq_tready: Vec<Bus<In>>,
                    m_axis_vreq_tdata: Vec<Bus<Out>>,
                    s_axis_v_tvalid: Bus<In>,
                    s_axis_v_tready: Bus<Out>,
                    s_axis_v_tdata: Vec<Bus<In>>,
                    s_axis_v_tlast: Vec<Bus<In>>,
                    m_axis_o_tvalid: Bus<Out>,
                    m_axis_o_tready: Bus<In>,
                    m_axis_o_tdata: Vec<Bus<Out>>,
                    m_axis_o_tlast: Bus<Out>,
                    m_axis_o_tuser: Bus<Out>,
                    s_axil_awaddr: Bus<In>,
                    s_axil_awvalid: Bus<In>,
                    s_axil_awready: Bus<Out>,
                    s_axil_wdata: Bus<In>,
                    s_axil_wstrb: Bus<In>,
                    s_axil_wvalid: Bus<In>,
                    s_axil_wready: Bus<Out>,
                    s_axil_bresp: Bus<Out>,
                    s_axil_bvalid: Bus<Out>,
                    s_axil_bready: Bus<In>,
                    s_axil_araddr: Bus<In>,
                    s_axil_arvalid: Bus<In>,
                    s_axil_arready: Bus<Out>,
                    s_axil_rdata: Bus<Out>,
                    s_axil_rresp: Bus<Out>,
                    s_axil_rvalid: Bus<Out>,
                    s_axil_rready: Bus<In>,
                }
                parts {
                    /// Reset, active high.
                    reset: Reset,
                    /// The clock of what is frozen.
                    gate: ClockGate,
                    /// Registers and counters.
                    host: HostControl,
                    /// Queries.
                    queries: QueryStream,
                    /// Keys.
                    keys: KeyStream,
                    /// Values.
                    values: ValueStream,
                    /// Where values are asked for: requests.
                    requests: Vec<RequestStream>,
                    /// Results.
                    results: ResultStream,
                    /// Flags of a result.
                    flags: ResultFlags,
                    /// The last beat of a block leaves.
                    done: Done,
                    /// Steps in the array.
                    steps: StepTracker,
                    /// What a cycle is counted as.
                    activity: Activity,
                    /// The same for requests.
                    request_stall: Vec<RequestStall>,
                    /// Whether the array moves.
                    advance: Advance,
                    /// Nothing.
                    low: Vec<Low>,
                    /// The array.
                    array: $array,
                }
                config {
                    d: usize,
                    words: usize,
                    masks: usize,
                    unmasked: usize,
                    floating: usize,
                    asked: usize,
                    dense: usize,
                    sparse: usize,
                    packets: usize,
                    q_errors: usize,
                    k_errors: usize,
                    kv_errors: usize,
                    v_errors: usize,
                }
            }
        }

        impl $name {
            /// The wrapper of a (valid) configuration.
            pub fn new(config: &AxisConfig, n: &Arc<Numerics>) -> Self {
                let core = &config.block.core;
                let shape = config.shape();
                let masks = usize::from(core.masks);
                let all = config.values == Values::All;
                let (packets, asked) = (usize::from(all), usize::from(!all));
                let floating = usize::from(!core.has_fixed_lanes());
                let value_latency = config.block.value_latency();
                let beat = || Bus::vector(shape.words, shape.word_bits());
                let bit = || Bus::new(1);
                let errors = |packets| error_bits(config, packets).len();
                let (q_errors, k_errors) = (errors(Packets::Queries), errors(Packets::Keys));
                let dense = usize::from(config.is_dense());
                let lows = usize::from(masks == 0 || floating == 1 || all || dense == 0);
                $name {
                    tag: Tag::module(config.name(), "Streams and registers around the array."),
                    unrest: Default::default(),
                    aclk: Bus::new(1),
                    aresetn: Bus::new(1),
                    s_axis_q_tvalid: Bus::new(1),
                    s_axis_q_tready: Bus::new(1),
                    s_axis_q_tdata: beat(),
                    s_axis_q_tlast: Bus::new(1),
                    s_axis_k_tvalid: Bus::new(1),
                    s_axis_k_tready: Bus::new(1),
                    s_axis_k_tdata: beat(),
                    s_axis_k_tlast: Bus::new(1),
                    s_axis_k_tuser: Bus::vector(masks, 1),
                    m_axis_vreq_tvalid: Bus::vector(asked, 1),
                    m_axis_vreq_tready: Bus::vector(asked, 1),
                    m_axis_vreq_tdata: Bus::vector(asked, INDEX_BITS),
                    s_axis_v_tvalid: Bus::new(1),
                    s_axis_v_tready: Bus::new(1),
                    s_axis_v_tdata: beat(),
                    s_axis_v_tlast: Bus::vector(packets, 1),
                    m_axis_o_tvalid: Bus::new(1),
                    m_axis_o_tready: Bus::new(1),
                    m_axis_o_tdata: Bus::vector(shape.words, shape.word_bits()),
                    m_axis_o_tlast: Bus::new(1),
                    m_axis_o_tuser: Bus::new(FLAG_BITS),
                    s_axil_awaddr: Bus::new(ADDRESS_BITS),
                    s_axil_awvalid: bit(),
                    s_axil_awready: Bus::new(1),
                    s_axil_wdata: Bus::new(32),
                    s_axil_wstrb: Bus::new(4),
                    s_axil_wvalid: bit(),
                    s_axil_wready: Bus::new(1),
                    s_axil_bresp: Bus::new(2),
                    s_axil_bvalid: Bus::new(1),
                    s_axil_bready: bit(),
                    s_axil_araddr: Bus::new(ADDRESS_BITS),
                    s_axil_arvalid: bit(),
                    s_axil_arready: Bus::new(1),
                    s_axil_rdata: Bus::new(32),
                    s_axil_rresp: Bus::new(2),
                    s_axil_rvalid: Bus::new(1),
                    s_axil_rready: bit(),
                    reset: Reset::new(ResetFunction {}),
                    gate: ClockGate::new(),
                    host: HostControl::new(config),
                    queries: QueryStream::new(shape, config.block.queries),
                    keys: KeyStream::new(shape, core.masks, all),
                    values: ValueStream::new(shape, all.then(|| config.value_credit_bits())),
                    requests: (0..asked).map(|_| RequestStream::new()).collect(),
                    results: ResultStream::new(shape),
                    flags: ResultFlags::new(ResultFlagsFunction {}),
                    done: Done::new(DoneFunction {}),
                    steps: StepTracker::new(v_step_latency(core), value_latency, all, config.is_dense()),
                    activity: Activity::new(ActivityFunction {}),
                    request_stall: (0..asked).map(|_| RequestStall::new(RequestStallFunction {})).collect(),
                    advance: Advance::new(AdvanceFunction {}),
                    low: (0..lows).map(|_| Low::new(LowFunction {})).collect(),
                    array: $array::new(&config.block, n),
                    d: core.d,
                    words: shape.words,
                    masks,
                    unmasked: 1 - masks,
                    floating,
                    asked,
                    dense,
                    sparse: 1 - dense,
                    packets,
                    q_errors,
                    k_errors,
                    kv_errors: q_errors + k_errors,
                    v_errors: errors(Packets::Values),
                }
            }
        }

        impl Logic for $name {
            #[hdl_gen]
            fn update(&mut self) {
                self.reset.aresetn.next = self.aresetn.val();
                // What freezes with the array.
                self.gate.clk.next = self.aclk.val();
                self.gate.enable.next = self.advance.ce.val();
                self.array.clk.next = self.gate.gated.val();
                self.array.rst.next = self.reset.rst.val();
                self.steps.clk.next = self.gate.gated.val();
                self.steps.rst.next = self.reset.rst.val();
                self.advance.rst.next = self.reset.rst.val();
                self.advance.value_missing.next = self.values.missing.val();
                self.advance.result_blocked.next = self.results.blocked.val();
                // Queries.
                self.queries.clk.next = self.aclk.val();
                self.queries.rst.next = self.reset.rst.val();
                self.queries.tvalid.next = self.s_axis_q_tvalid.val();
                self.s_axis_q_tready.next = self.queries.tready.val();
                self.queries.tlast.next = self.s_axis_q_tlast.val();
                self.queries.run.next = self.host.run.val();
                self.queries.ready.next = self.array.q_ready.val();
                self.queries.ce.next = self.advance.ce.val();
                self.array.q_valid.next = self.queries.q_valid.val();
                self.array.q_last.next = self.queries.q_last.val();
                // Keys.
                self.keys.clk.next = self.aclk.val();
                self.keys.rst.next = self.reset.rst.val();
                self.keys.tvalid.next = self.s_axis_k_tvalid.val();
                self.s_axis_k_tready.next = self.keys.tready.val();
                self.keys.tlast.next = self.s_axis_k_tlast.val();
                self.keys.block.next = self.queries.opens.val();
                self.keys.length.next = self.host.length.val();
                self.keys.ready.next = self.array.k_ready.val();
                self.keys.ce.next = self.advance.ce.val();
                self.array.k_valid.next = self.keys.k_valid.val();
                self.array.k_last.next = self.keys.k_last.val();
                // Values.
                self.values.clk.next = self.aclk.val();
                self.values.rst.next = self.reset.rst.val();
                self.values.tvalid.next = self.s_axis_v_tvalid.val();
                self.s_axis_v_tready.next = self.values.tready.val();
                self.values.due.next = self.steps.due.val();
                self.values.ce.next = self.advance.ce.val();
                // Results.
                self.results.clk.next = self.aclk.val();
                self.results.rst.next = self.reset.rst.val();
                self.results.o_valid.next = self.array.o_valid.val();
                self.results.o_last.next = self.array.o_last.val();
                self.results.o_flags.next = self.flags.flags.val();
                self.results.ce.next = self.advance.ce.val();
                self.m_axis_o_tvalid.next = self.results.tvalid.val();
                self.results.tready.next = self.m_axis_o_tready.val();
                self.m_axis_o_tlast.next = self.results.tlast.val();
                self.m_axis_o_tuser.next = self.results.tuser.val();
                self.done.tvalid.next = self.results.tvalid.val();
                self.done.tready.next = self.m_axis_o_tready.val();
                self.done.tlast.next = self.results.tlast.val();
                self.flags.invalid.next = self.array.o_invalid.val();
                for e in 0..self.d {
                    self.array.q[e].next = self.queries.q[e].val();
                    self.array.k[e].next = self.keys.k[e].val();
                    self.array.v[e].next = self.values.v[e].val();
                    self.results.o[e].next = self.array.o[e].val();
                }
                for w in 0..self.words {
                    self.queries.tdata[w].next = self.s_axis_q_tdata[w].val();
                    self.keys.tdata[w].next = self.s_axis_k_tdata[w].val();
                    self.values.tdata[w].next = self.s_axis_v_tdata[w].val();
                    self.m_axis_o_tdata[w].next = self.results.tdata[w].val();
                }
                // Steps.
                self.steps.k_valid.next = self.keys.k_valid.val();
                self.steps.k_ready.next = self.array.k_ready.val();
                self.steps.k_last.next = self.keys.k_last.val();
                self.steps.q_ready.next = self.array.q_ready.val();
                // Of some configurations only.
                $(
                    self.array.$exponent.next = self.host.v_exponent[0].val();
                    self.flags.overflow.next = self.array.$overflow.val();
                )?
                for i in 0..self.floating {
                    self.flags.overflow.next = self.low[i].y.val();
                }
                for i in 0..self.unmasked {
                    self.flags.empty.next = self.low[i].y.val();
                }
                for m in 0..self.masks {
                    self.keys.tuser[m].next = self.s_axis_k_tuser[m].val();
                    self.array.k_mask[m].next = self.keys.k_mask[m].val();
                    self.array.q_from[m].next = self.host.q_from[m].val();
                    self.array.q_to[m].next = self.host.q_to[m].val();
                    self.host.taken[m].next = self.queries.taken.val();
                    self.flags.empty.next = self.array.o_empty[m].val();
                }
                for i in 0..self.asked {
                    self.requests[i].clk.next = self.aclk.val();
                    self.requests[i].rst.next = self.reset.rst.val();
                    self.requests[i].v_ren.next = self.array.v_ren.val();
                    self.requests[i].index.next = self.steps.index[i].val();
                    self.requests[i].ce.next = self.advance.ce.val();
                    self.m_axis_vreq_tvalid[i].next = self.requests[i].tvalid.val();
                    self.requests[i].tready.next = self.m_axis_vreq_tready[i].val();
                    self.m_axis_vreq_tdata[i].next = self.requests[i].tdata.val();
                    self.advance.request_blocked.next = self.requests[i].blocked.val();
                    self.activity.request_blocked.next = self.requests[i].blocked.val();
                    self.request_stall[i].request_blocked.next = self.requests[i].blocked.val();
                    self.request_stall[i].result_blocked.next = self.results.blocked.val();
                    self.host.occurs[i + 7].next = self.request_stall[i].stall.val();
                    self.steps.step[i].next = self.array.v_step.val();
                    self.steps.ask.next = self.array.v_ren.val();
                    self.values.busy[i].next = self.host.busy[i].val();
                }
                for i in 0..self.dense {
                    self.advance.key_missing.next = self.steps.key_missing[i].val();
                }
                for i in 0..self.sparse {
                    self.advance.key_missing.next = self.low[i].y.val();
                }
                for i in 0..self.packets {
                    self.values.tlast[i].next = self.s_axis_v_tlast[i].val();
                    self.values.block[i].next = self.keys.opens[i].val();
                    self.values.due_last[i].next = self.steps.due_last[i].val();
                    self.steps.ask.next = self.array.v_step.val();
                    self.advance.request_blocked.next = self.low[i].y.val();
                    self.activity.request_blocked.next = self.low[i].y.val();
                }
                // Counters, in the order of the table.
                self.activity.ce.next = self.advance.ce.val();
                self.activity.value_missing.next = self.values.missing.val();
                self.activity.result_blocked.next = self.results.blocked.val();
                self.activity.running.next = self.steps.running.val();
                self.activity.k_valid.next = self.keys.k_valid.val();
                self.activity.k_ready.next = self.array.k_ready.val();
                self.activity.q_ready.next = self.array.q_ready.val();
                self.activity.run.next = self.host.run.val();
                self.activity.v_step.next = self.array.v_step.val();
                self.activity.v_ren.next = self.array.v_ren.val();
                self.host.opens.next = self.queries.opens.val();
                self.host.done.next = self.done.done.val();
                self.host.occurs[0].next = self.keys.taken.val();
                self.host.occurs[1].next = self.activity.values_read.val();
                self.host.occurs[2].next = self.activity.values_skipped.val();
                self.host.occurs[3].next = self.activity.stall_value.val();
                self.host.occurs[4].next = self.activity.stall_result.val();
                self.host.occurs[5].next = self.activity.wait_keys.val();
                self.host.occurs[6].next = self.activity.wait_queries.val();
                for i in 0..self.q_errors {
                    self.host.error[i].next = self.queries.error[i].val();
                }
                for n in self.q_errors..(self.q_errors + 1) {
                    for i in 0..self.k_errors {
                        self.host.error[n + i].next = self.keys.error[i].val();
                    }
                }
                for n in self.kv_errors..(self.kv_errors + 1) {
                    for i in 0..self.v_errors {
                        self.host.error[n + i].next = self.values.error[i].val();
                    }
                }
                // The register port.
                self.host.clk.next = self.aclk.val();
                self.host.rst.next = self.reset.rst.val();
                self.host.awaddr.next = self.s_axil_awaddr.val();
                self.host.awvalid.next = self.s_axil_awvalid.val();
                self.s_axil_awready.next = self.host.awready.val();
                self.host.wdata.next = self.s_axil_wdata.val();
                self.host.wstrb.next = self.s_axil_wstrb.val();
                self.host.wvalid.next = self.s_axil_wvalid.val();
                self.s_axil_wready.next = self.host.wready.val();
                self.s_axil_bresp.next = self.host.bresp.val();
                self.s_axil_bvalid.next = self.host.bvalid.val();
                self.host.bready.next = self.s_axil_bready.val();
                self.host.araddr.next = self.s_axil_araddr.val();
                self.host.arvalid.next = self.s_axil_arvalid.val();
                self.s_axil_arready.next = self.host.arready.val();
                self.s_axil_rdata.next = self.host.rdata.val();
                self.s_axil_rresp.next = self.host.rresp.val();
                self.s_axil_rvalid.next = self.host.rvalid.val();
                self.host.rready.next = self.s_axil_rready.val();
            }
        }

        super::ports::axis_ports! { $name }
    };
}
pub(super) use axis_wrapper;
