// The check of a job: a job that passes has operands and results whose last byte, of the last row of the last head of the last page, is
// below the end of the port's addresses. Sums are formed here in more bits, from the products that come; their factors are those of the
// last row. With PARTIAL: log-sum-exps and states as well, as far as the job has them.

`default_nettype none

module check_props (
    input wire clk, rst, begins,
    input wire [63:0] product,
    input wire [15:0] flags, group, k_heads, scale,
    input wire [31:0] queries, keys, window, pages,
    input wire [7:0] page,
    input wire [8*64-1:0] bases,
    input wire [14*32-1:0] strides
);
    wire done, running;
    wire [7:0] code;
    wire [31:0] a, b;
    wire [63:0] q = bases[0 +: 64], o = bases[64 +: 64], k = bases[128 +: 64], v = bases[192 +: 64], table_base = bases[256 +: 64];
    wire [63:0] lse = bases[320 +: 64], state_in = bases[384 +: 64], state_out = bases[448 +: 64];
    wire [31:0] q_row = strides[0 +: 32], q_head = strides[32 +: 32], o_row = strides[64 +: 32], o_head = strides[96 +: 32];
    wire [31:0] k_row = strides[128 +: 32], k_head = strides[160 +: 32], v_row = strides[192 +: 32], v_head = strides[224 +: 32];
    wire [31:0] k_page = strides[256 +: 32], v_page = strides[288 +: 32], lse_row = strides[320 +: 32], lse_head = strides[352 +: 32];
    wire [31:0] state_row = strides[384 +: 32], state_head = strides[416 +: 32];
    `PART dut (
        .clk(clk), .rst(rst), .job_flags(flags), .job_queries(queries), .job_keys(keys), .job_group(group), .job_k_heads(k_heads),
        .job_window(window), .job_page(page), .job_pages(pages), .job_q(q), .job_o(o), .job_k(k), .job_v(v), .job_table(table_base),
        .job_q_row(q_row), .job_q_head(q_head), .job_o_row(o_row), .job_o_head(o_head), .job_k_row(k_row), .job_k_head(k_head),
        .job_v_row(v_row), .job_v_head(v_head), .job_k_page(k_page), .job_v_page(v_page), .job_scale(scale), .begins(begins),
`ifdef PARTIAL
        .job_lse(lse), .job_state_in(state_in), .job_state_out(state_out), .job_lse_row(lse_row), .job_lse_head(lse_head),
        .job_state_row(state_row), .job_state_head(state_head),
`endif
        .product(product), .done(done), .code(code), .running(running), .a(a), .b(b)
    );
`ifdef PARTIAL
    localparam RANGES = 8;
`else
    localparam RANGES = 5;
`endif
    localparam LAST = 4 * RANGES + 5;
    localparam BITS = $clog2(LAST + 1);
    (* hierconn *) wire [BITS-1:0] \dut.step_q ;
    (* hierconn *) wire [63:0] \dut.sum_q ;
    (* hierconn *) wire \dut.over_q ;
    (* hierconn *) wire [31:0] \dut.heads_q ;

    reg begun = 1'b0;
    reg active, beyond;
    // Cycles of the check; the operand that is added up and its last byte so far, without wrapping.
    reg [5:0] step;
    reg [67:0] last;
    reg [31:0] heads;
    reg [14*32+8*64+199:0] job_before;
    wire [14*32+8*64+199:0] job = {flags, group, k_heads, scale, queries, keys, window, pages, page, bases, strides};

    wire paged = flags[2];
    wire [31:0] page_rows = paged ? 32'd1 << page[4:0] : keys;
    function [31:0] less(input [31:0] x); less = x == 32'd0 ? 32'd0 : x - 32'd1; endfunction
    // The range that a step is about, 0 for none: one with a row for each query, or for each key, or the block table.
    wire [3:0] range = step[5:2];
    wire of_table = range == RANGES;
    wire of_keys = range == 4'd3 | range == 4'd4;
    wire of_queries = range != 4'd0 & ~of_keys & ~of_table;
    reg [63:0] base;
    reg [31:0] bytes, row, head, page_stride;
    always @* begin
        {base, bytes, row, head, page_stride} = 192'd0;
        case (range)
            4'd1: {base, bytes, row, head} = {q, 32'd`Q_BYTES, q_row, q_head};
            4'd2: {base, bytes, row, head} = {o, 32'd`O_BYTES, o_row, o_head};
            4'd3: {base, bytes, row, head, page_stride} = {k, 32'd`K_BYTES, k_row, k_head, k_page};
            4'd4: {base, bytes, row, head, page_stride} = {v, 32'd`V_BYTES, v_row, v_head, v_page};
`ifdef PARTIAL
            4'd5: {base, bytes, row, head} = {lse, 32'd4, lse_row, lse_head};
            4'd6: {base, bytes, row, head} = {state_in, 32'd`S_BYTES, state_row, state_head};
            4'd7: {base, bytes, row, head} = {state_out, 32'd`S_BYTES, state_row, state_head};
