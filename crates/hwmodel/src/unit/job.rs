//! The states of a job: idle, read a descriptor, check, run, wait for the last writes, and stop after an error or a reset.

use super::rows::Fault;
use crate::array::results::SelectFunction;
use crate::function;
use crate::rtl::{Module, Pins, Tag, VectorFunction, VectorLeaf, Wire};
use crate::word::Word;
use flashd_spec::unit::JobError;
use flashd_spec::unit::codes::{PAGE_BEYOND, READ_SLVERR, WRITE_SLVERR};

/// Width of a code.
const CODE_BITS: u32 = 8;

function! {
    /// The states of a job.
    pub struct JobRulesFunction {}
    name(this) = "job_rules";
    doc = "0 idle; 1 read a descriptor; 2 check; 3 run; 4 wait for the last writes; 5 stop.\n\
           stop: nothing new is requested, and what is on its way is waited for. Nothing changes for the port between jobs, and no\n\
           job begins while something is on its way.";
    inputs {
        state: 3, queued: 1, start: 1, queue: 1, soft_reset: 1, misplaced: 1, loaded: 1, checked: 1, code: 8, empty: 1,
        all_written: 1, quiet: 1, fault: 1, fault_code: 8, interrupts: 1, follows: 1, kept: 8
    }
    outputs {
        fetch: 1, check: 1, begins: 1, stop: 1, done: 1, raise: 1, failed: 1, clear: 1, busy: 1, next_state: 3, next_queued: 1,
        next_kept: 8, faults: 1, loads_next: 1
    }
    eval<W> {
        let is = |number: u64| state.eq(&W::constant(3, number));
        let to = |number: u64| W::constant(3, number);
        let idle = is(0).named("idle");
        let (fetching, checking, running) = (is(1).named("fetching"), is(2).named("checking"), is(3).named("running"));
        let (flushing, stopping) = (is(4).named("flushing"), is(5).named("stopping"));
        // An address of a descriptor is judged in the first cycle that it is used.
        let refused = fetching.and(&misplaced).named("refused");
        let loads = fetching.and(&loaded).named("loads");
        let fine = code.any().not().and(&quiet).named("fine");
        let wrong = checking.and(&checked).and(&fine.not()).named("wrong");
        let right = checking.and(&checked).and(&fine).named("right");
        let finished = running.and(&all_written).or(&right.and(&empty)).named("finished");
        let done = flushing.and(&quiet).named("ends");
        let more = done.and(&queued).and(&follows).named("more");
        let faults = fault.and(&fetching.or(&running).or(&flushing)).named("faults");
        let reset = soft_reset.named("resets");
        let stopped = stopping.and(&quiet).named("stopped");
        let begins = right.and(&empty.not()).named("begins");
        let next = idle.and(&start).select(&to(2), &state);
        let queues = idle.and(&queue).named("queues");
        let next = queues.and(&quiet).or(&more).select(&to(1), &next);
        let next = queues.and(&quiet.not()).select(&to(5), &next);
        let next = loads.select(&to(2), &next);
        let next = begins.select(&to(3), &next);
        let next = finished.select(&to(4), &next);
        let next = done.and(&more.not()).select(&to(0), &next);
        let next = refused.or(&wrong).or(&faults).or(&reset).select(&to(5), &next);
        let next = stopped.select(&to(0), &next);
        let why = faults.select(&fault_code, &refused.select(&W::constant(8, JobError::Descriptor as u64), &code));
        let stops = refused.or(&wrong).or(&faults).named("stops");
        let next_kept = reset.or(&stopped).select(&W::zero(8), &stops.select(&why, &kept));
        let next_queued = idle.select(&queue, &queued);
        let to_check = idle.and(&start).or(&loads).named("to_check");
        let clear = to_check.and(&quiet).or(&stopped).named("clears");
        [
            fetching.and(&misplaced.not()),
            to_check.clone(),
            begins,
            stopping.clone(),
            done.clone(),
            queued.not().or(&interrupts).or(&follows.not()),
            stopped.and(&kept.any()),
            clear,
            idle.not(),
            next,
            next_queued,
            next_kept,
            faults.or(&refused),
            more,
        ]
    }
}

/// The first of several faults.
struct FirstFault {
    /// Readers, and the writer last.
    count: usize,
    bits: u32,
}

