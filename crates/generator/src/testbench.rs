//! A self-checking testbench for a design, and its port list for the C++ harness.
//!
//! Both are printed from the [`Layout`] of the design's vectors, by which the vectors are written too. What the testbench compares
//! inside the design it reads by hierarchical names, which are those that the generator gives.

use crate::emit::references;
use crate::{GenerateError, GeneratedFile};
use flashd_hwmodel::rtl::{Circuit, Reading};
use flashd_hwmodel::vectors::{Field, InsideField, Layout};
use flashd_spec::ports::Compared;
use std::fmt::Write;

/// Name of the vector file that a testbench reads if nothing else is asked for.
pub fn vector_file_name(name: &str) -> String {
    format!("{name}_tb.vec")
}

/// Name of the design's instance in its testbench.
const INSTANCE: &str = "dut";

/// What a testbench compares inside a design's cores, which are alike: for each core the expressions that read it, by the names that the
/// design's Verilog has.
///
/// # Errors
/// If a signal has no name there.
pub fn inside_expressions(design: &Circuit, cores: usize) -> Result<Vec<Vec<String>>, GenerateError> {
    let names = references(design.structure(), INSTANCE, design.watched())?;
    let watched = design.watched().iter().zip(names);
    let all: Vec<String> = watched.map(|(watched, name)| read(watched.reading, name)).collect();
    Ok(all.chunks((all.len() / cores).max(1)).map(<[String]>::to_vec).collect())
}

/// A signal as it is read.
fn read(reading: Reading, name: String) -> String {
    match reading {
        Reading::Whole => name,
        Reading::Above(zeros) => format!("{{{name}, {zeros}'b0}}"),
        Reading::Any => format!("|{name}"),
    }
}

/// `<name>_tb.v`, for a vector file of `lines` cycles that `about` describes, and `<name>_ports.h`. `inside` are the
/// [`inside_expressions`] of a layout that has such fields.
pub fn testbench_files(
    layout: &Layout,
    inside: &[Vec<String>],
    lines: u64,
    about: &str,
) -> Vec<GeneratedFile> {
    let name = &layout.name;
    vec![
        GeneratedFile { name: format!("{name}_tb.v"), text: testbench(layout, inside, lines, about) },
        GeneratedFile { name: format!("{name}_ports.h"), text: ports_header(layout) },
        GeneratedFile { name: format!("{name}_tb.gtkw"), text: save_file(layout, &format!("{name}_tb"), "") },
        GeneratedFile {
            name: format!("{name}_tb_verilator.gtkw"),
            text: save_file(layout, &format!("{name}_tb_verilator"), "TOP."),
        },
    ]
}

/// What GTKWave shows of the testbench's dump: every port, with what is expected of it, by the names in the testbench; `above` are
/// scopes that a simulator adds.
fn save_file(layout: &Layout, stem: &str, above: &str) -> String {
    let name = &layout.name;
    // It looks for the dump where the save file is, if it knows both by absolute paths.
    let mut t = format!(
        "[*] {name}: ports, and what is expected of outputs and inside; one cycle is 10 units.\n[dumpfile] \"/{name}.vcd\"\n\
         [savefile] \"/{stem}.gtkw\"\n[timestart] 0\n[size] 1400 800\n[treeopen] {above}{name}_tb.\n"
    );
    let signal = |t: &mut String, prefix: &str, field: &Field| {
        let (flags, range) = match field.port.bits() {
            1 => ("@28", String::new()),
            bits => ("@22", format!("[{}:0]", bits - 1)),
        };
        let _ = writeln!(t, "{flags}\n{above}{name}_tb.{prefix}{}{range}", field.port.name);
    };
    if layout.clocked {
        let _ = writeln!(t, "@28\n{above}{name}_tb.clk");
    }
    let (inputs, outputs): (Vec<&Field>, Vec<&Field>) =
        layout.fields.iter().partition(|f| f.compared.is_none());
    let _ = writeln!(t, "@200\n-inputs");
    inputs.iter().for_each(|field| signal(&mut t, "", field));
    for (title, fields) in
        [("outputs", outputs), ("inside", layout.inside.iter().map(|field| &field.value).collect())]
    {
        if !fields.is_empty() {
            let _ = writeln!(t, "@200\n-{title}, and what is expected");
        }
        for field in fields {
            signal(&mut t, "", field);
            signal(&mut t, "expected_", field);
        }
    }
    t
}

/// Bits of a line, most significant first: the slice of a field.
fn slice(layout: &Layout, field: &Field) -> String {
    let low = 4 * (layout.digits - field.first - field.digits());
    match field.port.bits() {
        1 => format!("word[{low}]"),
        bits => format!("word[{low} +: {bits}]"),
    }
}

