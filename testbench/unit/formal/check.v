// The check of a job: a job that passes has operands whose last byte, of the last row of the last head of the last page, is below the end
// of the port's addresses. Sums are formed here in more bits, from the products that come; their factors are those of the last row.

`default_nettype none

module check_props (
    input wire clk, rst, begins,
    input wire [63:0] product,
    input wire [15:0] flags, group, k_heads, scale,
    input wire [31:0] queries, keys, window, pages,
    input wire [7:0] page,
    input wire [5*64-1:0] bases,
    input wire [10*32-1:0] strides
);
    wire done, running;
    wire [7:0] code;
    wire [31:0] a, b;
    wire [63:0] q = bases[0 +: 64], o = bases[64 +: 64], k = bases[128 +: 64], v = bases[192 +: 64], table_base = bases[256 +: 64];
    wire [31:0] q_row = strides[0 +: 32], q_head = strides[32 +: 32], o_row = strides[64 +: 32], o_head = strides[96 +: 32];
    wire [31:0] k_row = strides[128 +: 32], k_head = strides[160 +: 32], v_row = strides[192 +: 32], v_head = strides[224 +: 32];
    wire [31:0] k_page = strides[256 +: 32], v_page = strides[288 +: 32];
    `PART dut (
        .clk(clk), .rst(rst), .job_flags(flags), .job_queries(queries), .job_keys(keys), .job_group(group), .job_k_heads(k_heads),
        .job_window(window), .job_page(page), .job_pages(pages), .job_q(q), .job_o(o), .job_k(k), .job_v(v), .job_table(table_base),
        .job_q_row(q_row), .job_q_head(q_head), .job_o_row(o_row), .job_o_head(o_head), .job_k_row(k_row), .job_k_head(k_head),
        .job_v_row(v_row), .job_v_head(v_head), .job_k_page(k_page), .job_v_page(v_page), .job_scale(scale), .begins(begins),
        .product(product), .done(done), .code(code), .running(running), .a(a), .b(b)
    );
    (* hierconn *) wire [4:0] \dut.step_q ;
    (* hierconn *) wire [63:0] \dut.sum_q ;
    (* hierconn *) wire \dut.over_q ;
    (* hierconn *) wire [31:0] \dut.heads_q ;

    reg begun = 1'b0;
    reg active, beyond;
    // Cycles of the check; the operand that is added up and its last byte so far, without wrapping.
    reg [4:0] step;
    reg [67:0] last;
    reg [31:0] heads;
    reg [10*32+5*64+199:0] job_before;
    wire [10*32+5*64+199:0] job = {flags, group, k_heads, scale, queries, keys, window, pages, page, bases, strides};

    wire paged = flags[2];
    wire [2:0] operand = step[4:2];
    wire [31:0] page_rows = paged ? 32'd1 << page[4:0] : keys;
    wire [63:0] base = operand == 3'd1 ? q : operand == 3'd2 ? o : operand == 3'd3 ? k : operand == 3'd4 ? v : table_base;
    wire [31:0] bytes = operand == 3'd5 ? 32'd4 : `BYTES;
    wire ends_beyond = last >> `ADDRESS != 0;
    function [31:0] less(input [31:0] x); less = x == 32'd0 ? 32'd0 : x - 32'd1; endfunction

    always @(posedge clk) begin
        begun <= 1'b1;
        job_before <= job;
        active <= ~rst & (begins | active & ~done);
        step <= begins | rst ? 5'd0 : step + 5'd1;
        if (step == 5'd1) heads <= product[31:0];
        // The base with its row, then products of the last head, row and page.
        last <= step[1:0] == 2'd0 ? {4'd0, base} + bytes - 1'b1 : last + product;
        if (begins) beyond <= 1'b0;
        else if (step[1:0] == 2'd0 & step > 5'd4 & (step <= 5'd20 | paged)) beyond <= beyond | ends_beyond;
    end

    always @* begin
        assume (begun | rst);
        // The host keeps a job's fields while it is busy.
        if (active) assume (job == job_before);
        if (begun & ~rst) begin
            assert (active == running);
            if (active) begin
                // The factors of the product that comes in the next cycle.
                if (step == 5'd0) assert (a == k_heads & b == group);
                case ({operand, step[1:0]})
                    5'd4: assert (a == less(heads) & b == q_head);
                    5'd5: assert (a == less(queries) & b == q_row);
                    5'd8: assert (a == less(heads) & b == o_head);
                    5'd9: assert (a == less(queries) & b == o_row);
                    5'd12: assert (a == less(k_heads) & b == k_head);
                    5'd13: assert (a == less(page_rows) & b == k_row);
                    5'd14: assert (a == (paged ? less(pages) : 32'd0) & b == k_page);
                    5'd16: assert (a == less(k_heads) & b == v_head);
                    5'd17: assert (a == less(page_rows) & b == v_row);
                    5'd18: assert (a == (paged ? less(pages) : 32'd0) & b == v_page);
                    5'd21: assert (a == less(keys) >> page[4:0] & b == 32'd4);
                    // Nothing more is added.
                    5'd6, 5'd10: assert (a == 32'd0);
                    5'd20, 5'd22: assert (a == 32'd0);
                endcase
                // What induction needs.
                assert (step == \dut.step_q & step <= 5'd25);
                if (step > 5'd1) assert (heads == \dut.heads_q );
                if (step > 5'd4) assert (\dut.sum_q == last[63:0] | step == 5'd25);
                if (beyond | last >> 64 != 0 & step > 5'd4 & (step <= 5'd20 | paged & step <= 5'd24)) assert (\dut.over_q );
                if (step > 5'd4) assert (last[67:64] <= (step[1:0] == 2'd0 ? 4'd4 : {2'd0, step[1:0]}));
                if (table_base[1:0] != 2'd0 & paged & step != 5'd0) assert (\dut.over_q );
            end
            if (done & code == 8'd0) begin
                assert (step == 5'd25 & ~beyond);
                assert (group != 16'd0 & k_heads != 16'd0 & keys <= `KEYS);
                if (paged) assert (page <= 8'd16 & pages != 32'd0 & table_base[1:0] == 2'd0);
            end
        end
    end
endmodule

`default_nettype wire
