// What holds of a stream wrapper's ports in every cycle, for Yosys: read_verilog -formal.
//
// `bench.vh` of packets.py describes the wrapper. All inputs are free but the reset, which is given in the first cycle.
// With QUIET the host writes nothing, and nothing may move; this is a statement about states reachable after reset.

`default_nettype none
`include "bench.vh"

module axis_props (
    input wire aclk,
    input wire aresetn,
    input wire s_axis_q_tvalid, s_axis_q_tlast,
    input wire [`AXIS_Q_BEAT-1:0] s_axis_q_tdata,
    input wire s_axis_k_tvalid, s_axis_k_tlast, s_axis_k_tuser,
    input wire [`AXIS_K_BEAT-1:0] s_axis_k_tdata,
    input wire s_axis_v_tvalid, s_axis_v_tlast,
    input wire [`AXIS_V_BEAT-1:0] s_axis_v_tdata,
    input wire m_axis_vreq_tready, m_axis_o_tready,
    input wire [`AXIS_ADDRESS_BITS-1:0] s_axil_awaddr, s_axil_araddr,
    input wire [31:0] s_axil_wdata,
    input wire [3:0] s_axil_wstrb,
    input wire s_axil_awvalid, s_axil_wvalid, s_axil_bready, s_axil_arvalid, s_axil_rready
);
    wire s_axis_q_tready, s_axis_k_tready, s_axis_v_tready;
    wire m_axis_o_tvalid, m_axis_o_tlast;
    wire [`AXIS_O_BEAT-1:0] m_axis_o_tdata;
    wire [2:0] m_axis_o_tuser;
    wire m_axis_vreq_tvalid;
    wire [31:0] m_axis_vreq_tdata;
    wire s_axil_awready, s_axil_wready, s_axil_bvalid, s_axil_arready, s_axil_rvalid;
    wire [1:0] s_axil_bresp, s_axil_rresp;
    wire [31:0] s_axil_rdata;

    `AXIS_TOP dut (
`ifdef AXIS_HAS_MASKS
        .s_axis_k_tuser(s_axis_k_tuser),
`endif
`ifdef AXIS_HAS_REQUESTED
        .m_axis_vreq_tvalid(m_axis_vreq_tvalid), .m_axis_vreq_tready(m_axis_vreq_tready),
        .m_axis_vreq_tdata(m_axis_vreq_tdata),
`else
        .s_axis_v_tlast(s_axis_v_tlast),
`endif
        .aclk(aclk), .aresetn(aresetn),
        .s_axis_q_tvalid(s_axis_q_tvalid), .s_axis_q_tready(s_axis_q_tready),
        .s_axis_q_tdata(s_axis_q_tdata), .s_axis_q_tlast(s_axis_q_tlast),
        .s_axis_k_tvalid(s_axis_k_tvalid), .s_axis_k_tready(s_axis_k_tready),
        .s_axis_k_tdata(s_axis_k_tdata), .s_axis_k_tlast(s_axis_k_tlast),
        .s_axis_v_tvalid(s_axis_v_tvalid), .s_axis_v_tready(s_axis_v_tready), .s_axis_v_tdata(s_axis_v_tdata),
        .m_axis_o_tvalid(m_axis_o_tvalid), .m_axis_o_tready(m_axis_o_tready),
        .m_axis_o_tdata(m_axis_o_tdata), .m_axis_o_tlast(m_axis_o_tlast), .m_axis_o_tuser(m_axis_o_tuser),
        .s_axil_awaddr(s_axil_awaddr), .s_axil_awvalid(s_axil_awvalid), .s_axil_awready(s_axil_awready),
        .s_axil_wdata(s_axil_wdata), .s_axil_wstrb(s_axil_wstrb),
        .s_axil_wvalid(s_axil_wvalid), .s_axil_wready(s_axil_wready),
        .s_axil_bresp(s_axil_bresp), .s_axil_bvalid(s_axil_bvalid), .s_axil_bready(s_axil_bready),
        .s_axil_araddr(s_axil_araddr), .s_axil_arvalid(s_axil_arvalid), .s_axil_arready(s_axil_arready),
        .s_axil_rdata(s_axil_rdata), .s_axil_rresp(s_axil_rresp),
        .s_axil_rvalid(s_axil_rvalid), .s_axil_rready(s_axil_rready)
    );
`ifndef AXIS_HAS_REQUESTED
    assign m_axis_vreq_tvalid = 1'b0;
    assign m_axis_vreq_tdata = 32'd0;
`endif

    // Everything of the cycle before; `went` is that it was not a cycle of reset.
    reg begun = 1'b0;
    reg went = 1'b0;
    reg o_waits, vreq_waits, b_waits, r_waits, write_due, read_due;
    reg [`AXIS_O_BEAT+3:0] o_before;
    reg [31:0] vreq_before;
    reg [1:0] b_before;
    reg [33:0] r_before;
    // Addresses, data and reads taken, less answers taken. Two at most are on their way.
    reg [2:0] addresses, data, reads;

    wire [`AXIS_O_BEAT+3:0] o_now = {m_axis_o_tuser, m_axis_o_tlast, m_axis_o_tdata};
    wire [33:0] r_now = {s_axil_rresp, s_axil_rdata};
    wire b_taken = s_axil_bvalid & s_axil_bready;

    always @(posedge aclk) begin
        begun <= 1'b1;
        went <= aresetn;
        o_waits <= m_axis_o_tvalid & ~m_axis_o_tready;
        vreq_waits <= m_axis_vreq_tvalid & ~m_axis_vreq_tready;
        b_waits <= s_axil_bvalid & ~s_axil_bready;
        r_waits <= s_axil_rvalid & ~s_axil_rready;
        o_before <= o_now;
        vreq_before <= m_axis_vreq_tdata;
        b_before <= s_axil_bresp;
        r_before <= r_now;
        write_due <= ~s_axil_awready & ~s_axil_wready & ~s_axil_bvalid;
        read_due <= ~s_axil_arready & ~s_axil_rvalid;
        if (!aresetn) begin
            addresses <= 0;
            data <= 0;
            reads <= 0;
        end else begin
            addresses <= addresses + (s_axil_awvalid & s_axil_awready) - b_taken;
            data <= data + (s_axil_wvalid & s_axil_wready) - b_taken;
            reads <= reads + (s_axil_arvalid & s_axil_arready) - (s_axil_rvalid & s_axil_rready);
        end
    end

    always @* begin
        assume (begun | ~aresetn);
`ifdef QUIET
        assume (~s_axil_awvalid);
        if (went) begin
            assert (~s_axis_q_tready & ~s_axis_k_tready & ~s_axis_v_tready);
            assert (~m_axis_o_tvalid & ~m_axis_vreq_tvalid);
        end
`else
        if (went) begin
            // What is offered stays until it is taken.
            if (o_waits) assert (m_axis_o_tvalid && o_now == o_before);
            if (vreq_waits) assert (m_axis_vreq_tvalid && m_axis_vreq_tdata == vreq_before);
            if (b_waits) assert (s_axil_bvalid && s_axil_bresp == b_before);
            if (r_waits) assert (s_axil_rvalid && r_now == r_before);
            // One answer for one request: an accepted request without an answer is in the port, once.
            assert (addresses == {2'b0, ~s_axil_awready} + {2'b0, s_axil_bvalid});
            assert (data == {2'b0, ~s_axil_wready} + {2'b0, s_axil_bvalid});
            assert (reads == {2'b0, ~s_axil_arready} + {2'b0, s_axil_rvalid});
            // And it comes in the cycle after both halves of a write, or the address of a read, are there.
            if (write_due) assert (s_axil_bvalid);
            if (read_due) assert (s_axil_rvalid);
        end
`endif
    end
endmodule

`default_nettype wire
