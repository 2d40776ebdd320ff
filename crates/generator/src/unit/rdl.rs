//! Registers in SystemRDL 2.0.

use super::manifest::{UnitManifest, UnitRegister, fields_of, origin, reset_of};
use crate::verilog::GeneratedFile;
use flashd_hwmodel::wrapper::{Access, Field};
use std::fmt::Write;

/// `<name>.rdl`: an address map of the register port.
pub(super) fn rdl(manifest: &UnitManifest) -> GeneratedFile {
    let name = &manifest.array.name;
    let mut text = format!(
        "// {}\naddrmap {name} {{\n    name = \"{name}\";\n    desc = \"Registers of an attention unit: AXI4-Lite, little-endian.\";\n    \
         default regwidth = 32;\n    default accesswidth = 32;\n    littleendian;\n",
        origin(manifest)
    );
    manifest.registers.iter().for_each(|row| register(&mut text, row));
    text += "};\n";
    GeneratedFile { name: format!("{name}.rdl"), text }
}

fn register(text: &mut String, row: &UnitRegister) {
    let _ = writeln!(text, "\n    reg {{\n        desc = {};", string(&row.meaning));
    for (field, access) in fields_of(row) {
        let Field { name, bit, width, meaning, .. } = &field;
        let _ = writeln!(
            text,
            "        field {{\n            desc = {};\n            {}\n        }} {name}[{}:{bit}] = 0x{:x};",
            string(meaning),
            properties(access, row),
            bit + width - 1,
            reset_of(row, &field)
        );
    }
    let _ = writeln!(text, "    }} {} @ 0x{:03x};", row.name, row.offset);
}

/// Software's and hardware's access.
fn properties(access: Access, row: &UnitRegister) -> &'static str {
    match access {
        // A number that does not change.
        Access::ReadOnly if row.reset != 0 => "sw = r; hw = na;",
        Access::ReadOnly => "sw = r; hw = w;",
        Access::ReadWrite => "sw = rw; hw = r;",
        Access::ClearByOne => "sw = rw; onwrite = woclr; hw = w;",
        Access::Command => "sw = w; singlepulse; hw = r;",
    }
}

fn string(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
