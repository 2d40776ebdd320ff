// A queue. Entries leave in the order in which they came, each once: entry n is written to place n of the memory, modulo its depth, and
// read from there before another one is written. Users push only if there is room, and pop only if an entry is there.

`default_nettype none

module queue_props (
    input wire clk, rst, push, pop
);
    localparam BITS = $clog2(`DEPTH);
    wire valid, room;
    `PART dut (.clk(clk), .rst(rst), .push(push), .pop(pop), .valid(valid), .room(room));
    (* hierconn *) wire [BITS-1:0] \dut.write_q ;
    (* hierconn *) wire [BITS-1:0] \dut.read_q ;
    (* hierconn *) wire [BITS:0] \dut.count_q ;
    (* hierconn *) wire \dut.rules_fetch ;

    reg begun = 1'b0;
    // Entries that were pushed, read from the memory, and popped.
    reg [15:0] pushed, read, popped;
    wire [15:0] stored = pushed - read;

    always @(posedge clk) begin
        begun <= 1'b1;
        pushed <= rst ? 16'd0 : pushed + push;
        read <= rst ? 16'd0 : read + \dut.rules_fetch ;
        popped <= rst ? 16'd0 : popped + pop;
    end

    always @* begin
        assume (begun | rst);
        if (push) assume (room);
        if (pop) assume (valid);
        if (begun & ~rst) begin
            assert (stored <= `DEPTH & room == (stored < `DEPTH));
            assert (\dut.write_q == pushed[BITS-1:0] & \dut.read_q == read[BITS-1:0]);
            // The entry at the output is the oldest, and no other replaces it before it is popped.
            assert (valid ? read == popped + 16'd1 : read == popped);
            if (\dut.rules_fetch ) assert (stored != 16'd0 & (~valid | pop));
            // An entry is at the output two cycles after its push, at the latest.
            if (stored != 16'd0 & ~valid) assert (\dut.rules_fetch );
            // What induction needs.
            assert (\dut.count_q == stored);
        end
    end
endmodule

`default_nettype wire
