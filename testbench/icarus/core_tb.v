// Self-checking testbench for one generated core or array of cores, Verilog-2005.
//
//   iverilog -g2005 -DTOP=flash_d_bf16_d16 -Pcore_tb.D=16 -Pcore_tb.W=16 -s core_tb \
//       -o core_tb.vvp core_tb.v flash_d_bf16_d16.v
//   vvp -n core_tb.vvp +vectors=flash_d_bf16_d16.vec
//
// TOP is the core's module, D its vector length, W the bits of an element; a core with fixed-point lanes, which
// has the ports v_exponent and o_overflow, also needs -DFIXED -Pcore_tb.E=8, the bits of v_exponent, and an array
// of cores -DBLOCK -Pcore_tb.I=3, the bits of o_index. A core with masks, which has the ports k_mask and o_empty,
// needs -DMASKS, and an array of such also -Pcore_tb.P=17, the bits of q_from and q_to. Every cycle
// outside reset, v_step, v_ren, o_valid and an array's q_ready, k_ready and o_last are compared with the vector
// file; o, o_index, o_invalid, o_overflow and o_empty while o_valid is high.
// X and Z differ from both 0 and 1. The last line printed is `TEST PASSED: N checks` or
// `TEST FAILED: ...` with the first difference; vvp's exit status is 0 either way.

`default_nettype none

module core_tb;
    parameter D = 16;
    parameter W = 16;
    parameter E = 8;
    parameter I = 1;
    parameter P = 1;

    localparam BUS = D * W;
`ifdef FIXED
    localparam FIXED_BITS = 12;
`else
    localparam FIXED_BITS = 0;
`endif
`ifdef BLOCK
    localparam BLOCK_BITS = 12;
`else
    localparam BLOCK_BITS = 0;
`endif
`ifdef MASKS
    localparam MASK_BITS = 4;
`else
    localparam MASK_BITS = 0;
`endif
    // Limits of what a query sees, 32 bits each, before everything else.
    localparam LIMIT_BITS = (BLOCK_BITS != 0 && MASK_BITS != 0) ? 64 : 0;
    localparam HEAD_BITS = MASK_BITS + LIMIT_BITS;
    localparam WORD = HEAD_BITS + BLOCK_BITS + FIXED_BITS + 8 + 4 * BUS;
    localparam DIGITS = WORD / 4;

    reg clk;
    reg rst, q_valid, k_valid, k_last;
    reg [BUS-1:0] q, k, v;
    wire v_step, v_ren, o_valid, o_invalid;
    wire [BUS-1:0] o;

    reg [7:0] v_exponent;
    wire o_overflow;
`ifndef FIXED
    assign o_overflow = 1'b0;
`endif

    reg q_last;
    wire q_ready, k_ready, o_last;
    wire [I-1:0] o_index;
`ifndef BLOCK
    assign q_ready = 1'b0;
    assign k_ready = 1'b0;
    assign o_last = 1'b0;
    assign o_index = 0;
`endif

    reg k_mask;
    reg [31:0] q_from, q_to;
    wire o_empty;
`ifndef MASKS
    assign o_empty = 1'b0;
`endif

    `TOP core (
`ifdef MASKS
        .k_mask(k_mask), .o_empty(o_empty),
`ifdef BLOCK
        .q_from(q_from[P-1:0]), .q_to(q_to[P-1:0]),
`endif
`endif
`ifdef FIXED
        .v_exponent(v_exponent[E-1:0]), .o_overflow(o_overflow),
`endif
`ifdef BLOCK
        .q_last(q_last), .q_ready(q_ready), .k_ready(k_ready), .o_index(o_index), .o_last(o_last),
