//! A module around a core whose outputs are the ports that a testbench compares.

use crate::failure::{Failure, Outcome, input};

/// A port of the core.
struct SeenPort<'a> {
    name: &'a str,
    /// Output ports: the condition of their comparison.
    when: Option<&'a str>,
}

/// The module `seen` in Verilog, from the core's NAME_ports.h.
pub fn module(header: &str) -> Outcome<String> {
    let wrong = |what: &str| Failure::Input(format!("not the NAME_ports.h of a core: {what}"));
    let line = header.lines().find_map(|line| line.strip_prefix("#define HEADER \"// "));
    let mut words = line.ok_or_else(|| wrong("no HEADER"))?.trim_end_matches('"').split_whitespace();
    let name = words.next().ok_or_else(|| wrong("no name"))?;
    let widths: Vec<(&str, usize)> = words.filter_map(width).collect();
    let width = |port: &str| {
        let entry = widths.iter().find(|(name, _)| *name == port);
        entry.map(|(_, width)| *width).ok_or_else(|| wrong(&format!("no width of {port}")))
    };
    let (outputs, inputs): (Vec<SeenPort>, Vec<SeenPort>) =
        header.lines().filter_map(port).partition(|port| port.when.is_some());
    if inputs.is_empty() || outputs.is_empty() {
        return input("not the NAME_ports.h of a core: no inputs or no outputs");
    }
    let mut text = String::from("module seen (input wire clk, input wire fault");
    for SeenPort { name, .. } in &inputs {
        text += &format!(", input wire [{}:0] {name}", width(name)? - 1);
    }
    for SeenPort { name, .. } in &outputs {
        text += &format!(", output wire [{}:0] seen_{name}", width(name)? - 1);
    }
    text += ");\n";
    for SeenPort { name, .. } in &outputs {
        text += &format!("    wire [{}:0] {name};\n", width(name)? - 1);
    }
    text +=
        "    wire beginning;\n    \\$initstate first (.Y(beginning));\n    wire reset = rst | beginning;\n";
    text += &format!("    {name} core (.clk(clk), .fault(fault), .rst(reset)");
    for SeenPort { name, .. } in inputs.iter().chain(&outputs).filter(|port| port.name != "rst") {
        text += &format!(", .{name}({name})");
    }
    // The query stays from its first key to its last one.
    text += ");
    reg between, broken;
    wire still_between = ~reset & (k_valid ? ~k_last : between);
    always @(posedge clk) begin
        between <= still_between;
        broken <= ~beginning & (broken | (q_valid & still_between));
    end
";
    for SeenPort { name, when } in &outputs {
        let condition = match when {
            Some("ALWAYS") => "~beginning",
            Some("WITH_READ") => "v_ren",
            Some("WITH_RESULT") => "o_valid",
            Some("WITH_STATE") => "o_valid & ~o_empty",
            other => return Err(wrong(&format!("{name} is compared {}", other.unwrap_or("never")))),
        };
        let width = width(name)?;
        text +=
            &format!("    assign seen_{name} = {{{width}{{~reset & ~broken & {condition}}}}} & {name};\n");
    }
    Ok(text + "endmodule\n")
}

/// A port with its width, `q:16x4` or `rst:1`.
fn width(word: &str) -> Option<(&str, usize)> {
    let (name, width) = word.split_once(':')?;
    let (bits, elements) = width.split_once('x').unwrap_or((width, "1"));
    Some((name, bits.parse::<usize>().ok()? * elements.parse::<usize>().ok()?))
}

/// A line `    PORT(name, ..., when)`; inputs have a place and a length only.
fn port(line: &str) -> Option<SeenPort<'_>> {
    let (fields, _) = line.strip_prefix("    PORT(")?.split_once(')')?;
    let fields: Vec<&str> = fields.split(',').map(str::trim).collect();
    Some(SeenPort { name: fields[0], when: fields.get(5).copied() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_compared_is_an_output() {
        let header = "#define HEADER \"// core rst:1 q:16x4 o:8x2\"\n#define INPUTS(PORT) \\\n    PORT(rst, 0, 1) \\\n    \
                      PORT(q, 1, 16)\n#define OUTPUTS(PORT) \\\n    PORT(o, 17, 2, 8, 2, WITH_RESULT)\n";
        let text = module(header).unwrap();
        assert!(
            text.contains("input wire [0:0] rst, input wire [63:0] q, output wire [15:0] seen_o"),
            "{text}"
        );
        assert!(text.contains("core core (.clk(clk), .fault(fault), .rst(reset), .q(q), .o(o));"), "{text}");
        assert!(text.contains("assign seen_o = {16{~reset & ~broken & o_valid}} & o;"), "{text}");
        assert!(module("").is_err());
        assert!(module(&header.replace("WITH_RESULT", "SOMETIMES")).is_err());
    }
}
