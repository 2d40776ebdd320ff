//! A unit with a memory and a host around it.

use super::engine::UnitEngine;
use super::memory::Memory;
use super::rules::{AxiRules, BrokenRule, LiteRules};
use super::signals::{MasterSide, MemorySide};
use super::slave::{MemoryPort, MemoryTiming};
use crate::bench::{Cycle, Observer};
use crate::running::RtlEngine;
use crate::wrapper::{LiteAccess, LiteHost, LiteInputs, Pace};
use flashd_hwmodel::unit::counters::ReadKind;
use flashd_hwmodel::unit::registers::{BUSY_BIT, JOB_BASE, registers};
use flashd_spec::config::{Carried, ConfigError};
use flashd_spec::unit::descriptor::Descriptor;
use flashd_spec::unit::{CONTROL_ROOM, UnitConfig};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;

/// How a run goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitDrive {
    /// The memory.
    pub timing: MemoryTiming,
    /// The host at the register port, on each channel.
    pub lite: Pace,
    /// The host waits for the interrupt; otherwise it reads STATUS again and again.
    pub interrupt: bool,
    /// The host writes descriptors to memory; otherwise each job to registers.
    pub queue: bool,
    /// Seed of everything random, and of noise on idle inputs.
    pub seed: u64,
    /// The engine of the hardware.
    pub engine: RtlEngine,
}

impl UnitDrive {
    /// A memory with a latency, and a host that writes registers and waits for the interrupt.
    pub fn fixed(latency: u64, gap: u64) -> UnitDrive {
        UnitDrive {
            timing: MemoryTiming::fixed(latency, gap),
            lite: Pace::Always,
            interrupt: true,
            queue: false,
            seed: 1,
            engine: RtlEngine::default(),
        }
    }

    /// Everything by chance.
    pub fn random(seed: u64) -> UnitDrive {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        UnitDrive {
            timing: MemoryTiming::random(rng.random()),
            lite: Pace::ALL[rng.random_range(0..Pace::ALL.len())],
            interrupt: rng.random(),
            queue: rng.random(),
            seed,
            engine: RtlEngine::default(),
        }
    }
}

/// What ends a run.
#[derive(Debug, thiserror::Error)]
pub enum UnitError {
    /// The configuration is not valid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A rule of a port.
    #[error(transparent)]
    Rule(#[from] BrokenRule),
    /// A difference from the model, or a run that hangs, with its cycle.
    #[error("{0}")]
    Difference(String),
    /// An observer could not write.
    #[error("cannot write the recording: {0}")]
    Observer(std::io::Error),
}

/// Bursts and beats of the memory port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfers {
    /// Beats of reads by ID.
    pub read: [u64; 8],
    /// Beats of writes.
    pub written: u64,
    /// The cycle of the last one.
    pub last: u64,
}

/// A unit with everything around it.
pub struct UnitBench<'a> {
    engine: UnitEngine,
    /// The memory.
    pub port: MemoryPort,
    /// Accesses of its port.
    pub transfers: Transfers,
    /// The interrupt.
    pub irq: bool,
    host: LiteHost,
    rules: AxiRules,
    lite_rules: LiteRules,
    rng: ChaCha8Rng,
    observers: Vec<&'a mut dyn Observer>,
    /// An observer reads values inside of the unit.
    observed: bool,
    /// Addresses of registers by name.
    registers: BTreeMap<String, u32>,
}

/// The most beats of a kind that may be on their way.
fn most_in_flight(config: &UnitConfig) -> u64 {
    let state = config.array.core.partial.then_some(Carried::State);
    let kinds = [Carried::Query, Carried::Key, Carried::Value].into_iter().chain(state);
    kinds.map(|carried| config.room(carried)).fold(CONTROL_ROOM, u32::max).into()
}

/// Cycles after which an access of a register counts as hanging; the slowest host takes a few hundred.
const ANSWER_LIMIT: u64 = 1000;

/// Outputs that follow an input are checked once in this number of cycles.
const LOOK_AGAIN: u32 = 16;

