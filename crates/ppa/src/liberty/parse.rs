//! The syntax of Liberty: groups of attributes and groups.
//!
//! ```text
//!  kind (name, ...) { ... }      a group
//!  name : value ;                an attribute; the semicolon may be missing at the end of a line
//!  name (value, ...) ;           an attribute with several values
//! ```

use std::ops::Range;

/// Most groups inside each other. Libraries have five or so, memory compilers a few more.
const DEEPEST: usize = 64;

/// An attribute, a simple one with one value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Attribute {
    /// `area`.
    pub name: String,
    /// `32`.
    pub values: Vec<String>,
    /// Which of them had quotes.
    pub quoted: Vec<bool>,
    /// `name : value`, and not `name (value)`.
    pub simple: bool,
    /// Line on which it begins, from 1.
    pub line: usize,
}

/// A group: `cell (AND2X1) { ... }`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LibertyGroup {
    /// `cell`.
    pub kind: String,
    /// `AND2X1`; some groups have several names or none.
    pub names: Vec<String>,
    /// Attributes.
    pub attributes: Vec<Attribute>,
    /// Groups inside.
    pub groups: Vec<LibertyGroup>,
    /// Line on which it begins, from 1.
    pub line: usize,
}

/// A text that is not Liberty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}: {problem}")]
pub struct SyntaxError {
    /// Line, from 1.
    pub line: usize,
    /// Problem.
    pub problem: String,
}

impl LibertyGroup {
    /// Groups of a kind inside.
    pub(super) fn all<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a LibertyGroup> {
        self.groups.iter().filter(move |group| group.kind == kind)
    }

    /// The attribute of a name.
    pub(super) fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    /// Values of an attribute.
    pub(super) fn values(&self, name: &str) -> Option<&[String]> {
        self.attribute(name).map(|attribute| attribute.values.as_slice())
    }

    /// First value of an attribute.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.values(name)?.first().map(String::as_str)
    }

    /// The same without line numbers, for comparisons.
    pub(super) fn without_lines(&self) -> LibertyGroup {
        let plain = |a: &Attribute| Attribute { line: 0, quoted: Vec::new(), ..a.clone() };
        let attributes = self.attributes.iter().map(plain).collect();
        let groups = self.groups.iter().map(LibertyGroup::without_lines).collect();
        LibertyGroup { attributes, groups, names: self.names.clone(), kind: self.kind.clone(), line: 0 }
    }

    /// First name, or nothing.
    pub(super) fn name(&self) -> &str {
        self.names.first().map_or("", String::as_str)
    }
}

/// Reads the one outermost group of a text, the library.
///
/// # Errors
/// The first place at which the text is not Liberty.
pub(super) fn parse(text: &str) -> Result<LibertyGroup, SyntaxError> {
    // A byte order mark is no part of the text.
    let mut reader = Reader { rest: text.strip_prefix('\u{feff}').unwrap_or(text), line: 1, depth: 0 };
    let mut file = LibertyGroup::default();
    while reader.statement(&mut file)? {}
    if !reader.rest.is_empty() {
        return Err(reader.error("a \"}\" too much"));
    }
    let mut libraries = file.groups.into_iter().filter(|group| group.kind == "library");
    match (libraries.next(), libraries.next()) {
        (Some(library), None) => Ok(library),
        (Some(_), Some(second)) => {
            let problem = format!("a second library, {}; a file has one", second.name());
            Err(SyntaxError { line: second.line, problem })
        }
        (None, _) => Err(SyntaxError { line: 1, problem: "no library ( ... ) { ... } in it".into() }),
    }
}

/// A statement of a library, alone in a group, and its place in the text.
pub(super) type Statement = (LibertyGroup, Range<usize>);

/// The statements of a text's library, and the place of its closing brace.
///
/// # Errors
/// As [`parse`].
pub(super) fn library_statements(text: &str) -> Result<(Vec<Statement>, usize), SyntaxError> {
    // The whole text is parsed first, so that the rest meets no error.
    parse(text)?;
    let mut reader = Reader { rest: text.strip_prefix('\u{feff}').unwrap_or(text), line: 1, depth: 0 };
    reader.skip(true)?;
    // `library (name) {`
    reader.word(false)?;
    reader.skip(true)?;
    if !reader.next_is('(') {
        return Err(reader.error("something else before the library"));
    }
    reader.arguments("library")?;
    reader.skip(true)?;
    if !reader.next_is('{') {
        return Err(reader.error("something else before the library"));
    }
    let mut statements = Vec::new();
    loop {
        let from = text.len() - reader.rest.len();
        let mut statement = LibertyGroup::default();
        if !reader.statement(&mut statement)? {
            return Ok((statements, text.len() - reader.rest.len()));
        }
        statements.push((statement, from..text.len() - reader.rest.len()));
    }
}

/// Where a string ends; quotes after a backslash are part of it.
fn closing_quotes(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|c| {
        let closes = c == b'"' && !escaped;
        escaped = c == b'\\' && !escaped;
        closes
    })
}

/// A string over several lines in one: a backslash at the end of a line, blanks after it or not, is one blank.
fn continued(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut line = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let rest = part.trim_start_matches([' ', '\t', '\r']);
        match rest.strip_prefix('\n') {
            Some(next) => {
                line.push(' ');
                line += next;
            }
            None => {
                line.push('\\');
                line += part;
            }
        }
    }
    line
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
    /// Groups that are open.
    depth: usize,
}

/// Characters that end a word outside quotes; in argument lists a colon does not.
fn ends_word(c: char, in_arguments: bool) -> bool {
    c.is_whitespace() || matches!(c, '(' | ')' | '{' | '}' | ';' | ',' | '"') || (c == ':' && !in_arguments)
}

