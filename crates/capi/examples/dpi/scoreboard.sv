// An emitted core against its model: a scoreboard that compares every step and every result with the model, called by DPI.
//
// `dut.svh`, which run.py writes from the core's manifest, has the core's name, widths and ports.
// +keys=N keys, +seed=S, +seen=K: the key of that number is not masked.
`include "dut.svh"

module scoreboard;
    import flashd_dpi::*;

    localparam int D = `FLASHD_D;
    localparam int W = `FLASHD_WIDTH;
    localparam int F = `FLASHD_FRACTION_BITS;
    localparam int BIAS = `FLASHD_BIAS;
    localparam int N = D * W;

    typedef bit [N-1:0] bus_t;
    // The model's step, and its result.
    typedef struct packed {
        longint number, score, x, w, sum;
        int action, upper;
        bus_t v;
    } step_t;
    typedef struct packed {
        longint number;
        bus_t o;
        int flags;
    } result_t;

    bit clk = 0;
    always #2 clk = !clk;

    logic rst = 1, q_valid = 0, k_valid = 0, k_last = 0, k_mask = 0;
    bus_t q, k, v, next_v;
    logic [31:0] v_exponent = BIAS + 1;
    wire v_step, v_ren, o_valid, o_invalid;
    wire [N-1:0] o;
    logic o_overflow = 0, o_empty = 0, o_saturated = 0;

    `FLASHD_TOP dut (
        .clk, .rst, .q, .q_valid, .k, .k_valid, .k_last,
`ifdef FLASHD_HAS_K_MASK
        .k_mask, .o_empty,
`endif
`ifdef FLASHD_HAS_V_EXPONENT
        .v_exponent(v_exponent[W-F-2:0]), .o_overflow,
`endif
`ifdef FLASHD_HAS_O_SATURATED
        .o_saturated,
`endif
        .v_step, .v_ren, .v, .o, .o_valid, .o_invalid
    );

    chandle model;
    longint keys = 100000, sent = 0, results = 0, steps_checked = 0, scores_checked = 0, weights_checked = 0, seen = -1;
    int seed = 1, left = 0;
    step_t at_score[$], at_weight[$], at_value[$];
    result_t at_result[$];
    bus_t answers[$];
    bit asked[$];

    function automatic void fail(string what, longint number, bit [255:0] expected, bit [255:0] got);
        $display("SCOREBOARD FAILED: key %0d: %s: expected %h, got %h", number, what, expected, got);
        $fatal(1);
    endfunction

    function automatic void must(int done);
        if (done == 0) begin
            $display("SCOREBOARD FAILED: %s", flashd_error());
            $fatal(1);
        end
    endfunction

    // Elements of magnitudes from 2^-4 to 4.
    function automatic bus_t vector();
        bus_t bus;
        for (int i = 0; i < D; i++) begin
            int element = (BIAS - 4 + $urandom_range(5)) << F | $urandom_range((1 << F) - 1);
            bus[i*W +: W] = W'(element) | (W'($urandom_range(1)) << (W - 1));
        end
        return bus;
    endfunction

    // Inputs of the next cycle, and the model's steps for them.
    task automatic drive();
        bit ready = left > 0;
        q_valid = 0; k_valid = 0; k_last = 0; k_mask = 0;
        q = vector(); k = vector(); v = next_v;
        if (ready && $urandom_range(3) != 0) begin
            step_t step;
            k_valid = 1;
            k_last = left == 1;
