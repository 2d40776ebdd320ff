//! RustHDL's Verilog: Icarus and Verilator accept it, and Yosys proves that it does what ours does.

use flashd_generator::{Emission, machine_files, register_names};
use flashd_hwmodel::netlist::{is_keyword, range};
use flashd_hwmodel::rtl::Circuit;
use flashd_hwmodel::vectors;
use flashd_rusthdl::{Part, verilog};
use flashd_spec::config::{ArrayConfig, CoreConfig, Design, SplitConfig, WrapperConfig};
use flashd_spec::format::Format;
use flashd_spec::machine::Machine;
use rust_hdl::prelude::Atom;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The shipped cores at another length.
fn shipped(d: usize) -> impl Iterator<Item = CoreConfig> {
    CoreConfig::shipped().into_iter().filter(|core| core.d == 16).map(move |core| CoreConfig { d, ..core })
}

/// Both simulators accept a text, and no port of it is a keyword.
pub fn accepted(top: &str, text: &str, lint: &[&str]) {
    let ports = text.lines().filter_map(|line| line.trim().strip_prefix("module ")).flat_map(|module| {
        let ports = module.split_once('(').map_or("", |(_, ports)| ports);
        ports.trim_end_matches(");").split(',').map(str::trim)
    });
    let keywords: Vec<&str> = ports.filter(|port| is_keyword(port)).collect();
    assert!(keywords.is_empty(), "{top}: {keywords:?}");
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("top.v"), text).unwrap();
    run(folder.path(), "iverilog", &["-g2005", "-s", top, "-o", "top.vvp", "top.v"]);
    // Kernels of RustHDL are blocks with many assignments, and the latch of a clock gate is meant.
    let options = ["--lint-only", "-Wno-UNOPTFLAT", "-Wno-LATCH", "--top-module", top, "top.v"];
    run(folder.path(), "verilator", &[&options, lint].concat());
}

fn run(folder: &Path, tool: &str, arguments: &[&str]) -> String {
    let done = Command::new(tool).current_dir(folder).args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    let tail = said.lines().rev().take(15).collect::<Vec<_>>().join("\n");
    assert!(done.status.success(), "{tool} {arguments:?}: {tail}");
    said
}

fn printed(machine: impl Into<Machine>) {
    let circuit = flashd_hwmodel::build(&machine.into()).unwrap();
    accepted(circuit.name(), &verilog(&circuit).unwrap(), &[]);
}

#[test]
fn simulators_accept_every_kind_of_design() {
    shipped(4).for_each(|core| printed(&core));
    for design in Design::ALL {
        let core = CoreConfig::new(design, 4, Format::BF16);
        let array = ArrayConfig::new(CoreConfig { masks: true, partial: true, ..core.clone() }, 2);
        printed(&array);
        printed(SplitConfig::new(core.clone(), 2));
        printed(WrapperConfig::new(ArrayConfig::new(core, 2)));
    }
}

#[test]
#[ignore = "minutes"]
fn simulators_accept_long_vectors() {
    shipped(16).chain(shipped(64)).for_each(|core| printed(&core));
}

/// The names of registers in RustHDL's Verilog with their widths, in the order of the description.
fn registers(part: &Part, path: &str, found: &mut Vec<(String, u32)>) {
    match part.register() {
        Some(q) => found.push((format!("{path}.value"), q.bits() as u32)),
        None => {
            part.parts().iter().for_each(|part| registers(part, &format!("{path}.{}", part.name()), found))
        }
    }
}

/// Bit `bit` of a register in our Verilog, by the name that `splitnets` gives its wire.
fn bit_of(name: &str, bit: u32, width: u32) -> String {
    let (wire, low) = match name.strip_suffix(']').and_then(|name| name.split_once('[')) {
        None if width == 1 => return name.to_string(),
        None => (name, 0),
        Some((wire, slice)) => match slice.split_once("+:") {
            None => (wire, slice.trim().parse().unwrap()),
            Some((low, _)) => {
                let (bits, element) = low.split_once('*').unwrap();
                (wire, bits.trim().parse::<u32>().unwrap() * element.trim().parse::<u32>().unwrap())
            }
        },
    };
    format!("{wire}[{}]", low + bit)
}

fn agree_in_icarus(machine: impl Into<Machine>) {
    let (circuit, ours, rusthdl) = both(machine);
    let top = format!("\nmodule {} (", circuit.name());
    let clock = clock(&circuit).to_string();
    agree(&circuit, &ours, &rusthdl.replace(&top, "\nmodule rusthdl ("), ["rusthdl", &clock]);
}

