//! Registers as `always` blocks.

use super::body::{Body, Source, join};
use super::clock_enable::ENABLE;
use super::vector::is_register;
use crate::elaborate::Child;
use crate::kernel::Path;
use flashd_hwmodel::rtl::TagKind;
use std::fmt::Write;

/// Assignments that share a clock and a reset or an enable.
struct Block {
    clk: String,
    ce: String,
    rst: String,
    enable: String,
    assignments: Vec<String>,
    resets: Vec<String>,
}

impl Body<'_> {
    /// Registers, grouped by their reset or enable into `always` blocks; neighbours whose data are
    /// neighbours too are written as one assignment.
    pub(super) fn print_registers(&self, text: &mut String) {
        let mut blocks: Vec<Block> = Vec::new();
        let registers: Vec<&Child> = self.module.children.iter().filter(|c| is_register(c)).collect();
        let mut start = 0;
        while start < registers.len() {
            let first = registers[start];
            let key = self.register_key(first);
            let mut run = vec![self.register_data(first)];
            while let Some(next) = registers.get(start + run.len()) {
                let data = self.register_data(next);
                let last = &run[run.len() - 1];
                let follows = next.name == first.name
                    && self.register_key(next) == key
                    && data.signal == last.signal
                    && data.element == last.element + 1;
                if !follows {
                    break;
                }
                run.push(data);
            }
            let path =
                Path { instance: Some((first.name.clone(), first.index)), port: "q".into(), element: None };
            let q = self.source(&path);
            let targets: Vec<Source> =
                (0..run.len()).map(|i| Source { element: q.element + i, ..q.clone() }).collect();
            let assignment = format!("{} <= {};", join(&targets), join(&run));
            let reset = match first.module.tag.kind {
                TagKind::Register { reset: Some(value), .. } => {
                    format!("{} <= {}'h{value:x};", join(&targets), q.width * run.len() as u32)
                }
                _ => String::new(),
            };
            let (clk, ce, rst, enable) = key;
            let same = |b: &&mut Block| b.clk == clk && b.ce == ce && b.rst == rst && b.enable == enable;
            match blocks.iter_mut().find(same) {
                Some(block) => {
                    block.assignments.push(assignment);
                    block.resets.push(reset);
                }
                None => blocks.push(Block {
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
        for Block { clk, ce, rst, enable, assignments, resets } in blocks {
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
                ("", "") => text.push_str(&indent(&assignments, "")),
                ("", enable) => {
                    let body = indent(&assignments, "    ");
                    let _ = writeln!(text, "        {by}if ({enable}) begin\n{body}        {by}end");
                }
                (rst, _) => {
                    let clear = indent(&resets, "    ");
                    let body = indent(&assignments, "    ");
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

    /// Clock, clock enable, reset and enable; empty where there is none.
    fn register_key(&self, register: &Child) -> (String, String, String, String) {
        let control = |port: &str| match register.module.ports.iter().any(|p| p.name == port) {
            true => self.input(register, port, &[None]),
            false => String::new(),
        };
        (control("clk"), control(ENABLE), control("rst"), control("enable"))
    }

    fn register_data(&self, register: &Child) -> Source {
        let sink =
            Path { instance: Some((register.name.clone(), register.index)), port: "d".into(), element: None };
        self.source(&self.sources[&sink])
    }
}
