//! Names of formats: this project's, and aliases from PyTorch, ml_dtypes for NumPy, and papers.

use super::{Format, Scale};
use std::str::FromStr;

/// Aliases, each with this project's name. Case does not matter, and `_` equals `-`.
pub const FORMAT_ALIASES: [(&str, &str); 32] = [
    ("bfloat16", "bf16"),
    ("fp8", "fp8-e4m3"),
    ("float8", "fp8-e4m3"),
    ("e4m3", "fp8-e4m3"),
    ("e4m3fn", "fp8-e4m3"),
    ("fp8e4m3", "fp8-e4m3"),
    ("fp8-e4m3fn", "fp8-e4m3"),
    ("float8-e4m3", "fp8-e4m3"),
    ("float8-e4m3fn", "fp8-e4m3"),
    ("e5m2", "fp8-e5m2"),
    ("fp8e5m2", "fp8-e5m2"),
    ("float8-e5m2", "fp8-e5m2"),
    ("f16", "fp16"),
    ("half", "fp16"),
    ("float16", "fp16"),
    ("f32", "fp32"),
    ("float", "fp32"),
    ("single", "fp32"),
    ("float32", "fp32"),
    ("i16", "int16"),
    ("i8", "int8"),
    ("i4", "int4"),
    ("e3m2", "fp6-e3m2"),
    ("e2m3", "fp6-e2m3"),
    ("float6-e3m2fn", "fp6-e3m2"),
    ("float6-e2m3fn", "fp6-e2m3"),
    ("fp4", "fp4-e2m1"),
    ("float4", "fp4-e2m1"),
    ("e2m1", "fp4-e2m1"),
    ("fp4e2m1", "fp4-e2m1"),
    ("e2m1fn", "fp4-e2m1"),
    ("float4-e2m1fn", "fp4-e2m1"),
];

/// Names of formats with scales for blocks, each with both.
pub const SCALED_FORMATS: [(&str, Format, Scale); 9] = [
    ("mxfp8", Format::FP8_E4M3, Scale::Mx),
    ("mxfp8-e4m3", Format::FP8_E4M3, Scale::Mx),
    ("mxfp8-e5m2", Format::FP8_E5M2, Scale::Mx),
    ("mxfp6-e3m2", Format::FP6_E3M2, Scale::Mx),
    ("mxfp6-e2m3", Format::FP6_E2M3, Scale::Mx),
    ("mxfp4", Format::FP4_E2M1, Scale::Mx),
    ("mxfp4-e2m1", Format::FP4_E2M1, Scale::Mx),
    ("mxint8", Format::INT8, Scale::Mx),
    ("nvfp4", Format::FP4_E2M1, Scale::Nvfp4),
];

/// Names of formats with scales where scales are asked for, each with the scales' own name.
pub const SCALE_ALIASES: [(&str, &str); 6] =
    [("mxfp8", "mx"), ("mxfp6", "mx"), ("mxfp4", "mx"), ("mxint8", "mx"), ("ocp-mx", "mx"), ("nv", "nvfp4")];

/// A name in the tables' spelling.
fn normal(name: &str) -> String {
    name.to_ascii_lowercase().replace('_', "-")
}

/// The format and the scales of a name in [`SCALED_FORMATS`].
pub fn scaled_format(name: &str) -> Option<(Format, Scale)> {
    let name = normal(name);
    SCALED_FORMATS.iter().find(|(known, ..)| *known == name).map(|&(_, format, scale)| (format, scale))
}

/// An unknown format name.
#[derive(Debug, thiserror::Error)]
#[error("unknown format '{name}': {}", advice(name))]
pub struct UnknownFormat {
    name: String,
}

fn advice(name: &str) -> String {
    match scaled_format(name) {
        Some((format, scale)) => {
            format!("it is a format with scales, here format {format} with scales {}", scale.word())
        }
        None => {
            let names: Vec<&str> = Format::named().map(|(name, _)| name).collect();
            format!("known formats are {}, and {} in units of 2^-N", names.join(", "), Format::fixed_names())
        }
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let name = normal(text);
        let name = FORMAT_ALIASES.iter().find(|(alias, _)| *alias == name).map_or(&*name, |(_, name)| name);
        let fixed = Format::fixed_points().map(|f| (f.to_string(), f));
        Format::named()
            .map(|(name, f)| (name.to_string(), f))
            .chain(fixed)
            .find(|(known, _)| known == name)
            .map(|(_, f)| f)
            .ok_or_else(|| UnknownFormat { name: text.to_string() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_stand_for_formats_and_hide_none() {
        for (alias, name) in FORMAT_ALIASES {
            assert!(Format::named().all(|(known, _)| known != alias), "{alias}");
            let format: Format = name.parse().unwrap();
            for text in [alias.to_string(), alias.to_uppercase(), alias.replace('-', "_")] {
                assert_eq!(text.parse::<Format>().unwrap(), format, "{text}");
            }
        }
        for (name, format) in Format::named() {
            assert_eq!(name.replace('-', "_").parse::<Format>().unwrap(), format);
        }
        for (alias, word) in SCALE_ALIASES {
            let read = |name: &str| serde_json::from_value::<Scale>(name.into()).unwrap();
            assert_eq!(read(alias), read(word));
        }
        for (name, format, scale) in SCALED_FORMATS {
            assert_eq!(scaled_format(&name.to_uppercase()), Some((format, scale)));
            assert!(scale.takes(format), "{name}");
            let error = name.parse::<Format>().unwrap_err().to_string();
            assert!(error.contains(&format!("format {format} with scales {}", scale.word())), "{error}");
        }
    }
}
