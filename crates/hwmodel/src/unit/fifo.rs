//! A queue in a memory.

use super::memory::{ReadPort, WritePort, memory};
use crate::function;
use crate::rtl::{Module, Tag, Wire};

function! {
    /// Pointers of a queue, and the register of its first entry.
    pub struct QueueRulesFunction { bits: u32 }
    name(this) = format!("queue_rules_{}", this.bits);
    doc = "The first entry moves to the output register as soon as that is free; pop takes it from there.";
    inputs { push: 1, pop: 1, valid: 1, write: this.bits, read: this.bits, count: this.bits + 1 }
    outputs { fetch: 1, room: 1, next_valid: 1, next_write: this.bits, next_read: this.bits, next_count: this.bits + 1 }
    eval<W> {
        let free = valid.not().or(&pop).named("free");
        let fetch = count.any().and(&free);
        let counted = count.add(&push.zext(this.bits + 1)).sub(&fetch.zext(this.bits + 1));
        [
            fetch.clone(),
            count.msb().not(),
            fetch.or(&valid.and(&pop.not())),
            write.add(&push.zext(this.bits)),
            read.add(&fetch.zext(this.bits)),
            counted,
        ]
    }
}

/// A queue's outputs.
pub struct Queue {
    /// There is an entry.
    pub valid: Wire,
    /// Its words, group by group.
    pub words: Vec<Vec<Wire>>,
    /// There is room for another entry besides one that is pushed now, if none has been pushed into the last place.
    pub room: Wire,
}

/// A queue of `2^bits` entries in memories and one in a register. An entry has groups of words of one width, a memory each.
///
/// `push`, only if there is room: an entry enters; `pop`, only if there is one: it leaves. An entry takes two cycles from input to output.
pub fn queue(around: &mut Module, name: &str, bits: u32, push: Wire, entry: &[&[Wire]], pop: Wire) -> Queue {
    let shape: Vec<String> =
        entry.iter().map(|words| format!("{}x{}", words.len(), words[0].width())).collect();
    let module = format!("queue_{}_{}", 1 << bits, shape.join("_"));
    around.part(name, Tag::module(module, "A queue in a memory."), |m| {
        m.clock();
        m.reset();
        let push = m.input("push", push);
        let entry: Vec<Vec<Wire>> =
            entry.iter().enumerate().map(|(i, words)| m.inputs(&port("in", i), words)).collect();
        let pop = m.input("pop", pop);
        let (valid, write, read) = (m.state("valid_q", 1), m.state("write_q", bits), m.state("read_q", bits));
        let count = m.state("count_q", bits + 1);
        let rules = [push, pop, valid, write, read, count];
        let [fetch, room, next_valid, next_write, next_read, next_count] =
            m.call("rules", QueueRulesFunction { bits }, rules);
        m.next_all(&[valid, write, read, count], &[next_valid, next_write, next_read, next_count]);
        let words = entry.iter().enumerate().map(|(i, data)| {
            let to = WritePort { write: push, address: write, data };
            let words = memory(m, &port("memory", i), &to, &ReadPort { read: fetch, address: read });
            m.outputs(&port("out", i), &words)
        });
        let words = words.collect();
        Queue { valid: m.output("valid", valid), words, room: m.output("room", room) }
    })
}

/// The name of the port of a group.
fn port(name: &str, group: usize) -> String {
    if group == 0 { name.into() } else { format!("{name}_{group}") }
}
