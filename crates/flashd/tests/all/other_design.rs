//! The other design in `simulate`'s report.

use crate::common::printed_json;
use crate::npy::Rows;
use std::process::Command;

/// The other design has the same encodings, `max_keys` and range of scores, and so the errors of a separate run.
#[test]
fn the_other_design_reads_the_same_operands() {
    let folder = tempfile::tempdir().unwrap();
    for (seed, (role, rows)) in [("q", 4), ("k", 24), ("v", 24)].into_iter().enumerate() {
        Rows::random(seed as u64 + 1, rows, 32).write(&folder.path().join(format!("{role}.npy")));
    }
    for encodings in [
        "bf16",
        "int8",
        "fp8-e4m3 --scales row",
        "fp8-e4m3 --scales mx",
        "bf16 --k-format int8 --segments 16",
        "bf16 --max-keys 32",
        "bf16 --max-keys 1048576 --score-integer-bits 18",
    ] {
        let [flash_d, fa2] = ["flash-d", "fa2"].map(|design| {
            let line = format!("simulate --q q.npy --k k.npy --v v.npy --engine model --json --design {design} --format {encodings}");
            let mut command = Command::new(env!("CARGO_BIN_EXE_flashd"));
            printed_json(command.args(line.split_whitespace()).current_dir(folder.path()).output().unwrap())
        });
        for (one, other) in [(&flash_d, &fa2), (&fa2, &flash_d)] {
            assert_eq!(one["other_name"], other["name"], "{encodings}");
            assert_eq!(one["other_accuracy"], other["accuracy"], "{encodings}");
        }
    }
}
