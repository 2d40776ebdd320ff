//! A job, its refusals, and the blocks that a unit divides it into.

use super::{LSE_BYTES, UnitConfig};
use crate::config::Carried;
use std::ops::Range;

/// Features of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flag {
    /// A query sees the keys up to its own place.
    Causal,
    /// A query sees the last keys up to its own place.
    Window,
    /// Keys and values are in pages.
    Paged,
    /// Log-sum-exps are written.
    Lse,
    /// Queries start from states.
    StateIn,
    /// States are written.
    StateOut,
    /// The end of the job raises the interrupt.
    Interrupt,
    /// Another descriptor follows.
    Next,
}

/// Rows in memory: where the first is, and the bytes from one to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// Address of head 0 and token 0; of paged rows, of page 0.
    pub base: u64,
    /// Bytes from a token to the next; of paged rows, in a page.
    pub row: u32,
    /// Bytes from a head to the next.
    pub head: u32,
}

/// Pages of keys and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pages {
    /// Address of the block table: for each 2^`tokens` tokens the number of their page, 32 bits.
    pub table: u64,
    /// Logarithm of the tokens of a page.
    pub tokens: u32,
    /// Bytes from a page of keys to the next.
    pub key_stride: u32,
    /// Bytes from a page of values to the next.
    pub value_stride: u32,
    /// Pages in memory.
    pub count: u32,
}

/// A job of attention: every query of every head over the keys of its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Tokens with queries.
    pub queries: u32,
    /// Tokens with keys.
    pub keys: u32,
    /// Heads of queries that share a head of keys. Query head h reads key head `h / group`.
    pub group: u32,
    /// Heads of keys.
    pub key_heads: u32,
    /// Causal: place of the first query among the keys; may be negative.
    pub causal: Option<i32>,
    /// With `causal`: keys that a query sees at most.
    pub window: Option<u32>,
    /// Queries.
    pub q: Rows,
    /// Keys.
    pub k: Rows,
    /// Values.
    pub v: Rows,
    /// Results.
    pub o: Rows,
    /// Keys and values in pages.
    pub pages: Option<Pages>,
    /// The factor of scores in units of 2^-16. 0: the factor of the core, which is 1 in units of [`UnitConfig::has_scale`].
    pub scale: u32,
    /// Where log-sum-exps go.
    pub lse: Option<Rows>,
    /// States that the queries start from.
    pub state_in: Option<Rows>,
    /// Where the states after the last key go.
    pub state_out: Option<Rows>,
}

/// Why a job is refused. The number is the code in STATUS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum JobError {
    /// GROUP or K_HEADS is zero.
    Heads = 1,
    /// More keys than the core is built for, or none for an array without masks.
    Length = 2,
    /// A window without a place, of no keys.
    Window = 3,
    /// A page of more tokens than 2^16, or no pages.
    Page = 4,
    /// A row is shorter than a vector, so that rows overlap.
    Stride = 5,
    /// An address beyond the port's, or a block table that is not at a multiple of 4.
    Address = 6,
    /// The unit is built without masks or states, or for another factor of scores.
    Unsupported = 7,
    /// The address of a descriptor is no multiple of its size, or beyond the port's.
    Descriptor = 8,
}

/// A query of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its head.
    pub head: u32,
    /// Its token.
    pub token: u32,
    /// The keys that it sees.
    pub keys: Range<u32>,
}

/// Queries that run together, and the keys that some of them sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The head of keys.
    pub key_head: u32,
    /// The queries, at most as many as the array has cores: heads of a group first, then tokens.
    pub places: Vec<Place>,
    /// From the first key that some query sees to the last.
    pub keys: Range<u32>,
}

impl Job {
    /// The keys that the query of a token sees.
    pub fn visible(&self, token: u32) -> Range<u32> {
        let Some(first) = self.causal else { return 0..self.keys };
        let after = i64::from(first) + i64::from(token) + 1;
        let to = after.clamp(0, self.keys.into());
        let from = self.window.map_or(0, |window| (after - i64::from(window)).clamp(0, to));
        from as u32..to as u32
    }

