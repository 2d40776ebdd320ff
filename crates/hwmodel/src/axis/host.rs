//! What the host sees: registers behind an AXI4-Lite slave, and what they start.

use super::AxisConfig;
use super::credit::Credit;
use super::fields::*;
use super::lite::LiteSlave;
use super::registers::{ADDRESS_BITS, Access, Packets, RegisterName, counters, error_bits, registers};
use super::vector::{Either, EitherFunction};
use crate::circuit;
use crate::rtl::{Bus, In, Logic, Out, ResetRegister, Tag, ast, hdl_gen, logic};

circuit! {
    /// Registers, counters and the start of blocks.
    pub struct HostControl {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Synchronous reset.
            rst: Bus<In>,
            /// Write address.
            awaddr: Bus<In>,
            /// It is there.
            awvalid: Bus<In>,
            /// It is taken.
            awready: Bus<Out>,
            /// Write data.
            wdata: Bus<In>,
            /// Its bytes.
            wstrb: Bus<In>,
            /// It is there.
            wvalid: Bus<In>,
            /// It is taken.
            wready: Bus<Out>,
            /// Answer to a write.
            bresp: Bus<Out>,
            /// It is there.
            bvalid: Bus<Out>,
            /// It is taken.
            bready: Bus<In>,
            /// Read address.
            araddr: Bus<In>,
            /// It is there.
            arvalid: Bus<In>,
            /// It is taken.
            arready: Bus<Out>,
            /// Answer to a read.
            rdata: Bus<Out>,
            /// Its response.
            rresp: Bus<Out>,
            /// It is there.
            rvalid: Bus<Out>,
            /// It is taken.
            rready: Bus<In>,
            /// A block begins.
            opens: Bus<In>,
            /// A block's last result leaves.
            done: Bus<In>,
            /// With masks: the array takes a query.
            taken: Vec<Bus<In>>,
            /// Errors of the streams, in the order of their bits.
            error: Vec<Bus<In>>,
            /// What the counters after those of cycles and blocks count.
            occurs: Vec<Bus<In>>,
            /// Blocks may begin.
            run: Bus<Out>,
            /// Where values are asked for: a block is on its way, or may begin.
            busy: Vec<Bus<Out>>,
            /// Keys of a block.
            length: Bus<Out>,
            /// Of fixed-point lanes only.
            v_exponent: Vec<Bus<Out>>,
            /// With masks: the first key that the next query sees.
            q_from: Vec<Bus<Out>>,
            /// With masks: the first one that it sees no more.
            q_to: Vec<Bus<Out>>,
        }
        parts {
            /// Blocks may begin.
            run_q: ResetRegister,
            /// How many; 0: any number.
            left_q: ResetRegister,
            /// Errors.
            error_q: Vec<ResetRegister>,
            /// With masks: place of the next query.
            position_q: Vec<ResetRegister>,
            /// Protocol.
            slave: LiteSlave,
            /// Which register is written.
            write_decode: WriteDecode,
            /// BLOCKS.
            block_number: HostRegister,
            /// LENGTH.
            key_number: HostRegister,
            /// V_EXPONENT.
            exponent: Vec<HostRegister>,
            /// MASK_MODE.
            mask_mode: Vec<HostRegister>,
            /// STRIDE.
            stride: Vec<HostRegister>,
            /// WINDOW.
            window: Vec<HostRegister>,
            /// Start and stop.
            rules: RunRules,
            /// Blocks on their way.
            blocks: Credit,
            /// Whether there is anything to do.
            working: Either,
            /// The next place.
            next_position: Vec<NextPosition>,
            /// What the next query sees.
            limits: Vec<QueryLimits>,
            /// Errors.
            errors: ErrorRules,
            /// When counters are cleared.
            clears: Either,
            /// Counters.
            counter: Vec<EventCounter>,
            /// Registers as they are read.
            control_word: Widen,
            /// Registers as they are read.
            status_word: StatusWord,
            /// Registers as they are read.
            exponent_word: Vec<Widen>,
            /// Registers as they are read.
            mask_mode_word: Vec<Widen>,
            /// Registers as they are read.
            stride_word: Vec<Widen>,
            /// Registers as they are read.
            window_word: Vec<Widen>,
            /// Registers as they are read.
            position_word: Vec<Widen>,
            /// What is read.
            read_decode: ReadDecode,
        }
        config {
            masks: usize,
            fixed: usize,
            errors_count: usize,
            counters: usize,
            counters_at: usize,
            busies: usize,
        }
    }
}