fn range(field: &Field) -> String {
    match field.port.bits() {
        1 => String::new(),
        bits => format!("[{}:0] ", bits - 1),
    }
}

/// When an output is compared, as a Verilog condition on the expected flags.
fn condition(layout: &Layout, compared: Compared) -> &'static str {
    match (compared, layout.field("o_empty").is_some()) {
        (Compared::Always, _) => "",
        (Compared::WithRead, _) => "expected_v_ren",
        (Compared::WithState, true) => "expected_o_valid && !expected_o_empty",
        _ => "expected_o_valid",
    }
}

fn testbench(layout: &Layout, inside: &[Vec<String>], lines: u64, about: &str) -> String {
    let name = &layout.name;
    let (inputs, outputs): (Vec<&Field>, Vec<&Field>) =
        layout.fields.iter().partition(|f| f.compared.is_none());
    let vectors = vector_file_name(name);
    // A unit is one file without a list.
    let sources = match layout.clocked {
        true => format!("-f {name}.f"),
        false => format!("{name}.v"),
    };
    let mut t = String::new();
    let _ = write!(
        t,
        "// Self-checking testbench of {name}, Verilog-2005.\n\
         //\n\
         // In Icarus:    iverilog -g2005 -s {name}_tb -o {name}_tb.vvp {name}_tb.v {sources} && vvp -n {name}_tb.vvp\n\
         // In Verilator: verilator --binary --timing --top-module {name}_tb {name}_tb.v {sources} && obj_dir/V{name}_tb\n\
         //\n\
         // Run it in the folder of {vectors}: {about}.\n\
         // Another vector file: +vectors=FILE, with the parameter DEPTH at one more than its cycles or above.\n\
         // +waves writes {name}.vcd; GTKWave opens it with {name}_tb.gtkw. Verilator needs --trace for\n\
         // it, and GTKWave {name}_tb_verilator.gtkw.\n\
         // The last line is `TEST PASSED: N checks`, or `TEST FAILED: ...` with the first difference.\n\
         // Generated by flashd {}; yours like the design.\n\n\
         `default_nettype none\n\nmodule {name}_tb;\n    \
         // Lines of the vector file with its end mark.\n    parameter DEPTH = {};\n    \
         localparam WORD = {};\n\n    reg [WORD-1:0] vectors [0:DEPTH-1];\n    reg [WORD-1:0] word;\n    \
         reg [8*1024-1:0] file;\n    integer last, cycle, checks, results, element, first;\n    reg failed, done;\n\n",
        env!("CARGO_PKG_VERSION"),
        lines + 1,
        4 * layout.digits,
    );
    let _ = writeln!(t, "    // Inputs of the cycle.");
    if layout.clocked {
        let _ = writeln!(t, "    reg clk;");
    }
    for f in &inputs {
        let _ = writeln!(t, "    wire {}{} = {};", range(f), f.port.name, slice(layout, f));
    }
    let _ = writeln!(t, "\n    // Outputs, and what is expected of them.");
    for f in &outputs {
        let (range, name) = (range(f), &f.port.name);
        let _ = writeln!(t, "    wire {range}{name};");
        let _ = writeln!(t, "    wire {range}expected_{name} = {};", slice(layout, f));
    }
    let clk = layout.clocked.then(|| "clk".to_string());
    let connections: Vec<String> = clk
        .into_iter()
        .chain(layout.fields.iter().map(|f| f.port.name.clone()))
        .map(|p| format!("        .{p}({p})"))
        .collect();
    let _ = write!(t, "\n    {name} {INSTANCE} (\n{}\n    );\n\n", connections.join(",\n"));
    inside_wires(&mut t, layout, inside);
    for f in outputs.iter().copied().chain(layout.inside.iter().map(|f| &f.value)) {
        report(&mut t, f);
    }
    body(&mut t, layout, &outputs, &vectors);
    t
}

/// What is compared inside, and what is expected of it; of several cores the last one is in the highest bits.
fn inside_wires(t: &mut String, layout: &Layout, inside: &[Vec<String>]) {
    if layout.inside.is_empty() {
        return;
    }
    let _ = writeln!(
        t,
        "    // Inside the design, by its own names, and what is expected there in the cores that are due."
    );
    for (place, InsideField { due, value, .. }) in layout.inside.iter().enumerate() {
        let (name, bits) = (&value.port.name, range(value));
        let signals: Vec<&str> = inside.iter().rev().map(|core| core[place].as_str()).collect();
        let signals = match signals.as_slice() {
            [one] => one.to_string(),
            all => format!("{{{}}}", all.join(", ")),
        };
        let _ = writeln!(t, "    wire {bits}{name} = {signals};");
        let _ = writeln!(t, "    wire {bits}expected_{name} = {};", slice(layout, value));
        if let Some(due) = due {
            let _ = writeln!(t, "    wire {}{} = {};", range(due), due.port.name, slice(layout, due));
        }
    }
    t.push('\n');
}

