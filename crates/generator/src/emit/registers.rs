//! Registers as `always` blocks.

use super::body::{ModuleBody, SignalElement};
use super::flat::{CLOCK, ENABLE, ModulePart, Of};
use flashd_hwmodel::rtl::structure::Register;
use std::fmt::Write;

/// Assignments that share a clock and a reset or an enable.
struct AlwaysBlock {
    clk: String,
    ce: String,
    rst: String,
    enable: String,
    assignments: Vec<String>,
    resets: Vec<String>,
}

impl ModuleBody<'_> {
    /// Registers, grouped by their reset or enable into `always` blocks; neighbours whose data are
    /// neighbours too are written as one assignment.
    pub(super) fn print_registers(&self, text: &mut String) {
        let mut blocks: Vec<AlwaysBlock> = Vec::new();
        let registers: Vec<&ModulePart> = self.flat.parts.iter().filter(|part| part.is_register()).collect();
        let word = |part: &ModulePart, pin| part.pins(pin).map(|bus| self.source(bus.nets[0]));
        let controls = |part: &ModulePart| [CLOCK, ENABLE, "rst", "enable"].map(|pin| word(part, pin));
        let mut start = 0;
        while start < registers.len() {
            let first = registers[start];
            let key = controls(first);
            let mut run: Vec<SignalElement> = word(first, "d").into_iter().collect();
            while let Some(next) = registers.get(start + run.len()) {
                let last = run[run.len() - 1];
                let data = SignalElement { element: last.element + 1, ..last };
                if next.name != first.name || word(next, "d") != Some(data) || controls(next) != key {
                    break;
                }
                run.push(data);
            }
            let q: Vec<SignalElement> = word(first, "q").into_iter().collect();
            let targets: Vec<SignalElement> =
                (0..run.len()).map(|i| SignalElement { element: q[0].element + i, ..q[0] }).collect();
            let targets = self.join(&targets);
            let assignment = format!("{targets} <= {};", self.join(&run));
            let reset = match first.of {
                Of::Register(Register::Reset(value)) => {
                    format!("{targets} <= {}'h{value:x};", self.signal(q[0]).width * run.len() as u32)
                }
                _ => String::new(),
            };
            let [clk, ce, rst, enable] =
                key.map(|source| source.map_or(String::new(), |source| self.join(&[source])));
            let same =
                |b: &&mut AlwaysBlock| b.clk == clk && b.ce == ce && b.rst == rst && b.enable == enable;
            match blocks.iter_mut().find(same) {
                Some(block) => {
                    block.assignments.push(assignment);
                    block.resets.push(reset);
                }
                None => blocks.push(AlwaysBlock {
                    clk,
                    ce,
                    rst,
                    enable,
                    assignments: vec![assignment],
                    resets: vec![reset],
                }),
            }
            start += run.len();
        }
        blocks.iter().for_each(|block| block.print(text));
    }
}

impl AlwaysBlock {
    fn print(&self, text: &mut String) {
        let AlwaysBlock { clk, ce, rst, enable, assignments, resets } = self;
        let _ = writeln!(text, "    always @(posedge {clk}) begin");
        // Frozen registers hold all that they would otherwise do.
        let frozen = !ce.is_empty();
        let by = if frozen { "    " } else { "" };
        let indent = |lines: &[String], more: &str| -> String {
            lines.iter().map(|l| format!("        {by}{more}{l}\n")).collect()
        };
        if frozen {
            let _ = writeln!(text, "        if ({ce}) begin");
        }
        match (rst.as_str(), enable.as_str()) {
            ("", "") => text.push_str(&indent(assignments, "")),
            ("", enable) => {
                let body = indent(assignments, "    ");
                let _ = writeln!(text, "        {by}if ({enable}) begin\n{body}        {by}end");
            }
            (rst, _) => {
                let clear = indent(resets, "    ");
                let body = indent(assignments, "    ");
                let _ = writeln!(
                    text,
                    "        {by}if ({rst}) begin\n{clear}        {by}end else begin\n{body}        {by}end"
                );
            }
        }
        if frozen {
            text.push_str("        end\n");
        }
        text.push_str("    end\n\n");
    }
}
