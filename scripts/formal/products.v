// How a product becomes anything that is the same for the same factors, for `cargo xtask prove-fault`. In the original it is anything; the copy
// gets the original's factors, and where its own are the same, the same product.
(* techmap_celltype = "reached_product" *)
module product (input [A_WIDTH-1:0] A, input [B_WIDTH-1:0] B, output [Y_WIDTH-1:0] Y);
    parameter A_SIGNED = 0;
    parameter B_SIGNED = 0;
    parameter A_WIDTH = 1;
    parameter B_WIDTH = 1;
    parameter Y_WIDTH = 1;
    wire [Y_WIDTH-1:0] anything, anything_else;
    // Twice inverted, so that the copy's factors are other wires than what drives them.
    wire [A_WIDTH-1:0] not_a;
    wire [B_WIDTH-1:0] not_b;
    (* keep *) wire [A_WIDTH-1:0] factor_a;
    (* keep *) wire [B_WIDTH-1:0] factor_b;
    \$not #(.A_SIGNED(0), .A_WIDTH(A_WIDTH), .Y_WIDTH(A_WIDTH)) a_once (.A(A), .Y(not_a));
    \$not #(.A_SIGNED(0), .A_WIDTH(A_WIDTH), .Y_WIDTH(A_WIDTH)) a_twice (.A(not_a), .Y(factor_a));
    \$not #(.A_SIGNED(0), .A_WIDTH(B_WIDTH), .Y_WIDTH(B_WIDTH)) b_once (.A(B), .Y(not_b));
    \$not #(.A_SIGNED(0), .A_WIDTH(B_WIDTH), .Y_WIDTH(B_WIDTH)) b_twice (.A(not_b), .Y(factor_b));
    assign Y = A == factor_a && B == factor_b ? anything : anything_else;
endmodule