/// The comparison of a quantity in every core.
fn compare_inside(t: &mut String, InsideField { due, value, .. }: &InsideField) {
    let (name, width, cores) = (&value.port.name, value.port.width, value.port.elements);
    let indent = "                ";
    for core in 0..cores {
        let of = |signal: &str, width: u32| match (cores, width) {
            (1, _) => signal.to_string(),
            (_, 1) => format!("{signal}[{core}]"),
            _ => format!("{signal}[{width}*{core} +: {width}]"),
        };
        let differs = format!("{} !== {}", of(name, width), of(&format!("expected_{name}"), width));
        let (begin, end) = match due {
            Some(due) => (format!("if ({}) begin ", of(&due.port.name, 1)), " end"),
            None => (String::new(), ""),
        };
        let report = match cores {
            1 => String::new(),
            _ => format!("begin first = {core}; "),
        };
        let reported = if cores == 1 { "" } else { " end" };
        let _ = writeln!(
            t,
            "{indent}{begin}checks = checks + 1; if (!failed && {differs}) {report}differs_{name};{reported}{end}"
        );
    }
}

/// A task that prints an output's difference, of a vector the first element that differs.
fn report(t: &mut String, f: &Field) {
    let (name, width) = (&f.port.name, f.port.width);
    let _ = writeln!(t, "    task differs_{name};\n        begin\n            failed = 1;");
    if f.port.elements == 1 {
        let _ = writeln!(
            t,
            "            $display(\"TEST FAILED: cycle %0d: {name}: expected %h, got %h\", cycle, expected_{name}, {name});"
        );
    } else if f.compared.is_none() {
        // Of a quantity inside, the core is known.
        let _ = writeln!(
            t,
            "            $display(\"TEST FAILED: cycle %0d: {name} of core %0d: expected %h, got %h\", cycle, first,\n                     \
             expected_{name}[first*{width} +: {width}], {name}[first*{width} +: {width}]);"
        );
    } else {
        let last = f.port.elements - 1;
        // A loop that Verilator 5.006 can unroll: it stops with an internal error at a `while` here.
        let _ = write!(
            t,
            "            for (element = {last}; element >= 0; element = element - 1)\n                \
             if ({name}[element*{width} +: {width}] !== expected_{name}[element*{width} +: {width}]) first = element;\n            \
             $display(\"TEST FAILED: cycle %0d: {name}[%0d]: expected %h, got %h\", cycle, first,\n                     \
             expected_{name}[first*{width} +: {width}], {name}[first*{width} +: {width}]);\n"
        );
    }
    let _ = writeln!(t, "        end\n    endtask\n");
}

