// The buffer of rows. A row that is kept is written to its place, once; one that is stored is read from its place; places lie in the
// buffer. Rows leave in the order of segments, each once: those in memory as they have been gathered from BYTES / BEAT beats. That a stored
// row was kept before follows from the segments (segments.v).

`default_nettype none

module buffer_props (
    input wire clk, rst, push, absent, last, stored, keep, beat_comes, ready,
    input wire [29:0] rows,
    input wire [$clog2(`DEPTH)-1:0] place
);
    localparam BITS = $clog2(`DEPTH);
    localparam BEATS = (`BYTES + `BEAT - 1) / `BEAT;
    wire room, take, valid, ends, is_absent;
    `PART dut (
        .clk(clk), .rst(rst), .push(push), .rows(rows), .absent(absent), .last(last), .stored(stored), .keep(keep), .place(place),
        .beat(beat_comes), .ready(ready), .room(room), .take(take), .valid(valid), .ends(ends), .is_absent(is_absent)
    );
    (* hierconn *) wire \dut.active_q ;
    (* hierconn *) wire \dut.reading_q ;
    (* hierconn *) wire \dut.gathered_q ;
    (* hierconn *) wire [$clog2(BEATS)-1:0] \dut.gather_beat_q ;
    (* hierconn *) wire \dut.read_last_q ;
    (* hierconn *) wire \dut.read_null_q ;
    (* hierconn *) wire [3:0] \dut.flags_q ;
    (* hierconn *) wire [29:0] \dut.left_q ;
    (* hierconn *) wire [BITS-1:0] \dut.at_q ;
    // The segment that is taken, which may be any here; a row is read from the memory, or written to it.
    (* hierconn *) wire \dut.rules_take ;
    (* hierconn *) wire \dut.segments_valid ;
    (* hierconn *) wire [29:0] \dut.segments_out ;
    (* hierconn *) wire [3:0] \dut.segments_out_1 ;
    (* hierconn *) wire [BITS-1:0] \dut.segments_out_2 ;
    (* hierconn *) wire \dut.rules_fetch ;
    (* hierconn *) wire \dut.rules_write ;
    (* hierconn *) wire \dut.rules_pop ;
    (* hierconn *) wire [3:0] \dut.u_segments.count_q ;

    reg begun = 1'b0;
    reg before, waits, reading_before, ends_before;
    // The segment, the number of its next row, and the place of its first.
    reg active, is_kept, is_stored, ends_block, of_zeros;
    reg [29:0] count, number;
    reg [BITS-1:0] first;
    // A row that was read is offered. Beats that have been gathered.
    reg fetched;
    reg [10:0] beats;

    wire fetch = \dut.rules_fetch ;
    wire pop = \dut.rules_pop ;
    wire moves = fetch | pop;
    wire fills = beat_comes & take;
    wire [29:0] at = first + number;

    always @(posedge clk) begin
        begun <= 1'b1;
        before <= begun & ~rst;
        waits <= valid & ~ready;
        {reading_before, ends_before} <= {\dut.reading_q , ends};
        if (rst) active <= 1'b0;
        else if (\dut.rules_take ) begin
            active <= 1'b1;
            {is_kept, is_stored, ends_block, of_zeros} <= \dut.segments_out_1 ;
            count <= \dut.segments_out ;
            first <= \dut.segments_out_2 ;
            number <= 30'd0;
        end else if (moves) begin
            active <= number != count - 30'd1;
            number <= number + 30'd1;
        end
        fetched <= ~rst & (fetch | fetched & ~ready);
        // A row that is gathered leaves with `pop`.
        beats <= rst ? 11'd0 : beats - (pop ? BEATS : 0) + fills;
    end

    always @* begin
        assume (begun | rst);
        // segments.v: a segment has a row; rows that are stored or kept lie in the buffer, and are not both.
        if (\dut.rules_take ) begin
            assume (\dut.segments_out != 30'd0 & ~(\dut.segments_out_1 [2] & \dut.segments_out_1 [3]));
            if (~\dut.segments_out_1 [0] & |\dut.segments_out_1 [3:2]) assume (\dut.segments_out_2 + \dut.segments_out <= `DEPTH);
        end
        // segments: one comes only if there is room.
        if (push) assume (room);
        if (begun & ~rst) begin
            if (fetch) assert (active & (of_zeros | is_stored & at < `DEPTH & \dut.at_q == at));
            if (pop) assert (active & ~of_zeros & ~is_stored & beats >= BEATS);
            assert (\dut.rules_write == (pop & is_kept));
            if (\dut.rules_write ) assert (at < `DEPTH & \dut.at_q == at);
            assert (~(fetch & pop) & ~(fetched & pop));
            // A row that is read is offered in the next cycle, and no other in its place; each row is taken once.
            assert (fetched == \dut.reading_q );
            if (valid & ~fetched) assert (beats >= BEATS & pop == ready);
            if (fetch) assert (~fetched | ready);
            if (before & waits) assert (valid & \dut.reading_q == reading_before & ends == ends_before);
            if (valid & ~fetched) assert (ends == (ends_block & number == count - 30'd1));
            // Beats of a row that waits are not overwritten.
            if (fills) assert (beats < BEATS | pop);
            if (\dut.rules_take ) assert (\dut.segments_valid & (~active | moves & number == count - 30'd1));
            // What induction needs.
            assert (active == \dut.active_q & \dut.u_segments.count_q <= 4'd8);
            if (active) begin
                assert (number < count & \dut.left_q == count - number & \dut.at_q == at[BITS-1:0]);
                assert (\dut.flags_q == {is_kept, is_stored, ends_block, of_zeros} & ~(is_kept & is_stored));
                if (~of_zeros & (is_kept | is_stored)) assert (first + count <= `DEPTH);
            end
            assert (beats == (\dut.gathered_q ? BEATS : \dut.gather_beat_q ) & ~(\dut.gathered_q & |\dut.gather_beat_q ));
        end
    end
endmodule

`default_nettype wire
