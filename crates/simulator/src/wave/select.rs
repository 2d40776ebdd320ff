//! Which signals to record.

use super::WaveError;
use super::layout::Group;
use super::signals::Signal;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::str::FromStr;

/// Which signals to record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WaveSelection {
    /// The rows of the save file: control, the scalar path, and the first four elements of every vector.
    #[default]
    Default,
    /// Every bus of the design.
    All,
    /// Paths that match one of these patterns. `*` matches any text, `?` one character; a pattern is compared
    /// with the whole path (`flash_d_bf16_d16.weight.w`) and with the path below the core (`weight.w`). The
    /// word `default` among them adds the default selection.
    Patterns(Vec<String>),
}

impl WaveSelection {
    /// Reads `default`, `all`, or patterns separated by commas.
    ///
    /// # Errors
    /// If there is nothing between the commas.
    pub fn parse(text: &str) -> Result<Self, WaveError> {
        let parts: Vec<String> =
            text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(String::from).collect();
        match parts.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            [] => Err(WaveError::NoPattern),
            ["default"] => Ok(WaveSelection::Default),
            all if all.contains(&"all") => Ok(WaveSelection::All),
            _ => Ok(WaveSelection::Patterns(parts)),
        }
    }

    /// The chosen ones of `signals`, by position; `layout` is the default selection.
    pub(super) fn choose(&self, signals: &[Signal], layout: &[Group]) -> Result<Vec<bool>, WaveError> {
        let shown = || {
            let paths: HashSet<&str> =
                layout.iter().flat_map(Group::all_rows).map(|row| row.path.as_str()).collect();
            signals.iter().map(|s| paths.contains(s.below_top())).collect()
        };
        let patterns = match self {
            WaveSelection::Default => return Ok(shown()),
            WaveSelection::All => return Ok(vec![true; signals.len()]),
            WaveSelection::Patterns(patterns) => patterns,
        };
        let mut chosen = vec![false; signals.len()];
        for pattern in patterns {
            let matched: Vec<bool> = match pattern.as_str() {
                "default" => shown(),
                _ => signals
                    .iter()
                    .map(|s| matches(pattern, &s.path) || matches(pattern, s.below_top()))
                    .collect(),
            };
            if !matched.contains(&true) {
                return Err(WaveError::NoMatch {
                    pattern: pattern.clone(),
                    similar: similar(pattern, signals).join(", "),
                });
            }
            chosen.iter_mut().zip(matched).for_each(|(c, m)| *c |= m);
        }
        Ok(chosen)
    }
}

impl FromStr for WaveSelection {
    type Err = WaveError;
    fn from_str(text: &str) -> Result<Self, WaveError> {
        WaveSelection::parse(text)
    }
}

/// Whether `text` matches a pattern of `*` and `?`.
fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    // The last star, and where in the text what follows it is tried next.
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                retry = Some((p + 1, t));
                p += 1;
            }
            Some(c) if *c == '?' || *c == text[t] => (p, t) = (p + 1, t + 1),
            _ => match retry {
                Some((after, from)) => {
                    retry = Some((after, from + 1));
                    (p, t) = (after, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// How many names a message lists.
const SIMILAR: usize = 5;

/// The paths below the core that come closest to a pattern, closest first: each part of the pattern
/// costs its edit distance to the most similar part of the path.
fn similar<'a>(pattern: &str, signals: &'a [Signal]) -> Vec<&'a str> {
    let wanted: Vec<String> =
        pattern.split('.').map(|part| part.replace(['*', '?'], "")).filter(|part| !part.is_empty()).collect();
    let names: HashSet<&str> = signals.iter().flat_map(|s| s.path.split('.')).collect();
    let costs: Vec<HashMap<&str, usize>> = wanted
        .iter()
        .map(|part| names.iter().map(|name| (*name, edit_distance(part, name))).collect())
        .collect();
    let cost = |s: &Signal| -> usize {
        costs.iter().map(|cost| s.path.split('.').map(|name| cost[name]).min().unwrap_or(0)).sum()
    };
    // Among equals, the signal's own name counts most, and a shorter path is the better known one.
    let own_name = |s: &Signal| match (costs.last(), s.path.rsplit('.').next()) {
        (Some(cost), Some(name)) => cost[name],
        _ => 0,
    };
    let ranked: BTreeSet<(usize, usize, usize, usize)> =
        signals.iter().enumerate().map(|(i, s)| (cost(s), own_name(s), s.path.len(), i)).collect();
    ranked.into_iter().take(SIMILAR).map(|(.., i)| signals[i].below_top()).collect()
}

/// Insertions, deletions and substitutions that turn `a` into `b`.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + (x != *y) as usize;
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a*c", "abcb", false),
            ("*.w", "core.weight.w", true),
            ("o_?", "o_1", true),
            ("o_?", "o_10", false),
            ("*_q*.q", "a.o_q.b.q", true),
            ("", "a", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn distances() {
        assert_eq!(edit_distance("weigth", "weight"), 2);
        assert_eq!(edit_distance("", "abc"), 3);
        assert_eq!(edit_distance("score", "score"), 0);
    }

    #[test]
    fn words_and_lists() {
        assert_eq!(WaveSelection::parse("default").unwrap(), WaveSelection::Default);
        assert_eq!(WaveSelection::parse(" all ").unwrap(), WaveSelection::All);
        assert_eq!(
            WaveSelection::parse("o_*, *.w").unwrap(),
            WaveSelection::Patterns(vec!["o_*".into(), "*.w".into()])
        );
        assert_eq!(WaveSelection::parse(" , ").unwrap_err().to_string(), WaveError::NoPattern.to_string());
    }
}
