//! Boolean functions of pins.

use std::collections::BTreeSet;

/// A Boolean function as a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression {
    /// 0 or 1.
    Constant(bool),
    /// A pin or a state variable.
    Pin(String),
    /// Complement.
    Not(Box<Expression>),
    /// Conjunction.
    And(Box<Expression>, Box<Expression>),
    /// Disjunction.
    Or(Box<Expression>, Box<Expression>),
    /// Exclusive or.
    Xor(Box<Expression>, Box<Expression>),
}

/// A text that is not a Boolean function.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is not a Boolean function: {problem} at character {at}")]
pub struct ExpressionError {
    text: String,
    problem: &'static str,
    at: usize,
}

impl Expression {
    /// Reads Liberty's notation: `!A`, `A'`, `A*B`, `A&B`, `A B`, `A^B`, `A+B`, `A|B`, `0`, `1`. Complement
    /// binds tightest, then exclusive or, conjunction, disjunction.
    ///
    /// # Errors
    /// If the text is something else.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        let mut parser = Parser { text, at: 0 };
        let expression = parser.disjunction()?;
        match parser.peek() {
            None => Ok(expression),
            Some(_) => Err(parser.error("something unexpected")),
        }
    }

    /// Names of the pins and state variables in it.
    pub fn pins(&self) -> BTreeSet<&str> {
        let mut pins = BTreeSet::new();
        self.collect(&mut pins);
        pins
    }

    fn collect<'a>(&'a self, pins: &mut BTreeSet<&'a str>) {
        match self {
            Expression::Constant(_) => {}
            Expression::Pin(name) => {
                pins.insert(name);
            }
            Expression::Not(a) => a.collect(pins),
            Expression::And(a, b) | Expression::Or(a, b) | Expression::Xor(a, b) => {
                a.collect(pins);
                b.collect(pins);
            }
        }
    }

    /// Its value in 64 cases at a time, `value` giving each pin's; `None` if that does for some pin.
    pub fn evaluate(&self, value: &impl Fn(&str) -> Option<u64>) -> Option<u64> {
        Some(match self {
            Expression::Constant(bit) => {
                if *bit {
                    u64::MAX
                } else {
                    0
                }
            }
            Expression::Pin(name) => value(name)?,
            Expression::Not(a) => !a.evaluate(value)?,
            Expression::And(a, b) => a.evaluate(value)? & b.evaluate(value)?,
            Expression::Or(a, b) => a.evaluate(value)? | b.evaluate(value)?,
            Expression::Xor(a, b) => a.evaluate(value)? ^ b.evaluate(value)?,
        })
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn error(&self, problem: &'static str) -> ExpressionError {
        ExpressionError { text: self.text.to_string(), problem, at: self.at + 1 }
    }

    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    fn disjunction(&mut self) -> Result<Expression, ExpressionError> {
        let mut left = self.conjunction()?;
        while let Some(b'+' | b'|') = self.peek() {
            self.at += 1;
            left = Expression::Or(Box::new(left), Box::new(self.conjunction()?));
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Result<Expression, ExpressionError> {
        let mut left = self.exclusive()?;
        loop {
            match self.peek() {
                Some(b'*' | b'&') => self.at += 1,
                // Two operands side by side.
                Some(c) if c == b'!' || c == b'(' || is_name(c) => {}
                _ => return Ok(left),
            }
            left = Expression::And(Box::new(left), Box::new(self.exclusive()?));
        }
    }

    fn exclusive(&mut self) -> Result<Expression, ExpressionError> {
        let mut left = self.complement()?;
        while self.peek() == Some(b'^') {
            self.at += 1;
            left = Expression::Xor(Box::new(left), Box::new(self.complement()?));
        }
        Ok(left)
    }

    fn complement(&mut self) -> Result<Expression, ExpressionError> {
        let mut operand = match self.peek() {
            Some(b'!') => {
                self.at += 1;
                Expression::Not(Box::new(self.complement()?))
            }
            Some(b'(') => {
                self.at += 1;
                let inner = self.disjunction()?;
                if self.peek() != Some(b')') {
                    return Err(self.error("a missing \")\""));
                }
                self.at += 1;
                inner
            }
            Some(c) if is_name(c) => self.name(),
            _ => return Err(self.error("a missing operand")),
        };
        while self.peek() == Some(b'\'') {
            self.at += 1;
            operand = Expression::Not(Box::new(operand));
        }
        Ok(operand)
    }

    fn name(&mut self) -> Expression {
        let rest = &self.text[self.at..];
        let length = rest.bytes().position(|c| !is_name(c)).unwrap_or(rest.len());
        self.at += length;
        match &rest[..length] {
            "0" => Expression::Constant(false),
            "1" => Expression::Constant(true),
            name => Expression::Pin(name.to_string()),
        }
    }
}

fn is_name(c: u8) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, b'_' | b'[' | b']' | b'.')
}
