//! Keys per second of every engine on one stream; `scripts/bench` runs it.
//!
//! `throughput CONFIG.json [--queries N] [--keys N] [--repeats N] [--window SECONDS] [--seed N] [--threads N]
//! [--stream FILE] [--engines NAME,...] [--isa AVX2] [--verilator PROGRAM,SECONDS,VERSION]...` prints one JSON object.
//! `throughput --report FILE` prints the table of a file of such lines, and `--report FILE --out FILE` also writes them with date
//! and machine.
//!
//! | engine | |
//! | --- | --- |
//! | `vector`, `model` | the bit-exact model in vectors, and one step at a time |
//! | `plain` | FlashAttention-2 in f32 with the same loops |
//! | `rtl` | the compiled engine on the RTL, driven like Verilator's |
//! | `beside` | the same with a batch of 64 stimuli, which share the queries |
//! | `lockstep` | the compiled engine with the comparison of every cycle |
//! | `reference` | the reference simulator of the RTL |
//!
//! A measurement repeats an engine until the window is over (0.3 s by default); Verilator's bench runs once. Times are per run,
//! the minimum of the repeated measurements: processor seconds with one thread, clock seconds with more. `--stream` writes the
//! stream for the bench in `testbench/bench`, and `--verilator` runs that bench on it. The hash covers all results; engines whose
//! hashes differ end the program.

mod measure;
mod report;
mod rtl;

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        None => Err("the first argument is a core's configuration, as in configs/, or --report".into()),
        Some("--report") => report::run(&arguments[1..]),
        Some(_) => {
            println!("{}", serde_json::to_string(&measure::run(arguments)?)?);
            Ok(())
        }
    }
}
