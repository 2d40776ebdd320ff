//! Registers for people: tables in Markdown, of stream wrappers and of units.

use flashd_hwmodel::wrapper::{Access, Field, Register};
use serde::Serialize;
use std::fmt::Write;

/// The access of a host, as tables have it.
fn access(access: Access) -> &'static str {
    match access {
        Access::ReadOnly => "read",
        Access::ReadWrite => "read, write",
        Access::ClearByOne => "read, clear by 1",
        Access::Command => "command by 1",
    }
}

/// A register's name as it is written in tables.
pub(crate) fn name<N: Serialize>(register: &Register<N>) -> String {
    let text = serde_json::to_string(&register.name).unwrap_or_default();
    text.trim_matches('"').to_string()
}

/// The bits of a field: `7:0`, of one bit `0`.
fn bits(field: &Field) -> String {
    match field.width {
        1 => field.bit.to_string(),
        width => format!("{}:{}", field.bit + width - 1, field.bit),
    }
}

/// The registers, and for each with fields a table of them. Accesses have a column where some differ, and so have contents after reset, which
/// `reset` returns as far as the table shows them.
pub(crate) fn register_tables<N: Serialize>(
    registers: &[Register<N>],
    reset: impl Fn(&Register<N>) -> Option<u32>,
) -> String {
    let resets = registers.iter().any(|r| reset(r).is_some_and(|contents| contents != 0));
    let (column, line) = if resets { (" after reset |", " --: |") } else { ("", "") };
    let mut text = format!(
        "| offset | register | access | bits |{column} meaning |\n| --- | --- | --- | --: |{line} --- |\n"
    );
    for r in registers {
        let contents = reset(r).map_or(String::new(), |contents| format!(" {}", number(contents)));
        let contents = if resets { contents + " |" } else { String::new() };
        let (offset, name, access) = (r.offset, name(r), access(r.access));
        let _ =
            writeln!(text, "| 0x{offset:02x} | {name} | {access} | {} |{contents} {} |", r.width, r.meaning);
    }
    // Registers in a row with the same fields share a table.
    for alike in registers.chunk_by(|a, b| a.fields == b.fields).filter(|rows| !rows[0].fields.is_empty()) {
        let names: Vec<String> = alike.iter().map(name).collect();
        let r = &alike[0];
        let accesses = r.fields.iter().any(|field| field.access.is_some());
        let (column, line) = if accesses { (" access |", " --- |") } else { ("", "") };
        let _ = writeln!(
            text,
            "\n| {} bit | name |{column} meaning |\n| --: | --- |{line} --- |",
            names.join(", ")
        );
        for f in &r.fields {
            let access = access(f.access.unwrap_or(r.access));
            let own = if accesses { format!(" {access} |") } else { String::new() };
            let _ = writeln!(text, "| {} | {} |{own} {} |", bits(f), f.name, f.meaning);
        }
    }
    text
}

/// Small numbers are decimal.
fn number(value: u32) -> String {
    if value < 10 { value.to_string() } else { format!("0x{value:08x}") }
}
