//! FIFOs of rust-hdl's widgets in front of a core: RustHDL simulates and prints the whole. Writes `fifo.v` and `fifo.vcd`.

use flashd_golden::{Head, Model, encode};
use flashd_rusthdl::Core;
use flashd_spec::config::{CoreConfig, Design};
use flashd_spec::format::Format;
use rust_hdl::prelude::*;

/// Words wait in FIFOs: the query (bit 65 is high), keys (bit 64 is high in the last one), and a value with each key, read after its step.
#[derive(LogicBlock, Default)]
pub struct Buffered {
    clock: Signal<In, Clock>,
    rst: Signal<In, Bit>,
    word: Signal<In, Bits<66>>,
    value: Signal<In, Bits<64>>,
    write: Signal<In, Bit>,
    words: SynchronousFIFO<Bits<66>, 4, 5, 1>,
    values: SynchronousFIFO<Bits<64>, 4, 5, 1>,
    step: DFF<Bit>,
    core: Core<64, 64>,
}

impl Logic for Buffered {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, words, values, step, core);
        self.words.data_in.next = self.word.val();
        self.words.write.next = self.write.val();
        self.words.read.next = !self.words.empty.val();
        self.values.data_in.next = self.value.val();
        self.values.write.next = self.write.val() & !self.word.val().get_bit(65);
        self.step.d.next = self.core.v_step.val();
        self.values.read.next = self.step.q.val();
        self.core.rst.next = self.rst.val();
        self.core.q.next = self.words.data_out.val().get_bits::<64>(0);
        self.core.q_valid.next = !self.words.empty.val() & self.words.data_out.val().get_bit(65);
        self.core.k.next = self.words.data_out.val().get_bits::<64>(0);
        self.core.k_valid.next = !self.words.empty.val() & !self.words.data_out.val().get_bit(65);
        self.core.k_last.next = self.words.data_out.val().get_bit(64);
        self.core.v.next = self.values.data_out.val();
    }
}

/// Simulates a query with some keys and compares the result with the bit-exact model; returns the Verilog and the VCD.
pub fn run(config: &CoreConfig, keys: usize) -> Result<(String, Vec<u8>), Box<dyn std::error::Error>> {
    let k: Vec<u64> = (0..4 * keys).map(|i| encode(config.format, (i * 7 % 11) as f64 / 4.0 - 1.0)).collect();
    let [q, v] = [k[4..8].to_vec(), k.iter().rev().copied().collect()];
    let expected = Model::new(config).run(Head::new(&q, &k, &v, &[keys])).remove(0).o;
    let mut design = Buffered { core: Core::new(config)?, ..Buffered::default() };
    design.connect_all();
    let verilog = generate_verilog(&design);
    let packed = |words: &[u64]| Bits::<66>::from(words.iter().rev().fold(0, |all, word| all << 16 | word));
    let (mut simulation, mut vcd) = (Simulation::new(), Vec::new());
    simulation.add_clock(500, |x: &mut Box<Buffered>| x.clock.next = !x.clock.val());
    simulation.add_testbench(move |mut sim: Sim<Buffered>| {
        let mut x = sim.wait(250, sim.init()?)?;
        for cycle in 0..keys + 100 {
            (x.rst.next, x.write.next) = (cycle < 2, (2..keys + 3).contains(&cycle));
            x.word.next = packed(&q).replace_bit(65, true);
            if let Some(key) = cycle.checked_sub(3).filter(|key| *key < keys) {
                x.word.next = packed(&k[4 * key..][..4]).replace_bit(64, key + 1 == keys);
                x.value.next = bit_cast(packed(&v[4 * key..][..4]));
            }
            x = sim.wait(1000, x)?;
            if x.core.o_valid.val() {
                sim_assert_eq!(sim, bit_cast::<66, 64>(x.core.o.val()), packed(&expected), x);
                return sim.done(x);
            }
        }
        sim.halt(x)
    });
    simulation.run_traced(Box::new(design), u64::MAX, &mut vcd).map_err(|e| format!("{e:?}"))?;
    Ok((verilog, vcd))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (verilog, vcd) = run(&CoreConfig::new(Design::FlashD, 4, Format::BF16), 12)?;
    std::fs::write("fifo.v", verilog)?;
    Ok(std::fs::write("fifo.vcd", vcd)?)
}