fn body(t: &mut String, layout: &Layout, outputs: &[&Field], vectors: &str) {
    let mut compare = String::new();
    for rule in [Compared::Always, Compared::WithRead, Compared::WithResult, Compared::WithState] {
        let of_rule: Vec<&&Field> = outputs.iter().filter(|f| f.compared == Some(rule)).collect();
        if of_rule.is_empty() {
            continue;
        }
        let condition = condition(layout, rule);
        let indent = if condition.is_empty() { "" } else { "    " };
        if !condition.is_empty() {
            let _ = writeln!(compare, "                if ({condition}) begin");
        }
        if rule == Compared::WithResult || !layout.clocked {
            let _ = writeln!(compare, "                {indent}results = results + 1;");
        }
        let _ = writeln!(compare, "                {indent}checks = checks + {};", of_rule.len());
        for f in of_rule {
            let name = &f.port.name;
            let _ = writeln!(
                compare,
                "                {indent}if (!failed && {name} !== expected_{name}) differs_{name};"
            );
        }
        if !condition.is_empty() {
            let _ = writeln!(compare, "                end");
        }
    }
    for field in &layout.inside {
        compare_inside(&mut compare, field);
    }
    let name = &layout.name;
    let (start, edge, outside_reset) = match layout.clocked {
        true => ("        clk = 0;\n", "            #1 clk = 1;\n            #5 clk = 0;\n", "!rst"),
        false => ("", "            #6;\n", "!failed"),
    };
    let _ = write!(
        t,
        "    initial begin\n{start}        cycle = 0;\n        checks = 0;\n        results = 0;\n        \
         first = 0;\n        failed = 0;\n        done = 0;\n        word = 0;\n        \
         if ($test$plusargs(\"waves\")) begin\n            $dumpfile(\"{name}.vcd\");\n            \
         $dumpvars(0, {name}_tb);\n        end\n        \
         if (!$value$plusargs(\"vectors=%s\", file)) file = \"{vectors}\";\n        \
         $readmemh(file, vectors);\n        \
         // The end mark is all ones; a file that is missing, cut off or of another design has none where one can be.\n        \
         last = 0;\n        while (last < DEPTH && vectors[last] !== {{WORD{{1'b1}}}}) last = last + 1;\n        \
         if (last == DEPTH) begin\n            failed = 1;\n            \
         $display(\"TEST FAILED: no end mark in the first %0d lines of %0s\", DEPTH, file);\n        end\n        \
         while (!failed && cycle < last) begin\n            word = vectors[cycle];\n            #4;\n            \
         if (^word === 1'bx) begin\n                failed = 1;\n                \
         $display(\"TEST FAILED: cycle %0d: the line is not hexadecimal\", cycle);\n            \
         end else if ({outside_reset}) begin\n{compare}            end\n{edge}            \
         cycle = cycle + 1;\n        end\n        done = 1;\n        if (!failed) begin\n            \
         if (results == 0) $display(\"TEST FAILED: no result was compared\");\n            \
         else $display(\"TEST PASSED: %0d checks\", checks);\n        end\n    end\n\n    \
         // Nothing that the design does can take longer than its vectors.\n    initial begin\n        \
         #((DEPTH + 10) * 10);\n        if (!done) begin\n            \
         $display(\"TEST FAILED: cycle %0d: timeout\", cycle);\n            $finish(0);\n        end\n    end\n\
         endmodule\n\n`default_nettype wire\n"
    );
}

/// The layout as macros for C++: what `testbench/verilator/main.cpp` needs to know of a design.
fn ports_header(layout: &Layout) -> String {
    let mut t = format!(
        "// Ports of {} in a line of vectors, for the C++ harness. Generated by flashd {}; yours like the design.\n\n\
         #define DESIGN \"{0}\"\n#define HEADER \"{}\"\n#define DIGITS {}\n#define CLOCKED {}\n\n",
        layout.name,
        env!("CARGO_PKG_VERSION"),
        layout.header().trim_end(),
        layout.digits,
        layout.clocked as u8,
    );
    let mut list = |title: &str, fields: Vec<String>| {
        let _ = write!(t, "// {title}\n#define {}\n\n", fields.join(" \\\n    "));
    };
    let with_name = |head: &str, lines: Vec<String>| {
        let mut all = vec![head.to_string()];
        all.extend(lines);
        all
    };
    let clock = layout.clocked.then(|| "SIGNAL(clk, 1)".to_string());
    let signals = layout.fields.iter().map(|f| format!("SIGNAL({}, {})", f.port.name, f.port.bits()));
    list("name, bits", with_name("SIGNALS(SIGNAL)", clock.into_iter().chain(signals).collect()));
    let inputs = layout.fields.iter().filter(|f| f.compared.is_none());
    let inputs = inputs.map(|f| format!("PORT({}, {}, {})", f.port.name, f.first, f.digits())).collect();
    list("name, first digit, digits", with_name("INPUTS(PORT)", inputs));
    let output = |f: &Field| {
        let when = match f.compared {
            Some(Compared::WithRead) => "WITH_READ",
            Some(Compared::WithResult) => "WITH_RESULT",
            Some(Compared::WithState) => "WITH_STATE",
            _ => "ALWAYS",
        };
        format!(
            "PORT({}, {}, {}, {}, {}, {when})",
            f.port.name,
            f.first,
            f.digits(),
            f.port.width,
            f.port.elements
        )
    };
    let outputs = layout.fields.iter().filter(|f| f.compared.is_some()).map(output).collect();
    list(
        "name, first digit, digits, bits of an element, elements, when it is compared",
        with_name("OUTPUTS(PORT)", outputs),
    );
    for (flag, macro_name) in [
        ("rst", "RESET_DIGIT"),
        ("v_ren", "READ_DIGIT"),
        ("o_valid", "RESULT_DIGIT"),
        ("o_empty", "EMPTY_DIGIT"),
    ] {
        if let Some(field) = layout.field(flag) {
            let _ = writeln!(t, "#define {macro_name} {}", field.first);
        }
    }
    t
}
