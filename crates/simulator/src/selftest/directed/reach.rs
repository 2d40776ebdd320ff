//! Queries that reach chosen arguments of FLASH-D's tables.
//!
//! The distance of two scores is a multiple of the score's last place, which is coarser than the tables' arguments. After two keys the
//! log-sum-exp has all its fraction bits. With the right fraction bits, a third score reaches any argument. A fourth one makes the new
//! state visible.

use super::candidates::BEYOND;
use super::changes::{ChangeKind, What};
use super::{DirectedSearch, Scores};
use flashd_golden::Step;
use rand::RngExt;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use std::f64::consts::LN_2;

/// Beginnings of two keys among which one with the right fraction bits is looked for.
const BEGINNINGS: usize = 2000;
/// Arguments that are tried for a change at most, each with both signs.
const TRIED: usize = 16;
/// Arguments of an entry in one octave that are looked at, evenly spread where there are more: tables of wide formats have millions.
const LOOKED_AT: i64 = 1 << 13;

/// The arguments, with FL fraction bits, that select one entry of a table, of either sign, each once.
struct EntryArguments {
    magnitudes: Vec<i64>,
    /// How many arguments, from each of these on, are the same to the table.
    same: i64,
}

/// Queries for all changes that are left.
pub(super) fn queries(search: &DirectedSearch, rng: &mut ChaCha8Rng) -> Vec<Scores> {
    if search.original.at_arguments(&[]).is_none() {
        return Vec::new();
    }
    let beginnings = Beginnings::draw(search, rng);
    let mut queries = Vec::new();
    for kind in &search.kinds {
        for &entry in &kind.left {
            let Some(cell) = cell(search, kind, entry) else { continue };
            let shown_at = shown_at(search, kind, entry, &cell.magnitudes);
            for &magnitude in shown_at.sample(rng, TRIED) {
                for negative in [true, false] {
                    queries.extend(beginnings.reach(magnitude, cell.same, negative, rng));
                }
            }
        }
    }
    queries
}

/// Arguments of an entry that a change is made in; None where the change is none of a table.
fn cell(search: &DirectedSearch, kind: &ChangeKind, entry: usize) -> Option<EntryArguments> {
    let What::Coefficients(place, ..) = kind.what else { return None };
    let n = &search.numerics;
    let table = place.of(&mut n.clone()).clone();
    let (cells, octaves) = (table.cells as usize, table.octaves as usize);
    let (octave, index) = (entry / cells, entry % cells);
    // The last octave's entries serve all later ones.
    let beyond = if octave + 1 == octaves { BEYOND as usize } else { 0 };
    let finer = n.state_fraction as i32 - n.exp.value_fraction as i32;
    let begin =
        |octave: usize| ((octave as i64) << n.exp.value_fraction) + ((index as i64) << table.offset_bits);
    let (last, steps) = ((1i64 << table.offset_bits) - 1, (1 << table.offset_bits).min(LOOKED_AT) - 1);
    let offsets = |k| (0..=steps).map(move |i| (k, last * i / steps.max(1)));
    let arguments = (octave..=octave + beyond).flat_map(offsets);
    let mut magnitudes: Vec<i64> = arguments
        .map(|(k, dx)| begin(k) + dx)
        .map(|t| if finer < 0 { t >> -finer } else { t << finer })
        .collect();
    magnitudes.dedup();
    Some(EntryArguments { magnitudes, same: 1 << finer.max(0) })
}

/// Arguments among `magnitudes` at which a change alters the weight or the state's increment.
fn shown_at(search: &DirectedSearch, kind: &ChangeKind, entry: usize, magnitudes: &[i64]) -> Vec<i64> {
    let good = search.original.at_arguments(magnitudes).unwrap_or_default();
    let bad = search.changed(kind, &[entry]).at_arguments(magnitudes).unwrap_or_default();
    let both = magnitudes.iter().zip(good.iter().zip(&bad));
    both.filter(|(_, (good, bad))| good != bad).map(|(&magnitude, _)| magnitude).collect()
}

/// Scores of two keys, and the log-sum-exp after them.
struct Beginning {
    scores: [f64; 2],
    l: i64,
}

/// Beginnings with all kinds of fraction bits.
struct Beginnings {
    all: Vec<Beginning>,
    /// Fraction bits of the state beyond the score's.
    finer: u32,
    /// A score's last place, natural.
    unit: f64,
}

impl Beginnings {
    fn draw(search: &DirectedSearch, rng: &mut ChaCha8Rng) -> Beginnings {
        let n = &search.numerics;
        let finer = n.state_fraction - n.score_fraction;
        let unit = LN_2 * f64::from(n.score_fraction).exp2().recip();
        let mut scores = || rng.random_range(-1.0..1.0);
        let drawn: Vec<[f64; 2]> = (0..BEGINNINGS).map(|_| [scores(), scores()]).collect();
        // A third key gives the distance from the state before it.
        let keys: Vec<u64> =
            drawn.iter().flat_map(|&[first, second]| search.keys(&[first, second, second])).collect();
        let dots = search.original.dots(&search.rows.q, &keys);
        let steps = search.original.scalar_steps(&dots.chunks(3).collect::<Vec<_>>());
        let l = |steps: &Vec<Step>| (steps[2].s << finer) - steps[2].x;
        let all =
            drawn.iter().zip(&steps).map(|(&scores, steps)| Beginning { scores, l: l(steps) }).collect();
        Beginnings { all, finer, unit }
    }

    /// A query whose third key has one of some arguments, `same` of them from this magnitude on.
    fn reach(&self, magnitude: i64, same: i64, negative: bool, rng: &mut ChaCha8Rng) -> Option<Scores> {
        // The magnitude of a negative argument is one less than its own.
        let lowest = if negative { -magnitude - same } else { magnitude };
        let start = rng.random_range(0..self.all.len());
        let (behind, before) = self.all.split_at(start);
        let third = |beginning: &&Beginning| {
            // The lowest score that is not below.
            let score = (lowest + beginning.l + (1 << self.finer) - 1) >> self.finer;
            ((score << self.finer) - beginning.l < lowest + same).then_some((beginning.scores, score))
        };
        let ([first, second], score) = before.iter().chain(behind).find_map(|beginning| third(&beginning))?;
        let third = score as f64 * self.unit;
        let fourth = first.max(second).max(third) + rng.random_range(-6.0..2.0);
        Some(vec![first, second, third, fourth])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashd_spec::config::{CoreConfig, Design};
    use flashd_spec::format::Format;

    /// Tables of fp32 have millions of distinct arguments; the search tries few of them.
    #[test]
    fn wide_tables_are_looked_at_in_places() {
        let config = CoreConfig { segments: Some(4), ..CoreConfig::new(Design::FlashD, 4, Format::FP32) };
        let search = DirectedSearch::new(&config);
        let mut looked_at = 0;
        for kind in &search.kinds {
            for &entry in &kind.left {
                let Some(cell) = cell(&search, kind, entry) else { continue };
                let most = LOOKED_AT as usize * (BEYOND as usize + 1);
                assert!((2..=most).contains(&cell.magnitudes.len()), "{}", cell.magnitudes.len());
                looked_at += 1;
            }
        }
        assert!(looked_at > 10, "{looked_at}");
    }
}
