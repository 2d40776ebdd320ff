// Bursts of all kinds on the channel of read addresses. A burst goes out as it was offered, once, and stays until it is taken; it has as
// many beats as were counted; the channel is busy until the last beat of each has come.

`default_nettype none

module requests_props (
    input wire clk, rst, ready, stop, rvalid, rlast,
    input wire [`KINDS-1:0] offer,
    input wire [`KINDS*`ADDRESS-1:0] address,
    input wire [10*`KINDS-1:0] beats
);
    wire ar_valid, busy;
    wire [`ADDRESS-1:0] ar_address;
    wire [7:0] ar_len;
    wire [2:0] ar_id;
    wire [`KINDS-1:0] grant;
    `PART dut (
        .clk(clk), .rst(rst), .offer(offer), .address(address), .beats(beats), .ready(ready), .stop(stop), .rvalid(rvalid),
        .rlast(rlast), .ar_valid(ar_valid), .ar_address(ar_address), .ar_len(ar_len), .ar_id(ar_id), .grant(grant), .busy(busy)
    );
    (* hierconn *) wire [11:0] \dut.outstanding_q ;

    reg begun = 1'b0;
    // The burst that was taken, as long as the channel has not taken it.
    reg held;
    reg [`ADDRESS-1:0] held_address;
    reg [9:0] held_beats;
    reg [2:0] held_id;
    // Bursts that were taken and whose last beat has not come.
    reg [11:0] under_way;

    // The place of the burst that is taken among the offers: control, queries, states if there are any, keys, values.
    integer i;
    reg [2:0] kind;
    always @* begin
        kind = 3'd0;
        for (i = 0; i < `KINDS; i = i + 1) if (grant[i]) kind = i;
    end
    wire [2:0] id_of_kind = `KINDS < 5 | kind < 3'd2 ? kind : kind == 3'd2 ? 3'd4 : kind - 3'd1;
    wire [`ADDRESS-1:0] address_of_kind = address[`ADDRESS*kind +: `ADDRESS];
    wire [9:0] beats_of_kind = beats[10*kind +: 10];

    always @(posedge clk) begin
        begun <= 1'b1;
        held <= ~rst & (|grant | held & ~ready);
        under_way <= rst ? 12'd0 : under_way + |grant - (rvalid & rlast);
        if (|grant) begin
            held_address <= address_of_kind;
            held_beats <= beats_of_kind;
            held_id <= id_of_kind;
        end
    end

    always @* begin
        assume (begun | rst);
        // bursts, control_reader: 1 to 256 beats.
        for (i = 0; i < `KINDS; i = i + 1) if (offer[i]) assume (beats[10*i +: 10] != 10'd0 & beats[10*i +: 10] <= 10'd256);
        // The memory: a last beat comes for a burst that it has taken, and no burst is before it is offered.
        if (rvalid & rlast) assume (under_way > held);
        // The queues behind: less than 4,096 beats have room.
        assume (under_way != 12'hfff);
        if (begun & ~rst) begin
            assert ((grant & grant - 1'b1) == 0 & (grant & ~offer) == 0);
            if (held & ~ready | stop) assert (grant == 0);
            if (offer != 0 & ~stop & (~held | ready)) assert (grant != 0);
            assert (ar_valid == held);
            if (held) assert (ar_address == held_address & ar_len == held_beats - 10'd1 & ar_id == held_id);
            assert (busy == (under_way != 12'd0 | held));
            assert (under_way >= held & under_way == \dut.outstanding_q );
        end
    end
endmodule

`default_nettype wire
