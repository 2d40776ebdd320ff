//! The memory at its AXI4 port and the rules of the port, with a random master: right runs pass, and each rule is broken once and found.

use flashd_simulator::unit::{
    AxiRules, BrokenRule, Burst, DECERR, ErrorRange, MasterSide, Memory, MemoryPort, MemorySide,
    MemoryTiming, ReadBeat, SLVERR, WriteAnswer, WriteBeat,
};
use flashd_simulator::wrapper::Pace;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::VecDeque;
use std::ops::Range;

/// Reads come from here, and nothing is written here.
const READ: Range<u64> = 0x0f00..0x3000;
/// Writes go here.
const WRITTEN: Range<u64> = 0x8000..0xa000;
const IN_FLIGHT: u64 = 64;

/// A master that reads and writes at random, and compares all that it reads.
struct RandomMaster {
    rng: ChaCha8Rng,
    bytes: u64,
    side: MasterSide,
    /// Bursts of reads under way by ID, and beats that have come.
    reads: Vec<VecDeque<(Burst, u64)>>,
    /// Data of bursts whose addresses were or will be sent.
    data: VecDeque<WriteBeat>,
    addresses: VecDeque<Burst>,
    unanswered: VecDeque<Burst>,
    due: Memory,
    left: u32,
    beats: u64,
    errors: u64,
}

impl RandomMaster {
    fn new(bits: u32, bursts: u32, due: Memory, seed: u64) -> RandomMaster {
        RandomMaster {
            rng: ChaCha8Rng::seed_from_u64(seed),
            bytes: u64::from(bits / 8),
            side: MasterSide::default(),
            reads: vec![VecDeque::new(); 5],
            data: VecDeque::new(),
            addresses: VecDeque::new(),
            unanswered: VecDeque::new(),
            due,
            left: bursts,
            beats: 0,
            errors: 0,
        }
    }

    /// A burst that starts anywhere and does not cross a boundary.
    fn burst(&mut self, region: Range<u64>, id: u64) -> Burst {
        let bytes = 1 << self.rng.random_range(0..=self.bytes.ilog2());
        let address = self.rng.random_range(region.start..region.end);
        let first = address & !(bytes - 1);
        let most = ((first & !4095) + 4096 - first) / bytes;
        let most = most.min((region.end - first).div_ceil(bytes));
        Burst::new(id, address, self.rng.random_range(1..=most.min(20)), bytes)
    }

    /// What it drives in a cycle.
    fn drive(&mut self) -> MasterSide {
        let under_way: u64 = self.reads.iter().flatten().map(|(burst, came)| burst.len + 1 - came).sum();
        if self.side.ar.is_none()
            && self.left > 0
            && under_way + 20 <= IN_FLIGHT
            && self.rng.random_ratio(1, 2)
        {
            self.left -= 1;
            let id = self.rng.random_range(0..5);
            self.side.ar = Some(self.burst(READ, id));
        }
        if self.addresses.len() + self.data.len() < 30 && self.left > 0 && self.rng.random_ratio(1, 4) {
            self.left -= 1;
            let burst = self.burst(WRITTEN, 0);
            self.addresses.push_back(burst);
            (0..=burst.len).for_each(|n| {
                let beat = self.beat(&burst, n);
                self.data.push_back(beat);
            });
        }
        // Addresses and data go their own ways.
        if self.side.aw.is_none() && self.rng.random() {
            self.side.aw = self.addresses.pop_front();
            self.unanswered.extend(self.side.aw);
        }
        if self.side.w.is_none() && self.rng.random() {
            self.side.w = self.data.pop_front();
        }
        self.side.rready = self.rng.random_ratio(3, 4);
        self.side.bready = self.rng.random();
        self.side.clone()
    }

    /// A beat of a burst of writes, with random strobes, which goes into the memory that is due.
    fn beat(&mut self, burst: &Burst, n: u64) -> WriteBeat {
        let range = burst.beat(n);
        let base = range.start & !(self.bytes - 1);
        let data: Vec<u64> = (0..self.bytes / 8).map(|_| self.rng.random()).collect();
        let mut strobes = 0;
        for address in range {
            let lane = address - base;
            if self.rng.random_ratio(3, 4) {
                strobes |= 1 << lane;
                self.due.set(address, (data[(lane / 8) as usize] >> (lane % 8 * 8)) as u8);
            }
        }
        WriteBeat { data, strobes, last: n == burst.len }
    }

