//! Proofs about the addresses and the queues of a unit, part by part, by temporal induction with Yosys: testbench/unit/formal.

use crate::axis::CheckTable;
use crate::failure::{Outcome, check};
use crate::formal::mutants::Mutant;
use crate::process::{Said, quoted, root, yosys};
use crate::work::{create, read, write};
use flashd_spec::config::{Carried, Values};
use flashd_spec::unit::UnitConfig;
use flashd_spec::unit::descriptor::FIELDS;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A part of a unit with properties.
struct Proof {
    /// The file of the properties in testbench/unit/formal.
    properties: &'static str,
    /// The beginning of the part's name, and the macros of the numbers in its name.
    part: (&'static str, &'static [&'static str]),
    /// The units that have the part.
    of: fn(&UnitConfig) -> bool,
    /// A fault that it finds.
    mutant: Mutant,
}

/// Every unit.
const ALL: fn(&UnitConfig) -> bool = |_| true;

const PROOFS: [Proof; 12] = [
    Proof {
        properties: "bursts",
        part: ("bursts_", &["BYTES", "BEAT", "ADDRESS", "ROOM"]),
        of: ALL,
        mutant: Mutant::rest(
            "a burst has a beat more",
            "wire [9:0] row_beats = ",
            "wire [9:0] row_beats = sum[12:3] + 10'h1;",
        ),
    },
    Proof {
        properties: "queue",
        part: ("queue_", &["DEPTH"]),
        of: ALL,
        mutant: Mutant::rest("an entry is replaced", "wire rules_free = ", "wire rules_free = 1'b1;"),
    },
    Proof {
        properties: "reader",
        part: ("row_reader_", &["BYTES", "BEAT", "ADDRESS", "ROOM", "WORD", "SEGMENTS"]),
        of: ALL,
        mutant: Mutant::rest(
            "a row keeps its first beat",
            "assign pop = primes",
            "assign pop = sent & needs_beat;",
        ),
    },
    Proof {
        properties: "buffer",
        part: ("row_buffer_", &["DEPTH", "BYTES", "BEAT"]),
        of: |unit| unit.kv_buffer > 0,
        mutant: Mutant::rest(
            "rows are kept in one place",
            "assign next_place = moves",
            "assign next_place = place;",
        ),
    },
    Proof {
        properties: "requests",
        part: ("read_requests_", &["KINDS", "ADDRESS"]),
        of: ALL,
        mutant: Mutant::rest("an address is overwritten", "wire held_kept = ", "wire held_kept = 1'b0;"),
    },
    Proof {
        properties: "writer",
        part: ("row_writer_", &["BEAT", "ADDRESS"]),
        of: ALL,
        mutant: Mutant::part("a strobe is behind the row", "(final_beat & (end_2 < 3'h7))", "1'b0"),
    },
    Proof {
        properties: "rows",
        part: ("row_address_", &["ADDRESS"]),
        of: ALL,
        mutant: Mutant::rest(
            "a token begins behind the heads of the last",
            "assign next_address = group_ends",
            "assign next_address = next_next_head;",
        ),
    },
    Proof {
        properties: "segments",
        part: ("segments_", &["QUERIES", "ADDRESS", "BUFFER"]),
        of: ALL,
        mutant: Mutant::rest(
            "a segment goes on behind its page",
            "assign next_row = ends_before",
            "assign next_row = to;",
        ),
    },
    Proof {
        properties: "control",
        part: ("control_reader_", &["BEAT", "ADDRESS"]),
        of: ALL,
        mutant: Mutant::part("a page number too many", "(last_page - first_page)", "(to - first_page)"),
    },
    Proof {
        properties: "pointer",
        part: ("value_pointer_unit_", &["ADDRESS"]),
        of: |unit| unit.values == Values::Requested,
        mutant: Mutant::rest(
            "a segment has a value more",
            "wire ends = steps",
            "wire ends = steps & ~|rows;",
        ),
    },
    Proof {
        properties: "check",
        part: ("job_check", &[]),
        of: ALL,
        mutant: Mutant::rest("a sum wraps", "wire carried = next_sum", "wire carried = 1'b0;"),
    },
    Proof {
        properties: "job",
        part: ("job_states_", &["FAULTS", "ADDRESS"]),
        of: ALL,
        mutant: Mutant::rest(
            "no reset follows a stop",
            "assign clear = (check",
            "assign clear = check & quiet;",
        ),
    },
];

/// Checks that the mutant of every proof is in `found`.
pub fn all_found(found: &BTreeSet<&'static str>) -> Outcome {
    match PROOFS.iter().find(|proof| !found.contains(proof.properties)) {
        None => Ok(()),
        Some(proof) => check(format!("no unit has a part for the proof {}", proof.properties)),
    }
}

/// A unit in its folder.
pub struct ProvenUnit<'a> {
    config: &'a UnitConfig,
    folder: &'a Path,
    name: &'a str,
    text: String,
    /// Macros that are not in the names of parts.
    macros: String,
}

impl ProvenUnit<'_> {
    /// A unit with the Verilog NAME.v.
    pub fn new<'a>(config: &'a UnitConfig, folder: &'a Path, name: &'a str) -> Outcome<ProvenUnit<'a>> {
        let text = read(&folder.join(format!("{name}.v")))?;
        let bytes = FIELDS.iter().map(|field| field.offset + field.bits.div_ceil(8)).max().unwrap_or(0);
        let mut unit = ProvenUnit { config, folder, name, text, macros: String::new() };
        let rows =
            [("Q", Carried::Query), ("K", Carried::Key), ("V", Carried::Value), ("O", Carried::Result)];
        let state = config.array.core.partial.then_some(("S", Carried::State));
        let of_rows = rows.into_iter().chain(state);
        let of_rows = of_rows.map(|(name, carried)| (format!("{name}_BYTES"), config.row_bytes(carried)));
        let numbers = [
            ("BEAT", config.beat_bits / 8),
            ("ADDRESS", config.address_bits),
            ("KEYS", config.array.core.max_keys as u32),
            ("DESCRIPTOR", 4 * bytes.div_ceil(4)),
        ];
        let numbers = numbers.map(|(name, number)| (name.to_string(), number)).into_iter().chain(of_rows);
        unit.macros = numbers.map(|(name, number)| format!(" -D{name}={number}")).collect();
        unit.macros += &format!(" -DPLACES={}", unit.parts_of("places_")?[0]);
        if config.array.core.partial {
            unit.macros += " -DPARTIAL";
        }
        Ok(unit)
    }

    /// The proofs about its parts.
    fn proofs(&self) -> impl Iterator<Item = &'static Proof> {
        PROOFS.iter().filter(|proof| (proof.of)(self.config))
    }

    /// Proves everything, a line of the table each.
    pub fn prove(&self, table: &mut CheckTable) -> Outcome {
        for proof in self.proofs() {
            for part in self.parts(proof)? {
                let scope = part.strip_prefix(self.name).unwrap_or(&part).trim_start_matches('_').to_string();
                table.line(self.name, "proof", &scope, || self.induction(proof, &part, self.folder))?;
            }
        }
        Ok(())
    }

    /// Breaks each part that is not in `found` yet; its proof must find the fault.
    pub fn find_mutants(&self, table: &mut CheckTable, found: &mut BTreeSet<&'static str>) -> Outcome {
        for proof in self.proofs().filter(|proof| found.insert(proof.properties)) {
            let part = &self.parts(proof)?[0];
            let folder = create(&self.folder.join(format!("mutant_{}", proof.properties)))?;
            write(&folder.join(format!("{}.v", self.name)), &proof.mutant.of(&self.text)?)?;
            // A tool that breaks off has not found it.
            let found = |said: &Said| !said.ok() && said.has("proof did fail");
            table.judge(
                &format!("mutant: {}", proof.mutant.what),
                "proof",
                "must be found",
                || self.induction(proof, part, &folder),
                found,
            )?;
        }
        Ok(())
    }

    /// The modules of a part, with other widths each.
    fn parts(&self, proof: &Proof) -> Outcome<Vec<String>> {
        self.parts_of(proof.part.0)
    }

    /// The modules whose names begin so, after the unit's, and then have sizes, and for a part with a buffer that word.
    fn parts_of(&self, start: &str) -> Outcome<Vec<String>> {
        let names = self.text.lines().filter_map(|line| line.strip_prefix("module ")?.strip_suffix(" ("));
        let is_part = |name: &&str| {
            let rest =
                name.strip_prefix(self.name).and_then(|rest| rest.strip_prefix('_')?.strip_prefix(start));
            let is_size = |word: &str| word == "buffer" || word.starts_with(|c: char| c.is_ascii_digit());
            rest.is_some_and(|rest| rest.is_empty() || rest.split('_').all(is_size))
        };
        let parts: Vec<String> = names.filter(is_part).map(String::from).collect();
        if parts.is_empty() { check(format!("{} has no module {start}", self.name)) } else { Ok(parts) }
    }

    /// The numbers in a part's name.
    fn numbers(&self, part: &str) -> Vec<u32> {
        part[self.name.len()..].split('_').filter_map(|word| word.parse().ok()).collect()
    }

    /// The properties of a part, by temporal induction.
    fn induction(&self, proof: &Proof, part: &str, folder: &Path) -> Outcome<Said> {
        let file: PathBuf = root().join(format!("testbench/unit/formal/{}.v", proof.properties));
        let numbers = self.numbers(part);
        let own: String =
            (proof.part.1.iter().zip(numbers).map(|(name, number)| format!(" -D{name}={number}"))).collect();
        let script = format!(
            "read_verilog -noautowire {}.v\nread_verilog -formal{}{own} -DPART={part} {}\n\
             hierarchy -check -top {properties}_props\nproc; flatten; memory_collect; opt -full\n\
             # Wires with a dot have their drivers.\n\
             select -assert-none a:hierconn\n\
             # The words that a memory gives may be any.\n\
             dffunmap; delete t:$mem_v2; opt_clean; select -assert-any t:$assert\n\
             sat -tempinduct -prove-asserts -set-assumes -verify -maxsteps 2 {properties}_props\n",
            self.name,
            self.macros,
            quoted(&file),
            properties = proof.properties
        );
        yosys(folder, &[], &script, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashd_spec::config::{ArrayConfig, CoreConfig, Design};
    use flashd_spec::format::Format;

    #[test]
    fn parts_are_found_by_their_names() {
        let text = "module u_bursts_32_8_40_64 (\nmodule u_bursts_4_8_40_16 (\nmodule u_bursts_unit_3 (\nmodule u_burst_4 (\n\
                    module u_queue_8_1x40_2x1 (\nmodule u_queue_rules_8 (\nmodule u_segments_3_40_buffer_16 (\n";
        let config = &UnitConfig::new(ArrayConfig::new(CoreConfig::new(Design::Fa2, 4, Format::BF16), 2));
        let unit =
            ProvenUnit { config, folder: Path::new(""), name: "u", text: text.into(), macros: String::new() };
        assert_eq!(unit.parts_of("bursts_").unwrap(), ["u_bursts_32_8_40_64", "u_bursts_4_8_40_16"]);
        assert_eq!(unit.numbers("u_bursts_4_8_40_16"), [4, 8, 40, 16]);
        assert_eq!(unit.parts_of("queue_").unwrap(), ["u_queue_8_1x40_2x1"]);
        assert_eq!(unit.numbers("u_queue_8_1x40_2x1"), [8]);
        let segments = unit.parts_of("segments_").unwrap();
        assert_eq!(unit.numbers(&segments[0]), [3, 40, 16]);
        assert!(unit.parts_of("places_").is_err());
    }
}
