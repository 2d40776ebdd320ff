//! Clock gates in place of enables: a register keeps its value because its clock is stopped, which saves a multiplexer a bit.

use crate::liberty::{ClockGate, Library};

/// Fewest bits of a register that is gated. A gate is as large as a flip-flop or two and saves a multiplexer a bit; synthesis tools begin at
/// three to eight.
const LEAST_BITS: usize = 4;

/// A library's clock gate, for Yosys.
#[derive(Clone, Debug)]
pub(crate) struct GateCell {
    name: String,
    pins: ClockGate,
}

impl GateCell {
    /// The smallest clock gate of a library.
    pub(super) fn of(library: &Library) -> Option<Self> {
        let (cell, pins) = library.clock_gate()?;
        Some(GateCell { name: cell.name.clone(), pins: pins.clone() })
    }

    /// Files that [`GateCell::script`] names, with their contents: the cell as a black box, and the techmap of registers with an enable.
    pub(super) fn files(&self) -> [(&'static str, String); 2] {
        let GateCell { name, pins: ClockGate { clock, enable, test, output } } = self;
        let test_port = test.as_ref().map_or(String::new(), |test| format!("input {test}, "));
        let test_pin = test.as_ref().map_or(String::new(), |test| format!(".{test}(1'b0), "));
        let black_box = format!(
            "(* blackbox *)\nmodule {name} (input {clock}, input {enable}, {test_port}output {output});\nendmodule\n"
        );
        // Optional ports, declarations, parameters and pins of a register. `$sdffce` resets only where it is enabled, so that its
        // reset stays before the register.
        let registers = [
            ("dffe", "dff", ["", "", "", ""]),
            (
                "sdffce",
                "sdff",
                [
                    "SRST, ",
                    "parameter SRST_POLARITY = 1'b1; parameter SRST_VALUE = 0;\ninput SRST;\n",
                    ", .SRST_POLARITY(SRST_POLARITY), .SRST_VALUE(SRST_VALUE)",
                    ".SRST(SRST), ",
                ],
            ),
        ];
        let techmap = registers.map(|(from, to, [ports, declarations, parameters, pins])| {
            format!(
                "(* techmap_celltype = \"${from}\" *)\n\
                 module flashd_gated_{from} (CLK, {ports}EN, D, Q);\n\
                 parameter WIDTH = 1; parameter CLK_POLARITY = 1'b1; parameter EN_POLARITY = 1'b1;\n{declarations}\
                 input CLK, EN;\ninput [WIDTH-1:0] D; output [WIDTH-1:0] Q;\n\
                 wire _TECHMAP_FAIL_ = WIDTH < {LEAST_BITS} || !CLK_POLARITY;\n\
                 wire passes = EN_POLARITY ? EN : ~EN;\n\
                 wire gated;\n\
                 {name} gate (.{clock}(CLK), .{enable}(passes), {test_pin}.{output}(gated));\n\
                 \\${to} #(.WIDTH(WIDTH), .CLK_POLARITY(1'b1){parameters}) _TECHMAP_REPLACE_ (.CLK(gated), {pins}.D(D), .Q(Q));\n\
                 endmodule\n"
            )
        });
        [("clock_gate_cell.v", black_box), ("clock_gate.v", techmap.concat())]
    }

    /// Yosys commands that give registers with a common enable one gate.
    pub(super) fn script(&self) -> String {
        let name = &self.name;
        format!(
            "read_verilog -lib clock_gate_cell.v\ntechmap -map clock_gate.v\nopt -fast\n\
             opt_merge -share_all t:{name}\nopt_clean\n"
        )
    }
}
