//! The protocol of the register port: AXI4-Lite, one write and one read at a time.

use super::registers::ADDRESS_BITS;
use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, ResetRegister, Tag, ast, hdl_gen, logic};
use crate::{circuit, function, unit};

function! {
    /// The three channels of a write.
    pub struct LiteWriteFunction {}
    name(this) = "lite_write";
    doc = "Address and data are taken in any order; the write is made when both are there and the last one is answered.";
    inputs { awvalid: 1, wvalid: 1, bready: 1, aw_full: 1, w_full: 1, b_full: 1 }
    outputs { awready: 1, wready: 1, aw_take: 1, w_take: 1, write: 1, next_aw_full: 1, next_w_full: 1, next_b_full: 1 }
    eval<W> {
        let (awready, wready) = (aw_full.not(), w_full.not());
        let aw_take = awvalid.and(&awready).named("takes_address");
        let w_take = wvalid.and(&wready).named("takes_data");
        let write = aw_full.and(&w_full).and(&b_full.not()).named("writes");
        [
            awready,
            wready,
            aw_take.clone(),
            w_take.clone(),
            write.clone(),
            aw_take.or(&aw_full.and(&write.not())),
            w_take.or(&w_full.and(&write.not())),
            write.or(&b_full.and(&bready.not())),
        ]
    }
}
unit! {
    /// The three channels of a write.
    pub struct LiteWrite(LiteWriteFunction) { awvalid, wvalid, bready, aw_full, w_full, b_full }
        -> { awready, wready, aw_take, w_take, write, next_aw_full, next_w_full, next_b_full }
}

function! {
    /// The two channels of a read.
    pub struct LiteReadFunction {}
    name(this) = "lite_read";
    doc = "The register is read when its address is there and the last answer has been taken.";
    inputs { arvalid: 1, rready: 1, ar_full: 1, r_full: 1 }
    outputs { arready: 1, ar_take: 1, read: 1, next_ar_full: 1, next_r_full: 1 }
    eval<W> {
        let arready = ar_full.not();
        let ar_take = arvalid.and(&arready).named("takes_address");
        let read = ar_full.and(&r_full.not()).named("reads");
        [
            arready,
            ar_take.clone(),
            read.clone(),
            ar_take.or(&ar_full.and(&read.not())),
            read.or(&r_full.and(&rready.not())),
        ]
    }
}
unit! {
    /// The two channels of a read.
    pub struct LiteRead(LiteReadFunction) { arvalid, rready, ar_full, r_full }
        -> { arready, ar_take, read, next_ar_full, next_r_full }
}

function! {
    /// Answer to an access.
    pub struct ResponseFunction {}
    name(this) = "lite_response";
    doc = "OKAY for what can be done, otherwise SLVERR.";
    inputs { known: 1 }
    outputs { resp: 2 }
    eval<W> { [known.not().append_zeros(1)] }
}
unit! {
    /// Answer to an access.
    pub struct Response(ResponseFunction) { known } -> { resp }
}

function! {
    /// Bits that a write touches.
    pub struct StrobeFunction {}
    name(this) = "lite_strobe";
    doc = "A strobe for each byte.";
    inputs { strb: 4 }
    outputs { mask: 32 }
    eval<W> {
        let byte = |i| strb.bit(i).repeat(8);
        [byte(3).concat(&byte(2)).concat(&byte(1)).concat(&byte(0))]
    }
}
unit! {
    /// Bits that a write touches.
    pub struct Strobe(StrobeFunction) { strb } -> { mask }
}

circuit! {
    /// An AXI4-Lite slave in front of registers.
    pub struct LiteSlave {
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
            /// A register is written.
            write: Bus<Out>,
            /// Which.
            write_address: Bus<Out>,
            /// With what.
            write_data: Bus<Out>,
            /// Which bits of it.
            write_mask: Bus<Out>,
            /// There is such a register.
            write_known: Bus<In>,
            /// Which register is read.
            read_address: Bus<Out>,
            /// What it says.
            read_data: Bus<In>,
            /// There is such a register.
            read_known: Bus<In>,
        }
        parts {
            /// A write address waits.
            aw_full_q: ResetRegister,
            /// It.
            aw_q: EnabledRegister,
            /// Write data wait.
            w_full_q: ResetRegister,
            /// They.
            w_q: EnabledRegister,
            /// Their bytes.
            strb_q: EnabledRegister,
            /// An answer waits.
            b_full_q: ResetRegister,
            /// It.
            b_q: EnabledRegister,
            /// A read address waits.
            ar_full_q: ResetRegister,
            /// It.
            ar_q: EnabledRegister,
            /// An answer waits.
            r_full_q: ResetRegister,
            /// Its data.
            r_q: EnabledRegister,
            /// Its response.
            resp_q: EnabledRegister,
            /// Writes.
            writes: LiteWrite,
            /// Reads.
            reads: LiteRead,
            /// Bits that are written.
            strobe: Strobe,
            /// Answer to a write.
            write_response: Response,
            /// Answer to a read.
            read_response: Response,
        }
        config {}
    }
}

