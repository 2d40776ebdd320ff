//! The inside of a memory.

use super::flat::{Bus, ENABLE};
use flashd_hwmodel::netlist::range;

/// The Verilog of a memory with these ports. Synthesis infers a memory from an array with a synchronous read.
pub(super) fn text(ports: &[Bus]) -> String {
    let bits = |name: &str| ports.iter().find(|port| port.name == name).map_or(0, Bus::bits);
    let (word, last) = (range(bits("data")), (1u64 << bits("write_address")) - 1);
    // A memory whose clock is gated holds while the enable is low.
    let moves = if bits(ENABLE) > 0 { format!(" & {ENABLE}") } else { String::new() };
    format!(
        "    reg {word}words [0:{last}];\n    reg {word}data_q;\n\n    always @(posedge clk) begin\n        \
         if (write{moves}) begin\n            words[write_address] <= write_data;\n        end\n        \
         if (read{moves}) begin\n            data_q <= words[read_address];\n        end\n    end\n\n    \
         assign data = data_q;\n"
    )
}

#[cfg(test)]
mod tests {
    use crate::emit::emit;
    use crate::prefix::Prefix;
    use flashd_hwmodel::rtl::{Circuit, Module, Tag};
    use flashd_hwmodel::unit::memory::{ReadPort, WritePort, memory};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use std::fmt::Write;
    use std::fs;
    use std::process::Command;

    const ADDRESS: u32 = 3;
    const WIDTH: u32 = 20;
    const WORDS: usize = 2;

    /// A memory of 8 places of two words of 20 bits behind a clock gate.
    fn design() -> Circuit {
        let mut bench = Module::bench();
        let [ce, write, read] = [(); 3].map(|()| bench.open(1));
        let [to, from] = [(); 2].map(|()| bench.open(ADDRESS));
        let data = bench.opens(WORDS, WIDTH);
        bench.part("top", Tag::module("memory_top", "A memory that its clock stops."), |m| {
            m.clock();
            let [ce, write, read] = m.input_each([("moves", ce), ("write", write), ("read", read)]);
            let [to, from] = m.input_each([("to", to), ("from", from)]);
            let data = m.inputs("x", &data);
            let y = m.gated("gate", ce, |m| {
                let write = WritePort { write, address: to, data: &data };
                memory(m, "memory", &write, &ReadPort { read, address: from })
            });
            m.outputs("y", &y)
        });
        bench.into_circuit()
    }

    /// Icarus runs the text on the stimuli of the description, which has written every place before it reads.
    #[test]
    fn the_text_does_what_the_description_does() {
        const SEED: u64 = 0x3e3;
        let mut circuit = design();
        let emitted = emit(&circuit, &Prefix::default()).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(SEED);
        let mut bench = String::new();
        for cycle in 0..500u64 {
            let fills = cycle < 1 << ADDRESS;
            let moves = u64::from(fills || rng.random_ratio(3, 4));
            let (write, read) = (u64::from(fills || rng.random()), u64::from(!fills && rng.random()));
            let to = if fills { cycle } else { rng.random_range(0..1 << ADDRESS) };
            let from = if rng.random() { to } else { rng.random_range(0..1 << ADDRESS) };
            let x: Vec<u64> = (0..WORDS).map(|_| rng.random_range(0..1 << WIDTH)).collect();
            let inputs = [("moves", moves), ("write", write), ("read", read), ("to", to), ("from", from)];
            inputs.iter().for_each(|&(port, value)| circuit.set(port, value));
            circuit.set_words("x", &x);
            circuit.settle();
            circuit.clock();
            circuit.settle();
            let y: Vec<u64> = circuit.words("y").collect();
            inputs.iter().for_each(|(port, value)| _ = write!(bench, "{port} = {value}; "));
            let [x, y] = [x, y].map(|words| words[1] << WIDTH | words[0]);
            let _ = writeln!(bench, "x = 40'd{x}; #1 clk = 1; #1 clk = 0; #1");
            if cycle > 20 {
                let _ = writeln!(
                    bench,
                    "if (y !== 40'd{y}) begin $display(\"cycle {cycle}: %h\", y); $finish; end"
                );
            }
        }
        let modules: String = emitted.modules.iter().map(|module| module.text.as_str()).collect();
        assert!(modules.contains("reg [39:0] words [0:7];"), "{modules}");
        let bench = format!(
            "{modules}\nmodule bench;\nreg clk = 0, moves, write, read;\nreg [2:0] to, from;\nreg [39:0] x;\nwire [39:0] y;\n\
             {} top (.clk(clk), .moves(moves), .write(write), .read(read), .to(to), .from(from), .x(x), .y(y));\n\
             initial begin\n{bench}$display(\"alike\"); end\nendmodule\n",
            emitted.top()
        );
        let folder = tempfile::tempdir().unwrap();
        let (source, program) = (folder.path().join("bench.v"), folder.path().join("bench.vvp"));
        fs::write(&source, bench).unwrap();
        let compiled =
            Command::new("iverilog").args(["-g2005", "-o"]).args([&program, &source]).output().unwrap();
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        let run = Command::new("vvp").arg("-n").arg(&program).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&run.stdout), "alike\n", "seed {SEED:#x}");
    }
}
