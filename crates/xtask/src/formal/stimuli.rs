//! Two texts of a design side by side under random stimuli, where no proof is reached. It can refute, and it is no proof.

use crate::failure::{Outcome, input};
use crate::icarus::icarus;
use crate::process::{Said, quoted, yosys};
use crate::work::{read, write};
use std::path::{Path, PathBuf};

/// Processor time for each step.
const SECONDS: u64 = 600;
/// Cycles of reset.
const RESET: u32 = 4;
/// The last line of the bench if no output ever differed.
const ALIKE: &str = "ALIKE";

/// A port of a design.
#[derive(Debug, PartialEq)]
struct BenchPort {
    input: bool,
    bits: usize,
    name: String,
}

/// Whether the outputs of `old.v` and `new.v` in a folder, one design each, are the same in a number of cycles. Each bit of each input is drawn anew
/// in every cycle, single bits for a while with few ones or many, so that streams run full and empty; reset comes back now and then. A
/// bit that is unknown in the old text may be anything in the new one: the content of a register before its first load depends on the form of
/// its text.
pub fn alike(folder: &Path, cycles: u32, seed: u32) -> Outcome<Said> {
    for side in ["old", "new"] {
        // One module each: modules of both have the same names.
        let script = format!(
            "read_verilog {}; hierarchy -auto-top; rename -top {side}; proc -norom; flatten; opt_clean; write_verilog -noattr {side}_flat.v",
            quoted(Path::new(&format!("{side}.v")))
        );
        let said = yosys(folder, &["-q"], &script, Some(SECONDS))?;
        if !said.ok() {
            return Ok(said);
        }
    }
    let ports = ports(&read(&folder.join("new.v"))?);
    write(&folder.join("bench.v"), &bench(&ports, cycles, seed)?)?;
    let sources = ["bench.v", "old_flat.v", "new_flat.v"].map(PathBuf::from);
    icarus(folder, "bench", &sources, &[])
}

/// Whether the bench found no difference.
pub fn is_alike(said: &Said) -> bool {
    said.ok() && said.has_line(ALIKE)
}

/// The ports of the last module of a text that is no part of another one: the design's own, which is printed with a port a line.
fn ports(text: &str) -> Vec<BenchPort> {
    let modules: Vec<(&str, Vec<BenchPort>)> = text
        .split("\nmodule ")
        .skip(1)
        .map(|module| {
            let name = module.split([' ', '(', ';']).next().unwrap_or(module);
            (name, module.lines().skip(1).map_while(port).collect())
        })
        .collect();
    let is_part = |name: &str| {
        let instance = format!("\n    {name} u_");
        text.contains(&instance)
    };
    modules.into_iter().rfind(|(name, _)| !is_part(name)).map_or(Vec::new(), |(_, ports)| ports)
}

/// A line of a port: `    input  wire [7:0] k,`.
fn port(line: &str) -> Option<BenchPort> {
    let mut words = line.trim().trim_end_matches(',').split_whitespace();
    let input = match words.next()? {
        "input" => true,
        "output" => false,
        _ => return None,
    };
    let words: Vec<&str> = words.filter(|word| !matches!(*word, "wire" | "reg")).collect();
    let (bits, name) = match words[..] {
        [name] => (1, name),
        [range, name] => (range.trim_start_matches('[').split(':').next()?.parse::<usize>().ok()? + 1, name),
        _ => return None,
    };
    Some(BenchPort { input, bits, name: name.to_string() })
}