impl<'a> Reader<'a> {
    fn error(&self, problem: impl Into<String>) -> SyntaxError {
        SyntaxError { line: self.line, problem: problem.into() }
    }

    fn advance(&mut self, bytes: usize) -> &'a str {
        let (passed, rest) = self.rest.split_at(bytes);
        self.line += passed.bytes().filter(|&c| c == b'\n').count();
        self.rest = rest;
        passed
    }

    /// Passes blanks, comments and continued lines; line ends too unless they matter.
    fn skip(&mut self, line_ends: bool) -> Result<(), SyntaxError> {
        loop {
            let length = match self.rest.as_bytes() {
                [b'\n', ..] if !line_ends => return Ok(()),
                [b' ' | b'\t' | b'\r' | b'\n', ..] => 1,
                [b'\\', b'\r', b'\n', ..] => 3,
                [b'\\', b'\n', ..] => 2,
                [b'/', b'*', ..] => match self.rest[2..].find("*/") {
                    Some(length) => length + 4,
                    None => return Err(self.error("a comment without end")),
                },
                [b'/', b'/', ..] => self.rest.find('\n').unwrap_or(self.rest.len()),
                // A backslash before trailing blanks is meant as one at the end of the line.
                [b'\\', ..] => 1,
                _ => return Ok(()),
            };
            self.advance(length);
        }
    }

    fn next_is(&mut self, c: char) -> bool {
        let found = self.rest.starts_with(c);
        if found {
            self.advance(c.len_utf8());
        }
        found
    }

    /// A word or a string; empty at punctuation.
    fn word(&mut self, in_arguments: bool) -> Result<String, SyntaxError> {
        if self.rest.starts_with('"') {
            let Some(length) = closing_quotes(&self.rest[1..]) else {
                return Err(self.error("a string without closing quotes"));
            };
            let text = self.advance(length + 2);
            let inner = &text[1..text.len() - 1];
            return Ok(match inner.contains('\\') {
                true => continued(inner),
                false => inner.to_string(),
            });
        }
        let length = self.rest.find(|c| ends_word(c, in_arguments)).unwrap_or(self.rest.len());
        let length = self.rest[..length].find("/*").unwrap_or(length);
        Ok(self.advance(length).to_string())
    }

    /// One statement of a group; false at its end.
    fn statement(&mut self, group: &mut LibertyGroup) -> Result<bool, SyntaxError> {
        self.skip(true)?;
        while self.next_is(';') {
            self.skip(true)?;
        }
        if self.rest.is_empty() || self.rest.starts_with('}') {
            return Ok(false);
        }
        let line = self.line;
        let key = self.word(false)?;
        if key.is_empty() {
            return Err(self.error(format!("\"{}\" where a name should be", first(self.rest))));
        }
        self.skip(true)?;
        if self.next_is(':') {
            let (value, quoted) = self.simple_value(&key)?;
            group.attributes.push(Attribute {
                name: key,
                values: vec![value],
                quoted: vec![quoted],
                simple: true,
                line,
            });
            return Ok(true);
        }
        if !self.next_is('(') {
            return Err(self.error(format!("neither \":\" nor \"(\" after {key}")));
        }
        let (values, quoted) = self.arguments(&key)?;
        if key == "include_file" {
            let file = values.concat();
            let problem =
                format!("include_file ({file}): only whole libraries are read; put the file's text here");
            return Err(SyntaxError { line, problem });
        }
        self.skip(true)?;
        if !self.next_is('{') {
            group.attributes.push(Attribute { name: key, values, quoted, simple: false, line });
            return Ok(true);
        }
        let opened = self.line;
        if self.depth == DEEPEST {
            return Err(self.error(format!("{key} is inside of {DEEPEST} groups, which is the limit")));
        }
        self.depth += 1;
        let mut inner = LibertyGroup { kind: key, names: values, line, ..LibertyGroup::default() };
        while self.statement(&mut inner)? {}
        if !self.next_is('}') {
            return Err(self.error(format!("{} of line {opened} has no closing \"}}\"", inner.kind)));
        }
        self.depth -= 1;
        group.groups.push(inner);
        Ok(true)
    }

    /// Everything to the semicolon or the end of the line, such as `1.8`, `"A B"` or `VDD + 0.3`.
    ///
    /// Also whether it is one string in quotes.
    fn simple_value(&mut self, key: &str) -> Result<(String, bool), SyntaxError> {
        self.skip(true)?;
        let mut quoted = self.rest.starts_with('"');
        let mut value = String::new();
        let mut words = 0;
        while !self.rest.is_empty() && !self.rest.starts_with([';', '}', '\n']) {
            let word = match self.rest.starts_with(['(', ')', ',', '{', ':']) {
                true => self.advance(1).to_string(),
                false => self.word(false)?,
            };
            if !value.is_empty() {
                value.push(' ');
            }
            value += &word;
            words += 1;
            self.skip(false)?;
        }
        quoted &= words == 1;
        match value.is_empty() && self.rest.is_empty() {
            true => Err(self.error(format!("no value for {key}"))),
            false => Ok((value, quoted)),
        }
    }

    fn arguments(&mut self, key: &str) -> Result<(Vec<String>, Vec<bool>), SyntaxError> {
        let (mut values, mut quoted) = (Vec::new(), Vec::new());
        loop {
            self.skip(true)?;
            if self.next_is(')') {
                return Ok((values, quoted));
            }
            if self.next_is(',') {
                continue;
            }
            if self.rest.is_empty() || self.rest.starts_with(['{', '}', ';', '(']) {
                return Err(self.error(format!("the list after {key} has no closing \")\"")));
            }
            quoted.push(self.rest.starts_with('"'));
            values.push(self.word(true)?);
        }
    }
}

fn first(text: &str) -> String {
    text.chars().take(1).collect()
}
