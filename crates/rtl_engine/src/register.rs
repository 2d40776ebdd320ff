//! Registers that capture together.

/// Registers under one control.
#[derive(Clone, Debug)]
pub(crate) struct RegisterGroup {
    /// The D inputs, and the words that capture them.
    pub(crate) d: DataInput,
    pub(crate) next: u32,
    /// Words of memory of the group.
    pub(crate) words: u32,
    pub(crate) enable: Option<Enable>,
    pub(crate) gate: Option<u32>,
    /// The place of the reset, and the reset value, in bits.
    pub(crate) reset: Option<(u32, u64)>,
    /// A register has one word of memory or two.
    pub(crate) wide: bool,
    /// The event flag, a bit of a word: high from an edge with a capture until logic has settled after it.
    pub(crate) event: Option<(u32, u32)>,
}

/// Clock enables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Enable {
    /// One word for the group.
    Shared(u32),
    /// A vector: one word for each register. These registers have no reset.
    Each(u32),
}

/// Where D inputs are.
#[derive(Clone, Debug)]
pub(crate) enum DataInput {
    /// Adjacent, from this word on.
    Vector(u32),
    /// Word by word.
    Words(Vec<u32>),
}

impl RegisterGroup {
    /// The number of registers.
    pub(crate) fn elements(&self) -> u32 {
        self.words / self.size()
    }

    /// Words of memory of each.
    pub(crate) fn size(&self) -> u32 {
        1 + u32::from(self.wide)
    }

    /// The words that all have to be high for a capture, apart from enables of single registers.
    pub(crate) fn controls(&self) -> impl Iterator<Item = u32> + use<> {
        self.gate.into_iter().chain(self.shared_enable())
    }

    /// The enable of the whole group.
    pub(crate) fn shared_enable(&self) -> Option<u32> {
        match self.enable {
            Some(Enable::Shared(enable)) => Some(enable),
            _ => None,
        }
    }

    /// The registers as groups with a shared enable: with a vector of enables, a group for each register.
    pub(crate) fn with_shared_enables(&self) -> Vec<RegisterGroup> {
        let (Some(Enable::Each(enable)), DataInput::Vector(d)) = (self.enable, &self.d) else {
            return vec![self.clone()];
        };
        let size = self.size();
        let one = |i| RegisterGroup {
            d: DataInput::Vector(d + i * size),
            next: self.next + i * size,
            words: size,
            enable: Some(Enable::Shared(enable + i)),
            ..self.clone()
        };
        (0..self.elements()).map(one).collect()
    }
}
