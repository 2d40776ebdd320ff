//! Boolean functions as word operations.

use crate::liberty::Expression;

/// Cells that are evaluated together: enough for vector instructions, few enough to stay in the first cache.
pub(crate) const BLOCK: usize = 64;

/// One word for each cell of a block.
pub(crate) type Words = [u64; BLOCK];

/// Where an input of a program comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgramInput {
    /// The pin of this index in the library's cell.
    Pin(usize),
    /// The state of a flip-flop.
    State,
    /// Its complement.
    InverseState,
}

/// An operation on registers. Every operation writes the next register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RegisterOperation {
    Constant(bool),
    Not(usize),
    And(usize, usize),
    Or(usize, usize),
    Xor(usize, usize),
}

/// Functions of common inputs: registers 0 to n-1 are the inputs, every operation adds one.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// Inputs that are used.
    pub inputs: Vec<ProgramInput>,
    operations: Vec<RegisterOperation>,
    /// Register of each function.
    outputs: Vec<usize>,
}

impl Program {
    /// Compiles functions whose variables are among `names`.
    pub(crate) fn new(functions: &[&Expression], names: &[(&str, ProgramInput)]) -> Result<Self, String> {
        let mut inputs = Vec::new();
        for function in functions {
            for pin in function.pins() {
                let (_, source) = names
                    .iter()
                    .find(|(name, _)| *name == pin)
                    .ok_or_else(|| format!("a function depends on {pin}, which is not one of its inputs"))?;
                let source =
                    if *source == ProgramInput::InverseState { ProgramInput::State } else { *source };
                if !inputs.contains(&source) {
                    inputs.push(source);
                }
            }
        }
        let mut program = Program { inputs, operations: Vec::new(), outputs: Vec::new() };
        for function in functions {
            let register = program.compile(function, names);
            program.outputs.push(register);
        }
        Ok(program)
    }

    fn compile(&mut self, function: &Expression, names: &[(&str, ProgramInput)]) -> usize {
        let operation = match function {
            Expression::Constant(bit) => RegisterOperation::Constant(*bit),
            Expression::Pin(pin) => {
                let source = names.iter().find(|(name, _)| name == pin).map(|(_, source)| *source);
                let wanted = if source == Some(ProgramInput::InverseState) {
                    Some(ProgramInput::State)
                } else {
                    source
                };
                let register = self.inputs.iter().position(|input| Some(*input) == wanted);
                let register = register.expect("new() has listed every variable");
                if source != Some(ProgramInput::InverseState) {
                    return register;
                }
                RegisterOperation::Not(register)
            }
            Expression::Not(a) => RegisterOperation::Not(self.compile(a, names)),
            Expression::And(a, b) => RegisterOperation::And(self.compile(a, names), self.compile(b, names)),
            Expression::Or(a, b) => RegisterOperation::Or(self.compile(a, names), self.compile(b, names)),
            Expression::Xor(a, b) => RegisterOperation::Xor(self.compile(a, names), self.compile(b, names)),
        };
        // A subexpression that two outputs share is computed once.
        let known = self.operations.iter().position(|&earlier| earlier == operation);
        let position = known.unwrap_or_else(|| {
            self.operations.push(operation);
            self.operations.len() - 1
        });
        self.inputs.len() + position
    }

    /// Registers that [`Program::run`] needs.
    pub(crate) fn registers(&self) -> usize {
        self.inputs.len() + self.operations.len()
    }

    /// Functions.
    pub(crate) fn functions(&self) -> usize {
        self.outputs.len()
    }

    /// Whether function `index` is the state as it is.
    pub(crate) fn is_state(&self, index: usize) -> bool {
        self.inputs.get(self.outputs[index]) == Some(&ProgramInput::State)
    }

    /// Computes all operations; the inputs must be in their registers.
    pub(crate) fn run(&self, registers: &mut [Words]) {
        for (index, operation) in self.operations.iter().enumerate() {
            let (before, rest) = registers.split_at_mut(self.inputs.len() + index);
            let to = &mut rest[0];
            match *operation {
                RegisterOperation::Constant(bit) => to.fill(if bit { u64::MAX } else { 0 }),
                RegisterOperation::Not(a) => (0..BLOCK).for_each(|i| to[i] = !before[a][i]),
                RegisterOperation::And(a, b) => (0..BLOCK).for_each(|i| to[i] = before[a][i] & before[b][i]),
                RegisterOperation::Or(a, b) => (0..BLOCK).for_each(|i| to[i] = before[a][i] | before[b][i]),
                RegisterOperation::Xor(a, b) => (0..BLOCK).for_each(|i| to[i] = before[a][i] ^ before[b][i]),
            }
        }
    }

    /// The register that holds function `index` after a run.
    pub(crate) fn output<'a>(&self, registers: &'a [Words], index: usize) -> &'a Words {
        &registers[self.outputs[index]]
    }
}
