// Rows of a segment as bursts. A row is first + i stride with i below the number of rows; a burst has beats of one row alone, in order
// and each once, as many as there is room for, within a page of 4 KiB.

`default_nettype none

module bursts_props (
    input wire clk, rst, valid, absent, grant, pop,
    input wire [`ADDRESS-1:0] address,
    input wire [29:0] rows,
    input wire [31:0] stride
);
    wire burst_valid, take;
    wire [`ADDRESS-1:0] burst_address;
    wire [9:0] burst_beats;
    `PART dut (
        .clk(clk), .rst(rst), .valid(valid), .address(address), .rows(rows), .absent(absent), .stride(stride), .grant(grant),
        .pop(pop), .burst_valid(burst_valid), .burst_address(burst_address), .burst_beats(burst_beats), .take(take)
    );
    (* hierconn *) wire \dut.active_q ;
    (* hierconn *) wire \dut.rest_q ;
    (* hierconn *) wire [10:0] \dut.used_q ;
    (* hierconn *) wire [`ADDRESS-1:0] \dut.address_q ;
    (* hierconn *) wire [29:0] \dut.rows_q ;

    reg begun = 1'b0;
    // The segment: its first row, its rows, and the row that is requested, with its next beat.
    reg active, narrow;
    reg [`ADDRESS-1:0] row, next;
    reg [`ADDRESS:0] last;
    reg [29:0] left;
    reg [31:0] stride_before;
    // Beats that have been requested and not been popped.
    reg [11:0] under_way;

    localparam MASK = `BEAT - 1;
    // One bit more than an address: nothing wraps.
    wire [`ADDRESS:0] begins = {1'b0, burst_address};
    wire [`ADDRESS:0] ends = begins + `BEAT * burst_beats;
    wire [`ADDRESS:0] row_ends = ({1'b0, row} + `BYTES + MASK) & ~MASK;
    wire row_done = ends == row_ends;
    wire segment_done = grant & row_done & left == 30'd1;
    // The last row of a segment of few rows with a small stride, as a product.
    wire [9:0] from_last = (left[4:0] - 5'd1) * stride[4:0];
    wire [9:0] product = (rows[4:0] - 5'd1) * stride[4:0];

    always @(posedge clk) begin
        begun <= 1'b1;
        stride_before <= stride;
        under_way <= rst ? 12'd0 : under_way + (grant ? burst_beats : 10'd0) - pop;
        if (rst) active <= 1'b0;
        else if (take) begin
            active <= ~absent;
            row <= address;
            next <= address & ~MASK;
            left <= rows;
            narrow <= rows < 30'd32 & stride < 32'd32;
            last <= {1'b0, address} + product;
        end else if (grant & row_done) begin
            active <= left != 30'd1;
            row <= row + stride;
            next <= (row + stride) & ~MASK;
            left <= left - 30'd1;
        end else if (grant) next <= ends;
    end

    always @* begin
        assume (begun | rst);
        // segments: at least a row. The check of a job: no row ends beyond the port; of few rows this is said of the last one alone.
        if (valid) assume (rows != 30'd0);
        if (active) assume ((narrow ? last : {1'b0, row}) + `BYTES <= 1 << `ADDRESS);
        // The host keeps a job's fields while it runs.
        if (active) assume (stride == stride_before);
        // read_requests: a burst is taken that is offered. The queue behind: what is popped has come, and so has been requested.
        if (grant) assume (burst_valid);
        if (pop) assume (under_way != 12'd0);
        if (begun & ~rst) begin
            if (burst_valid) begin
                assert (active);
                assert (begins == next & burst_address % `BEAT == 0);
                assert (burst_beats != 10'd0 & burst_beats <= 10'd256 & ends <= row_ends);
                assert (burst_address[11:0] + `BEAT * burst_beats <= 4096);
                assert (under_way + burst_beats <= `ROOM);
            end
            if (active & narrow) assert ({1'b0, row} + from_last == last & left < 30'd32 & stride < 32'd32);
            assert (under_way <= `ROOM & under_way == \dut.used_q );
            assert (active == \dut.active_q );
            if (active) assert (left != 30'd0 & row == \dut.address_q & left == \dut.rows_q );
            if (active) assert (next == (\dut.rest_q ? (row | 12'hfff) + 1'b1 : row & ~MASK));
            if (active & \dut.rest_q ) assert (((row + `BYTES - 1'b1) >> 12) != (row >> 12));
            if (~active) assert (~\dut.rest_q );
        end
    end
endmodule

`default_nettype wire
