//! The register port: AXI4-Lite, one write and one read at a time.

use super::ports::{LiteHost, LiteSlave};
use crate::function;
use crate::rtl::{Module, Tag, Wire};

function! {
    /// Handshakes of the three write channels.
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
function! {
    /// Handshakes of the two read channels.
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
function! {
    /// The response code of an access.
    pub struct ResponseFunction {}
    name(this) = "lite_response";
    doc = "OKAY for what can be done, otherwise SLVERR.";
    inputs { known: 1 }
    outputs { resp: 2 }
    eval<W> { [known.not().append_zeros(1)] }
}
function! {
    /// Expands byte strobes to a bit mask.
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
/// Outputs of the slave.
pub struct SlaveOutputs {
    /// The outputs of the AXI4-Lite port.
    pub lite: LiteSlave,
    /// A register is written.
    pub write: Wire,
    /// Byte address of the write.
    pub write_address: Wire,
    /// Data of the write, 32 bits.
    pub write_data: Wire,
    /// Set for the bits that are written, 32 bits.
    pub write_mask: Wire,
    /// Byte address of the read.
    pub read_address: Wire,
}

/// An AXI4-Lite slave in front of registers. `host` has the signals that the host drives. `registers` has the answers of the registers,
/// `[write_known, read_data, read_known]`: whether [`SlaveOutputs::write_address`] has a register, the 32-bit contents of the one at
/// [`SlaveOutputs::read_address`], and whether that address has one.
pub fn lite_slave(around: &mut Module, name: &str, host: &LiteHost, registers: [Wire; 3]) -> SlaveOutputs {
    let tag = Tag::module("lite_slave", "AXI4-Lite, one write and one read at a time.");
    around.part(name, tag, |m| {
        m.clock();
        m.reset();
        let lite = m.enter("", host);

        // Addresses and data wait for their access, responses wait for the host.
        let [aw_full, w_full, b_full, ar_full, r_full] =
            ["aw_full_q", "w_full_q", "b_full_q", "ar_full_q", "r_full_q"].map(|name| m.state(name, 1));
        let channels = [lite.awvalid, lite.wvalid, lite.bready, aw_full, w_full, b_full];
        let [awready, wready, aw_take, w_take, write, next_aw_full, next_w_full, next_b_full] =
            m.call("writes", LiteWriteFunction {}, channels);
        let [arready, ar_take, read, next_ar_full, next_r_full] =
            m.call("reads", LiteReadFunction {}, [lite.arvalid, lite.rready, ar_full, r_full]);
        m.next_all(
            &[aw_full, w_full, b_full, ar_full, r_full],
            &[next_aw_full, next_w_full, next_b_full, next_ar_full, next_r_full],
        );
        let write_address = m.register_if("aw_q", aw_take, lite.awaddr);
        let write_data = m.register_if("w_q", w_take, lite.wdata);
        let strb = m.register_if("strb_q", w_take, lite.wstrb);
        let read_address = m.register_if("ar_q", ar_take, lite.araddr);
        let [mask] = m.call("strobe", StrobeFunction {}, [strb]);

        let [write_known, read_data, read_known] = registers;
        let [write_known, read_data, read_known] = m.input_each([
            ("write_known", write_known),
            ("read_data", read_data),
            ("read_known", read_known),
        ]);

        let [write_response] = m.call("write_response", ResponseFunction {}, [write_known]);
        let bresp = m.register_if("b_q", write, write_response);
        let [read_response] = m.call("read_response", ResponseFunction {}, [read_known]);
        let rdata = m.register_if("r_q", read, read_data);
        let rresp = m.register_if("resp_q", read, read_response);
        let answers =
            LiteSlave { awready, wready, bresp, bvalid: b_full, arready, rdata, rresp, rvalid: r_full };
        SlaveOutputs {
            lite: m.hand_out("", &answers),
            write: m.output("write", write),
            write_address: m.output("write_address", write_address),
            write_data: m.output("write_data", write_data),
            write_mask: m.output("write_mask", mask),
            read_address: m.output("read_address", read_address),
        }
    })
}