/// The bench.
fn bench(ports: &[BenchPort], cycles: u32, seed: u32) -> Outcome<String> {
    let clock = ports.iter().find(|port| matches!(port.name.as_str(), "clk" | "aclk"));
    let Some(clock) = clock else { return input("a design without a port clk or aclk") };
    let reset = ports.iter().find(|port| matches!(port.name.as_str(), "rst" | "aresetn"));
    let Some(reset) = reset else { return input("a design without a port rst or aresetn") };
    let in_reset = u8::from(reset.name == "rst");
    let (clock, reset, out_of_reset) = (&clock.name, &reset.name, 1 - in_reset);
    let (mut declared, mut drawn, mut compared) = (String::new(), String::new(), String::new());
    for BenchPort { input, bits, name } in ports {
        let range = format!("[{}:0]", bits - 1);
        if !input {
            declared += &format!("    wire {range} old_{name}, new_{name};\n");
            compared += &format!("            if (|(old_{name} ^ new_{name}) === 1'b1) fail(\"{name}\");\n");
            continue;
        }
        declared += &format!("    reg {range} {name} = 0;\n");
        if name == clock || name == reset {
            continue;
        }
        if *bits == 1 {
            drawn += &format!("            {name} = ($random(seed) & 255) < rate;\n");
            continue;
        }
        for low in (0..*bits).step_by(32) {
            let width = (bits - low).min(32);
            drawn += &format!("            {name}[{low} +: {width}] = $random(seed);\n");
        }
    }
    let instance = |side: &str| {
        let connect = |port: &BenchPort| match port.input {
            true => format!(".{0}({0})", port.name),
            false => format!(".{0}({side}_{0})", port.name),
        };
        ports.iter().map(connect).collect::<Vec<_>>().join(", ")
    };
    Ok(format!(
        "module bench;
    integer seed = {seed}, cycle, rate;
{declared}    old u_old ({});
    new u_new ({});
    task fail; input [511:0] name; begin $display(\"cycle %0d: %0s\", cycle, name); $finish; end endtask
    initial begin
        for (cycle = 0; cycle < {cycles}; cycle = cycle + 1) begin
            if (cycle % 64 == 0) rate = $random(seed) & 255;
            {reset} = cycle < {RESET} || ($random(seed) & 4095) == 0 ? {in_reset} : {out_of_reset};
{drawn}            #1 {clock} = 1; #1
{compared}            {clock} = 0; #1
{compared}        end
        $display(\"{ALIKE}\"); $finish;
    end
endmodule
",
        instance("old"),
        instance("new")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "\nmodule part (\n    input  wire a,\n    output wire b\n);\n    assign b = a;\nendmodule\n\
        \nmodule top (\n    input  wire clk,\n    input  wire rst,\n    input  wire [2:0] k,\n    output wire [1:0] o\n);\n    \
        reg [1:0] o_q;\n    wire b;\n    part u_part (\n        .a(k[2]), .b(b)\n    );\n    assign o = o_q;\n    \
        always @(posedge clk) if (rst) o_q <= 2'd0; else o_q <= k[1:0] + {1'b0, b};\nendmodule\n";

    #[test]
    fn ports_are_those_of_the_design() {
        let names: Vec<(bool, usize, String)> =
            ports(OLD).into_iter().map(|port| (port.input, port.bits, port.name)).collect();
        let port = |input, bits, name: &str| (input, bits, name.to_string());
        let expected = [port(true, 1, "clk"), port(true, 1, "rst"), port(true, 3, "k"), port(false, 2, "o")];
        assert_eq!(names, expected);
    }

    #[test]
    fn another_operator_is_seen_and_another_text_is_not() {
        let said = |new: &str| {
            let folder = tempfile::tempdir().unwrap();
            write(&folder.path().join("old.v"), OLD).unwrap();
            write(&folder.path().join("new.v"), new).unwrap();
            alike(folder.path(), 200, 1).unwrap()
        };
        let same = said(&OLD.replace("k[1:0] + {1'b0, b}", "{1'b0, b} + k[1:0]"));
        assert!(is_alike(&same), "{}", same.text);
        let other = said(&OLD.replace(" + {1'b0, b}", " | {1'b0, b}"));
        assert!(!is_alike(&other) && other.has("cycle "), "{}", other.text);
    }
}
