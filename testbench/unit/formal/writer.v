// The writer of rows. Bursts have beats of one row alone, in order and each once, within a page of 4 KiB. As many beats follow an address
// as it announces, the last one marked; a strobe is of a byte of the row, and without `stop` every byte of the row has its strobe.

`default_nettype none

module writer_props (
    input wire clk, rst, offered, stop, awready, wready, bvalid,
    input wire [`ADDRESS-1:0] address,
    input wire [12:0] bytes,
    input wire [8*`BEAT-1:0] data,
    input wire [1:0] bresp
);
    wire awvalid, wvalid, wlast, take, row_ends, busy;
    wire [`ADDRESS-1:0] awaddr;
    wire [7:0] awlen;
    wire [8*`BEAT-1:0] wdata;
    wire [`BEAT-1:0] wstrb;
    `PART dut (
        .clk(clk), .rst(rst), .address(address), .bytes(bytes), .offered(offered), .stop(stop), .data(data), .awready(awready), .wready(wready),
        .bvalid(bvalid), .bresp(bresp), .awvalid(awvalid), .awaddr(awaddr), .awlen(awlen), .wvalid(wvalid), .wdata(wdata),
        .wstrb(wstrb), .wlast(wlast), .take(take), .row_ends(row_ends), .busy(busy)
    );
    (* hierconn *) wire [1:0] \dut.state_q ;
    (* hierconn *) wire \dut.rest_q ;
    (* hierconn *) wire \dut.waits_q ;
    (* hierconn *) wire [9:0] \dut.sent_q ;
    (* hierconn *) wire [9:0] \dut.left_q ;
    (* hierconn *) wire [4:0] \dut.unanswered_q ;
    (* hierconn *) wire [3:0] \dut.u_open.count_q ;
    (* hierconn *) wire \dut.u_open.valid_q ;

    localparam MASK = `BEAT - 1;
    reg begun = 1'b0;
    reg before, stopped_before, busy_before, in_row, aw_waits, w_waits, asked, cut;
    reg [`ADDRESS-1:0] address_before;
    reg [12:0] bytes_before;
    reg [8*`BEAT-1:0] data_before;
    reg [`ADDRESS+7:0] aw_before;
    reg [9*`BEAT:0] w_before;
    // Beats of the row that have gone, and of the burst that will; a burst is announced before its beats go.
    reg [9:0] gone, due;
    reg announced, whole;
    // Bursts whose last beat has gone and that have no answer.
    reg [4:0] unanswered;

    wire [`ADDRESS+7:0] aw_now = {awaddr, awlen};
    wire [9*`BEAT:0] w_now = {wdata, wstrb, wlast};
    wire aw = awvalid & awready;
    wire w = wvalid & wready;
    // Without wrapping: the row's first beat, its end, and the beat that is offered.
    wire [`ADDRESS:0] row = {1'b0, address} & ~MASK;
    wire [`ADDRESS:0] row_end = {1'b0, address} + bytes;
    wire [`ADDRESS:0] beat = row + `BEAT * gone;
    wire [`ADDRESS:0] burst_end = {1'b0, awaddr} + `BEAT * ({2'd0, awlen} + 10'd1);
    // The next boundary of 4 KiB behind the row's first byte, and the end of its last beat.
    wire [`ADDRESS:0] boundary = ({1'b0, address} | 12'hfff) + 1'b1;
    wire [`ADDRESS:0] beats_end = (row_end + MASK) & ~MASK;
    // The bytes of the beat that are the row's, counted from the row's first beat on.
    wire [18:0] place = `BEAT * gone;
    wire [18:0] offset = address & MASK;
    reg [`BEAT-1:0] of_row;
    integer i;
    always @* for (i = 0; i < `BEAT; i = i + 1) of_row[i] = place + i >= offset & place + i < offset + bytes;

    always @(posedge clk) begin
        begun <= 1'b1;
        before <= begun & ~rst;
        stopped_before <= stop;
        busy_before <= busy;
        address_before <= address;
        bytes_before <= bytes;
        data_before <= data;
        asked <= offered & ~take;
        aw_waits <= awvalid & ~awready;
        w_waits <= wvalid & ~wready;
        aw_before <= aw_now;
        w_before <= w_now;
        cut <= ~rst & (cut | stop);
        // A row is left with its last beat; the address may change then.
        in_row <= ~rst & ~row_ends & (in_row | awvalid);
        if (rst) {announced, gone, due, unanswered, whole} <= {1'b0, 10'd0, 10'd0, 5'd0, 1'b1};
        else begin
            if (aw) announced <= 1'b1;
            if (w & wlast) announced <= 1'b0;
            if (aw) due <= {2'd0, awlen} + 10'd1;
            else if (w) due <= due - 10'd1;
            if (w) gone <= row_ends ? 10'd0 : gone + 10'd1;
            if (w) whole <= row_ends | whole & wstrb == of_row;
            unanswered <= unanswered + (w & wlast) - bvalid;
        end
    end

    always @* begin
        assume (begun | rst);
        // The check of a job: no row ends beyond the port. row_address: the next row follows when one has ended.
        assume (row_end <= 1 << `ADDRESS);
        // results: rows of results, or of states and log-sum-exps; a row stays what it is while beats of it are offered or under way.
`ifdef PARTIAL
        assume (bytes == `O_BYTES | bytes == `S_BYTES | bytes == 13'd4);
`else
        assume (bytes == `O_BYTES);
`endif
        if (before & ~rst & (in_row | asked)) assume (address == address_before & bytes == bytes_before);
        // The stream of results: what is offered stays.
        if (before & ~rst & asked) assume (offered & data == data_before);
        // job_states: `stop` lasts until nothing is under way, and a reset follows it.
        if (before & stopped_before & ~stop) assume (rst & ~busy_before);
        // The memory answers a burst after its last beat.
        if (bvalid) assume (unanswered != 5'd0);
        if (begun & ~rst) begin
            if (before & aw_waits) assert (awvalid & aw_now == aw_before);
            if (before & w_waits) assert (wvalid & w_now == w_before);
            if (awvalid) begin
                assert (~announced & {1'b0, awaddr} == beat & burst_end < row_end + `BEAT);
                assert (awaddr[11:0] + `BEAT * ({2'd0, awlen} + 10'd1) <= 4096);
            end
            if (wvalid) begin
                assert (announced & due != 10'd0 & wlast == (due == 10'd1));
                assert ((wstrb & ~of_row) == 0);
            end
            if (take) assert (offered);
            if (row_ends) assert (w & whole & wstrb == of_row & beat + `BEAT >= row_end & beat < row_end);
            assert (busy | ~(awvalid | wvalid | announced) & unanswered == 5'd0);
            // What induction needs.
            assert (announced == (\dut.state_q == 2'd2) & \dut.state_q != 2'd3);
            assert (gone == \dut.sent_q & gone <= 10'd256);
            if (announced) assert (due == \dut.left_q & {1'b0, awaddr} + `BEAT * ({2'd0, awlen} + 10'd1 - due) == beat);
            if (awvalid) assert (\dut.left_q == {2'd0, awlen} + 10'd1);
            if (awvalid | announced) begin
                if (\dut.rest_q ) assert ({1'b0, awaddr} == boundary & boundary < row_end & burst_end == beats_end);
                else assert ({1'b0, awaddr} == row & burst_end == (boundary < row_end ? boundary : beats_end));
                if (announced) assert (due != 10'd0 & due <= {2'd0, awlen} + 10'd1);
            end else if (\dut.rest_q ) assert (beat == boundary & boundary < row_end);
            else assert (gone == 10'd0 | cut);
            if (\dut.rest_q | announced) assert (in_row);
            if (~cut | \dut.waits_q ) assert (whole);
            if (cut) assert (stopped_before);
            assert (unanswered <= 5'd9 & \dut.unanswered_q == unanswered + (awvalid | announced));
            assert (\dut.u_open.count_q + \dut.u_open.valid_q == \dut.unanswered_q & \dut.u_open.count_q <= 4'd8);
            if (~\dut.u_open.valid_q ) assert (\dut.u_open.count_q == 4'd0 | \dut.u_open.count_q == 4'd1 & unanswered == 5'd0);
            if (before & \dut.waits_q ) assert (w_waits);
            if (before & w_waits & ~\dut.waits_q ) assert (cut);
            if (~before) assert (~\dut.waits_q );
        end
    end
endmodule

`default_nettype wire
