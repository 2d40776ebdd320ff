//! The register port of a stream wrapper, and packets that are not as they should be.

use flashd_hwmodel::wrapper::{Access, RegisterName, Shape, registers};
use flashd_simulator::wrapper::{Beat, LiteAccess, Pace, Paces, WrapperBench};
use flashd_spec::bits::ones;
use flashd_spec::config::{ArrayConfig, Carried, CoreConfig, FlashDVariant, Values, WrapperConfig};
use flashd_spec::format::Format;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const OKAY: u64 = 0;
const SLVERR: u64 = 2;

fn config(masks: bool, beats: u32, values: Values) -> WrapperConfig {
    let core =
        CoreConfig { masks, ..CoreConfig::with_datapath(FlashDVariant::Fixed.into(), 8, Format::BF16) };
    let beat_bits = Some(8 * 16 / beats);
    WrapperConfig { beat_bits, values, ..WrapperConfig::new(ArrayConfig::new(core, 3)) }
}

fn bench(config: &WrapperConfig, pace: Pace) -> WrapperBench<'static> {
    WrapperBench::new(config, &Paces { lite: pace, ..Paces::free(1) }, 7).unwrap()
}

fn address(config: &WrapperConfig, name: RegisterName) -> u64 {
    registers(config).iter().find(|r| r.name == name).map(|r| r.offset.into()).unwrap()
}

fn read(bench: &mut WrapperBench, config: &WrapperConfig, name: RegisterName) -> u64 {
    let answer = bench.access(&[LiteAccess::Read(address(config, name))]).unwrap()[0];
    assert_eq!(answer.resp, OKAY);
    answer.data
}

fn write(bench: &mut WrapperBench, config: &WrapperConfig, name: RegisterName, data: u64) {
    let answer = bench.access(&[LiteAccess::Write(address(config, name), data, 15)]).unwrap()[0];
    assert_eq!(answer.resp, OKAY);
}

/// Written values are read back, byte by byte; bits that a register does not have read as zero.
#[test]
fn registers_hold_written_values() {
    for pace in Pace::ALL {
        let config = config(true, 1, Values::Requested);
        let mut bench = bench(&config, pace);
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let plain: Vec<_> = registers(&config)
            .into_iter()
            .filter(|r| r.access == Access::ReadWrite && r.name != RegisterName::Control)
            .collect();
        assert_eq!(plain.len(), 7);
        let mut held = vec![0u64; plain.len()];
        for _ in 0..100 {
            let i = rng.random_range(0..plain.len());
            let (data, strobes) = (rng.random::<u32>() as u64, rng.random_range(0..16));
            let mask = (0..4).filter(|b| strobes >> b & 1 == 1).map(|b| 0xff << (8 * b)).sum::<u64>();
            held[i] = (held[i] & !mask | data & mask) & ones(plain[i].width);
            // The two low bits of an address do not count.
            let at = u64::from(plain[i].offset) + rng.random_range(0..4);
            let answers =
                bench.access(&[LiteAccess::Write(at, data, strobes), LiteAccess::Read(at)]).unwrap();
            assert_eq!((answers[0].resp, answers[1].resp), (OKAY, OKAY));
            assert_eq!(answers[1].data, held[i], "{:?}, {pace:?}", plain[i].name);
        }
        for (r, held) in plain.iter().zip(held) {
            assert_eq!(read(&mut bench, &config, r.name), held, "{:?}", r.name);
        }
    }
}

/// Every address is answered. Addresses of no register, and writes to counters, get an error and have no effect.
#[test]
fn every_address_is_answered() {
    for (masks, values) in [(false, Values::All), (true, Values::Requested)] {
        let config = config(masks, 1, values);
        let mut bench = bench(&config, Pace::OneIn(2));
        let table = registers(&config);
        for at in (0..256u64).step_by(4) {
            let register = table.iter().find(|r| u64::from(r.offset) == at);
            let written = match register.map(|r| r.access) {
                Some(Access::ReadWrite | Access::ClearByOne | Access::Command) => OKAY,
                Some(Access::ReadOnly) | None => SLVERR,
            };
            let answers = bench.access(&[LiteAccess::Write(at, 0, 15), LiteAccess::Read(at)]).unwrap();
            assert_eq!(answers[0].resp, written, "write to {at:#x}");
            assert_eq!(answers[1].resp, if register.is_some() { OKAY } else { SLVERR }, "read of {at:#x}");
            assert_eq!(answers[1].data, 0, "{at:#x}");
        }
        let (_, o) = (0, &bench.outputs);
        assert!(!o.q_ready && !o.k_ready && !o.v_ready);
    }
}

