//! HTML as text: escaped, every element closed, so that it is XML too.

use super::tables::ReportTable;

/// Text that may stand in an element or an attribute.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

/// An element around escaped text.
pub fn element(tag: &str, text: &str) -> String {
    format!("<{tag}>{}</{tag}>\n", escape(text))
}

/// Commands, one a line.
pub fn commands(lines: &[String]) -> String {
    element("pre", &lines.join("\n"))
}

/// A table; cells that begin with a digit or are empty values are aligned to the right.
pub fn table(table: &ReportTable) -> String {
    let number = |cell: &str| cell == "-" || cell.starts_with(|c: char| c.is_ascii_digit());
    let numbers: Vec<bool> = (0..table.header.len())
        .map(|column| !table.rows.is_empty() && table.rows.iter().all(|row| number(&row[column])))
        .collect();
    let mut out = String::from("<div class=\"wide\"><table>\n<thead><tr>");
    let class = |column: usize| if numbers[column] { " class=\"n\"" } else { "" };
    for (column, head) in table.header.iter().enumerate() {
        out += &format!("<th{}>{}</th>", class(column), escape(head));
    }
    out += "</tr></thead>\n<tbody>\n";
    for row in &table.rows {
        out += "<tr>";
        for (column, cell) in row.iter().enumerate() {
            out += &format!("<td{}>{}</td>", class(column), escape(cell));
        }
        out += "</tr>\n";
    }
    out + "</tbody></table></div>\n"
}

/// Closed until it is clicked on, but printed open.
pub fn details(summary: &str, body: &str) -> String {
    format!("<details><summary>{}</summary>\n{body}</details>\n", escape(summary))
}

/// The whole page.
pub fn page(title: &str, body: &str) -> String {
    let title = escape(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n\
         <meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n{body}</body>\n</html>\n"
    )
}

const STYLE: &str = "\
body { font: 15px/1.45 Helvetica, Arial, sans-serif; color: #1b1f24; max-width: 1200px; margin: 2em auto; padding: 0 1em }
h1 { font-size: 1.6em } h2 { font-size: 1.25em; margin-top: 2em } h3 { font-size: 1.05em }
table { border-collapse: collapse; font-size: 13px; margin: .6em 0 }
th, td { text-align: left; vertical-align: top; padding: .2em .7em; border-bottom: 1px solid #dfe3e8 }
thead th { border-bottom: 1px solid #444c56 }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
.wide { overflow-x: auto }
.charts { display: flex; flex-wrap: wrap; gap: 16px }
.charts svg { max-width: 100%; height: auto }
figure { margin: 0 }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #f4f6f8; padding: .6em .8em; font-size: 12.5px }
summary { cursor: pointer; padding: .2em 0 }
.digest { font-family: monospace; overflow-wrap: anywhere }
@media print {
  body { max-width: none; margin: 0; font-size: 10pt }
  .wide { overflow: visible } table { font-size: 8pt } th, td { padding: .15em .4em }
  tr, figure { break-inside: avoid }
  details::details-content { content-visibility: visible; display: block; height: auto }
}
";
