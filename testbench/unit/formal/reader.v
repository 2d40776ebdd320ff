// The reader of rows. As many beats of a row leave the queue of beats as bursts request for it: those that have a byte of the row
// (bursts.v). Both sides take the same segments in the same order (queue.v), so that every row gets its own beats. No queue takes an entry
// without room or gives one that it does not have.

`default_nettype none
`ifndef SEGMENTS
`define SEGMENTS 8
`endif

module reader_props (
    input wire clk, rst, push, absent, last, beat_comes, grant, ready,
    input wire [`ADDRESS-1:0] address,
    input wire [29:0] rows,
    input wire [31:0] stride
);
    localparam MASK = `BEAT - 1;
    localparam BEATS = (`BYTES + MASK) / `BEAT;
    localparam BEAT_BITS = BEATS > 1 ? $clog2(BEATS) : 1;
    localparam ROOM_BITS = $clog2(`ROOM);
    wire room, valid, ends, is_absent, row_ends, burst_valid;
    wire [`ADDRESS-1:0] burst_address, error_at;
    wire [9:0] burst_beats;
    `PART dut (
        .clk(clk), .rst(rst), .push(push), .address(address), .rows(rows), .absent(absent), .last(last), .stride(stride),
        .beat(beat_comes), .grant(grant), .ready(ready), .room(room), .burst_valid(burst_valid), .burst_address(burst_address),
        .burst_beats(burst_beats), .valid(valid), .ends(ends), .is_absent(is_absent), .error_at(error_at), .row_ends(row_ends)
    );
    (* hierconn *) wire \dut.active_q ;
    (* hierconn *) wire \dut.primed_q ;
    (* hierconn *) wire [BEAT_BITS-1:0] \dut.beat_q ;
    (* hierconn *) wire [29:0] \dut.rows_q ;
    (* hierconn *) wire \dut.last_q ;
    (* hierconn *) wire [10:0] \dut.u_bursts.used_q ;
    // The segment that is received, which may be any here, and that it is taken; that a beat is.
    (* hierconn *) wire [`ADDRESS-1:0] \dut.to_receive_out ;
    (* hierconn *) wire [29:0] \dut.to_receive_out_1 ;
    (* hierconn *) wire [1:0] \dut.to_receive_out_2 ;
    (* hierconn *) wire \dut.receive_rules_take ;
    (* hierconn *) wire \dut.receive_rules_pop ;
    (* hierconn *) wire \dut.bursts_take ;
    (* hierconn *) wire [1:0] \dut.u_to_request.count_q ;
    (* hierconn *) wire \dut.u_to_request.valid_q ;
    (* hierconn *) wire [$clog2(`SEGMENTS):0] \dut.u_to_receive.count_q ;
    (* hierconn *) wire \dut.u_to_receive.valid_q ;
    (* hierconn *) wire [ROOM_BITS:0] \dut.u_beats.count_q ;
    (* hierconn *) wire \dut.u_beats.valid_q ;

    reg begun = 1'b0;
    // The segment, its row, and the rows that are left.
    reg active, of_zeros, ends_block;
    reg [`ADDRESS-1:0] row;
    reg [29:0] left;
    // Beats of the row that were popped, and that were sent.
    reg [10:0] popped, sent;
    // Beats that were requested and have not come.
    reg [11:0] coming;

    wire pop = \dut.receive_rules_pop ;
    wire sends = valid & ready;
    wire row_done = sends & sent == BEATS - 1;
    wire [`ADDRESS-1:0] offset = row & MASK;
    // Beats that have a byte of the row.
    wire [10:0] row_beats = of_zeros ? 11'd0 : (offset[10:0] + `BYTES + MASK) / `BEAT;

    always @(posedge clk) begin
        begun <= 1'b1;
        coming <= rst ? 12'd0 : coming + (grant ? burst_beats : 10'd0) - beat_comes;
        if (rst) active <= 1'b0;
        else if (\dut.receive_rules_take ) begin
            active <= 1'b1;
            row <= \dut.to_receive_out ;
            left <= \dut.to_receive_out_1 ;
            {ends_block, of_zeros} <= \dut.to_receive_out_2 ;
        end else if (row_done) begin
            active <= left != 30'd1;
            row <= row + stride;
            left <= left - 30'd1;
        end
        if (rst | row_done) {popped, sent} <= 22'd0;
        else {popped, sent} <= {popped + pop, sent + sends};
    end

    always @* begin
        assume (begun | rst);
        // segments, query_feed: a segment has a row, and comes only if there is room.
        if (push) assume (room);
        if (\dut.receive_rules_take ) assume (\dut.to_receive_out_1 != 30'd0);
        // read_requests: a burst is taken that is offered. The memory: beats come that were requested.
        if (grant) assume (burst_valid);
        if (beat_comes) assume (coming != 12'd0);
        if (begun & ~rst) begin
            if (valid) assert (active & is_absent == of_zeros);
            if (row_done) assert (popped + pop == row_beats);
            assert (row_ends == (row_done & ~of_zeros));
            if (valid) assert (ends == (sent == BEATS - 1 & left == 30'd1 & ends_block));
            // The address of a beat with an error is that of its row.
            if (pop) assert (active & ~of_zeros & error_at == row);
            if (\dut.receive_rules_take ) assert (~active | row_done & left == 30'd1);
            // Queues have room for what comes, and have what leaves.
            if (beat_comes) assert (\dut.u_beats.count_q < 1 << ROOM_BITS);
            if (push) assert (\dut.u_to_request.count_q < 2'd2 & \dut.u_to_receive.count_q < `SEGMENTS);
            if (pop) assert (\dut.u_beats.valid_q );
            if (\dut.receive_rules_take ) assert (\dut.u_to_receive.valid_q );
            if (\dut.bursts_take ) assert (\dut.u_to_request.valid_q );
            // What induction needs.
            assert (\dut.u_bursts.used_q == coming + \dut.u_beats.count_q + \dut.u_beats.valid_q );
            assert (\dut.u_bursts.used_q <= `ROOM & coming <= `ROOM);
            assert (\dut.u_to_request.count_q <= 2'd2 & \dut.u_to_receive.count_q <= `SEGMENTS);
            assert (active == \dut.active_q & sent == \dut.beat_q & sent < BEATS);
            if (active) assert (row == error_at & left == \dut.rows_q & left != 30'd0 & is_absent == of_zeros & \dut.last_q == ends_block);
            if (active & (of_zeros | offset == 0)) assert (~\dut.primed_q & popped == (of_zeros ? 11'd0 : sent));
            else if (active & \dut.primed_q ) assert (popped == sent + 11'd1);
            else assert (popped == 11'd0 & sent == 11'd0 & ~\dut.primed_q );
        end
    end
endmodule

`default_nettype wire