impl<'a> UnitBench<'a> {
    /// A unit after reset. Observers see its reset too.
    ///
    /// # Errors
    /// If the configuration is not valid, or a rule is broken.
    pub fn new(
        config: &UnitConfig,
        memory: Memory,
        drive: &UnitDrive,
        observers: &'a mut [&mut dyn Observer],
    ) -> Result<UnitBench<'a>, UnitError> {
        let observers = observers.iter_mut().map(|observer| -> &mut dyn Observer { &mut **observer });
        let observers: Vec<&mut dyn Observer> = observers.collect();
        let timing = drive.timing.clone();
        let mut bench = UnitBench {
            engine: UnitEngine::new(config, drive.engine)?,
            port: MemoryPort::new(memory, config.beat_bits, timing, drive.seed),
            transfers: Transfers::default(),
            irq: false,
            host: LiteHost::new(drive.lite, drive.seed),
            rules: AxiRules::new(config.beat_bits, most_in_flight(config)),
            lite_rules: LiteRules::default(),
            rng: ChaCha8Rng::seed_from_u64(drive.seed),
            observed: observers.iter().any(|observer| observer.reads_inside()),
            observers,
            registers: registers(config)
                .into_iter()
                .map(|row| (row.register.name.into_owned(), row.register.offset))
                .collect(),
        };
        bench.reset()?;
        Ok(bench)
    }

    /// Cycles so far.
    pub fn cycles(&self) -> u64 {
        self.engine.cycle()
    }

    /// A reset of two cycles, of the unit and of its memory's port. Channels are without offers from the second cycle on.
    ///
    /// # Errors
    /// An offer in reset.
    pub fn reset(&mut self) -> Result<(), UnitError> {
        let quiet = (LiteInputs::default(), MemorySide::default());
        self.host.drop_all();
        self.port.reset();
        for n in 0..2 {
            self.engine.settle(false, (&quiet.0, &quiet.1), self.rng.random(), self.observed);
            self.observe()?;
            let (master, ..) = self.engine.outputs();
            if n > 0 {
                self.rules.check_reset(self.engine.cycle(), &master)?;
            }
            self.engine.clock();
        }
        self.lite_rules = LiteRules::default();
        Ok(())
    }

    /// Passes a settled cycle to the observers.
    fn observe(&mut self) -> Result<(), UnitError> {
        let running = self.engine.running();
        let cycle = Cycle { number: running.cycle(), running: Some(running), frame: None, inside: &[] };
        self.observers.iter_mut().try_for_each(|observer| observer.cycle(&cycle)).map_err(UnitError::Observer)
    }

    /// One cycle.
    ///
    /// # Errors
    /// A rule that was broken, or an observer that could not write.
    pub fn cycle(&mut self) -> Result<(), UnitError> {
        let cycle = self.engine.cycle();
        let (lite, memory) = (self.host.offer(), self.port.offer(cycle));
        let early = self.rng.random_ratio(1, LOOK_AGAIN).then(|| {
            let noise = self.rng.random();
            self.engine.settle(true, (&LiteInputs::default(), &MemorySide::default()), noise, false);
            self.engine.outputs().0
        });
        let noise = self.rng.random();
        self.engine.settle(true, (&lite, &memory), noise, self.observed);
        let (master, answers, irq) = self.engine.outputs();
        self.observe()?;
        if early.is_some_and(|early| early != master) {
            let problem = "an output follows an input within the cycle".into();
            return Err(BrokenRule { cycle, signal: "m_axi", problem }.into());
        }
        self.rules.check(cycle, &memory, &master)?;
        self.constants(cycle, &master)?;
        self.lite_rules.check(cycle, &lite, &answers)?;
        self.host.advance(cycle, &lite, &answers).map_err(UnitError::Difference)?;
        self.count(cycle, &memory, &master);
        self.port.advance(cycle, &memory, &master);
        self.irq = irq;
        self.engine.clock();
        Ok(())
    }

    /// Signals that a unit keeps constant.
    fn constants(&self, cycle: u64, master: &MasterSide) -> Result<(), BrokenRule> {
        let bursts = [master.aw, master.ar].into_iter().flatten();
        let kept = [
            ("rready", master.rready),
            ("bready", master.bready),
            ("axcache, axprot", bursts.clone().all(|burst| (burst.cache, burst.prot) == (3, 0))),
            ("awid", master.aw.is_none_or(|burst| burst.id == 0)),
            ("arid", master.ar.is_none_or(|burst| burst.id <= ReadKind::States as u64)),
        ];
        match kept.into_iter().find(|(_, kept)| !kept) {
            None => Ok(()),
            Some((signal, _)) => Err(BrokenRule { cycle, signal, problem: "not its constant".into() }),
        }
    }

    fn count(&mut self, cycle: u64, memory: &MemorySide, master: &MasterSide) {
        let read = memory.r.as_ref().filter(|_| master.rready);
        let written = master.w.is_some() && memory.wready;
        read.into_iter().for_each(|beat| self.transfers.read[beat.id as usize % 8] += 1);
        self.transfers.written += u64::from(written);
        if read.is_some() || written {
            self.transfers.last = cycle;
        }
    }

    /// Makes accesses and waits for their answers.
    ///
    /// # Errors
    /// As [`UnitBench::cycle`], or if there is no answer, or another one than OKAY.
    pub fn access(&mut self, accesses: &[LiteAccess]) -> Result<Vec<u64>, UnitError> {
        let first = self.host.answers.len();
        self.host.push(accesses.iter().copied());
        for _ in 0..ANSWER_LIMIT * accesses.len() as u64 {
            if self.host.is_idle() {
                let answers = &self.host.answers[first..];
                return match answers.iter().find(|answer| answer.resp != 0) {
                    None => Ok(answers.iter().map(|answer| answer.data).collect()),
                    Some(refused) => Err(UnitError::Difference(format!("{refused:x?}: refused"))),
                };
            }
            self.cycle()?;
        }
        let cycle = self.cycles();
        Err(UnitError::Difference(format!(
            "cycle {cycle}: a register has not answered in {ANSWER_LIMIT} cycles"
        )))
    }

    /// The address of a register.
    ///
    /// # Panics
    /// If there is no such register.
    fn address(&self, name: &str) -> u64 {
        self.registers.get(name).copied().unwrap_or_else(|| panic!("no register has the name {name}")).into()
    }

    /// Writes a register.
    ///
    /// # Errors
    /// As [`UnitBench::access`].
    pub fn write(&mut self, name: &str, value: u32) -> Result<(), UnitError> {
        self.access(&[LiteAccess::Write(self.address(name), value.into(), 15)]).map(drop)
    }

    /// Reads a register.
    ///
    /// # Errors
    /// As [`UnitBench::access`].
    pub fn read(&mut self, name: &str) -> Result<u32, UnitError> {
        Ok(self.access(&[LiteAccess::Read(self.address(name))])?[0] as u32)
    }

    /// Reads all registers but the job's fields, by name.
    ///
    /// # Errors
    /// As [`UnitBench::access`].
    pub fn read_all(&mut self) -> Result<BTreeMap<String, u32>, UnitError> {
        let of_unit = self.registers.iter().filter(|(_, address)| **address < JOB_BASE);
        let names: Vec<String> = of_unit.map(|(name, _)| name.clone()).collect();
        names.into_iter().map(|name| self.read(&name).map(|value| (name, value))).collect()
    }

    /// Writes the fields of a job.
    ///
    /// # Errors
    /// As [`UnitBench::access`].
    pub fn write_job(&mut self, descriptor: &Descriptor) -> Result<(), UnitError> {
        let write = |(place, word): (u32, u32)| LiteAccess::Write((JOB_BASE + place).into(), word.into(), 15);
        self.access(&descriptor.words().into_iter().map(write).collect::<Vec<_>>()).map(drop)
    }

    /// Waits until the unit is not busy, and returns STATUS. With `interrupt` the host waits for it first.
    ///
    /// # Errors
    /// As [`UnitBench::cycle`], or if nothing crosses the memory port for `hang` cycles.
    pub fn wait(&mut self, interrupt: bool, hang: u64) -> Result<u32, UnitError> {
        let from = self.cycles();
        loop {
            while interrupt && !self.irq {
                self.cycle()?;
                self.hangs(from, hang)?;
            }
            let status = self.read("STATUS")?;
            if status >> BUSY_BIT & 1 == 0 {
                return Ok(status);
            }
            self.hangs(from, hang)?;
        }
    }

    fn hangs(&self, from: u64, hang: u64) -> Result<(), UnitError> {
        let cycle = self.cycles();
        match cycle - self.transfers.last.max(from) > hang {
            false => Ok(()),
            true => Err(UnitError::Difference(format!(
                "cycle {cycle}: nothing has moved for {hang} cycles: {:?}",
                self.transfers
            ))),
        }
    }

    /// Some cycles in which nothing may cross the memory port, and nothing may be under way.
    ///
    /// # Errors
    /// A transfer, with its cycle.
    pub fn quiet(&mut self, cycles: u64) -> Result<(), UnitError> {
        self.rules.check_idle(self.cycles())?;
        let before = (self.port.accesses.len(), self.transfers);
        for _ in 0..cycles {
            self.cycle()?;
        }
        match (self.port.accesses.len(), self.transfers) == before {
            true => Ok(()),
            false => {
                let cycle = self.cycles();
                Err(UnitError::Difference(format!("cycle {cycle}: the memory port moves without a job")))
            }
        }
    }
}