fn clock(circuit: &Circuit) -> &str {
    circuit.structure().clock.map_or("", |port| &circuit.structure().ports[port].name)
}

/// Icarus gives both texts of a machine the same random inputs, resets among them, and compares all outputs in every cycle, those without
/// unknown bits in ours. `top` and `its_clock` are names in the other text.
pub fn agree(circuit: &Circuit, ours: &str, theirs: &str, [top, its_clock]: [&str; 2]) {
    let (name, clock, ports) = (circuit.name(), clock(circuit), vectors::ports(circuit));
    let [mut declared, mut drive, mut compare] = [const { String::new() }; 3];
    let pins = |suffix: &str, its_clock: &str| {
        let pin = |port: &vectors::PortShape| match &*port.name {
            name if name == clock => format!(".{its_clock}({clock})"),
            name => format!(".{name}({name}{})", if port.output { suffix } else { "" }),
        };
        ports.iter().map(pin).collect::<Vec<_>>().join(", ")
    };
    for port in &ports {
        let (bits, port_name) = (port.bits(), &port.name);
        if port.output {
            let _ = writeln!(declared, "wire {0}{port_name}_a, {port_name}_b;", range(bits as u32));
            let _ = writeln!(
                compare,
                "if (^{port_name}_a !== 1'bx) begin compared = compared + 1; if ({port_name}_a !== {port_name}_b) begin \
                 $display(\"%0d: {port_name} %h %h\", cycle, {port_name}_a, {port_name}_b); $finish; end end"
            );
        } else {
            let _ = writeln!(declared, "reg {}{port_name} = 0;", range(bits as u32));
            let value = match port_name.as_str() {
                name if name == clock => continue,
                "rst" => "cycle < 5 || $urandom % 200 == 0".to_string(),
                "aresetn" => "cycle >= 5 && $urandom % 200 != 0".to_string(),
                _ => format!("{{{}}}", vec!["$urandom"; bits.div_ceil(32)].join(", ")),
            };
            let _ = writeln!(drive, "{port_name} = {value};");
        }
    }
    let bench = format!(
        "module bench;\ninteger cycle, compared = 0;\n{declared}{name} a ({});\n{top} b ({});\ninitial begin\n\
         for (cycle = 0; cycle < 600; cycle = cycle + 1) begin\n{drive}#1;\n{compare}{clock} = 1; #1; {clock} = 0; #1;\nend\n\
         $display(\"equal: %0d\", compared);\nend\nendmodule\n",
        pins("_a", clock),
        pins("_b", its_clock)
    );
    let folder = tempfile::tempdir().unwrap();
    for (file, text) in [("ours.v", ours), ("theirs.v", theirs), ("bench.v", &bench)] {
        fs::write(folder.path().join(file), text).unwrap();
    }
    run(folder.path(), "iverilog", &["-g2005", "-s", "bench", "-o", "b", "bench.v", "ours.v", "theirs.v"]);
    let said = run(folder.path(), "vvp", &["-n", "b"]);
    let compared = said.lines().last().and_then(|line| line.strip_prefix("equal: ")?.parse::<u32>().ok());
    assert!(compared.is_some_and(|compared| compared > 1_000), "{name}: {said}");
}

#[test]
fn arrays_and_wrappers_agree_with_our_verilog_in_icarus() {
    let core = |design| CoreConfig::new(design, 3, Format::FP8_E4M3);
    agree_in_icarus(SplitConfig::new(core(Design::Fa2), 2));
    agree_in_icarus(ArrayConfig::new(CoreConfig { masks: true, ..core(Design::Fa2) }, 2));
    agree_in_icarus(WrapperConfig::new(ArrayConfig::new(core(Design::FlashD), 2)));
}

