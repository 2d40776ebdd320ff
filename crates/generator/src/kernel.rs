//! Unrolls a structural kernel: every assignment becomes a pair of resolved signal paths.

use crate::GenerateError;
use rust_hdl::core::ast::{VerilogBlock, VerilogExpression, VerilogStatement};

/// `instance[i].port[j]`, or a port of the module itself when `instance` is absent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Path {
    /// Instance and its index.
    pub instance: Option<(String, Option<usize>)>,
    /// Port.
    pub port: String,
    /// Element of a vector port.
    pub element: Option<usize>,
}

/// All connections `(sink, source)` of a kernel, in order.
pub(crate) fn connections(module: &str, block: &VerilogBlock) -> Result<Vec<(Path, Path)>, GenerateError> {
    let mut unroll = Unroll { module, variables: Vec::new(), connections: Vec::new() };
    unroll.block(block)?;
    Ok(unroll.connections)
}

struct Unroll<'a> {
    module: &'a str,
    variables: Vec<(String, usize)>,
    connections: Vec<(Path, Path)>,
}

impl Unroll<'_> {
    fn error(&self, detail: impl Into<String>) -> GenerateError {
        GenerateError::Kernel { module: self.module.to_string(), detail: detail.into() }
    }

    fn block(&mut self, block: &VerilogBlock) -> Result<(), GenerateError> {
        for statement in block {
            match statement {
                VerilogStatement::Loop(l) => {
                    for value in l.from.as_usize()..l.to.as_usize() {
                        self.variables.push((l.index.clone(), value));
                        self.block(&l.block)?;
                        self.variables.pop();
                    }
                }
                VerilogStatement::Assignment(
                    VerilogExpression::Signal(sink),
                    VerilogExpression::Signal(source),
                ) => {
                    let pair = (self.path(sink)?, self.path(source)?);
                    self.connections.push(pair);
                }
                VerilogStatement::Comment(_) => {}
                other => return Err(self.error(format!("{other:?}"))),
            }
        }
        Ok(())
    }

    /// Parses `lane[i]$v$next` and the like.
    fn path(&self, text: &str) -> Result<Path, GenerateError> {
        let text = text.trim_end_matches("$next");
        let mut parts = text.split('$').map(|part| -> Result<_, GenerateError> {
            match part.split_once('[') {
                Some((name, index)) => {
                    let index = self.index(index.trim_end_matches(']'))?;
                    Ok((name.to_string(), Some(index)))
                }
                None => Ok((part.to_string(), None)),
            }
        });
        let first = parts.next().ok_or_else(|| self.error("empty path"))??;
        let second = parts.next().transpose()?;
        if parts.next().is_some() {
            return Err(self.error(format!("'{text}' reaches into an instance's inside")));
        }
        Ok(match second {
            Some((port, element)) => Path { instance: Some(first), port, element },
            None => Path { instance: None, port: first.0, element: first.1 },
        })
    }

    /// Evaluates an index: sums and differences of products of numbers and loop variables.
    fn index(&self, text: &str) -> Result<usize, GenerateError> {
        let bad = || self.error(format!("index '{text}'"));
        let mut total = 0i64;
        let mut rest = text;
        let mut sign = 1;
        while !rest.is_empty() {
            let end = rest.find(['+', '-']).unwrap_or(rest.len());
            let mut product = sign;
            for factor in rest[..end].split('*') {
                let variable = self.variables.iter().rev().find(|(name, _)| name == factor);
                product *= match variable {
                    Some((_, value)) => *value as i64,
                    None => factor.trim_end_matches("usize").parse::<i64>().map_err(|_| bad())?,
                };
            }
            total += product;
            sign = if rest[end..].starts_with('-') { -1 } else { 1 };
            rest = rest.get(end + 1..).unwrap_or("");
        }
        usize::try_from(total).map_err(|_| bad())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_indices() {
        let unroll =
            Unroll { module: "m", variables: vec![("i".into(), 3), ("g".into(), 2)], connections: vec![] };
        let path = unroll.path("lane[16*g+i-1]$v[2*i]$next").unwrap();
        assert_eq!(path.instance, Some(("lane".into(), Some(34))));
        assert_eq!((path.port.as_str(), path.element), ("v", Some(6)));
        assert!(unroll.path("a$b$c").is_err());
        assert!(unroll.path("a[j]").is_err());
    }
}
