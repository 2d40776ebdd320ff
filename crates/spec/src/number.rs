//! Numbers as a user types them and as messages print them.

/// Parses a finite number. `nan`, `inf` and numbers beyond f64 (`1e400`) are none.
///
/// # Errors
/// Quotes the text.
pub fn finite(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| format!("'{text}' is not a number"))?;
    if number.is_finite() { Ok(number) } else { Err(format!("'{text}' is not a finite number")) }
}

/// Parses a number from `least` to `most`.
///
/// # Errors
/// As [`finite`], with the range.
pub fn between(text: &str, least: f64, most: f64) -> Result<f64, String> {
    let range = || format!("{} to {}", short(least), short(most));
    let number = finite(text).map_err(|e| format!("{e}: give one from {}", range()))?;
    match (least..=most).contains(&number) {
        true => Ok(number),
        false => Err(format!("{} is outside {}", short(number), range())),
    }
}

/// A number in few digits: with an exponent where it is very large or small.
pub fn short(x: f64) -> String {
    match x.abs() {
        magnitude if magnitude == 0.0 || (1e-4..1e7).contains(&magnitude) => x.to_string(),
        _ => format!("{x:e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_finite_numbers_are_taken() {
        for text in [
            "nan", "NaN", "-nan", "inf", "-inf", "infinity", "1e400", "-1e400", "", " ", "0x10", "1_000",
            "1,5",
        ] {
            assert!(finite(text).is_err(), "{text:?}");
            assert!(between(text, -1e9, 1e9).unwrap_err().contains("-1e9 to 1e9"), "{text:?}");
        }
        assert_eq!(["1e3", "-0.5", "+2", "1e-320"].map(|x| finite(x).unwrap()), [1e3, -0.5, 2.0, 1e-320]);
        assert_eq!(between("1e300", 1.0, 64.0).unwrap_err(), "1e300 is outside 1 to 64");
        assert_eq!(between("1e-320", 1.0, 64.0).unwrap_err(), "1e-320 is outside 1 to 64");
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [1e300, -1e300, 1e-320, 0.0, 0.125, 123_456.0].map(short),
            ["1e300", "-1e300", "1e-320", "0", "0.125", "123456"]
        );
    }
}
