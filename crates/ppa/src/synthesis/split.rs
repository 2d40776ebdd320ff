//! An emitted file, taken apart into its modules.

use crate::PpaError;

/// One module of an emitted file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SourceModule {
    /// Name.
    pub name: String,
    /// Text from `module` to `endmodule`.
    pub text: String,
    /// Name and port list only, for parents.
    pub header: String,
    /// Distinct modules that it instantiates, in order of appearance.
    pub children: Vec<String>,
}

impl SourceModule {
    /// A single module for the whole file: all text under the name and header of the last module, the top.
    pub(super) fn flattened(modules: Vec<SourceModule>) -> SourceModule {
        let text = modules.iter().map(|m| m.text.as_str()).collect();
        let top = modules.into_iter().next_back();
        let (name, header) = top.map(|m| (m.name, m.header)).unwrap_or_default();
        SourceModule { name, text, header, children: Vec::new() }
    }
}

/// The modules of an emitted file, every one after the modules that it instantiates.
///
/// # Errors
/// If a module does not end, or modules contain one another.
pub(super) fn split(file: &str, text: &str) -> Result<Vec<SourceModule>, PpaError> {
    let unexpected = |detail: String| PpaError::Unexpected { what: file.to_string(), detail };
    let mut modules = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(rest) = line.strip_prefix("module ") else { continue };
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let mut body = format!("{line}\n");
        let mut header_end = rest.contains(");").then_some(body.len());
        loop {
            let line = lines.next().ok_or_else(|| unexpected(format!("module {name} does not end")))?;
            body += line;
            body += "\n";
            if header_end.is_none() && line.trim_start().starts_with(");") {
                header_end = Some(body.len());
            }
            if line == "endmodule" {
                break;
            }
        }
        let end = header_end.ok_or_else(|| unexpected(format!("module {name} has no port list")))?;
        modules.push(SourceModule {
            name,
            header: body[..end].to_string(),
            text: body,
            children: Vec::new(),
        });
    }
    let names: Vec<String> = modules.iter().map(|m| m.name.clone()).collect();
    for module in &mut modules {
        for line in module.text.lines() {
            // An instance begins with the name of its module, and nothing else in a body does.
            let first = line.split_whitespace().next().unwrap_or_default();
            if names.iter().any(|n| n == first) && !module.children.iter().any(|c| c == first) {
                module.children.push(first.to_string());
            }
        }
    }
    children_first(modules).map_err(unexpected)
}

/// Orders modules so that children come before parents, otherwise as they appear in the file.
fn children_first(mut modules: Vec<SourceModule>) -> Result<Vec<SourceModule>, String> {
    let mut ordered: Vec<SourceModule> = Vec::with_capacity(modules.len());
    while !modules.is_empty() {
        let ready = modules
            .iter()
            .position(|m| m.children.iter().all(|child| ordered.iter().any(|done| done.name == *child)));
        let Some(ready) = ready else {
            return Err(format!("module {} contains itself", modules[0].name));
        };
        ordered.push(modules.remove(ready));
    }
    Ok(ordered)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "// head\n\
        `default_nettype none\n\
        module top (\n    input  wire a,\n    output wire y\n);\n    wire b;\n    inner u_0 (.a(a), .y(b));\n    inner u_1 (\n        .a(b),\n        .y(y)\n    );\nendmodule\n\
        \n// inverts\nmodule inner (\n    input  wire a,\n    output wire y\n);\n    assign y = ~a;\nendmodule\n";

    #[test]
    fn modules_come_with_headers_and_children() {
        let modules = split("file.v", TEXT).unwrap();
        let names: Vec<&str> = modules.iter().map(|m| m.name.as_str()).collect();
        assert_eq!(names, ["inner", "top"]);
        assert_eq!(modules[1].children, ["inner"]);
        assert!(modules[0].children.is_empty());
        assert_eq!(modules[0].header, "module inner (\n    input  wire a,\n    output wire y\n);\n");
        assert!(modules[0].text.ends_with("assign y = ~a;\nendmodule\n"));
    }

    #[test]
    fn a_cut_file_and_a_circle_are_refused() {
        let cut = TEXT.strip_suffix("endmodule\n").unwrap();
        assert!(split("file.v", cut).unwrap_err().to_string().contains("inner does not end"));
        let circle = TEXT.replace("assign y = ~a;", "top u (.a(a), .y(y));");
        assert!(split("file.v", &circle).unwrap_err().to_string().contains("contains itself"));
    }
}
