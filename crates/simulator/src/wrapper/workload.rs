//! Stimulus of a wrapper, and the model's expectations.

use flashd_golden::{Action, Head, Model, PartialState, QueryResult};
use flashd_spec::bits::ones;
use flashd_spec::config::{Values, WrapperConfig};

/// Which keys a query sees, as MASK_MODE and WINDOW have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mask {
    /// All.
    #[default]
    None,
    /// Those up to its place.
    Causal,
    /// The last of these, up to this number.
    Window(u64),
}

/// A block: queries that meet the same keys. Vectors have the words of the core's ports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WrapperBlock {
    /// Queries, `[queries, words.q]` encodings.
    pub q: Vec<u64>,
    /// Keys, `[keys, words.k]` encodings.
    pub k: Vec<u64>,
    /// Values, `[keys, words.v]` encodings.
    pub v: Vec<u64>,
    /// For cores with masks: keys that no query sees; those for which nothing is said are seen.
    pub padding: Vec<bool>,
    /// For cores with a bias: `[keys, queries]` encodings, the bias of each key's score for each query of the array, absent queries
    /// included.
    pub biases: Vec<u64>,
    /// For cores with partial results: the state that each query starts from; none for all when empty.
    pub states: Vec<Option<PartialState>>,
}

/// Blocks, and the registers that they need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WrapperWorkload {
    /// The blocks.
    pub blocks: Vec<WrapperBlock>,
    /// Register V_EXPONENT: exponent field of max|v|.
    pub v_exponent: u64,
    /// Registers MASK_MODE and WINDOW.
    pub mask: Mask,
    /// Register POSITION at the start: place of the first query among the keys.
    pub position: u64,
    /// Register STRIDE: the increment of the place after each query.
    pub stride: u64,
    /// Register LENGTH: keys of a block, 0 for as many as its packet has.
    pub length: u64,
}

/// Expectations of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedBlock {
    /// The results, with steps.
    pub results: Vec<QueryResult>,
    /// Places of the keys whose value some query needs, in order.
    pub needed: Vec<usize>,
    /// Keys of the block.
    pub keys: usize,
}

impl WrapperWorkload {
    /// The model's results of every block, each query by itself.
    pub fn expected(&self, config: &WrapperConfig) -> Vec<ExpectedBlock> {
        let core = &config.array.core;
        let (model, words) = (Model::new(core), core.port_words());
        let array = config.array.queries;
        let beyond = ones(config.array.key_index_bits());
        let mut place = self.position;
        let block = |block: &WrapperBlock| {
            let (queries, keys) = (block.q.len() / words.q, block.k.len() / words.k);
            let first = place;
            // POSITION wraps around; a place of all ones stays the last one.
            place = place.wrapping_add(self.stride * queries as u64) & beyond;
            let masked = |query: usize, key: usize| {
                let key_place = key as u64;
                let place = first.wrapping_add(self.stride * query as u64) & beyond;
                let outside = match self.mask {
                    Mask::None => false,
                    Mask::Causal => key_place > place,
                    Mask::Window(w) => key_place > place || key_place + w < (place + 1).min(beyond),
                };
                let padding = block.padding.get(key).is_some_and(|&masked| masked);
                core.masks && (outside || key_place >= beyond || padding)
            };
            let lengths = vec![keys; queries];
            let exponents = vec![self.v_exponent; queries];
            let bias = |query: usize, key: usize| block.biases[key * array + query];
            let results = model.run(Head {
                masked: Some(&masked),
                biases: core.bias.then_some(&bias),
                restored: &block.states,
                ..Head::new(&block.q, &block.k, &block.v, &lengths).with_exponents(&exponents).with_steps()
            });
            let reads = |key: &usize| {
                results.iter().enumerate().any(|(query, r)| {
                    // A state is a step before the keys' steps.
                    let restores = usize::from(block.states.get(query).is_some_and(Option::is_some));
                    matches!(r.steps[key + restores].action, Action::Load | Action::Update)
                })
            };
            let needed = (0..keys).filter(reads).collect();
            ExpectedBlock { results, needed, keys }
        };
        self.blocks.iter().map(block).collect()
    }

    /// Register STATES: blocks bring states.
    pub fn begins_from_states(&self) -> bool {
        self.blocks.iter().any(|block| !block.states.is_empty())
    }

    /// The places of the values that are sent, of every block in order.
    pub fn sent(config: &WrapperConfig, expected: &[ExpectedBlock]) -> Vec<(usize, usize)> {
        let of_block = |(b, e): (usize, &ExpectedBlock)| -> Vec<(usize, usize)> {
            match config.values {
                Values::Requested => e.needed.iter().map(|key| (b, *key)).collect(),
                Values::All => (0..e.keys).map(|key| (b, key)).collect(),
            }
        };
        expected.iter().enumerate().flat_map(of_block).collect()
    }
}
