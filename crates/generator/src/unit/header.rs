//! Registers and descriptors as a C header.

use super::manifest::{UnitManifest, UnitRegister, origin};
use crate::verilog::GeneratedFile;
use flashd_hwmodel::unit::registers::{JOB_BASE, Storage, UnitRegister as TableRow, registers};
use flashd_spec::unit::UnitConfig;
use flashd_spec::unit::codes::Code;
use flashd_spec::unit::descriptor::{DESCRIPTOR_BYTES, DescriptorField};
use std::fmt::Write;

/// Beginning of all names.
const PREFIX: &str = "FLASHD_UNIT";

/// `<name>_regs.h`, C99 and C++11.
pub(super) fn header(manifest: &UnitManifest) -> GeneratedFile {
    let name = &manifest.array.name;
    let mut text = format!(
        "/* Registers and descriptors of {name}.\n * {} */\n#ifndef {PREFIX}_REGS_INCLUDED\n#define {PREFIX}_REGS_INCLUDED\n\n\
         #include <stddef.h>\n#include <stdint.h>\n\n/* Registers: offsets in bytes, fields as masks, contents after reset if not 0. */\n",
        origin(manifest)
    );
    manifest.registers.iter().for_each(|row| register(&mut text, row));
    text += "\n/* Bits of FLAGS. */\n";
    for Code { name, code, meaning } in &manifest.flags {
        define(&mut text, &format!("FLAG_{name}"), &format!("0x{:04x}u", 1 << code), meaning);
    }
    text += "\n/* Codes in STATUS: X(name, number, text). */\n";
    let rows: Vec<String> = (manifest.codes.iter())
        .map(|Code { name, code, meaning }| format!("    X({name}, {code}, \"{meaning}\")"))
        .collect();
    let _ = writeln!(text, "#define {PREFIX}_CODES(X) \\\n{}\n", rows.join(" \\\n"));
    for Code { name, code, meaning } in &manifest.codes {
        define(&mut text, &format!("CODE_{name}"), &code.to_string(), meaning);
    }
    lists(&mut text, &manifest.array.configuration);
    descriptor(&mut text, &manifest.descriptor);
    text += "\n#endif\n";
    GeneratedFile { name: format!("{name}_regs.h"), text }
}

/// A definition, and its meaning after it.
fn define(text: &mut String, name: &str, value: &str, meaning: &str) {
    let _ = writeln!(text, "#define {PREFIX}_{name} {value} /* {meaning} */");
}

fn register(text: &mut String, row: &UnitRegister) {
    define(text, &row.name, &format!("0x{:03x}u", row.offset), &row.meaning);
    if row.reset != 0 {
        let _ = writeln!(text, "#define {PREFIX}_{}_RESET 0x{:08x}u", row.name, row.reset);
    }
    for field in &row.fields {
        let name = format!("{}_{}", row.name, field.name);
        let mask = u32::MAX >> (32 - field.width) << field.bit;
        define(text, &name, &format!("0x{mask:08x}u"), &field.meaning);
        if field.width > 1 {
            let _ = writeln!(text, "#define {PREFIX}_{name}_SHIFT {}", field.bit);
        }
    }
}

/// Lists of registers for programs: words of the job, and counters.
fn lists(text: &mut String, config: &UnitConfig) {
    let rows = registers(config);
    let names = |chosen: fn(&TableRow) -> bool, line: fn(&str) -> String| -> String {
        let lines = rows.iter().filter(|row| chosen(row)).map(|row| line(&row.register.name));
        lines.collect::<Vec<_>>().join(" \\\n")
    };
    let job = names(|row| row.register.offset >= JOB_BASE, |name| format!("    X({name})"));
    let counts =
        |row: &TableRow| matches!(row.storage, Storage::Cycles | Storage::Jobs | Storage::Counter(_));
    let counters = names(counts, |name| format!("    X({name}, {})", name.to_lowercase()));
    let _ = writeln!(
        text,
        "\n#define {PREFIX}_JOB_BASE 0x{JOB_BASE:03x}u /* fields of a job follow at their place in a descriptor */\n\n/* Words of a \
         job: X(register). */\n#define {PREFIX}_JOB_WORDS(X) \\\n{job}\n\n/* Counters: X(register, name in C). */\n#define \
         {PREFIX}_COUNTERS(X) \\\n{counters}"
    );
}

/// The structure of a descriptor, whose layout the compiler checks.
fn descriptor(text: &mut String, fields: &[DescriptorField]) {
    let _ = writeln!(
        text,
        "\n#define {PREFIX}_DESCRIPTOR_BYTES {DESCRIPTOR_BYTES} /* also its alignment */\n\n/* A descriptor in memory, little-endian. \
         Reserved bytes are 0. */\nstruct flashd_unit_descriptor {{"
    );
    let mut checks = String::new();
    let mut end = 0;
    for field in fields {
        reserved(text, end, field.offset);
        let (name, bits) = (field.name.to_lowercase(), field.bits);
        let _ = writeln!(text, "    uint{bits}_t {name}; /* 0x{:02x}: {} */", field.offset, field.meaning);
        let place = format!("offsetof(struct flashd_unit_descriptor, {name}) == 0x{:02x}", field.offset);
        let _ = writeln!(checks, "{}", check(&name, &place));
        end = field.offset + bits.div_ceil(8);
    }
    reserved(text, end, DESCRIPTOR_BYTES);
    let size = check("size", &format!("sizeof(struct flashd_unit_descriptor) == {PREFIX}_DESCRIPTOR_BYTES"));
    let _ = writeln!(
        text,
        "}};\n\n/* C99 has no static assertions: an array of -1 elements does not compile. */\n{checks}{size}"
    );
}

fn check(name: &str, condition: &str) -> String {
    format!("typedef char flashd_unit_check_{name}[({condition}) ? 1 : -1];")
}

/// Bytes without a field.
fn reserved(text: &mut String, from: u32, to: u32) {
    if from < to {
        let _ = writeln!(text, "    uint8_t reserved_{from:02x}[{}];", to - from);
    }
}
