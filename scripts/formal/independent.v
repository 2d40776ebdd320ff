// Does a core's result depend on anything but its own query, keys and values? Tainted are q and v_exponent without q_valid, k and k_last
// without k_valid, v in a cycle that did not ask for it, and what registers hold at the beginning; with BEFORE also all
// queries, keys and values but those of the queries from one on, any one. Then wrong is never high: no taint reaches o_valid and
// v_step, nor v_ren and the results of these queries. With V_NEVER all values are tainted, with ALL_RESULTS what is looked at is not
// the results of these queries alone (or without BEFORE: whether o_valid is high or not): then it is.
module independent (
    input  wire clk,
    input  wire rst_given,
    input  wire [`BUS-1:0] q,
    input  wire q_valid,
    input  wire q_of_before,
    input  wire [`BUS-1:0] k,
    input  wire k_valid,
    input  wire k_last,
    input  wire from_here,
    input  wire [`BUS-1:0] v,
    input  wire [`EXPONENT-1:0] v_exponent,
    output wire wrong
);
    // A reset first.
    wire beginning;
    \$initstate first (.Y(beginning));
    wire rst = rst_given | beginning;

    // The query stays from its first key to its last one; without that nothing is promised.
    reg inside, broken;
    wire still_inside = ~rst & (k_valid ? ~k_last : inside);
    always @(posedge clk) begin
        inside <= still_inside;
        broken <= ~beginning & (broken | (q_valid & still_inside));
    end

    // From some first key on all queries count; each finds a query loaded that is not one of before.
    reg q_counts, since, q_wrong;
`ifdef BEFORE
    wire counts = ~beginning & (since | (k_valid & ~inside & from_here & ~rst));
    wire q_tainted = ~q_valid | q_of_before;
`else
    wire counts = ~beginning;
    wire q_tainted = ~q_valid;
`endif
    always @(posedge clk) begin
        q_counts <= q_valid ? ~q_tainted : q_counts & ~beginning;
        since <= counts & ~rst;
        q_wrong <= ~beginning & (q_wrong | (counts & k_valid & ~q_counts));
    end

    // The same pipeline as the one of the keys.
    reg [`LATENCY-1:0] lasts;
    reg [`V_STEP_LATENCY-1:0] keys;
    reg asked;
    wire v_step, v_ren, o_valid, v_step_tainted, v_ren_tainted, o_valid_tainted;
    wire key_counts = keys[`V_STEP_LATENCY-1];
    always @(posedge clk) begin
        lasts <= rst ? 0 : {lasts, k_valid & k_last & counts};
        keys <= rst ? 0 : {keys, k_valid & counts};
        asked <= v_ren & key_counts;
    end

    wire [`BUS-1:0] o_tainted;
    wire o_invalid_tainted;
    wire o_overflow_tainted;
    wire o_saturated_tainted;
`ifndef HAS_FIXED
    assign o_overflow_tainted = 0;
`endif
`ifndef HAS_SATURATED
    assign o_saturated_tainted = 0;
`endif
    `TOP core (
`ifdef HAS_FIXED
        .v_exponent(v_exponent),
        .v_exponent_tainted({`EXPONENT{q_tainted}}),
        .o_overflow_tainted(o_overflow_tainted),
`endif
`ifdef HAS_SATURATED
        .o_saturated_tainted(o_saturated_tainted),
`endif
        .clk(clk),
        .rst(rst),
        .rst_tainted(1'b0),
        .q(q),
        .q_tainted({`BUS{q_tainted}}),
        .q_valid(q_valid),
        .q_valid_tainted(1'b0),
        .k(k),
        .k_tainted({`BUS{~(k_valid & counts)}}),
        .k_valid(k_valid),
        .k_valid_tainted(1'b0),
        .k_last(k_last),
        .k_last_tainted(~k_valid),
        .v_step(v_step),
        .v_step_tainted(v_step_tainted),
        .v_ren(v_ren),
        .v_ren_tainted(v_ren_tainted),
        .v(v),
        `ifdef V_NEVER
        .v_tainted({`BUS{1'b1}}),
`else
        .v_tainted({`BUS{~asked}}),
`endif
        .o_tainted(o_tainted),
        .o_valid(o_valid),
        .o_valid_tainted(o_valid_tainted),
        .o_invalid_tainted(o_invalid_tainted)
    );
    wire result_tainted = |o_tainted | o_invalid_tainted | o_overflow_tainted | o_saturated_tainted;
`ifndef ALL_RESULTS
    wire looked_at = o_valid & lasts[`LATENCY-1];
`elsif BEFORE
    wire looked_at = o_valid;
`else
    wire looked_at = 1'b1;
`endif
    // Without a query, and if one changes between its keys, nothing is promised.
    wire promised = ~rst & ~broken & ~q_wrong;
    assign wrong = promised & (o_valid_tainted | v_step_tainted | (key_counts & v_ren_tainted) | (looked_at & result_tainted));
endmodule
