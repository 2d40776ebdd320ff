//! Values of options: parsing, printing and JSON.

use super::{
    Accumulator, BUDGET_FRACTIONS, Design, Fa2Variant, Hold, KINDS, LaneBits, Scale, Update, WeightUnit,
};
use crate::format::Format;
use crate::number;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A word that an option takes, and its meaning.
pub type Word = (String, &'static str);

/// The type of an option's value. serde defines its JSON, this trait the typed text.
pub trait OptionValue: Serialize + DeserializeOwned {
    /// Parses typed text.
    ///
    /// # Errors
    /// Names the error and the accepted values.
    fn parse(text: &str) -> Result<Self, String>;

    /// The value as it is typed.
    fn text(&self) -> String;

    /// All values that can be typed, if they are words.
    fn words() -> Vec<Word> {
        Vec::new()
    }
}

/// JSON of a value; null for `None`.
pub(super) fn json<T: Serialize>(value: T) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// An option that takes one of several words: serde's names, each with its meaning.
trait WordOption: Serialize + DeserializeOwned + Sized + 'static {
    fn all() -> Vec<(Self, &'static str)>;
}

pub(super) fn word<T: Serialize>(value: &T) -> String {
    json(value).as_str().unwrap_or_default().to_string()
}

impl<T: WordOption> OptionValue for T {
    fn parse(text: &str) -> Result<Self, String> {
        T::deserialize(Value::from(text)).map_err(|_| {
            let words: Vec<String> = T::words().into_iter().map(|(word, _)| word).collect();
            format!("'{text}' is not one of {}", words.join(", "))
        })
    }

    fn text(&self) -> String {
        word(self)
    }

    fn words() -> Vec<Word> {
        T::all().iter().map(|(value, meaning)| (word(value), *meaning)).collect()
    }
}

impl WordOption for Design {
    fn all() -> Vec<(Self, &'static str)> {
        vec![
            (Design::FlashD, "o <- o + (v - o) w, the division hidden in w"),
            (Design::Fa2, "FlashAttention-2: running maximum and sum, final division"),
        ]
    }
}

impl WordOption for WeightUnit {
    fn all() -> Vec<(Self, &'static str)> {
        vec![
            (WeightUnit::Lse, "The state is the log-sum-exp in fixed point: w = sigmoid(s - L)"),
            (WeightUnit::Paper, "The paper's Alg. 3, everything in the format"),
        ]
    }
}

impl WordOption for Scale {
    fn all() -> Vec<(Self, &'static str)> {
        vec![
            (
                Scale::None,
                "None; the host folds what tensors are scaled by into the score's shift or the results",
            ),
            (Scale::Row, "A bf16 number a vector, behind its elements on the port; not of values"),
            (Scale::RowE8m0, "A power of two a vector, E8M0"),
            (
                Scale::RowQ16,
                "A number of 16 bits a query, Q0.16, 0 being 1; in an attention unit the job's SCALE",
            ),
            (Scale::Mx, "OCP MX: a power of two, E8M0, for each 32 elements of fp8, fp6, fp4 or int8"),
            (Scale::Nvfp4, "NVFP4: an e4m3 number for each 16 elements of fp4-e2m1"),
        ]
    }
}

impl WordOption for Fa2Variant {
    fn all() -> Vec<(Self, &'static str)> {
        KINDS.iter().filter_map(|kind| Some((kind.fa2?, kind.words))).collect()
    }
}

impl WordOption for Update {
    fn all() -> Vec<(Self, &'static str)> {
        KINDS.iter().filter_map(|kind| Some((kind.update?, kind.words))).collect()
    }
}

/// Types that are parsed and printed by Rust's own `FromStr` and `Display`.
macro_rules! plain {
    ($($type:ty: $what:literal),*) => {$(
        impl OptionValue for $type {
            fn parse(text: &str) -> Result<Self, String> {
                text.parse().map_err(|_| format!("'{text}' is not {}", $what))
            }

            fn text(&self) -> String {
                self.to_string()
            }
        }
    )*};
}

plain!(u32: "a whole number", usize: "a whole number", i32: "a whole number", bool: "true or false");

impl OptionValue for f64 {
    fn parse(text: &str) -> Result<Self, String> {
        number::finite(text)
    }

    fn text(&self) -> String {
        self.to_string()
    }
}

impl OptionValue for Format {
    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|e: crate::format::UnknownFormat| e.to_string())
    }

    fn text(&self) -> String {
        self.to_string()
    }
}

impl OptionValue for LaneBits {
    fn parse(text: &str) -> Result<Self, String> {
        let bad = || format!("'{text}' is not three widths such as 18,11,7");
        let bits: Vec<u32> =
            text.split(',').map(|b| b.trim().parse()).collect::<Result<_, _>>().map_err(|_| bad())?;
        match bits[..] {
            [o, v, w] => Ok(LaneBits { o, v, w }),
            _ => Err(bad()),
        }
    }

    fn text(&self) -> String {
        let LaneBits { o, v, w } = self;
        format!("{o},{v},{w}")
    }
}

impl OptionValue for Hold {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Hold::None),
            "static" => Ok(Hold::Static),
            _ => match (text.strip_prefix("budget:"), text.parse::<f64>()) {
                (Some(fraction), _) => fraction.parse().map(Hold::Budget).map_err(|_| {
                    let (lo, hi) = BUDGET_FRACTIONS;
                    format!("'{fraction}' is no number of fraction bits, {lo} to {hi}, as in budget:9")
                }),
                (None, Ok(t)) if t.is_finite() => Ok(Hold::Below(t)),
                _ => Err(format!("'{text}' is neither a finite number nor budget:F nor static nor none")),
            },
        }
    }

    fn text(&self) -> String {
        match self {
            Hold::None => "none".into(),
            Hold::Static => "static".into(),
            Hold::Below(threshold) => threshold.to_string(),
            Hold::Budget(fraction) => format!("budget:{fraction}"),
        }
    }
}

impl OptionValue for Accumulator {
    fn parse(text: &str) -> Result<Self, String> {
        match (text, text.parse(), text.parse()) {
            ("format", ..) => Ok(Accumulator::Format),
            (_, Ok(bits), _) => Ok(Accumulator::Fraction(bits)),
            (.., Ok(format)) => Ok(Accumulator::Float(format)),
            _ => Err(format!(
                "'{text}' is neither a number of fraction bits nor a format (bf16, fp16, fp32, ...) nor the word format"
            )),
        }
    }

    fn text(&self) -> String {
        match self {
            Accumulator::Format => "format".into(),
            Accumulator::Fraction(bits) => bits.to_string(),
            Accumulator::Float(format) => format.to_string(),
        }
    }
}