impl Default for LiteSlave {
    fn default() -> Self {
        LiteSlave::new()
    }
}

impl LiteSlave {
    /// The slave.
    pub fn new() -> Self {
        let flag = || ResetRegister::new(1, 0);
        LiteSlave {
            tag: Tag::module("lite_slave", "AXI4-Lite, one write and one read at a time."),
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
            write: Bus::new(1),
            write_address: Bus::new(ADDRESS_BITS),
            write_data: Bus::new(32),
            write_mask: Bus::new(32),
            write_known: Bus::new(1),
            read_address: Bus::new(ADDRESS_BITS),
            read_data: Bus::new(32),
            read_known: Bus::new(1),
            aw_full_q: flag(),
            aw_q: EnabledRegister::new(ADDRESS_BITS),
            w_full_q: flag(),
            w_q: EnabledRegister::new(32),
            strb_q: EnabledRegister::new(4),
            b_full_q: flag(),
            b_q: EnabledRegister::new(2),
            ar_full_q: flag(),
            ar_q: EnabledRegister::new(ADDRESS_BITS),
            r_full_q: flag(),
            r_q: EnabledRegister::new(32),
            resp_q: EnabledRegister::new(2),
            writes: LiteWrite::new(LiteWriteFunction {}),
            reads: LiteRead::new(LiteReadFunction {}),
            strobe: Strobe::new(StrobeFunction {}),
            write_response: Response::new(ResponseFunction {}),
            read_response: Response::new(ResponseFunction {}),
        }
    }
}

impl Logic for LiteSlave {
    #[hdl_gen]
    fn update(&mut self) {
        self.aw_full_q.clk.next = self.clk.val();
        self.aw_full_q.rst.next = self.rst.val();
        self.aw_full_q.d.next = self.writes.next_aw_full.val();
        self.w_full_q.clk.next = self.clk.val();
        self.w_full_q.rst.next = self.rst.val();
        self.w_full_q.d.next = self.writes.next_w_full.val();
        self.b_full_q.clk.next = self.clk.val();
        self.b_full_q.rst.next = self.rst.val();
        self.b_full_q.d.next = self.writes.next_b_full.val();
        self.writes.awvalid.next = self.awvalid.val();
        self.writes.wvalid.next = self.wvalid.val();
        self.writes.bready.next = self.bready.val();
        self.writes.aw_full.next = self.aw_full_q.q.val();
        self.writes.w_full.next = self.w_full_q.q.val();
        self.writes.b_full.next = self.b_full_q.q.val();
        self.awready.next = self.writes.awready.val();
        self.wready.next = self.writes.wready.val();
        self.bvalid.next = self.b_full_q.q.val();
        self.bresp.next = self.b_q.q.val();
        self.aw_q.clk.next = self.clk.val();
        self.aw_q.enable.next = self.writes.aw_take.val();
        self.aw_q.d.next = self.awaddr.val();
        self.w_q.clk.next = self.clk.val();
        self.w_q.enable.next = self.writes.w_take.val();
        self.w_q.d.next = self.wdata.val();
        self.strb_q.clk.next = self.clk.val();
        self.strb_q.enable.next = self.writes.w_take.val();
        self.strb_q.d.next = self.wstrb.val();
        self.write_response.known.next = self.write_known.val();
        self.b_q.clk.next = self.clk.val();
        self.b_q.enable.next = self.writes.write.val();
        self.b_q.d.next = self.write_response.resp.val();
        self.strobe.strb.next = self.strb_q.q.val();
        self.write.next = self.writes.write.val();
        self.write_address.next = self.aw_q.q.val();
        self.write_data.next = self.w_q.q.val();
        self.write_mask.next = self.strobe.mask.val();
        self.ar_full_q.clk.next = self.clk.val();
        self.ar_full_q.rst.next = self.rst.val();
        self.ar_full_q.d.next = self.reads.next_ar_full.val();
        self.r_full_q.clk.next = self.clk.val();
        self.r_full_q.rst.next = self.rst.val();
        self.r_full_q.d.next = self.reads.next_r_full.val();
        self.reads.arvalid.next = self.arvalid.val();
        self.reads.rready.next = self.rready.val();
        self.reads.ar_full.next = self.ar_full_q.q.val();
        self.reads.r_full.next = self.r_full_q.q.val();
        self.arready.next = self.reads.arready.val();
        self.ar_q.clk.next = self.clk.val();
        self.ar_q.enable.next = self.reads.ar_take.val();
        self.ar_q.d.next = self.araddr.val();
        self.read_address.next = self.ar_q.q.val();
        self.read_response.known.next = self.read_known.val();
        self.r_q.clk.next = self.clk.val();
        self.r_q.enable.next = self.reads.read.val();
        self.r_q.d.next = self.read_data.val();
        self.resp_q.clk.next = self.clk.val();
        self.resp_q.enable.next = self.reads.read.val();
        self.resp_q.d.next = self.read_response.resp.val();
        self.rvalid.next = self.r_full_q.q.val();
        self.rdata.next = self.r_q.q.val();
        self.rresp.next = self.resp_q.q.val();
    }
}