    /// Takes what came.
    fn advance(&mut self, memory: &MemorySide) {
        if let (Some(beat), true) = (&memory.r, self.side.rready) {
            let queue = &mut self.reads[beat.id as usize];
            let (burst, came) = queue.front_mut().expect("a read under way");
            let range = burst.beat(*came);
            let base = range.start & !(self.bytes - 1);
            for address in range {
                let lane = address - base;
                let byte = (beat.data[(lane / 8) as usize] >> (lane % 8 * 8)) as u8;
                assert_eq!(byte, self.due.byte(address), "{burst:x?}, beat {came}");
            }
            assert_eq!(beat.last, *came == burst.len);
            *came += 1;
            self.beats += 1;
            self.errors += u64::from(beat.resp != 0);
            if beat.last {
                queue.pop_front();
            }
        }
        if let (Some(answer), true) = (&memory.b, self.side.bready) {
            let burst = self.unanswered.pop_front().expect("a write without an answer");
            assert_eq!(answer.id, burst.id);
            self.errors += u64::from(answer.resp != 0);
        }
        if let Some(burst) = self.side.ar.filter(|_| memory.arready) {
            self.reads[burst.id as usize].push_back((burst, 0));
            self.side.ar = None;
        }
        self.side.aw = self.side.aw.filter(|_| !memory.awready);
        if memory.wready && self.side.w.take().is_some() {
            self.beats += 1;
        }
    }

    fn is_idle(&self) -> bool {
        let reads = self.reads.iter().all(VecDeque::is_empty) && self.side.ar.is_none();
        let offers = self.side.aw.is_none() && self.side.w.is_none();
        let writes = self.addresses.is_empty() && self.data.is_empty() && self.unanswered.is_empty();
        self.left == 0 && reads && offers && writes
    }
}

fn filled(seed: u64) -> Memory {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut memory = Memory::default();
    READ.for_each(|address| memory.set(address, rng.random()));
    memory
}

/// A run of a random master; `break_rule` changes the signals of a cycle on their way to the check, and says when it has.
fn broken(
    bits: u32,
    timing: MemoryTiming,
    seed: u64,
    break_rule: &mut dyn FnMut(&mut MemorySide, &mut MasterSide) -> bool,
) -> Result<RandomMaster, BrokenRule> {
    let memory = filled(seed);
    let mut master = RandomMaster::new(bits, 60, memory.clone(), seed);
    let mut port = MemoryPort::new(memory, bits, timing, seed);
    let mut rules = AxiRules::new(bits, IN_FLIGHT);
    let mut cycle = 0;
    while !(master.is_idle() && port.is_idle()) {
        let memory_side = port.offer(cycle);
        let master_side = master.drive();
        let (mut memory_seen, mut master_seen) = (memory_side.clone(), master_side.clone());
        break_rule(&mut memory_seen, &mut master_seen);
        rules.check(cycle, &memory_seen, &master_seen)?;
        master.advance(&memory_side);
        port.advance(cycle, &memory_side, &master_side);
        cycle += 1;
        assert!(cycle < 200_000, "the run hangs");
    }
    rules.check_idle(cycle)?;
    assert_eq!(port.memory.difference(&master.due), None);
    Ok(master)
}

fn right(_: &mut MemorySide, _: &mut MasterSide) -> bool {
    false
}

#[test]
fn random_masters_read_what_was_written_and_break_no_rule() {
    for bits in [64, 128, 1024] {
        for seed in 0..30 {
            let master = broken(bits, MemoryTiming::random(seed), seed, &mut right);
            let master = master.unwrap_or_else(|e| panic!("{bits} bits, seed {seed}: {e}"));
            assert!(master.beats > 100 && master.errors == 0, "{bits} bits, seed {seed}");
        }
    }
}

/// The first beat of a burst comes after the latency, and others follow without gaps or with the gap.
#[test]
fn latency_and_gaps_are_in_cycles() {
    for (latency, gap) in [(1, 1), (8, 1), (128, 1), (5, 3)] {
        let mut port = MemoryPort::new(Memory::default(), 64, MemoryTiming::fixed(latency, gap), 1);
        let mut came = Vec::new();
        for cycle in 0..1000 {
            let side = port.offer(cycle);
            let ar = (cycle < 2).then(|| Burst::new(cycle, 64 * cycle, 4, 8));
            assert!(side.arready && side.awready && side.wready);
            came.extend(side.r.iter().map(|beat| (cycle, beat.id)));
            port.advance(
                cycle,
                &side,
                &MasterSide { ar, rready: true, bready: true, ..MasterSide::default() },
            );
        }
        let due: Vec<(u64, u64)> = (0..8).map(|n| (latency + n * gap, n / 4)).collect();
        assert_eq!(came, due);
    }
}