impl VectorFunction for FirstFault {
    fn header(&self) -> (Tag, Vec<Pins>, Vec<Pins>) {
        let tag =
            Tag::module(format!("first_fault_{}_{}", self.count, self.bits), "The error that is reported.");
        let inputs = vec![
            Pins::vector("fault", self.count, 1),
            Pins::vector("resp", self.count, 2),
            Pins::vector("at", self.count, self.bits),
            Pins::word("beyond", 1),
        ];
        let outputs =
            vec![Pins::word("any", 1), Pins::word("code", CODE_BITS), Pins::word("address", self.bits)];
        (tag, inputs, outputs)
    }

    fn eval<W: Word>(&self, inputs: &[Vec<W>]) -> Vec<Vec<W>> {
        let beyond = &inputs[3][0];
        let code = |value: u64| W::constant(CODE_BITS, value);
        let mut any = beyond.clone();
        let mut first = (code(PAGE_BEYOND.into()), inputs[2][0].clone());
        let faults = inputs[0].iter().zip(&inputs[1]).zip(&inputs[2]).enumerate();
        for (i, ((fault, resp), at)) in faults {
            let base = u64::from(if i + 1 == self.count { WRITE_SLVERR } else { READ_SLVERR });
            let own = resp.bit(0).select(&code(base + 1), &code(base));
            first = (fault.select(&own, &first.0), fault.select(at, &first.1));
            any = any.or(fault).named("any_fault");
        }
        vec![vec![any], vec![first.0], vec![first.1]]
    }
}

function! {
    /// The address of the next descriptor, and whether none can be there.
    pub struct DescriptorPlaceFunction { bits: u32 }
    name(this) = format!("descriptor_place_{}", this.bits);
    doc = "A chain begins where the host says, and goes on at NEXT.";
    inputs { idle_queue: 1, more: 1, first: 64, following: 64, at: 64 }
    outputs { next: 64, misplaced: 1 }
    eval<W> {
        let beyond = match this.bits {
            64 => W::zero(1),
            bits => at.any_above(bits),
        };
        let next = idle_queue.select(&first, &more.select(&following, &at));
        [next, at.slice(0, 8).any().or(&beyond)]
    }
}

function! {
    /// An address of the port in 64 bits.
    pub struct WideAddressFunction { bits: u32 }
    name(this) = format!("wide_address_{}", this.bits);
    doc = "An address, extended.";
    inputs { x: this.bits }
    outputs { y: 64 }
    eval<W> { [x.zext(64)] }
}

function! {
    /// Whether a job has no queries, and whether nothing is on its way.
    pub struct JobEventsFunction {}
    name(this) = "job_events";
    doc = "A job without queries ends at once; the unit is quiet when no burst is unanswered.";
    inputs { queries: 32, reads: 1, writes: 1 }
    outputs { empty: 1, quiet: 1 }
    eval<W> { [queries.any().not(), reads.or(&writes).not()] }
}

/// Inputs of the states.
pub struct JobInputs {
    /// The host starts a job, a chain, a reset.
    pub start: Wire,
    /// A chain.
    pub queue: Wire,
    /// A reset.
    pub soft_reset: Wire,
    /// The address of a chain.
    pub queue_address: Wire,
    /// NEXT and QUERIES of the job.
    pub next: Wire,
    /// QUERIES.
    pub queries: Wire,
    /// INTERRUPT and NEXT of FLAGS.
    pub flags: [Wire; 2],
    /// A descriptor is loaded.
    pub loaded: Wire,
    /// A check ends, and its code.
    pub checked: [Wire; 2],
    /// The last row of the job is written.
    pub all_written: Wire,
    /// Bursts of reads and writes without their answer.
    pub unanswered: [Wire; 2],
    /// Faults of the readers, and of the writer at last.
    pub faults: Vec<Fault>,
    /// A page that is none; its number is at the address of the first reader's fault.
    pub beyond: Wire,
}

/// Outputs of [`job_states`].
pub struct JobStates {
    /// A descriptor is to be read, and its address.
    pub fetch: [Wire; 2],
    /// A check begins.
    pub check: Wire,
    /// The job begins to run.
    pub begin: Wire,
    /// Nothing new may be requested.
    pub stop: Wire,
    /// A job has ended.
    pub done: Wire,
    /// With done: the interrupt is raised.
    pub raise: Wire,
    /// A job has failed.
    pub failed: Wire,
    /// The code of the failure.
    pub code: Wire,
    /// The address of the failure, 64 bits.
    pub fault: Wire,
    /// The datapath is reset in the next cycle.
    pub clear: Wire,
    /// A job or a reset is under way.
    pub busy: Wire,
}

