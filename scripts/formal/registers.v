// How a register of an emitted core becomes one whose contents are ports, for `cargo xtask prove-fault`. In the first cycle, a reset,
// a register holds anything. One without a reset (resetless) holds anything after the reset too, and what it gets in it does not count.
(* techmap_celltype = "$dff resetless" *)
module register (input [WIDTH-1:0] D, input CLK, output [WIDTH-1:0] Q);
    parameter WIDTH = 1;
    parameter CLK_POLARITY = 1;
    parameter _TECHMAP_CELLTYPE_ = "";
    wire [WIDTH-1:0] anything;
    wire beginning;
    (* keep *) wire [WIDTH-1:0] state_q, state_d;
    \$initstate first (.Y(beginning));
    \$dff #(.WIDTH(WIDTH), .CLK_POLARITY(CLK_POLARITY)) state (.CLK(CLK), .D(state_d), .Q(state_q));
    generate
        if (_TECHMAP_CELLTYPE_ == "resetless") begin
            wire after;
            wire [WIDTH-1:0] anything_after;
            \$dff #(.WIDTH(1), .CLK_POLARITY(CLK_POLARITY)) second (.CLK(CLK), .D(beginning), .Q(after));
            assign Q = beginning ? anything : after ? anything_after : state_q;
            assign state_d = {WIDTH{~beginning}} & D;
        end else begin
            assign Q = beginning ? anything : state_q;
            assign state_d = D;
        end
    endgenerate
endmodule
