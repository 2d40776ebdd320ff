// Reads of descriptors and of block tables. A descriptor is read once, within its 256 bytes; numbers of pages are read in order and each
// once, from that of the block's first key to that of its last, each by the beat that it is in. A number that is handed on is that of a page.
// The queue of beats has room for each that comes.

`default_nettype none

module control_props (
    input wire clk, rst, fetch, range, paged, take, grant, beat_comes,
    input wire [7:0] page,
    input wire [31:0] pages, from, to,
    input wire [`ADDRESS-1:0] table_base, at,
    input wire [1:0] resp,
    input wire [8*`BEAT-1:0] data
);
    wire burst_valid, load, loaded, entry_valid;
    wire [`ADDRESS-1:0] burst_address;
    wire [9:0] burst_beats;
    wire [31:0] entry;
    `PART dut (
        .clk(clk), .rst(rst), .page(page), .pages(pages), .table_base(table_base), .fetch(fetch), .at(at), .range(range), .from(from),
        .to(to), .paged(paged), .take(take), .grant(grant), .beat(beat_comes), .resp(resp), .data(data), .burst_valid(burst_valid),
        .burst_address(burst_address), .burst_beats(burst_beats), .load(load), .loaded(loaded), .entry(entry),
        .entry_valid(entry_valid)
    );
    (* hierconn *) wire \dut.fetched_q ;
    (* hierconn *) wire [31:0] \dut.left_q ;
    (* hierconn *) wire [`ADDRESS-1:0] \dut.address_q ;
    (* hierconn *) wire [5:0] \dut.used_q ;
    (* hierconn *) wire \dut.words_pop ;
    (* hierconn *) wire [5:0] \dut.u_beats.count_q ;
    (* hierconn *) wire \dut.u_beats.valid_q ;

    localparam MASK = `BEAT - 1;
    reg begun = 1'b0;
    reg fetch_before, fetched;
    reg [`ADDRESS-1:0] at_before, table_before;
    reg [7:0] page_before;
    // The pages of the block whose numbers are read: the next one, the last, and the last of the job.
    reg some;
    reg [31:0] number, last;
    // Beats that have been requested and not been popped.
    reg [6:0] under_way;
    // Beats of these that have not come.
    reg [6:0] coming;

    wire [`ADDRESS:0] address = {1'b0, table_base} + {number, 2'd0};

    always @(posedge clk) begin
        begun <= 1'b1;
        fetch_before <= fetch & ~rst;
        at_before <= at;
        table_before <= table_base;
        page_before <= page;
        fetched <= ~rst & fetch & (fetched | grant);
        under_way <= rst ? 7'd0 : under_way + (grant ? burst_beats : 10'd0) - \dut.words_pop ;
        coming <= rst ? 7'd0 : coming + (grant ? burst_beats : 10'd0) - beat_comes;
        if (rst) some <= 1'b0;
        else if (range & paged) begin
            some <= from < to;
            number <= from >> page[4:0];
            last <= (to - 32'd1) >> page[4:0];
        end else if (grant & ~fetch) begin
            some <= number != last;
            number <= number + 32'd1;
        end
    end

    always @* begin
        assume (begun | rst);
        // The check of a job: pages of 2^page keys, at most 16 bits; the table begins at a word and ends before the port's last address.
        assume (page <= 8'd16 & table_base[1:0] == 2'd0);
        if (some) assume ({1'b0, table_base} + {last, 2'd0} + 4 <= 1 << `ADDRESS);
        if (some) assume (page == page_before & table_base == table_before);
        // job_states: a descriptor begins at a multiple of 256, stays until it is loaded, and is read while no job runs.
        assume (at[7:0] == 8'd0);
        if (fetch & fetch_before) assume (at == at_before);
        if (fetch) assume (~some & ~(range & paged));
        if (fetch & ~fetch_before) assume (under_way == 7'd0);
        // segments: a block's range comes when all numbers of the one before are taken, and its keys are those of the job.
        if (range & paged) assume (~some);
        // read_requests; the memory: beats come that were requested; segments take what is there.
        if (grant) assume (burst_valid);
        if (beat_comes) assume (coming != 7'd0);
        if (take) assume (entry_valid);
        if (begun & ~rst) begin
            if (burst_valid & fetch) begin
                assert (~fetched & burst_address == at);
                assert (burst_beats != 10'd0 & `BEAT * burst_beats <= 256 & `BEAT * burst_beats >= `DESCRIPTOR);
            end
            if (burst_valid & ~fetch) begin
                assert (some & number <= last & burst_beats == 10'd1);
                assert ({1'b0, burst_address} == (address & ~MASK));
            end
            if (burst_valid) assert (burst_address[11:0] + `BEAT * burst_beats <= 4096);
            if (entry_valid) assert (entry < pages & ~fetch);
            assert (under_way <= 7'd32);
            if (beat_comes) assert (\dut.u_beats.count_q < 6'd32);
            if (\dut.words_pop ) assert (\dut.u_beats.valid_q );
            if (fetch & ~fetched) assert (under_way == 7'd0);
            // What induction needs.
            assert (under_way == coming + \dut.u_beats.count_q + \dut.u_beats.valid_q & coming <= 7'd32);
            assert (under_way == \dut.used_q & fetched == \dut.fetched_q );
            assert (some == (\dut.left_q != 32'd0));
            if (some) assert (number <= last & \dut.left_q == last - number + 32'd1 & {1'b0, \dut.address_q } == address);
        end
    end
endmodule

`default_nettype wire