/// Shuffled bursts overtake those of other IDs, and their beats interleave; others do not.
#[test]
fn only_shuffled_memories_change_the_order() {
    for shuffled in [false, true] {
        let timing = MemoryTiming { shuffled, ..MemoryTiming::fixed(4, 1) };
        let mut port = MemoryPort::new(Memory::default(), 64, timing, 7);
        let mut ids = Vec::new();
        for cycle in 0..200 {
            let side = port.offer(cycle);
            let ar = (cycle < 10).then(|| Burst::new(cycle % 5, 64 * cycle, 8, 8));
            ids.extend(side.r.iter().map(|beat| beat.id));
            port.advance(
                cycle,
                &side,
                &MasterSide { ar, rready: true, bready: true, ..MasterSide::default() },
            );
        }
        let in_order: Vec<u64> = (0..10).flat_map(|burst| [burst % 5; 8]).collect();
        assert_eq!(ids.len(), 80);
        assert_eq!(ids == in_order, !shuffled);
        let turns = ids.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert_eq!(turns > 20, shuffled, "{turns}");
    }
}

/// Errors are answered where they are, and nothing is written there.
#[test]
fn errors_are_answered() {
    let memory = filled(3);
    let mut port = MemoryPort::new(memory.clone(), 64, MemoryTiming::fixed(2, 1), 3);
    port.errors = vec![
        ErrorRange { addresses: 0x1010..0x1011, resp: SLVERR },
        ErrorRange { addresses: 0x9000..0x9008, resp: DECERR },
    ];
    let (mut read, mut answers) = (Vec::new(), Vec::new());
    for cycle in 0..60 {
        let side = port.offer(cycle);
        let ar = (cycle == 0).then(|| Burst::new(1, 0x1000, 4, 8));
        let aw = [(0, 0x8ff8), (1, 0x9010)].into_iter().find(|(from, _)| *from == cycle);
        let aw = aw.map(|(_, address)| Burst::new(0, address, if cycle == 0 { 1 } else { 2 }, 8));
        let aw = if cycle == 2 { Some(Burst::new(0, 0x9000, 1, 8)) } else { aw };
        let last = [true, false, true, true];
        let w = last.get(cycle as usize).map(|&last| WriteBeat { data: vec![cycle], strobes: 0xff, last });
        read.extend(side.r.iter().map(|beat| beat.resp));
        answers.extend(side.b.map(|answer| answer.resp));
        port.advance(cycle, &side, &MasterSide { ar, aw, w, rready: true, bready: true });
    }
    assert_eq!(read, [0, 0, SLVERR, 0]);
    assert_eq!(answers, [0, 0, DECERR]);
    assert_eq!(port.memory.bytes(0x9000, 8), memory.bytes(0x9000, 8));
    assert_eq!(port.memory.bytes(0x9010, 16), [[1, 0, 0, 0, 0, 0, 0, 0], [2, 0, 0, 0, 0, 0, 0, 0]].concat());
}