`endif
        .clk(clk), .rst(rst),
        .q(q), .q_valid(q_valid),
        .k(k), .k_valid(k_valid), .k_last(k_last),
        .v_step(v_step), .v_ren(v_ren), .v(v),
        .o(o), .o_valid(o_valid), .o_invalid(o_invalid)
    );

    // Expected outputs of the current cycle.
    reg e_v_step, e_v_ren, e_o_valid, e_o_invalid;
    reg [3:0] e_o_overflow;
    reg e_o_empty;
    reg e_q_ready, e_k_ready, e_o_last;
    reg [7:0] e_o_index;
    reg [BUS-1:0] e_o;

    reg [8*1024-1:0] file_name;
    reg [8*(DIGITS+2)-1:0] line;
    reg [WORD-1:0] word;
    integer file, length, cycle, checks, results, j;
    reg more, failed;

    task check_bit(input [8*10-1:0] signal, input expected, input actual);
        begin
            checks = checks + 1;
            if (actual !== expected && !failed) begin
                failed = 1;
                $display("TEST FAILED: cycle %0d: %0s: expected %b, got %b", cycle, signal, expected, actual);
            end
        end
    endtask

    task check_result;
        begin
            checks = checks + 1;
            results = results + 1;
            for (j = 0; j < D; j = j + 1) begin
                if (o[j*W +: W] !== e_o[j*W +: W] && !failed) begin
                    failed = 1;
                    $display("TEST FAILED: cycle %0d: o[%0d]: expected %h, got %h",
                             cycle, j, e_o[j*W +: W], o[j*W +: W]);
                end
            end
        end
    endtask

    // Places are written by number.
    task check_index;
        begin
            checks = checks + 1;
            if (o_index !== e_o_index[I-1:0] && !failed) begin
                failed = 1;
                $display("TEST FAILED: cycle %0d: o_index: expected %0d, got %0d", cycle, e_o_index, o_index);
            end
        end
    endtask

    // Reads the next cycle's line: {flags, q, k, v, o}. A full line is DIGITS digits and a line end.
    task read_line;
        begin
            length = $fgets(line, file);
            more = length != 0;
            if (more && (length != DIGITS + 1 || line[7:0] != 8'h0a)) begin
                failed = 1;
                $display("TEST FAILED: cycle %0d: the line is not %0d hexadecimal digits; D, W or the file is wrong",
                         cycle, DIGITS);
            end else if (more && ($sscanf(line, "%h", word) != 1 || (^word) === 1'bx)) begin
                failed = 1;
                $display("TEST FAILED: cycle %0d: the line is not hexadecimal", cycle);
            end
        end
    endtask

    initial begin
        clk = 0;
        cycle = 0;
        checks = 0;
        results = 0;
        failed = 0;
        more = 1;
        file = 0;
        if (!$value$plusargs("vectors=%s", file_name)) begin
            failed = 1;
            $display("TEST FAILED: no vector file, give +vectors=FILE");
        end else begin
            file = $fopen(file_name, "r");
            if (file == 0) begin
                failed = 1;
                $display("TEST FAILED: cannot open %0s", file_name);
            end
        end
        if (!failed) read_line;
        while (more && !failed) begin
            e_o_overflow = 0;
            v_exponent = 0;
`ifdef FIXED
            {e_o_overflow, v_exponent} = word[WORD-HEAD_BITS-BLOCK_BITS-1 -: 12];
`endif
            {q_last, e_q_ready, e_k_ready, e_o_last, e_o_index} = 0;
`ifdef BLOCK
            {q_last, e_q_ready, e_k_ready, e_o_last, e_o_index} = word[WORD-HEAD_BITS-1 -: 12];
`endif
            {q_from, q_to, k_mask, e_o_empty} = 0;
`ifdef MASKS
            {k_mask, e_o_empty} = word[WORD-LIMIT_BITS-3 -: 2];
`ifdef BLOCK
            {q_from, q_to} = word[WORD-1 -: 64];
`endif
`endif
            {rst, q_valid, k_valid, k_last, e_v_step, e_v_ren, e_o_valid, e_o_invalid, q, k, v, e_o}
                = word[8+4*BUS-1:0];
            #4;
            if (!rst) begin
                check_bit("v_step", e_v_step, v_step);
                check_bit("v_ren", e_v_ren, v_ren);
                check_bit("o_valid", e_o_valid, o_valid);
`ifdef BLOCK
                check_bit("q_ready", e_q_ready, q_ready);
                check_bit("k_ready", e_k_ready, k_ready);
                check_bit("o_last", e_o_last, o_last);
                if (e_o_valid) check_index;
`endif
                if (e_o_valid && !failed) begin
                    check_bit("o_invalid", e_o_invalid, o_invalid);
                    check_bit("o_overflow", e_o_overflow[0], o_overflow);
                    check_bit("o_empty", e_o_empty, o_empty);
                    if (!failed) check_result;
                end
            end
            #1 clk = 1;
            #5 clk = 0;
            cycle = cycle + 1;
            if (!failed) read_line;
        end
        if (!failed) begin
            $display("%0d cycles, %0d results", cycle, results);
            if (results == 0)
                $display("TEST FAILED: no result was compared");
            else
                $display("TEST PASSED: %0d checks", checks);
        end
        $finish;
    end
endmodule

`default_nettype wire
