//! Cores as blocks of designs that are written in RustHDL.

use crate::fifo;
use crate::verilog::{accepted, agree, both};
use flashd_rusthdl::Core;
use flashd_spec::config::{CoreConfig, Design};
use flashd_spec::format::Format;
use rust_hdl::prelude::{Block, generate_verilog};
use wellen::simple;

/// The example compares its result with the bit-exact model.
#[test]
fn fifos_in_front_of_a_core() {
    let (verilog, vcd) = fifo::run(&CoreConfig::new(Design::FlashD, 4, Format::BF16), 12).unwrap();
    // The kernels of the FIFOs add constants of 32 bits to narrower pointers.
    accepted("top", &verilog, &["-Wno-WIDTH"]);
    let mut wave = simple::read_from_reader(std::io::Cursor::new(vcd)).unwrap();
    let wanted =
        ["uut.core.o_valid", "uut.core.k", "uut.words.empty", "uut.core.core.rst", "uut.core.core.q_valid"];
    let h = wave.hierarchy();
    let signal =
        |wanted: &str| h.all_vars().find(|&var| h[var].full_name(h) == wanted).map(|var| h[var].signal_ref());
    let signals = wanted.map(|wanted| signal(wanted).unwrap_or_else(|| panic!("no {wanted}")));
    wave.load_signals(&signals);
    for (name, signal) in wanted.into_iter().zip(signals) {
        assert!(wave.get_signal(signal).unwrap().time_indices().len() > 1, "{name} never moves");
    }
}

#[test]
fn widths_and_ports_are_checked() {
    let core = CoreConfig::new(Design::FlashD, 4, Format::BF16);
    let problem = |error: Option<flashd_spec::config::ConfigError>| error.unwrap().to_string();
    let wide = problem(Core::<32, 64>::new(&core).err());
    assert!(wide.contains("q of flash_d_bf16_d4 has 64 bits, and Core<32, 64> has 32"), "{wide}");
    let masks = problem(Core::<64, 64>::new(&CoreConfig { masks: true, ..core }).err());
    assert!(masks.contains("no port k_mask"), "{masks}");
}

#[test]
fn cores_of_several_kinds_are_printed() {
    for design in Design::ALL {
        let mut core = Core::<256, 256>::new(&CoreConfig::new(design, 16, Format::BF16)).unwrap();
        core.connect_all();
        accepted("top", &generate_verilog(&core), &[]);
    }
    let config = CoreConfig::new(Design::FlashD, 4, Format::FP8_E4M3);
    let mut core = Core::<32, 32>::new(&config).unwrap();
    core.connect_all();
    let (text, (circuit, ours, _)) = (generate_verilog(&core), both(&config));
    accepted("top", &text, &[]);
    agree(&circuit, &ours, &text, ["top", "clock"]);
}
