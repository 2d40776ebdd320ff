// The states of a job, as far as bursts depend on them: `stop` lasts until nothing is under way, and the datapath is reset in the next
// cycle; a job begins with nothing under way, a cycle or more after a reset of the datapath.

`default_nettype none

module job_props (
    input wire clk, rst, start, queue, soft_reset, interrupts, follows, loaded, checked, all_written, reads, writes, beyond,
    input wire [63:0] queue_address, following,
    input wire [31:0] queries,
    input wire [7:0] code,
    input wire [`FAULTS-1:0] fault,
    input wire [2*`FAULTS-1:0] resp,
    input wire [`FAULTS*`ADDRESS-1:0] at
);
    wire fetch, check, begins, stop, done, clear, busy;
    wire [`ADDRESS-1:0] descriptor;
    `PART dut (
        .clk(clk), .rst(rst), .start(start), .queue(queue), .soft_reset(soft_reset), .queue_address(queue_address),
        .following(following), .queries(queries), .interrupts(interrupts), .follows(follows), .loaded(loaded), .checked(checked),
        .code(code), .all_written(all_written), .reads(reads), .writes(writes), .fault(fault), .resp(resp), .at(at), .beyond(beyond),
        .fetch(fetch), .descriptor(descriptor), .check(check), .begins(begins), .stop(stop), .done(done), .clear(clear), .busy(busy)
    );
    (* hierconn *) wire [2:0] \dut.state_q ;

    reg begun = 1'b0;
    reg before, stopped, quiet, cleared, fresh;
    wire checking = \dut.state_q == 3'd2;
    always @(posedge clk) begin
        begun <= 1'b1;
        before <= begun & ~rst;
        stopped <= ~rst & stop;
        quiet <= rst | ~(reads | writes);
        cleared <= clear;
        // The datapath was reset, and no job has begun since.
        fresh <= ~rst & (clear | fresh & ~begins);
    end

    always @* begin
        assume (begun | rst);
        // The host starts a job or a chain while none runs.
        assume (~(start & queue | (busy | soft_reset) & (start | queue)));
        // control_reader: the last word of a descriptor comes with its last beat or later.
        // Between jobs, and while a job is checked, nothing is requested.
        if (loaded) assume (fetch & ~reads & ~writes);
        if (begun & ~rst & quiet & (checking | ~busy)) assume (~reads & ~writes);
        if (begun & ~rst) begin
            if (before & stopped & ~stop) assert (quiet & cleared);
            if (begins) assert (~reads & ~writes & fresh & code == 8'd0 & queries != 32'd0);
            if (fetch) assert (descriptor[7:0] == 8'd0);
            if (done) assert (~reads & ~writes);
            if (stop) assert (busy & ~begins & ~fetch & ~check);
            // What induction needs.
            if (checking | ~busy) assert (quiet);
            if (checking) assert (fresh);
            assert (\dut.state_q < 3'd6);
        end
    end
endmodule

`default_nettype wire