/// Beats of vectors of `beats` beats, `tlast` on these of all beats.
fn stream(config: &WrapperConfig, beats: usize, last: &[usize]) -> Vec<Beat> {
    let words = Shape::of(config, Carried::Key).words;
    let beat = |i| Beat { data: vec![0x3f80; words], last: last.contains(&i), user: 0 };
    (0..beats).map(beat).collect()
}

/// Runs until nothing moves any more.
fn settle(bench: &mut WrapperBench) {
    for _ in 0..300 {
        bench.cycle().unwrap();
    }
}

/// Bits of STATUS by name, without BUSY.
fn errors(bench: &mut WrapperBench, config: &WrapperConfig) -> Vec<String> {
    let status = read(bench, config, RegisterName::Status);
    let table = registers(config);
    let fields = &table.iter().find(|r| r.name == RegisterName::Status).unwrap().fields;
    let set = fields.iter().filter(|f| f.name != "BUSY" && status >> f.bit & 1 == 1);
    set.map(|f| f.name.to_string()).collect()
}

/// One run of packets with these last beats; the errors that it sets. The run ends: results come and BUSY falls.
fn faults(
    config: &WrapperConfig,
    length: u64,
    q: (usize, &[usize]),
    k: (usize, &[usize]),
    v: (usize, &[usize]),
    results: usize,
) -> Vec<String> {
    let mut bench = bench(config, Pace::Always);
    let [q, k, v] = [q, k, v].map(|(beats, last)| stream(config, beats, last));
    let requested = config.values == Values::Requested;
    bench.stream(q, k, if requested { Vec::new() } else { v });
    for _ in 0..100 {
        if requested {
            bench.remember(stream(config, config.beats(Carried::Key) as usize, &[]));
        }
    }
    write(&mut bench, config, RegisterName::Length, length);
    write(&mut bench, config, RegisterName::Blocks, 2);
    write(&mut bench, config, RegisterName::Control, 1);
    settle(&mut bench);
    assert_eq!(bench.sent.len(), results * config.beats(Carried::Key) as usize, "results");
    assert_eq!(read(&mut bench, config, RegisterName::Status) & 1, 0, "still busy");
    assert_eq!(read(&mut bench, config, RegisterName::BlocksDone), 2);
    let set = errors(&mut bench, config);
    // Zeros clear nothing, ones clear their bit.
    write(&mut bench, config, RegisterName::Status, 0);
    assert_eq!(errors(&mut bench, config), set);
    write(&mut bench, config, RegisterName::Status, 0xffff_ffff);
    assert!(errors(&mut bench, config).is_empty());
    set
}

#[test]
fn packets_that_are_not_as_they_should_be() {
    for values in [Values::Requested, Values::All] {
        for beats in [1usize, 4] {
            let config = config(false, beats as u32, values);
            let n = beats;
            // Two blocks: three queries and one, four keys and two.
            let (q, k) = (&[3 * n - 1, 4 * n - 1][..], &[4 * n - 1, 6 * n - 1][..]);
            let right_q = (4 * n, q);
            let right_k = (6 * n, k);
            assert!(faults(&config, 0, right_q, right_k, right_k, 4).is_empty());
            // Five queries where there is room for three: the others are dropped.
            let long_q = (6 * n, &[5 * n - 1, 6 * n - 1][..]);
            assert_eq!(faults(&config, 0, long_q, right_k, right_k, 4), ["Q_LONG"]);
            // LENGTH 2: the first packet is cut.
            let four = (4 * n, &[2 * n - 1, 4 * n - 1][..]);
            assert_eq!(faults(&config, 2, right_q, right_k, four, 4), ["K_LONG"]);
            // LENGTH 4: the second one is too short.
            assert_eq!(faults(&config, 4, right_q, right_k, right_k, 4), ["K_SHORT"]);
            if values == Values::All {
                let long_v = (9 * n, &[7 * n - 1, 9 * n - 1][..]);
                assert_eq!(faults(&config, 0, right_q, right_k, long_v, 4), ["V_LONG"]);
                let short_v = (3 * n, &[n - 1, 3 * n - 1][..]);
                assert_eq!(faults(&config, 0, right_q, right_k, short_v, 4), ["V_SHORT"]);
            }
            if n > 1 {
                // The third query, the fourth key, the fourth value end a beat early.
                let cut_q = (4 * n - 1, &[3 * n - 2, 4 * n - 2][..]);
                assert_eq!(faults(&config, 0, cut_q, right_k, right_k, 4), ["Q_PARTIAL"]);
                let cut_k = (6 * n - 1, &[4 * n - 2, 6 * n - 2][..]);
                assert_eq!(faults(&config, 0, right_q, cut_k, right_k, 4), ["K_PARTIAL"]);
                if values == Values::All {
                    assert_eq!(faults(&config, 0, right_q, right_k, cut_k, 4), ["V_PARTIAL"]);
                }
            }
        }
    }
}

