//! Registers that capture together.

/// Registers under one control.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    /// Where what they take is, and where it goes.
    pub(crate) d: Taken,
    pub(crate) next: u32,
    /// Words of memory for all of them.
    pub(crate) words: u32,
    pub(crate) enable: Option<Enable>,
    pub(crate) gate: Option<u32>,
    /// The place of the reset, and the value then, in bits.
    pub(crate) reset: Option<(u32, u64)>,
    /// A register has one word of memory or two.
    pub(crate) wide: bool,
    /// The flag that is high from an edge at which they take something until logic has settled behind it.
    pub(crate) event: Option<u32>,
}

/// What registers take something under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Enable {
    /// One word for all of them.
    Shared(u32),
    /// One after another, and so is what they take; such registers have no reset.
    Each(u32),
}

impl Held {
    /// How many registers there are.
    pub(crate) fn elements(&self) -> u32 {
        self.words / self.size()
    }

    /// Words of memory of each.
    pub(crate) fn size(&self) -> u32 {
        1 + u32::from(self.wide)
    }

    /// The words that have to be high, if they are the same for all of them.
    pub(crate) fn controls(&self) -> impl Iterator<Item = u32> + use<> {
        let shared = match self.enable {
            Some(Enable::Shared(enable)) => Some(enable),
            _ => None,
        };
        self.gate.into_iter().chain(shared)
    }

    /// The same registers without enables that are beside each other: each alone under its own.
    pub(crate) fn apart(&self) -> Vec<Held> {
        let (Some(Enable::Each(enable)), Taken::Each(d)) = (self.enable, &self.d) else {
            return vec![self.clone()];
        };
        let size = self.size();
        let one = |i| Held {
            d: Taken::Each(d + i * size),
            next: self.next + i * size,
            words: size,
            enable: Some(Enable::Shared(enable + i)),
            ..self.clone()
        };
        (0..self.elements()).map(one).collect()
    }
}

/// Where it is what registers take.
#[derive(Clone, Debug)]
pub(crate) enum Taken {
    /// One after another.
    Each(u32),
    /// Word by word.
    Words(Vec<u32>),
}