impl HostControl {
    /// The registers of a wrapper.
    pub fn new(config: &AxisConfig) -> Self {
        let table = registers(config);
        let masks = usize::from(config.block.core.masks);
        let fixed = usize::from(config.block.core.has_fixed_lanes());
        let key_bits = config.block.key_index_bits();
        let width = |name| table.iter().find(|r| r.name == name).map(|r| r.width);
        let host = |name| -> Vec<HostRegister> { width(name).into_iter().map(HostRegister::new).collect() };
        let word = |name| -> Vec<Widen> {
            width(name).into_iter().map(|width| Widen::new(WidenFunction { width })).collect()
        };
        let counters = counters(config).len();
        let bits: Vec<u32> = [Packets::Queries, Packets::Keys, Packets::Values]
            .into_iter()
            .flat_map(|packets| error_bits(config, packets))
            .collect();
        let all: Vec<u32> = table.iter().map(|r| r.offset).collect();
        let writable: Vec<u32> =
            table.iter().filter(|r| r.access != Access::ReadOnly).map(|r| r.offset).collect();
        // What a host writes comes first: a register has the same place among all and among these.
        debug_assert!(all.starts_with(&writable));
        let counters_at = writable.len();
        let requested = usize::from(config.values == super::Values::Requested);
        let limits = || Bus::vector(masks, key_bits);
        HostControl {
            tag: Tag::module("host_control", "Registers, counters, and the start of blocks."),
            unrest: Default::default(),
            clk: Bus::new(1),
            rst: Bus::new(1),
            awaddr: Bus::new(ADDRESS_BITS),
            awvalid: Bus::new(1),
            awready: Bus::new(1),
            wdata: Bus::new(32),
            wstrb: Bus::new(4),
            wvalid: Bus::new(1),
            wready: Bus::new(1),
            bresp: Bus::new(2),
            bvalid: Bus::new(1),
            bready: Bus::new(1),
            araddr: Bus::new(ADDRESS_BITS),
            arvalid: Bus::new(1),
            arready: Bus::new(1),
            rdata: Bus::new(32),
            rresp: Bus::new(2),
            rvalid: Bus::new(1),
            rready: Bus::new(1),
            opens: Bus::new(1),
            done: Bus::new(1),
            taken: Bus::vector(masks, 1),
            error: Bus::vector(bits.len(), 1),
            occurs: Bus::vector(counters - 2, 1),
            run: Bus::new(1),
            busy: Bus::vector(requested, 1),
            length: Bus::new(32),
            v_exponent: width(RegisterName::VExponent).into_iter().map(Bus::new).collect(),
            q_from: limits(),
            q_to: limits(),
            run_q: ResetRegister::new(1, 0),
            left_q: ResetRegister::new(32, 0),
            error_q: (0..bits.len()).map(|_| ResetRegister::new(1, 0)).collect(),
            position_q: (0..masks).map(|_| ResetRegister::new(key_bits, 0)).collect(),
            slave: LiteSlave::new(),
            write_decode: WriteDecode::new(writable),
            block_number: HostRegister::new(32),
            key_number: HostRegister::new(32),
            exponent: host(RegisterName::VExponent),
            mask_mode: host(RegisterName::MaskMode),
            stride: host(RegisterName::Stride),
            window: host(RegisterName::Window),
            rules: RunRules::new(RunRulesFunction {}),
            blocks: Credit::new(config.block_count_bits()),
            working: Either::new(EitherFunction {}),
            next_position: (0..masks)
                .map(|_| NextPosition::new(NextPositionFunction { width: key_bits }))
                .collect(),
            limits: (0..masks).map(|_| QueryLimits::new(QueryLimitsFunction { width: key_bits })).collect(),
            errors: ErrorRules::new(bits.clone()),
            clears: Either::new(EitherFunction {}),
            counter: (0..counters).map(|_| EventCounter::new()).collect(),
            control_word: Widen::new(WidenFunction { width: 1 }),
            status_word: StatusWord::new(bits.clone()),
            exponent_word: word(RegisterName::VExponent),
            mask_mode_word: word(RegisterName::MaskMode),
            stride_word: word(RegisterName::Stride),
            window_word: word(RegisterName::Window),
            position_word: word(RegisterName::Position),
            read_decode: ReadDecode::new(all),
            masks,
            fixed,
            errors_count: bits.len(),
            counters,
            counters_at,
            busies: requested,
        }
    }
}

