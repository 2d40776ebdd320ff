//! Proofs about the parts of a unit that form addresses, by temporal induction with Yosys: testbench/unit/formal.

use crate::axis::CheckTable;
use crate::failure::{Outcome, check};
use crate::formal::mutants::Mutant;
use crate::process::{Said, quoted, root, yosys};
use crate::work::{create, read, write};
use flashd_spec::config::CoreConfig;
use flashd_spec::unit::descriptor::FIELDS;
use std::path::{Path, PathBuf};

/// A part of a unit with properties.
struct Proof {
    /// The file of the properties in testbench/unit/formal.
    properties: &'static str,
    /// The beginning of the part's name, and the macros of the numbers in its name.
    part: (&'static str, &'static [&'static str]),
    /// A fault that it finds.
    mutant: Mutant,
}

const PROOFS: [Proof; 9] = [
    Proof {
        properties: "bursts",
        part: ("bursts_", &["BYTES", "BEAT", "ADDRESS", "ROOM"]),
        mutant: Mutant::rest(
            "a burst has a beat more",
            "wire [9:0] row_beats = ",
            "wire [9:0] row_beats = sum[12:3] + 10'h1;",
        ),
    },
    Proof {
        properties: "requests",
        part: ("read_requests_", &["KINDS", "ADDRESS"]),
        mutant: Mutant::rest("an address is overwritten", "wire held_kept = ", "wire held_kept = 1'b0;"),
    },
    Proof {
        properties: "writer",
        part: ("row_writer_", &["BEAT", "ADDRESS", "WORD"]),
        mutant: Mutant::part("a strobe is behind the row", "(final_beat & (end_2 < 3'h7))", "1'b0"),
    },
    Proof {
        properties: "rows",
        part: ("row_address_", &["ADDRESS"]),
        mutant: Mutant::rest(
            "a token begins behind the heads of the last",
            "assign next_address = group_ends",
            "assign next_address = next_next_head;",
        ),
    },
    Proof {
        properties: "segments",
        part: ("segments_", &["QUERIES", "ADDRESS"]),
        mutant: Mutant::rest(
            "a segment goes on behind its page",
            "assign next_row = ends_before",
            "assign next_row = to;",
        ),
    },
    Proof {
        properties: "control",
        part: ("control_reader_", &["BEAT", "ADDRESS"]),
        mutant: Mutant::part("a page number too many", "(last_page - first_page)", "(to - first_page)"),
    },
    Proof {
        properties: "pointer",
        part: ("value_pointer_unit_", &["ADDRESS"]),
        mutant: Mutant::rest(
            "a segment has a value more",
            "wire ends = steps",
            "wire ends = steps & ~|rows;",
        ),
    },
    Proof {
        properties: "check",
        part: ("job_check", &[]),
        mutant: Mutant::rest("a sum wraps", "wire carried = next_sum", "wire carried = 1'b0;"),
    },
    Proof {
        properties: "job",
        part: ("job_states_", &["FAULTS", "ADDRESS"]),
        mutant: Mutant::rest(
            "no reset follows a stop",
            "assign clear = (check",
            "assign clear = check & quiet;",
        ),
    },
];

/// A unit in its folder.
pub struct ProvenUnit<'a> {
    folder: &'a Path,
    name: &'a str,
    text: String,
    /// Macros that are not in the names of parts.
    macros: String,
}

impl ProvenUnit<'_> {
    /// The unit of a core with the Verilog NAME.v.
    pub fn new<'a>(core: &CoreConfig, folder: &'a Path, name: &'a str) -> Outcome<ProvenUnit<'a>> {
        let text = read(&folder.join(format!("{name}.v")))?;
        let words =
            FIELDS.iter().map(|field| field.offset + field.bits.div_ceil(8)).max().unwrap_or(0).div_ceil(4);
        let mut unit = ProvenUnit { folder, name, text, macros: String::new() };
        let rows = unit.parts(&PROOFS[0])?;
        let [bytes, beat, address, ..] = unit.numbers(&rows[0])[..] else {
            return check(format!("{}: no shape of rows", rows[0]));
        };
        let places = unit.parts_of("places_")?;
        unit.macros = format!(
            "-DBYTES={bytes} -DBEAT={beat} -DADDRESS={address} -DKEYS={} -DDESCRIPTOR={} -DPLACES={}",
            core.max_keys,
            4 * words,
            places[0]
        );
        Ok(unit)
    }

    /// Proves everything, a line of the table each.
    pub fn prove(&self, table: &mut CheckTable) -> Outcome {
        for proof in PROOFS.iter().filter(|proof| self.parts(proof).is_ok()) {
            for part in self.parts(proof)? {
                let scope = part.strip_prefix(self.name).unwrap_or(&part).trim_start_matches('_').to_string();
                table.line(self.name, "proof", &scope, || self.induction(proof, &part, self.folder))?;
            }
        }
        Ok(())
    }

    /// Breaks each part; its proof must find the fault.
    pub fn find_mutants(&self, table: &mut CheckTable) -> Outcome {
        for proof in &PROOFS {
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

    /// The modules whose names begin so, behind the unit's, and have nothing but numbers behind that.
    fn parts_of(&self, start: &str) -> Outcome<Vec<String>> {
        let names = self.text.lines().filter_map(|line| line.strip_prefix("module ")?.strip_suffix(" ("));
        let is_part = |name: &&str| {
            let rest =
                name.strip_prefix(self.name).and_then(|rest| rest.strip_prefix('_')?.strip_prefix(start));
            rest.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == '_'))
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
            "read_verilog -noautowire {}.v\nread_verilog -formal {}{own} -DPART={part} {}\n\
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

    #[test]
    fn parts_are_found_by_their_names() {
        let text = "module u_bursts_32_8_40_64 (\nmodule u_bursts_4_8_40_16 (\nmodule u_bursts_unit_3 (\nmodule u_burst_4 (\n";
        let unit = ProvenUnit { folder: Path::new(""), name: "u", text: text.into(), macros: String::new() };
        assert_eq!(unit.parts_of("bursts_").unwrap(), ["u_bursts_32_8_40_64", "u_bursts_4_8_40_16"]);
        assert_eq!(unit.numbers("u_bursts_4_8_40_16"), [4, 8, 40, 16]);
        assert!(unit.parts_of("queue_").is_err());
    }
}