impl JobInputs {
    /// The inputs as ports of a module.
    fn enter(&self, m: &mut Module) -> JobInputs {
        let [start, queue] = m.input_each([("start", self.start), ("queue", self.queue)]);
        let [soft_reset, queue_address] =
            m.input_each([("soft_reset", self.soft_reset), ("queue_address", self.queue_address)]);
        let [next, queries] = m.input_each([("following", self.next), ("queries", self.queries)]);
        let flags = m.input_each([("interrupts", self.flags[0]), ("follows", self.flags[1])]);
        let loaded = m.input("loaded", self.loaded);
        let checked = m.input_each([("checked", self.checked[0]), ("code", self.checked[1])]);
        let all_written = m.input("all_written", self.all_written);
        let unanswered = m.input_each([("reads", self.unanswered[0]), ("writes", self.unanswered[1])]);
        let all = |of: fn(&Fault) -> Wire| self.faults.iter().map(of).collect::<Vec<Wire>>();
        let faults = m.inputs("fault", &all(|fault| fault.fault));
        let resps = m.inputs("resp", &all(|fault| fault.resp));
        let places = m.inputs("at", &all(|fault| fault.at));
        let faults = faults.into_iter().zip(resps).zip(places);
        let faults = faults.map(|((fault, resp), at)| Fault { fault, resp, at }).collect();
        let beyond = m.input("beyond", self.beyond);
        JobInputs {
            start,
            queue,
            soft_reset,
            queue_address,
            next,
            queries,
            flags,
            loaded,
            checked,
            all_written,
            unanswered,
            faults,
            beyond,
        }
    }

    /// The first fault: there is one, its code, its address of `bits` bits.
    fn first_fault(&self, m: &mut Module, bits: u32) -> [Wire; 3] {
        let first = FirstFault { count: self.faults.len(), bits };
        let all = |of: fn(&Fault) -> Wire| self.faults.iter().map(of);
        let inputs = all(|fault| fault.fault).chain(all(|fault| fault.resp)).chain(all(|fault| fault.at));
        let inputs: Vec<Wire> = inputs.chain([self.beyond]).collect();
        let found = m.leaf("first_fault", VectorLeaf::new(first), &inputs);
        [found[0], found[1], found[2]]
    }
}

/// The states of jobs on a port with addresses of `bits` bits.
pub fn job_states(around: &mut Module, name: &str, bits: u32, inputs: &JobInputs) -> JobStates {
    let tag = Tag::module(format!("job_states_{}_{bits}", inputs.faults.len()), "The states of a job.");
    around.part(name, tag, |m| {
        m.clock();
        m.reset();
        let of = inputs.enter(m);
        let [fault, fault_code, fault_at] = of.first_fault(m, bits);
        let [reads, writes] = of.unanswered;
        let [empty, quiet] = m.call("events", JobEventsFunction {}, [of.queries, reads, writes]);
        let (state, queued) = (m.state("state_q", 3), m.state("queued_q", 1));
        let kept = m.state("code_q", CODE_BITS);
        let at = m.state("descriptor_q", 64);
        let more_later = m.later(1);
        let place = DescriptorPlaceFunction { bits };
        let [next_at, misplaced] =
            m.call("descriptor", place, [of.queue, more_later, of.queue_address, of.next, at]);
        m.next(at, next_at);
        let JobInputs { start, queue, soft_reset, loaded, all_written: written, .. } = of;
        let ([checked, code], [interrupts, follows]) = (of.checked, of.flags);
        let rules = [
            state, queued, start, queue, soft_reset, misplaced, loaded, checked, code, empty, written, quiet,
            fault, fault_code, interrupts, follows, kept,
        ];
        let rules: [Wire; 14] = m.call("rules", JobRulesFunction {}, rules);
        let [fetch, check, begin, stop, done, raise, failed, clear, busy, .., faults, more] = rules;
        m.drive(more_later, more);
        m.next_all(&[state, queued, kept], &rules[9..12]);
        let [wide] = m.call("fault_address", WideAddressFunction { bits }, [fault_at]);
        let [reported] = m.call("reported", SelectFunction { width: 64 }, [fault, wide, at]);
        let address = m.register_if("fault_q", faults, reported);
        let at = super::fields::low_bits(m, "descriptor_address", at, bits);
        JobStates {
            fetch: m.output_each([("fetch", fetch), ("descriptor", at)]),
            check: m.output("check", check),
            begin: m.output("begins", begin),
            stop: m.output("stop", stop),
            done: m.output("done", done),
            raise: m.output("raise", raise),
            failed: m.output("failed", failed),
            code: m.output("kept_code", kept),
            fault: m.output("fault_address", address),
            clear: m.output("clear", clear),
            busy: m.output("busy", busy),
        }
    })
}
