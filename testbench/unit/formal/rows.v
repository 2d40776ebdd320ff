// Rows of queries and results, of the places of a job's queries. A row is base + token row + head stride with a token below the number of
// queries and a head below that of query heads, each once; the last is marked. Strides are added one by one here, and their number is compared
// with token and head.

`default_nettype none

module rows_props (
    input wire clk, rst, begins, step,
    input wire [15:0] group, k_heads,
    input wire [31:0] queries, row, head,
    input wire [`ADDRESS-1:0] base
);
    wire [31:0] token;
    wire first, group_ends, head_ends, block_ends, job_ends;
    wire [`ADDRESS-1:0] address;
    `PLACES places (
        .clk(clk), .rst(rst), .step(step), .job_group(group), .job_queries(queries), .job_k_heads(k_heads), .token(token), .first(first),
        .group_ends(group_ends), .head_ends(head_ends), .block_ends(block_ends), .job_ends(job_ends)
    );
    `PART dut (
        .clk(clk), .base(base), .row(row), .head(head), .token(token), .group_ends(group_ends), .head_ends(head_ends), .begins(begins),
        .step(step), .address(address)
    );
    (* hierconn *) wire [15:0] \places.head_q ;
    (* hierconn *) wire [15:0] \places.k_head_q ;
    (* hierconn *) wire [`ADDRESS-1:0] \dut.token_q ;
    (* hierconn *) wire [`ADDRESS-1:0] \dut.group_q ;

    reg begun = 1'b0;
    reg running;
    reg [`ADDRESS+127:0] job_before;
    wire [`ADDRESS+127:0] job = {group, k_heads, queries, row, head, base};
    // The place, and its row; the row of the group's first head, at this token and at the first; the row of the next group's first head.
    reg [15:0] of_group, of_keys;
    reg [31:0] of_tokens;
    reg [`ADDRESS-1:0] here, of_token, of_first, ahead;
    // The query heads of these rows.
    reg [31:0] number, first_number, next_number;
    wire few = group < 16'd4 & k_heads < 16'd4;
    wire last_head = of_group == group - 16'd1;
    wire last_token = of_tokens == queries - 32'd1;
    wire last = last_head & last_token & of_keys == k_heads - 16'd1;
    // As many strides further as the first token has heads.
    wire [`ADDRESS-1:0] next_group = of_tokens == 32'd0 ? here + head : ahead;
    wire [31:0] next_group_number = of_tokens == 32'd0 ? number + 32'd1 : next_number;

    always @(posedge clk) begin
        begun <= 1'b1;
        job_before <= job;
        running <= ~rst & (begins | running & ~(step & last));
        if (rst) {of_group, of_keys, of_tokens} <= 64'd0;
        if (begins) {here, of_token, of_first, ahead} <= {4{base}};
        if (begins) {number, first_number, next_number} <= 96'd0;
        if (~rst & step) begin
            if (~last_head) begin
                of_group <= of_group + 16'd1;
                here <= here + head;
                number <= number + 32'd1;
            end else begin
                of_group <= 16'd0;
                ahead <= next_group;
                next_number <= next_group_number;
                if (~last_token) begin
                    of_tokens <= of_tokens + 32'd1;
                    {here, of_token} <= {2{of_token + row}};
                    number <= first_number;
                end else begin
                    of_tokens <= 32'd0;
                    of_keys <= of_keys + 16'd1;
                    {here, of_token, of_first} <= {3{next_group}};
                    {number, first_number} <= {2{next_group_number}};
                end
            end
        end
    end

    always @* begin
        assume (begun | rst);
        // The check of a job, and the host, which keeps its fields while it runs.
        assume (group != 16'd0 & k_heads != 16'd0 & queries != 32'd0);
        if (running) assume (job == job_before);
        // job_states: a reset before each job. query_feed, row_writer: steps from the begin of a job to its last query.
        if (begins) assume (~running & {of_group, of_keys, of_tokens} == 64'd0);
        if (step) assume (running);
        if (begun & ~rst) assert (token == of_tokens & \places.head_q == of_group & \places.k_head_q == of_keys);
        if (begun & ~rst & running) begin
            assert (of_group < group & of_keys < k_heads & of_tokens < queries);
            assert (address == here & job_ends == last);
            assert (\dut.token_q == of_token & \dut.group_q == (of_tokens == 32'd0 ? of_first : ahead));
            if (of_group == 16'd0) assert (here == of_token & number == first_number);
            if (of_tokens == 32'd0) assert (of_token == of_first);
            // As many strides of heads as heads come before: a product, for few heads.
            if (few) begin
                assert (number == of_keys[1:0] * group[1:0] + of_group[1:0] & first_number == of_keys[1:0] * group[1:0]);
                if (of_tokens != 32'd0) assert (next_number == first_number + group[1:0]);
            end
        end
    end
endmodule

`default_nettype wire
