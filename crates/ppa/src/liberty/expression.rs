//! Boolean functions of pins.

use std::collections::BTreeSet;
use std::fmt;

/// Greatest nesting depth of operators and parentheses: readers of a tree recurse. The deepest functions of libraries
/// have a tenth of it.
const DEEPEST: usize = 500;

/// Most characters of a text that an error repeats.
const SHOWN: usize = 60;

/// A Boolean function as a tree, at most 500 operators deep.
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
    problem: String,
    at: usize,
}

impl Expression {
    /// Reads Liberty's notation: `!A`, `A'`, `A*B`, `A&B`, `A B`, `A^B`, `A+B`, `A|B`, `0`, `1`. Complement
    /// binds tightest, then exclusive or, conjunction, disjunction.
    ///
    /// # Errors
    /// If the text is something else.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        let mut parser = Parser { text, at: 0, open: 0 };
        let (expression, _) = parser.disjunction()?;
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

    /// Its value in 64 cases at a time, `value` giving each pin's; `None` if `value` gives `None` for some pin.
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

/// With all parentheses, so that tools that disagree about the precedence of operators read the same.
impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expression::Constant(bit) => write!(f, "{}", u8::from(*bit)),
            Expression::Pin(name) => f.write_str(name),
            Expression::Not(a) => match &**a {
                Expression::Not(a) => a.fmt(f),
                Expression::Constant(bit) => write!(f, "{}", u8::from(!bit)),
                a => write!(f, "!{a}"),
            },
            Expression::And(a, b) => write!(f, "({a} * {b})"),
            Expression::Or(a, b) => write!(f, "({a} + {b})"),
            Expression::Xor(a, b) => write!(f, "({a} ^ {b})"),
        }
    }
}

/// A part of the tree, and its depth in operators and parentheses.
type Part = (Expression, usize);

struct Parser<'a> {
    text: &'a str,
    at: usize,
    /// Parentheses and complements that are open.
    open: usize,
}

impl Parser<'_> {
    fn error(&self, problem: impl Into<String>) -> ExpressionError {
        let mut text: String = self.text.chars().take(SHOWN).collect();
        if text.len() < self.text.len() {
            text += "...";
        }
        ExpressionError { text, problem: problem.into(), at: self.at + 1 }
    }

    /// Refuses trees that are too deep.
    fn within(&self, depth: usize) -> Result<usize, ExpressionError> {
        match depth <= DEEPEST {
            true => Ok(depth),
            false => Err(self.error(format!("more than {DEEPEST} operators around each other"))),
        }
    }

    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    /// An operator of two parts.
    fn join(
        &self,
        operator: fn(Box<Expression>, Box<Expression>) -> Expression,
        left: Part,
        right: Part,
    ) -> Result<Part, ExpressionError> {
        let depth = self.within(left.1.max(right.1) + 1)?;
        Ok((operator(Box::new(left.0), Box::new(right.0)), depth))
    }

    fn disjunction(&mut self) -> Result<Part, ExpressionError> {
        let mut left = self.conjunction()?;
        while let Some(b'+' | b'|') = self.peek() {
            self.at += 1;
            let right = self.conjunction()?;
            left = self.join(Expression::Or, left, right)?;
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Result<Part, ExpressionError> {
        let mut left = self.exclusive()?;
        loop {
            match self.peek() {
                Some(b'*' | b'&') => self.at += 1,
                // Two operands side by side.
                Some(c) if c == b'!' || c == b'(' || is_name(c) => {}
                _ => return Ok(left),
            }
            let right = self.exclusive()?;
            left = self.join(Expression::And, left, right)?;
        }
    }

    fn exclusive(&mut self) -> Result<Part, ExpressionError> {
        let mut left = self.complement()?;
        while self.peek() == Some(b'^') {
            self.at += 1;
            let right = self.complement()?;
            left = self.join(Expression::Xor, left, right)?;
        }
        Ok(left)
    }

    /// The operand of one more `!` or `(`.
    fn inside(
        &mut self,
        read: fn(&mut Self) -> Result<Part, ExpressionError>,
    ) -> Result<Part, ExpressionError> {
        self.at += 1;
        self.open = self.within(self.open + 1)?;
        let part = read(self)?;
        self.open -= 1;
        Ok(part)
    }

    fn not(&self, (operand, depth): Part) -> Result<Part, ExpressionError> {
        Ok((Expression::Not(Box::new(operand)), self.within(depth + 1)?))
    }

    fn complement(&mut self) -> Result<Part, ExpressionError> {
        let mut operand = match self.peek() {
            Some(b'!') => {
                let operand = self.inside(Self::complement)?;
                self.not(operand)?
            }
            Some(b'(') => {
                let inner = self.inside(Self::disjunction)?;
                if self.peek() != Some(b')') {
                    return Err(self.error("a missing \")\""));
                }
                self.at += 1;
                inner
            }
            Some(c) if is_name(c) => (self.name(), 0),
            _ => return Err(self.error("a missing operand")),
        };
        while self.peek() == Some(b'\'') {
            self.at += 1;
            operand = self.not(operand)?;
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
