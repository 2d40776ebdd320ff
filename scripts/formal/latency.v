// o_valid comes exactly LATENCY cycles after an accepted k_last, v_step V_STEP_LATENCY after an accepted key, and
// neither at any other time: a history of the inputs says so from the first reset on.
module latency (
    input  wire clk,
    input  wire rst,
    input  wire k_valid,
    input  wire k_last,
    output wire ok
);
    wire o_valid, v_step;
    // What is left open here cannot matter: the proof before this one.
    `TOP core (.clk(clk), .rst(rst), .k_valid(k_valid), .k_last(k_last), .o_valid(o_valid), .v_step(v_step));

    reg [`LATENCY-1:0] lasts;
    reg [`V_STEP_LATENCY-1:0] keys;
    reg started;
    always @(posedge clk) begin
        lasts <= rst ? 0 : {lasts, k_valid && k_last};
        keys <= rst ? 0 : {keys, k_valid};
        started <= started || rst;
    end
    assign ok = !started || (o_valid == lasts[`LATENCY-1] && v_step == keys[`V_STEP_LATENCY-1]);
endmodule