    /// Heads of queries.
    pub fn query_heads(&self) -> u32 {
        self.key_heads * self.group
    }

    /// The blocks, in the order in which a unit of `width` cores computes them: for each head of keys the pairs of a token
    /// and a head of its group, the heads of a token next to each other.
    pub fn blocks(&self, width: u32) -> impl Iterator<Item = Block> + '_ {
        let pairs = u64::from(self.queries) * u64::from(self.group);
        let blocks = pairs.div_ceil(width.into());
        (0..self.key_heads)
            .flat_map(move |key_head| (0..blocks).map(move |block| self.block(key_head, block, width)))
    }

    fn block(&self, key_head: u32, block: u64, width: u32) -> Block {
        let group = u64::from(self.group);
        let first = block * u64::from(width);
        let end = (first + u64::from(width)).min(u64::from(self.queries) * group);
        let place = |pair: u64| {
            let (token, head) = ((pair / group) as u32, (pair % group) as u32);
            Place { head: key_head * self.group + head, token, keys: self.visible(token) }
        };
        let places: Vec<Place> = (first..end).map(place).collect();
        // Both ends of the visible range grow with the token.
        let keys = match (places.first(), places.last()) {
            (Some(first), Some(last)) => first.keys.start..last.keys.end.max(first.keys.start),
            _ => 0..0,
        };
        Block { key_head, places, keys }
    }

    /// The address of a row that is not paged.
    pub fn row(rows: &Rows, head: u32, token: u32) -> u64 {
        let offset = |count: u32, stride: u32| u64::from(count) * u64::from(stride);
        rows.base.wrapping_add(offset(head, rows.head)).wrapping_add(offset(token, rows.row))
    }

    /// The rows that the job writes for each query, with their bytes: the result, and its log-sum-exp and its state if the flags say so.
    pub fn results(&self, config: &UnitConfig) -> Vec<(Rows, u32)> {
        let states = self.state_out.map(|rows| (rows, config.row_bytes(Carried::State)));
        let lses = self.lse.map(|rows| (rows, LSE_BYTES));
        [(self.o, config.row_bytes(Carried::Result))].into_iter().chain(lses).chain(states).collect()
    }

    /// The rows that the job reads or writes for each query, with their bytes.
    fn rows_of_queries(&self, config: &UnitConfig) -> Vec<(Rows, u32)> {
        let q = (self.q, config.row_bytes(Carried::Query));
        let states = self.state_in.map(|rows| (rows, config.row_bytes(Carried::State)));
        [q].into_iter().chain(states).chain(self.results(config)).collect()
    }

    /// Refuses a job that the unit cannot run.
    ///
    /// # Errors
    /// The first of the codes that holds.
    pub fn check(&self, config: &UnitConfig) -> Result<(), JobError> {
        let refuse = |wrong: bool, error| if wrong { Err(error) } else { Ok(()) };
        refuse(self.group == 0 || self.key_heads == 0, JobError::Heads)?;
        let core = &config.array.core;
        let none = self.keys == 0 && !core.masks;
        refuse(none || u64::from(self.keys) > core.max_keys as u64, JobError::Length)?;
        refuse(self.window == Some(0) || (self.window.is_some() && self.causal.is_none()), JobError::Window)?;
        refuse(self.pages.is_some_and(|pages| pages.tokens > 16 || pages.count == 0), JobError::Page)?;
        let unsupported =
            !core.partial && [self.lse, self.state_in, self.state_out].iter().any(Option::is_some);
        let short = |(rows, bytes): (Rows, u32), tokens: u32| tokens > 1 && rows.row < bytes;
        let of_keys = [(self.k, Carried::Key), (self.v, Carried::Value)];
        let of_keys = of_keys.map(|(rows, carried)| (rows, config.row_bytes(carried)));
        let of_queries = if unsupported { Vec::new() } else { self.rows_of_queries(config) };
        let stride = of_queries.into_iter().any(|rows| short(rows, self.queries))
            || of_keys.into_iter().any(|rows| short(rows, self.keys));
        refuse(stride, JobError::Stride)?;
        let scaled = self.scale != 0 && !config.has_scale() && Some(self.scale) != config.scale();
        refuse(unsupported || scaled || (self.causal.is_some() && !core.masks), JobError::Unsupported)?;
        let table = self.pages.map(|pages| pages.table);
        let misplaced = table.is_some_and(|table| !table.is_multiple_of(4));
        let limit = 1u128 << config.address_bits;
        refuse(misplaced || self.ends(config).into_iter().any(|end| end > limit), JobError::Address)
    }

    /// The addresses after the last row of each operand and of each result, and after the block table.
    fn ends(&self, config: &UnitConfig) -> Vec<u128> {
        let times = |count: u32, stride: u32| u128::from(count.saturating_sub(1)) * u128::from(stride);
        let end = |rows: &Rows, heads: u32, tokens: u32, bytes: u32| {
            u128::from(rows.base) + times(heads, rows.head) + times(tokens, rows.row) + u128::from(bytes)
        };
        let of_queries = self.rows_of_queries(config);
        let of_queries =
            of_queries.iter().map(|(rows, bytes)| end(rows, self.query_heads(), self.queries, *bytes));
        let mut ends: Vec<u128> = of_queries.collect();
        let page_tokens = self.pages.map_or(self.keys, |pages| 1 << pages.tokens);
        let of_keys = |rows, carried| end(rows, self.key_heads, page_tokens, config.row_bytes(carried));
        let pages =
            |stride: fn(&Pages) -> u32| self.pages.map_or(0, |pages| times(pages.count, stride(&pages)));
        ends.push(of_keys(&self.k, Carried::Key) + pages(|pages| pages.key_stride));
        ends.push(of_keys(&self.v, Carried::Value) + pages(|pages| pages.value_stride));
        ends.extend(self.pages.map(|pages| {
            let last = u64::from(self.keys.saturating_sub(1) >> pages.tokens);
            u128::from(pages.table) + 4 * u128::from(last) + 4
        }));
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ArrayConfig, CoreConfig, Design};
    use crate::format::{Format, Scale};
    use std::collections::HashMap;

    fn job() -> Job {
        let rows = |row| Rows { base: 0x1000, row, head: 1 << 16 };
        Job {
            queries: 7,
            keys: 20,
            group: 3,
            key_heads: 2,
            causal: Some(5),
            window: None,
            q: rows(32),
            k: rows(32),
            v: rows(32),
            o: rows(32),
            pages: None,
            scale: 0,
            lse: None,
            state_in: None,
            state_out: None,
        }
    }

    fn config() -> UnitConfig {
        let core = CoreConfig { masks: true, ..CoreConfig::new(Design::FlashD, 16, Format::BF16) };
        UnitConfig::new(ArrayConfig::new(core, 4))
    }

    /// Whether a query sees a key, from the definition.
    fn sees(job: &Job, token: u32, key: u32) -> bool {
        let (place, key) = (job.causal.map(|first| i64::from(first) + i64::from(token)), i64::from(key));
        let reached = place.is_none_or(|place| key <= place);
        reached && job.window.zip(place).is_none_or(|(window, place)| key > place - i64::from(window))
    }

    #[test]
    fn blocks_have_each_query_once_and_the_keys_that_it_sees() {
        let masks = [
            (None, None),
            (Some(0), None),
            (Some(13), None),
            (Some(-4), None),
            (Some(-4), Some(2)),
            (Some(30), Some(12)),
        ];
        for (causal, window) in masks {
            for (queries, group, key_heads) in [(7, 3, 2), (1, 8, 1), (5, 1, 3), (0, 2, 2)] {
                let job = Job { causal, window, queries, group, key_heads, ..job() };
                for width in [1, 3, 4, 8] {
                    let mut seen = HashMap::new();
                    for block in job.blocks(width) {
                        assert!(!block.places.is_empty() && block.places.len() <= width as usize);
                        let needed: Vec<u32> = (0..job.keys)
                            .filter(|&key| block.places.iter().any(|place| sees(&job, place.token, key)))
                            .collect();
                        let ends = needed.first().map(|first| *first..needed[needed.len() - 1] + 1);
                        assert_eq!(ends.unwrap_or(0..0).len(), block.keys.len(), "{job:?}: {block:?}");
                        for place in block.places {
                            assert_eq!(place.head / job.group, block.key_head);
                            let keys = (0..job.keys).filter(|&key| sees(&job, place.token, key));
                            assert!(keys.eq(place.keys.clone()), "{job:?}: {place:?}");
                            assert_eq!(seen.insert((place.head, place.token), ()), None);
                        }
                    }
                    assert_eq!(seen.len() as u32, queries * group * key_heads);
                }
            }
        }
    }

    #[test]
    fn impossible_jobs_are_refused_with_their_code() {
        let config = config();
        assert_eq!(job().check(&config), Ok(()));
        // 1 / sqrt(16), which the core has.
        assert_eq!(Job { scale: 0x4000, ..job() }.check(&config), Ok(()));
        let refused = [
            (Job { group: 0, ..job() }, JobError::Heads),
            (Job { key_heads: 0, ..job() }, JobError::Heads),
            (Job { keys: 65_537, ..job() }, JobError::Length),
            (Job { window: Some(4), causal: None, ..job() }, JobError::Window),
            (Job { window: Some(0), ..job() }, JobError::Window),
            (Job { scale: 0x1234, ..job() }, JobError::Unsupported),
            (Job { o: Rows { row: 31, ..job().o }, ..job() }, JobError::Stride),
            (Job { v: Rows { base: 1 << 40, ..job().v }, ..job() }, JobError::Address),
            (Job { k: Rows { base: (1 << 40) - 1000, ..job().k }, ..job() }, JobError::Address),
            (Job { lse: Some(job().o), ..job() }, JobError::Unsupported),
            (Job { state_in: Some(job().o), ..job() }, JobError::Unsupported),
        ];
        for (job, error) in refused {
            assert_eq!(job.check(&config), Err(error), "{job:?}");
        }
        let core = CoreConfig { partial: true, ..config.array.core.clone() };
        let config = UnitConfig::new(ArrayConfig::new(core, 4));
        let (bytes, far) = (config.row_bytes(Carried::State), Rows { base: 1 << 40, row: 4, head: 1 << 10 });
        let states = Rows { row: bytes, ..job().o };
        let whole = Job {
            lse: Some(Rows { row: 4, ..job().o }),
            state_in: Some(states),
            state_out: Some(states),
            ..job()
        };
        assert_eq!(whole.check(&config), Ok(()));
        let refused = [
            (Job { lse: Some(Rows { row: 3, ..job().o }), ..whole }, JobError::Stride),
            (Job { state_out: Some(Rows { row: bytes - 1, ..states }), ..whole }, JobError::Stride),
            (Job { lse: Some(far), ..whole }, JobError::Address),
            (Job { state_in: Some(Rows { base: u64::MAX, ..states }), ..whole }, JobError::Address),
        ];
        for (job, error) in refused {
            assert_eq!(job.check(&config), Err(error), "{job:?}");
        }
        // A core whose queries take SCALE.
        let core = CoreConfig { q_scales: Some(Scale::RowQ16), ..config.array.core.clone() };
        let scaled = UnitConfig { array: ArrayConfig::new(core, 4), ..config.clone() };
        for scale in [0, 1, 0x1234, 0xffff] {
            assert_eq!(Job { scale, ..job() }.check(&scaled), Ok(()));
        }
        assert_eq!(scaled.row_bytes(Carried::Query), config.row_bytes(Carried::Query));
        // A row without a successor has no stride.
        assert_eq!(Job { queries: 1, q: Rows { row: 0, ..job().q }, ..job() }.check(&config), Ok(()));
    }
}