/// Yosys's own multipliers add their rows in the order of the names of wires, and no solver proves two orders equal.
const MULTIPLIER: &str = "
(* techmap_celltype = \"$mul\" *)
module rows (A, B, Y);
    parameter A_SIGNED = 0, B_SIGNED = 0, A_WIDTH = 1, B_WIDTH = 1, Y_WIDTH = 1;
    localparam ROWS = B_SIGNED ? Y_WIDTH : B_WIDTH;
    input [A_WIDTH-1:0] A;
    input [B_WIDTH-1:0] B;
    output [Y_WIDTH-1:0] Y;
    wire [Y_WIDTH-1:0] a = A_SIGNED ? $signed(A) : A;
    wire [Y_WIDTH-1:0] b = B_SIGNED ? $signed(B) : B;
    wire [Y_WIDTH*(ROWS+1)-1:0] sums;
    assign sums[Y_WIDTH-1:0] = 0;
    genvar i;
    generate for (i = 0; i < ROWS; i = i + 1)
        assign sums[(i+1)*Y_WIDTH +: Y_WIDTH] = sums[i*Y_WIDTH +: Y_WIDTH] + (b[i] ? a << i : {Y_WIDTH{1'b0}});
    endgenerate
    assign Y = sums[ROWS*Y_WIDTH +: Y_WIDTH];
endmodule
";

/// Yosys proves with ABC that both texts compute the same outputs and the same D inputs of all registers, which it matches by name.
fn proved(circuit: &Circuit, ours: &str, rusthdl: &str) -> Result<(), String> {
    let name = circuit.name();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("ours.v"), ours).unwrap();
    fs::write(folder.path().join("rusthdl.v"), rusthdl).unwrap();
    let mut theirs = Vec::new();
    registers(&Part::top(circuit.structure()).unwrap(), "top", &mut theirs);
    let names = register_names(circuit, "dut").map_err(|e| e.to_string())?;
    let mut script = format!(
        "read_verilog rusthdl.v\nhierarchy -top {name}\nrename -top new\nproc -norom\nflatten\nopt_clean\nsplitnets\ncd new\n"
    );
    for (ours, (theirs, width)) in names.iter().zip(&theirs) {
        for bit in 0..*width {
            let theirs = if *width == 1 { theirs.clone() } else { format!("{theirs}[{bit}]") };
            let ours = bit_of(ours.strip_prefix("dut.").unwrap(), bit, *width);
            let _ = writeln!(script, "rename \\{theirs} \\{ours}");
        }
    }
    let _ = write!(
        script,
        "cd ..\ndesign -stash new\nread_verilog ours.v\nhierarchy -top {name}\nrename -top old\nproc -norom\nflatten\nopt_clean\nsplitnets\n\
         design -stash old\ndesign -copy-from old -as old old\ndesign -copy-from new -as new new\ndffunmap\nexpose -evert-dff -shared old new\n\
         miter -equiv -flatten old new miter\nhierarchy -top miter\nopt_clean -purge\nselect -assert-none t:*dff* t:*latch* t:$mem*\n\
         wreduce t:$mul\ntechmap -map mul.v\ntechmap\naigmap\nwrite_aiger miter.aig\n"
    );
    fs::write(folder.path().join("prove.ys"), script).unwrap();
    fs::write(folder.path().join("mul.v"), MULTIPLIER).unwrap();
    run(folder.path(), "yosys", &["-q", "prove.ys"]);
    let said = run(folder.path(), "yosys-abc", &["-q", "&r miter.aig; &cec -m"]);
    if said.contains("Networks are equivalent") { Ok(()) } else { Err(said) }
}

pub fn both(machine: impl Into<Machine>) -> (Circuit, String, String) {
    let machine = machine.into();
    let circuit = flashd_hwmodel::build(&machine).unwrap();
    let ours = machine_files(machine, &Emission::default()).unwrap().swap_remove(0).text;
    let rusthdl = verilog(&circuit).unwrap();
    (circuit, ours, rusthdl)
}

fn prove(config: &CoreConfig) {
    let started = std::time::Instant::now();
    let (circuit, ours, rusthdl) = both(config);
    proved(&circuit, &ours, &rusthdl).unwrap_or_else(|said| panic!("{}: {said}", config.name()));
    println!("{}: {:.1} s", config.name(), started.elapsed().as_secs_f64());
}

#[test]
fn a_core_is_proved_equal_to_our_verilog() {
    prove(&CoreConfig::new(Design::Fa2, 2, Format::FP8_E4M3));
}

#[test]
#[ignore = "minutes"]
fn shipped_cores_are_proved_equal_to_our_verilog() {
    shipped(4).for_each(|config| prove(&config));
}

#[test]
fn a_changed_text_is_not_proved() {
    let (circuit, ours, rusthdl) = both(CoreConfig::new(Design::FlashD, 2, Format::FP8_E4M3));
    let changed = rusthdl.replacen("value <= rst ? 1'h0", "value <= rst ? 1'h1", 1);
    assert_ne!(rusthdl, changed);
    assert!(proved(&circuit, &ours, &changed).is_err());
}
