// A core whose inputs are unknown (x) wherever the contract gives them no meaning: q and v_exponent without q_valid, k
// and k_last without k_valid, v in a cycle that did not ask for it; and while earlier is high, keys, and while
// earlier_value is, values, although they are taken: those of a query before. An output that is known nevertheless does not depend on any of them.
module defined (
    input  wire clk,
    input  wire rst,
    input  wire [`BUS-1:0] q,
    input  wire q_valid,
    input  wire [`BUS-1:0] k,
    input  wire k_valid,
    input  wire k_last,
    input  wire [`BUS-1:0] v,
    input  wire [`EXPONENT-1:0] v_exponent,
    input  wire earlier,
    input  wire earlier_value,
    input  wire [`BUS-1:0] unknown,
    output wire o_valid,
    output wire [2:0] control,
    output wire [`BUS+`FIXED:0] result
);
    wire v_step, v_ren;
    assign control = {v_step, v_ren, o_valid};
    wire [`BUS-1:0] o;
    wire o_invalid, o_overflow;
    reg asked;
    always @(posedge clk) asked <= v_ren;
    `TOP core (
`ifdef HAS_FIXED
        .v_exponent(q_valid ? v_exponent : unknown[`EXPONENT-1:0]),
        .o_overflow(o_overflow),
`endif
        .clk(clk),
        .rst(rst),
        .q(q_valid ? q : unknown),
        .q_valid(q_valid),
        .k(k_valid && !earlier ? k : unknown),
        .k_valid(k_valid),
        .k_last(k_valid ? k_last : unknown[0]),
        .v_step(v_step),
        .v_ren(v_ren),
`ifdef READ_NOTHING
        .v(unknown),
`else
        .v(asked && !earlier_value ? v : unknown),
`endif
        .o(o),
        .o_valid(o_valid),
        .o_invalid(o_invalid)
    );
`ifdef HAS_FIXED
    assign result = {o, o_invalid, o_overflow};
`else
    assign result = {o, o_invalid};
`endif
endmodule
