//! A reader of Kanata logs, by the format's description, not by our writer.

use std::collections::HashMap;

/// An operation; the format calls it an instruction.
#[derive(Debug, Default)]
pub struct Op {
    pub thread: u64,
    pub begun: u64,
    pub label: String,
    /// Lane, stage, first cycle, first cycle after it.
    stages: Vec<(u64, String, u64, Option<u64>)>,
    /// The operation on which it depends.
    pub before: Option<u64>,
    /// Time of its retirement, its number among retired ones, and the kind.
    pub retired: Option<(u64, u64, u64)>,
}

impl Op {
    /// The stages of a lane.
    pub fn spans(&self, lane: u64) -> impl Iterator<Item = (&str, u64, u64)> {
        self.stages
            .iter()
            .filter(move |stage| stage.0 == lane)
            .map(|(_, name, from, to)| (name.as_str(), *from, to.expect("the stage ends")))
    }

    /// The core, by the label.
    pub fn core(&self) -> usize {
        let text = self.label.split_once(" core ").unwrap().1;
        text.split(' ').next().unwrap().parse().unwrap()
    }
}

/// A log: operations in the order of their numbers.
pub struct Log {
    pub ops: Vec<Op>,
}

impl Log {
    pub fn parse(text: &str) -> Log {
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("Kanata\t0004"));
        let (mut now, mut ops): (Option<u64>, HashMap<u64, Op>) = (None, HashMap::new());
        for line in lines {
            let words: Vec<&str> = line.split('\t').collect();
            let number = |i: usize| words[i].parse::<u64>().unwrap_or_else(|_| panic!("{line}"));
            match (words[0], words.len()) {
                ("C=", 2) => assert_eq!(now.replace(number(1)), None),
                ("C", 2) => *now.as_mut().unwrap() += number(1),
                ("I", 4) => {
                    // Numbered as they come.
                    assert_eq!(number(1), ops.len() as u64);
                    let op = Op { thread: number(3), begun: now.unwrap(), ..Op::default() };
                    ops.insert(number(1), op);
                }
                (_, n) => {
                    let op = ops.get_mut(&number(1)).unwrap_or_else(|| panic!("not begun: {line}"));
                    assert_eq!(op.retired, None, "{line}");
                    match (words[0], n) {
                        ("L", 4) if number(2) == 0 => op.label += words[3],
                        ("L", 4) => assert!(number(2) == 1 && !words[3].is_empty()),
                        ("S", 4) => op.stages.push((number(2), words[3].into(), now.unwrap(), None)),
                        ("E", 4) => {
                            let open = |stage: &&mut (u64, String, u64, Option<u64>)| {
                                stage.0 == number(2) && stage.1 == words[3] && stage.3.is_none()
                            };
                            op.stages.iter_mut().find(open).unwrap_or_else(|| panic!("{line}")).3 = now;
                        }
                        ("W", 4) => op.before = Some(number(2)),
                        ("R", 4) => op.retired = Some((now.unwrap(), number(2), number(3))),
                        _ => panic!("{line}"),
                    }
                }
            }
        }
        let mut ops: Vec<(u64, Op)> = ops.into_iter().collect();
        ops.sort_by_key(|(id, _)| *id);
        Log { ops: ops.into_iter().map(|(_, op)| op).collect() }
    }
}