/// A way to break a rule: the signal that the check names, and the change of a cycle's signals, which says if it was made.
type Break = (&'static str, fn(&mut MemorySide, &mut MasterSide) -> bool);

/// Changes an offer that is there.
fn with<T>(offer: &mut Option<T>, change: impl FnOnce(&mut T)) -> bool {
    offer.as_mut().map(change).is_some()
}

const BREAKS: [Break; 22] = [
    ("awvalid", |memory, master| !memory.awready && master.aw.take().is_some()),
    ("wvalid", |memory, master| !memory.wready && master.w.take().is_some()),
    ("arvalid", |memory, master| !memory.arready && master.ar.take().is_some()),
    ("rvalid", |memory, master| !master.rready && memory.r.take().is_some()),
    ("bvalid", |memory, master| !master.bready && memory.b.take().is_some()),
    ("arburst", |_, master| with(&mut master.ar, |burst| burst.kind = 2)),
    ("awburst", |_, master| with(&mut master.aw, |burst| burst.kind = 0)),
    ("arsize", |_, master| with(&mut master.ar, |burst| burst.size = 5)),
    ("awsize", |_, master| with(&mut master.aw, |burst| burst.size = 5)),
    ("arlen", |_, master| with(&mut master.ar, |burst| burst.len = 256)),
    ("awlen", |_, master| with(&mut master.aw, |burst| burst.len = 300)),
    ("araddr", |_, master| with(&mut master.ar, |burst| (burst.address, burst.len) = (0x1ff0, 40))),
    ("awaddr", |_, master| with(&mut master.aw, |burst| (burst.address, burst.len) = (0x8fff, 20))),
    ("wlast", |memory, master| memory.wready && with(&mut master.w, |beat| beat.last = !beat.last)),
    ("wstrb", |memory, master| memory.wready && with(&mut master.w, |beat| beat.strobes = 1 << 17)),
    ("rlast", |memory, master| master.rready && with(&mut memory.r, |beat| beat.last = !beat.last)),
    ("rresp", |memory, master| master.rready && with(&mut memory.r, |beat| beat.resp = 1)),
    ("bresp", |memory, master| master.bready && with(&mut memory.b, |answer| answer.resp = 1)),
    ("rid", |memory, master| master.rready && with(&mut memory.r, |beat| beat.id = 7)),
    ("bid", |memory, master| master.bready && with(&mut memory.b, |answer| answer.id = 3)),
    ("rid", |memory, master| {
        let beat = ReadBeat { id: 6, last: true, ..ReadBeat::default() };
        master.rready && memory.r.is_none() && memory.r.replace(beat).is_none()
    }),
    ("bid", |memory, master| {
        let answer = WriteAnswer { id: 2, resp: 0 };
        master.bready && memory.b.is_none() && memory.b.replace(answer).is_none()
    }),
];

/// Each break in the tenth cycle in which it is possible; or, where it needs the offer of a cycle before, in the next.
#[test]
fn each_rule_is_broken_once_and_found() {
    for (number, (signal, change)) in BREAKS.into_iter().enumerate() {
        let timing = MemoryTiming { ready: Pace::OneIn(3), ..MemoryTiming::fixed(5, 2) };
        let mut found = 0;
        for seed in 0..10 {
            let (mut count, mut waiting) = (0, [false; 5]);
            let run = broken(128, timing.clone(), seed, &mut |memory, master| {
                let was = std::mem::replace(
                    &mut waiting,
                    [
                        master.aw.is_some() && !memory.awready,
                        master.w.is_some() && !memory.wready,
                        master.ar.is_some() && !memory.arready,
                        memory.r.is_some() && !master.rready,
                        memory.b.is_some() && !master.bready,
                    ],
                );
                // The first five take back an offer that waits. Others change one that does not, which may have any value.
                let channel =
                    ["aw", "w", "ar", "r", "b"].iter().position(|channel| signal.starts_with(channel));
                let may = channel.is_none_or(|channel| was[channel] == (number < 5));
                let (mut memory_changed, mut master_changed) = (memory.clone(), master.clone());
                if count < 10 && may && change(&mut memory_changed, &mut master_changed) {
                    count += 1;
                    if count == 10 {
                        (*memory, *master) = (memory_changed, master_changed);
                    }
                    return count == 10;
                }
                false
            });
            match run {
                Err(broken) => {
                    assert_eq!(broken.signal, signal, "break {number}, seed {seed}: {broken}");
                    found += 1;
                }
                Ok(_) => assert!(count < 10, "break {number} ({signal}), seed {seed}: not found"),
            }
        }
        assert!(found >= 5, "break {number} ({signal}) was made {found} times");
    }
}

#[test]
fn too_many_beats_under_way_are_found() {
    let mut rules = AxiRules::new(64, 16);
    let side = MemorySide { arready: true, ..MemorySide::default() };
    let ar = |n: u64| MasterSide { ar: Some(Burst::new(n, 0x1000, 8, 8)), ..MasterSide::default() };
    assert_eq!([1, 2, 1].map(|id| rules.check(0, &side, &ar(id))), [Ok(()), Ok(()), Ok(())]);
    assert_eq!([1, 2].map(|id| rules.beats_under_way(id)), [16, 8]);
    assert_eq!(rules.check(1, &side, &ar(2)), Ok(()));
    assert_eq!(rules.check(2, &side, &ar(1)).map_err(|broken| broken.signal), Err("arvalid"));
}

#[test]
fn offers_in_reset_and_leftovers_are_found() {
    let mut rules = AxiRules::new(64, 16);
    let burst = Some(Burst::new(0, 0x1000, 1, 8));
    for (master, signal) in [
        (MasterSide { ar: burst, ..MasterSide::default() }, "arvalid"),
        (MasterSide { aw: burst, ..MasterSide::default() }, "awvalid"),
        (MasterSide { w: Some(WriteBeat::default()), ..MasterSide::default() }, "wvalid"),
    ] {
        assert_eq!(rules.check_reset(3, &master).map_err(|broken| broken.signal), Err(signal));
    }
    assert_eq!(rules.check_reset(3, &MasterSide::default()), Ok(()));
    let taken = MemorySide { arready: true, awready: true, wready: true, ..MemorySide::default() };
    let last = WriteBeat { data: vec![0], strobes: 0, last: true };
    for (master, signal) in [
        (MasterSide { ar: burst, ..MasterSide::default() }, "rvalid"),
        (MasterSide { aw: burst, ..MasterSide::default() }, "wvalid"),
        (MasterSide { w: Some(last.clone()), ..MasterSide::default() }, "awvalid"),
        (MasterSide { aw: burst, w: Some(last), ..MasterSide::default() }, "bvalid"),
    ] {
        rules.reset();
        assert_eq!(rules.check_idle(4), Ok(()));
        assert_eq!(rules.check(4, &taken, &master), Ok(()));
        assert_eq!(rules.check_idle(5).map_err(|broken| broken.signal), Err(signal));
    }
}