impl Logic for HostControl {
    #[hdl_gen]
    fn update(&mut self) {
        self.slave.clk.next = self.clk.val();
        self.slave.rst.next = self.rst.val();
        self.slave.awaddr.next = self.awaddr.val();
        self.slave.awvalid.next = self.awvalid.val();
        self.awready.next = self.slave.awready.val();
        self.slave.wdata.next = self.wdata.val();
        self.slave.wstrb.next = self.wstrb.val();
        self.slave.wvalid.next = self.wvalid.val();
        self.wready.next = self.slave.wready.val();
        self.bresp.next = self.slave.bresp.val();
        self.bvalid.next = self.slave.bvalid.val();
        self.slave.bready.next = self.bready.val();
        self.slave.araddr.next = self.araddr.val();
        self.slave.arvalid.next = self.arvalid.val();
        self.arready.next = self.slave.arready.val();
        self.rdata.next = self.slave.rdata.val();
        self.rresp.next = self.slave.rresp.val();
        self.rvalid.next = self.slave.rvalid.val();
        self.slave.rready.next = self.rready.val();
        self.slave.write_known.next = self.write_decode.known[0].val();
        self.slave.read_known.next = self.read_decode.known[0].val();
        self.slave.read_data.next = self.read_decode.data[0].val();
        self.write_decode.address[0].next = self.slave.write_address.val();
        self.write_decode.write[0].next = self.slave.write.val();
        self.read_decode.address[0].next = self.slave.read_address.val();
        // CONTROL.
        self.rules.select.next = self.write_decode.select[0].val();
        self.rules.data.next = self.slave.write_data.val();
        self.rules.mask.next = self.slave.write_mask.val();
        self.rules.run.next = self.run_q.q.val();
        self.rules.opens.next = self.opens.val();
        self.rules.blocks.next = self.block_number.value.val();
        self.rules.left.next = self.left_q.q.val();
        self.run_q.clk.next = self.clk.val();
        self.run_q.rst.next = self.rst.val();
        self.run_q.d.next = self.rules.next_run.val();
        self.left_q.clk.next = self.clk.val();
        self.left_q.rst.next = self.rst.val();
        self.left_q.d.next = self.rules.next_left.val();
        self.run.next = self.run_q.q.val();
        self.control_word.x.next = self.run_q.q.val();
        self.read_decode.value[0].next = self.control_word.y.val();
        // STATUS.
        self.blocks.clk.next = self.clk.val();
        self.blocks.rst.next = self.rst.val();
        self.blocks.up.next = self.opens.val();
        self.blocks.down.next = self.done.val();
        self.working.a.next = self.run_q.q.val();
        self.working.b.next = self.blocks.some.val();
        for i in 0..self.busies {
            self.busy[i].next = self.working.y.val();
        }
        self.errors.select[0].next = self.write_decode.select[1].val();
        self.errors.data[0].next = self.slave.write_data.val();
        self.errors.mask[0].next = self.slave.write_mask.val();
        for i in 0..self.errors_count {
            self.errors.occurs[i].next = self.error[i].val();
            self.errors.old[i].next = self.error_q[i].q.val();
            self.error_q[i].clk.next = self.clk.val();
            self.error_q[i].rst.next = self.rst.val();
            self.error_q[i].d.next = self.errors.y[i].val();
            self.status_word.error[i].next = self.error_q[i].q.val();
        }
        self.status_word.busy[0].next = self.working.y.val();
        self.read_decode.value[1].next = self.status_word.y[0].val();
        // Registers that only the host writes, in the order of the table.
        self.block_number.clk.next = self.clk.val();
        self.block_number.rst.next = self.rst.val();
        self.block_number.data.next = self.slave.write_data.val();
        self.block_number.mask.next = self.slave.write_mask.val();
        self.block_number.select.next = self.write_decode.select[2].val();
        self.read_decode.value[2].next = self.block_number.value.val();
        self.key_number.clk.next = self.clk.val();
        self.key_number.rst.next = self.rst.val();
        self.key_number.data.next = self.slave.write_data.val();
        self.key_number.mask.next = self.slave.write_mask.val();
        self.key_number.select.next = self.write_decode.select[3].val();
        self.read_decode.value[3].next = self.key_number.value.val();
        self.length.next = self.key_number.value.val();
        for i in 0..self.fixed {
            self.exponent[i].clk.next = self.clk.val();
            self.exponent[i].rst.next = self.rst.val();
            self.exponent[i].data.next = self.slave.write_data.val();
            self.exponent[i].mask.next = self.slave.write_mask.val();
            self.exponent[i].select.next = self.write_decode.select[i + 4].val();
            self.exponent_word[i].x.next = self.exponent[i].value.val();
            self.read_decode.value[i + 4].next = self.exponent_word[i].y.val();
            self.v_exponent[i].next = self.exponent[i].value.val();
        }
        for m in 0..self.masks {
            for f in self.fixed..(self.fixed + 1) {
                self.mask_mode[m].clk.next = self.clk.val();
                self.mask_mode[m].rst.next = self.rst.val();
                self.mask_mode[m].data.next = self.slave.write_data.val();
                self.mask_mode[m].mask.next = self.slave.write_mask.val();
                self.mask_mode[m].select.next = self.write_decode.select[f + 4].val();
                self.mask_mode_word[m].x.next = self.mask_mode[m].value.val();
                self.read_decode.value[f + 4].next = self.mask_mode_word[m].y.val();
                self.stride[m].clk.next = self.clk.val();
                self.stride[m].rst.next = self.rst.val();
                self.stride[m].data.next = self.slave.write_data.val();
                self.stride[m].mask.next = self.slave.write_mask.val();
                self.stride[m].select.next = self.write_decode.select[f + 5].val();
                self.stride_word[m].x.next = self.stride[m].value.val();
                self.read_decode.value[f + 5].next = self.stride_word[m].y.val();
                self.window[m].clk.next = self.clk.val();
                self.window[m].rst.next = self.rst.val();
                self.window[m].data.next = self.slave.write_data.val();
                self.window[m].mask.next = self.slave.write_mask.val();
                self.window[m].select.next = self.write_decode.select[f + 6].val();
                self.window_word[m].x.next = self.window[m].value.val();
                self.read_decode.value[f + 6].next = self.window_word[m].y.val();
                self.next_position[m].select.next = self.write_decode.select[f + 7].val();
                self.read_decode.value[f + 7].next = self.position_word[m].y.val();
            }
            self.position_q[m].clk.next = self.clk.val();
            self.position_q[m].rst.next = self.rst.val();
            self.position_q[m].d.next = self.next_position[m].following.val();
            self.next_position[m].data.next = self.slave.write_data.val();
            self.next_position[m].mask.next = self.slave.write_mask.val();
            self.next_position[m].position.next = self.position_q[m].q.val();
            self.next_position[m].stride.next = self.stride[m].value.val();
            self.next_position[m].taken.next = self.taken[m].val();
            self.position_word[m].x.next = self.position_q[m].q.val();
            self.limits[m].mode.next = self.mask_mode[m].value.val();
            self.limits[m].window.next = self.window[m].value.val();
            self.limits[m].position.next = self.position_q[m].q.val();
            self.q_from[m].next = self.limits[m].q_from.val();
            self.q_to[m].next = self.limits[m].q_to.val();
        }
        // Counters.
        self.clears.a.next = self.rst.val();
        self.clears.b.next = self.rules.clear.val();
        self.counter[0].occurs.next = self.working.y.val();
        self.counter[1].occurs.next = self.done.val();
        for i in 2..self.counters {
            self.counter[i].occurs.next = self.occurs[i - 2].val();
        }
        for c in self.counters_at..(self.counters_at + 1) {
            for i in 0..self.counters {
                self.counter[i].clk.next = self.clk.val();
                self.counter[i].rst.next = self.clears.y.val();
                self.read_decode.value[c + i].next = self.counter[i].count.val();
            }
        }
    }
}
