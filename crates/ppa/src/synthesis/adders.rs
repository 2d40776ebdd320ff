//! Adders from the library's full-adder cells: the cell, and Yosys techmaps that use it.

use crate::liberty::Library;

/// Placeholder for a full adder between the passes that create and map them.
pub(crate) const FULL_ADDER: &str = "flashd_full_adder";

/// A full adder: a cell of the library, or gates where the library has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FullAdder {
    /// Cell with its pins: three summands, sum, carry.
    cell: Option<(String, [String; 3], String, String)>,
    /// The cell gives the complement of the sum.
    pub sum_inverted: bool,
    /// The cell gives the complement of the carry.
    pub carry_inverted: bool,
}

impl FullAdder {
    /// Gates, left to the mapper.
    pub(crate) fn gates() -> Self {
        FullAdder { cell: None, sum_inverted: false, carry_inverted: false }
    }

    /// The library's smallest full-adder cell, if it has one.
    pub(crate) fn of(library: &Library) -> Option<Self> {
        let adder = library.full_adders().into_iter().next()?;
        let inputs: [String; 3] = adder.inputs.try_into().ok()?;
        Some(FullAdder {
            cell: Some((adder.cell, inputs, adder.sum.pin, adder.carry.pin)),
            sum_inverted: adder.sum.inverted,
            carry_inverted: adder.carry.inverted,
        })
    }

    /// Both outputs are complements, so that trees need no inverters if polarities alternate.
    pub(crate) fn complements_both(&self) -> bool {
        self.sum_inverted && self.carry_inverted
    }

    /// Techmap from the placeholder to the cell; with a constant input, to gates, which absorb the constant.
    pub(crate) fn cell_techmap(&self) -> String {
        let invert = |inverted: bool| if inverted { "~" } else { "" };
        let (s, c) = (invert(self.sum_inverted), invert(self.carry_inverted));
        let gates = format!("assign S = {s}(A ^ B ^ C); assign CO = {c}((A & B) | (C & (A | B)));\n");
        let Some((cell, [a, b, ci], sum, carry)) = &self.cell else {
            return format!("{TECHMAP_HEAD}{gates}endmodule\n");
        };
        format!(
            "{TECHMAP_HEAD}\
             parameter _TECHMAP_CONSTMSK_A_ = 0; parameter _TECHMAP_CONSTVAL_A_ = 0;\n\
             parameter _TECHMAP_CONSTMSK_B_ = 0; parameter _TECHMAP_CONSTVAL_B_ = 0;\n\
             parameter _TECHMAP_CONSTMSK_C_ = 0; parameter _TECHMAP_CONSTVAL_C_ = 0;\n\
             generate if (_TECHMAP_CONSTMSK_A_ || _TECHMAP_CONSTMSK_B_ || _TECHMAP_CONSTMSK_C_) begin\n\
             {gates}end else begin\n\
             {cell} _TECHMAP_REPLACE_ (.{a}(A), .{b}(B), .{ci}(C), .{sum}(S), .{carry}(CO));\n\
             end endgenerate\nendmodule\n"
        )
    }

    /// Techmap of `$alu` (add, subtract, compare) to a chain of full adders. In a chain of cells whose carry is
    /// complemented every second adder works on complements.
    pub(crate) fn chain_techmap(&self) -> String {
        let flips = u8::from(self.carry_inverted);
        let sum_flips = u8::from(self.sum_inverted);
        format!(
            "(* techmap_celltype = \"$alu\" *)\n\
             module chain (A, B, CI, BI, X, Y, CO);\n\
             parameter A_SIGNED = 0; parameter B_SIGNED = 0;\n\
             parameter A_WIDTH = 1; parameter B_WIDTH = 1; parameter Y_WIDTH = 1;\n\
             input [A_WIDTH-1:0] A; input [B_WIDTH-1:0] B; input CI, BI;\n\
             output [Y_WIDTH-1:0] X, Y, CO;\n\
             wire [Y_WIDTH-1:0] a, b, c;\n\
             assign X = a ^ b;\n\
             genvar i;\n\
             generate for (i = 0; i < Y_WIDTH; i = i + 1) begin : bits\n\
             if (i < A_WIDTH) assign a[i] = A[i]; \
             else if (A_SIGNED && A_WIDTH > 0) assign a[i] = A[A_WIDTH-1]; else assign a[i] = 1'b0;\n\
             if (i < B_WIDTH) assign b[i] = B[i] ^ BI; \
             else if (B_SIGNED && B_WIDTH > 0) assign b[i] = B[B_WIDTH-1] ^ BI; else assign b[i] = BI;\n\
             localparam [0:0] FLIP = {flips} && i % 2 == 1;\n\
             wire carry_in, carry, sum;\n\
             if (i == 0) assign carry_in = CI; else assign carry_in = c[i-1];\n\
             {FULL_ADDER} full (.A(a[i] ^ FLIP), .B(b[i] ^ FLIP), .C(carry_in), .S(sum), .CO(carry));\n\
             assign Y[i] = sum ^ FLIP ^ 1'd{sum_flips};\n\
             assign c[i] = carry;\n\
             assign CO[i] = carry ^ FLIP ^ 1'd{flips};\n\
             end endgenerate\nendmodule\n"
        )
    }
}

const TECHMAP_HEAD: &str = "(* techmap_celltype = \"flashd_full_adder\" *)\n\
    module full_adder (A, B, C, S, CO);\n\
    input A, B, C; output S, CO;\n";