`endif
            RANGES: {base, bytes, row} = {table_base, 32'd4, 32'd4};
            default: ;
        endcase
    end
    // Whether the job has a range; the one whose last byte is complete when the next one starts.
    function used(input [3:0] range);
`ifdef PARTIAL
        used = range == 4'd5 ? flags[3] : range == 4'd6 ? flags[4] : range == 4'd7 ? flags[5] : range != RANGES | paged;
`else
        used = range != RANGES | paged;
`endif
    endfunction
    reg used_before;

    always @(posedge clk) begin
        begun <= 1'b1;
        job_before <= job;
        active <= ~rst & (begins | active & ~done);
        step <= begins | rst ? 6'd0 : step + 6'd1;
        if (step == 6'd1) heads <= product[31:0];
        // The base with its row, then products of the last head, row and page.
        last <= step[1:0] == 2'd0 ? {4'd0, base} + bytes - 1'b1 : last + product;
        if (step[1:0] == 2'd0) used_before <= used(range);
        if (begins) beyond <= 1'b0;
        else if (step[1:0] == 2'd0 & step > 6'd4) beyond <= beyond | used_before & last >> `ADDRESS != 0;
    end

    always @* begin
        assume (begun | rst);
        // The host keeps a job's fields while it is busy.
        if (active) assume (job == job_before);
        if (begun & ~rst) begin
            assert (active == running);
            if (active) begin
                // The factors of the product that comes in the next cycle. Nothing more is added.
                if (step == 6'd0) assert (a == k_heads & b == group);
                else if (range == 4'd0 | range > RANGES | step[1:0] == 2'd3) ;
                else if (of_queries & step[1:0] == 2'd0) assert (a == less(heads) & b == head);
                else if (of_queries & step[1:0] == 2'd1) assert (a == less(queries) & b == row);
                else if (of_keys & step[1:0] == 2'd0) assert (a == less(k_heads) & b == head);
                else if (of_keys & step[1:0] == 2'd1) assert (a == less(page_rows) & b == row);
                else if (of_keys) assert (a == (paged ? less(pages) : 32'd0) & b == page_stride);
                else if (of_table & step[1:0] == 2'd1) assert (a == less(keys) >> page[4:0] & b == row);
                else assert (a == 32'd0);
                // What induction needs.
                assert (step == \dut.step_q & step <= LAST);
                if (step > 6'd1) assert (heads == \dut.heads_q );
                if (step > 6'd4) assert (\dut.sum_q == last[63:0] | step == LAST);
                if (step > 6'd4 & step < LAST) assert (used_before == used(step[1:0] == 2'd0 ? range - 4'd1 : range));
                if (beyond | last >> 64 != 0 & step > 6'd4 & step < LAST & used_before) assert (\dut.over_q );
                if (step > 6'd4 & step < LAST) assert (last[67:64] <= (step[1:0] == 2'd0 ? 4'd4 : {2'd0, step[1:0]}));
                if (table_base[1:0] != 2'd0 & paged & step != 6'd0) assert (\dut.over_q );
            end
            if (done & code == 8'd0) begin
                assert (step == LAST & ~beyond);
                assert (group != 16'd0 & k_heads != 16'd0 & keys <= `KEYS);
                if (paged) assert (page <= 8'd16 & pages != 32'd0 & table_base[1:0] == 2'd0);
            end
        end
    end
endmodule

`default_nettype wire