`ifdef FLASHD_HAS_K_MASK
            k_mask = sent != seen && $urandom_range(7) == 0;
`endif
            step.number = sent;
            step.v = vector();
            must(flashd_dpi_key(model, flashd_vector_t'(k), int'(k_mask), step.score, step.x, step.w, step.sum, step.action, step.upper));
            if (step.action == FLASHD_LOAD || step.action == FLASHD_UPDATE)
                must(flashd_dpi_value(model, flashd_vector_t'(step.v)));
            // A masked key does not reach the scalar path.
            if (!k_mask) at_score.push_back(step);
            if (!k_mask) at_weight.push_back(step);
            at_value.push_back(step);
            if (k_last) begin
                result_t result;
                flashd_vector_t all;
                must(flashd_dpi_result(model, all, result.flags));
                result.number = sent;
                result.o = bus_t'(all);
                at_result.push_back(result);
            end
            sent++;
            left--;
        end
        // A query is loaded with the last key of the one before, or later.
        if (left == 0 && sent < keys && $urandom_range(2) != 0) begin
            q_valid = 1;
            must(flashd_dpi_query(model, flashd_vector_t'(q), int'(v_exponent)));
            left = 1 + $urandom_range(63);
        end
    endtask

    // Outputs of this cycle. A step is compared where it shows first, so that a fault is found at its step.
    task automatic check();
        step_t step;
`ifdef FLASHD_SCORE
        if (`FLASHD_SCORE_VALID) begin
            if (at_score.size() == 0) fail("a score that no key has", sent, 0, 1);
            step = at_score.pop_front();
            if (`FLASHD_SCORE !== $bits(`FLASHD_SCORE)'(step.score))
                fail("score", step.number, 256'(unsigned'($bits(`FLASHD_SCORE)'(step.score))), 256'(`FLASHD_SCORE));
            scores_checked++;
        end
`endif
`ifdef FLASHD_WEIGHT
        if (`FLASHD_WEIGHT_VALID) begin
            if (at_weight.size() == 0) fail("a weight that no key has", sent, 0, 1);
            step = at_weight.pop_front();
            if (step.action == FLASHD_UPDATE || step.action == FLASHD_LOAD) begin
                if (`FLASHD_WEIGHT !== $bits(`FLASHD_WEIGHT)'(step.w))
                    fail("weight", step.number, 256'(unsigned'($bits(`FLASHD_WEIGHT)'(step.w))), 256'(`FLASHD_WEIGHT));
                weights_checked++;
            end
        end
`endif
        if (v_step) begin
            bit reads;
            if (at_value.size() == 0) fail("a v_step that no key has", sent, 0, 1);
            step = at_value.pop_front();
            reads = step.action == FLASHD_LOAD || step.action == FLASHD_UPDATE;
            if (v_ren !== reads) fail("v_ren", step.number, 256'(reads), 256'(v_ren));
            steps_checked++;
            if (reads) answers.push_back(step.v);
        end
        // The value requested FLASHD_VALUE_LATENCY cycles ago is on the bus in the next cycle; else the bus is undefined.
        asked.push_back(v_step && v_ren);
        next_v = vector();
        if (asked.pop_front()) next_v = answers.pop_front();
    endtask

    task automatic check_result();
        result_t result;
        if (!o_valid) return;
        if (at_result.size() == 0) fail("a result that no query has", sent, 0, 1);
        result = at_result.pop_front();
        if ({o_saturated, o_empty, o_overflow, o_invalid} !== result.flags[3:0])
            fail("flags", result.number, 256'(result.flags), 256'({o_saturated, o_empty, o_overflow, o_invalid}));
        for (int i = 0; i < D; i++)
            if (o[i*W +: W] !== result.o[i*W +: W])
                fail($sformatf("o[%0d]", i), result.number, 256'(result.o[i*W +: W]), 256'(o[i*W +: W]));
        results++;
    endtask

    initial begin
        void'($value$plusargs("keys=%d", keys));
        void'($value$plusargs("seed=%d", seed));
        void'($value$plusargs("seen=%d", seen));
        void'($urandom(seed));
        model = flashd_dpi_new(`FLASHD_JSON);
        if (model == null) must(0);
        // A value is on the bus FLASHD_VALUE_LATENCY cycles after its request.
        for (int i = 1; i < `FLASHD_VALUE_LATENCY; i++) asked.push_back(0);
        q = vector(); k = vector(); next_v = vector();
        repeat (2) @(posedge clk);
        @(negedge clk);
        rst = 0;
        while (sent < keys || left > 0 || at_result.size() > 0 || at_value.size() > 0) begin
            drive();
            // Outputs of the cycle have settled, and the edge has not come.
            #1 check();
            check_result();
            @(negedge clk);
        end
        flashd_dpi_free(model);
        $display("SCOREBOARD PASSED: %0d keys, %0d steps, %0d scores, %0d weights, %0d results, seed %0d",
            sent, steps_checked, scores_checked, weights_checked, results, seed);
        $finish;
    end
endmodule
