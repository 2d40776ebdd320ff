// What of a cell's output can depend on tainted inputs: information flow tracking, a module for every kind of cell, whose inputs ending
// in X are the taints of the others. More may be tainted than depends; nothing that depends is not. Instances are made by taint.py.

// A known 0 makes a conjunction known.
module taint_and #(parameter W = 1) (input [W-1:0] A, B, AX, BX, output [W-1:0] YX);
    assign YX = AX & BX | AX & B | BX & A;
endmodule

// A known 1 makes a disjunction known.
module taint_or #(parameter W = 1) (input [W-1:0] A, B, AX, BX, output [W-1:0] YX);
    assign YX = AX & BX | AX & ~B | BX & ~A;
endmodule

module taint_xor #(parameter W = 1) (input [W-1:0] AX, BX, output [W-1:0] YX);
    assign YX = AX | BX;
endmodule

module taint_reduce_or #(parameter W = 1) (input [W-1:0] A, AX, output YX);
    assign YX = |AX & ~|(A & ~AX);
endmodule

module taint_reduce_and #(parameter W = 1) (input [W-1:0] A, AX, output YX);
    assign YX = |AX & ~|(~A & ~AX);
endmodule

// What is not selected has no influence.
module taint_mux #(parameter W = 1) (input [W-1:0] A, B, AX, BX, input S, SX, output [W-1:0] YX);
    assign YX = SX ? AX | BX | (A ^ B) : S ? BX : AX;
endmodule

// One of N, or A if none is selected.
module taint_pmux #(parameter W = 1, parameter N = 1) (input [W-1:0] AX, input [N*W-1:0] BX, input [N-1:0] S, SX, output [W-1:0] YX);
    wire [W*(N+1)-1:0] so_far;
    assign so_far[W-1:0] = {W{~|S}} & AX;
    genvar i;
    generate
        for (i = 0; i < N; i = i + 1) begin : choice
            assign so_far[(i+1)*W +: W] = so_far[i*W +: W] | ({W{S[i]}} & BX[i*W +: W]);
        end
    endgenerate
    assign YX = {W{|SX}} | so_far[N*W +: W];
endmodule

// Arithmetic: every bit depends on every one. Its result is left open here, which allows for more than can be.
module taint_any #(parameter W = 1, parameter V = 1) (input [V-1:0] AX, output [W-1:0] Y, YX);
    wire [W-1:0] anything;
    assign Y = anything;
    assign YX = {W{|AX}};
endmodule

// A register of the core: at the beginning it holds anything.
module taint_register #(parameter W = 1) (input CLK, input [W-1:0] D, output [W-1:0] Q);
    wire beginning;
    wire [W-1:0] anything;
    \$initstate first (.Y(beginning));
    reg [W-1:0] state;
    always @(posedge CLK) state <= D;
    assign Q = beginning ? anything : state;
endmodule

// The taint of some bits of a register.
module taint_of_register #(parameter W = 1) (input CLK, input [W-1:0] DX, output QX);
    wire beginning;
    \$initstate first (.Y(beginning));
    reg tainted;
    always @(posedge CLK) tainted <= |DX;
    assign QX = beginning | tainted;
endmodule