/// RUN 0 ends after the block that has begun; BLOCKS blocks and no more begin; a new start continues.
#[test]
fn start_and_stop() {
    let config = config(false, 1, Values::All);
    let mut bench = bench(&config, Pace::Always);
    let last: Vec<usize> = (0..200).map(|i| 3 * i + 2).collect();
    let data = || stream(&config, 600, &last);
    bench.stream(data(), data(), data());
    settle(&mut bench);
    assert!(bench.sent.is_empty() && bench.keys_taken.is_empty(), "moves before the start");
    assert_eq!(read(&mut bench, &config, RegisterName::Status), 0);
    write(&mut bench, &config, RegisterName::Blocks, 2);
    write(&mut bench, &config, RegisterName::Control, 1);
    settle(&mut bench);
    assert_eq!((bench.sent.len(), bench.keys_taken.len()), (6, 6));
    assert_eq!(read(&mut bench, &config, RegisterName::Control), 0, "stops by itself");
    write(&mut bench, &config, RegisterName::Control, 1);
    settle(&mut bench);
    assert_eq!((bench.sent.len(), bench.keys_taken.len()), (12, 12));
    assert_eq!(read(&mut bench, &config, RegisterName::BlocksDone), 4);
    assert_eq!(read(&mut bench, &config, RegisterName::Keys), 12);
    // Without a number it runs until it is stopped, and completes the block that has begun.
    write(&mut bench, &config, RegisterName::Blocks, 0);
    write(&mut bench, &config, RegisterName::Control, 1);
    for _ in 0..40 {
        bench.cycle().unwrap();
    }
    assert_eq!(read(&mut bench, &config, RegisterName::Status) & 1, 1, "busy");
    assert_eq!(read(&mut bench, &config, RegisterName::Control), 1);
    write(&mut bench, &config, RegisterName::Control, 0);
    settle(&mut bench);
    let (sent, keys) = (bench.sent.len(), bench.keys_taken.len());
    assert!(sent > 30 && sent == keys && sent % 3 == 0, "{sent} {keys}");
    assert!(bench.sent.last().unwrap().1.last);
    let done = read(&mut bench, &config, RegisterName::BlocksDone);
    assert_eq!(done as usize, sent / 3);
    assert_eq!(
        read(&mut bench, &config, RegisterName::ValuesRead)
            + read(&mut bench, &config, RegisterName::ValuesSkipped),
        keys as u64
    );
    // Counters do not change when idle, and can be cleared.
    let cycles = read(&mut bench, &config, RegisterName::Cycles);
    assert!(cycles > 0 && cycles == read(&mut bench, &config, RegisterName::Cycles));
    write(&mut bench, &config, RegisterName::Control, 2);
    for register in registers(&config).iter().filter(|r| r.access == Access::ReadOnly) {
        assert_eq!(read(&mut bench, &config, register.name), 0, "{:?}", register.name);
    }
}

/// A reset in the middle of a run clears everything.
#[test]
fn a_reset_starts_afresh() {
    for values in [Values::Requested, Values::All] {
        let config = config(true, 4, values);
        let mut bench = bench(&config, Pace::Always);
        let data = || stream(&config, 48, &[11, 23, 35, 47]);
        for round in 0..3 {
            if round > 0 {
                bench = self::bench(&config, Pace::Always);
            }
            let v = if values == Values::All { data() } else { Vec::new() };
            bench.stream(data(), data(), v);
            (0..12).for_each(|_| bench.remember(stream(&config, 4, &[])));
            write(&mut bench, &config, RegisterName::Control, 1);
            (0..17 + 13 * round).for_each(|_| bench.cycle().unwrap());
            bench.reset();
            bench.clear();
            bench.cycle().unwrap();
            let o = &bench.outputs;
            assert!(o.o.is_none() && o.vreq.is_none() && !o.q_ready && !o.k_ready && !o.v_ready);
            for register in registers(&config) {
                assert_eq!(read(&mut bench, &config, register.name), 0, "{:?}", register.name);
            }
            let v = if values == Values::All { data() } else { Vec::new() };
            bench.stream(data(), data(), v);
            (0..12).for_each(|_| bench.remember(stream(&config, 4, &[])));
            write(&mut bench, &config, RegisterName::Blocks, 4);
            write(&mut bench, &config, RegisterName::Control, 1);
            settle(&mut bench);
            assert_eq!(bench.sent.len(), 48);
            assert!(errors(&mut bench, &config).is_empty());
        }
    }
}
