//! Words in a chart: where lines break, what the legend and the axis say.

use super::compare::{CLOCKS_DIFFER, Compared, Pair, in_words, mean};
use plotters::style::RGBColor;

/// Width of a letter, as a part of its height: more than that of most fonts, so that nothing overlaps.
const LETTER: f64 = 0.56;
/// Width of the square before a word of the legend, and of the gap behind the word.
const SWATCH: i32 = 18;
const GAP: i32 = 18;
/// Height of the legend's letters.
const LEGEND: i32 = 12;

/// Width of words in letters of some height, px.
pub(super) fn text_width(words: &str, height: i32) -> i32 {
    (words.chars().count() as f64 * f64::from(height) * LETTER).ceil() as i32
}

/// Words in lines of at most `width` px; a word that is wider has a line of its own.
pub(super) fn wrap(words: &str, height: i32, width: i32) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words.split_whitespace() {
        match lines.last_mut() {
            Some(line) if text_width(line, height) + text_width(word, height) + height / 2 <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

/// Entries of a legend in rows of at most `width` px, each with its position in the row.
pub(super) fn rows_of_legend(
    entries: &[(RGBColor, &'static str)],
    width: i32,
) -> Vec<Vec<(i32, RGBColor, &'static str)>> {
    let mut rows: Vec<Vec<(i32, RGBColor, &'static str)>> = vec![Vec::new()];
    let mut x = 0;
    for &(colour, words) in entries {
        let entry = SWATCH + text_width(words, LEGEND);
        if x > 0 && x + entry > width {
            rows.push(Vec::new());
            x = 0;
        }
        if let Some(row) = rows.last_mut() {
            row.push((x, colour, words));
        }
        x += entry + GAP;
    }
    rows
}

/// A number at an axis: no zeros behind the last digit that matters, commas between thousands.
pub(super) fn axis(y: f64) -> String {
    if y.abs() >= 1000.0 {
        let digits = format!("{y:.0}");
        let mut text = String::new();
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index) % 3 == 0 {
                text.push(',');
            }
            text.push(digit);
        }
        return text;
    }
    let text = format!("{y:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// The average of savings, and which cores are drawn where there was a choice; `None` without a saving.
pub(super) fn caption(savings: &[f64], pairs: &[Pair], group: &Compared) -> Option<String> {
    let average = match savings {
        [one] => format!("FLASH-D over FA2: {}.", in_words(*one)),
        many => format!(
            "FLASH-D over FA2: {} on average over {} pairs.",
            in_words(mean(many.iter().copied())?),
            many.len()
        ),
    };
    let chosen: Vec<String> = pairs
        .iter()
        .filter(|pair| !pair.only)
        .map(|pair| format!("{} and {}", pair.flash_d.core, pair.fa2.core))
        .collect();
    let mut clock = format!(" Clock: {}.", group.clock());
    if !pairs.iter().all(Pair::same_clock) {
        clock += &format!(" {CLOCKS_DIFFER}");
    }
    Some(match chosen.is_empty() {
        true => average + &clock,
        false => format!(
            "{average}{clock} Of several cores the smallest of each design is drawn, those with everything in the \
             format left out: {}.",
            chosen.join("; ")
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_legends_stay_within_their_width() {
        let words = "a few words that do not fit on one line and aVeryLongWordThatFitsOnNone at all";
        let lines = wrap(words, 12, 100);
        assert_eq!(lines.join(" "), words);
        assert!(lines.len() > 3);
        let wide: Vec<_> = lines.iter().filter(|line| text_width(line, 12) > 100).collect();
        assert_eq!(wide, ["aVeryLongWordThatFitsOnNone"]);
        let entries = ["dot product", "score, weight, sum", "division"].map(|e| (RGBColor(0, 0, 0), e));
        let rows = rows_of_legend(&entries, 260);
        assert_eq!(rows.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
        for row in &rows {
            for pair in row.windows(2) {
                assert!(pair[0].0 + SWATCH + text_width(pair[0].2, LEGEND) < pair[1].0);
            }
        }
    }

    #[test]
    fn numbers_at_the_axis() {
        assert_eq!(
            [0.0, 0.25, 12.5, 999.0, 1000.0, 1234567.0].map(axis).join(" "),
            "0 0.25 12.5 999 1,000 1,234,567"
        );
    }
}
