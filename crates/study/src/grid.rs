//! Which cores are compared.

use flashd_spec::config::{ACCUMULATOR_GUARD_BITS, Accumulator, CoreConfig, Design, LaneBits, OPTIONS};
use flashd_spec::format::Format;
use serde_json::{Map, Value};
use std::collections::HashSet;

mod file;

pub use file::{ALL, Combination, GridError, GridFile};

/// Most cores that a grid file may describe; every one takes minutes to measure.
pub const MOST_CORES: usize = 10_000;

/// The default grid of a vector length and format: every variant of both designs, the float lanes with accumulators of
/// 3 to 5 fraction bits more than the format and of about the bits that their most keys need, the fixed-point lanes with widths around the format's precision p.
pub fn default_grid(d: usize, format: Format) -> Vec<CoreConfig> {
    let p = format.precision();
    let mut cores = CoreConfig::variants(d, format);
    cores.extend(CoreConfig::mixed_precision(d).into_iter().filter(|c| c.format == format));
    let variants = cores.clone();
    for config in variants.iter().filter(|c| c.value_stage.is_none()) {
        if config.has_fixed_lanes() {
            // Bits beyond p: of FLASH-D's accumulator, and of v and w together. FA2 does not round v.
            let (accumulators, factors): (&[u32], &[(u32, i32)]) = match config.design() {
                Design::FlashD => (&[7, 10, 13, 16], &[(2, 0), (4, 0), (4, 1), (6, 1)]),
                // A multiplier that also does the final scale has a factor of p + 2 bits at least.
                Design::Fa2 if config.kind().scales_in_lane => (&[6, 9, 12], &[(6, 2), (6, 3)]),
                Design::Fa2 => (&[6, 9, 12], &[(6, -1), (6, 0), (6, 1)]),
            };
            for &o in accumulators {
                for &(v, w) in factors {
                    let lane = Some(LaneBits { o: p + o, v: p + v, w: p.saturating_add_signed(w) });
                    cores.push(CoreConfig { lane, ..config.clone() });
                }
            }
        } else if !config.follows_the_paper() {
            let few = (ACCUMULATOR_GUARD_BITS - 1..=ACCUMULATOR_GUARD_BITS + 1)
                .map(|bits| format.fraction_bits + bits);
            let enough = config.accumulator_fraction();
            for bits in few.chain([enough - 1, enough + 1]) {
                let accumulator = Some(Accumulator::Fraction(bits));
                cores.push(CoreConfig { accumulator, ..config.clone() });
            }
        }
    }
    // Wide formats have no room for all these bits.
    cores.retain(|core| core.validate().is_ok());
    distinct(cores)
}

/// Drops duplicates of earlier cores.
fn distinct(mut cores: Vec<CoreConfig>) -> Vec<CoreConfig> {
    let mut seen = HashSet::new();
    cores.retain(|core| seen.insert(core.name()));
    cores
}

/// The name of a core without format and vector length: `fa2_shared`, `flash_d_fixed_o16v12w8`.
pub fn stem(config: &CoreConfig) -> String {
    let name = config.name();
    let end = config.shape();
    name.strip_suffix(&end).unwrap_or(&name).to_string()
}

/// The stem without scales, which belong to the formats: `fa2` for `fa2_mx`.
pub fn stem_without_scales(config: &CoreConfig) -> String {
    let scales = OPTIONS.into_iter().filter(|option| option.field.ends_with("scales"));
    let scales: HashSet<String> = scales.filter_map(|option| (option.suffix)(config)).collect();
    let stem = stem(config);
    let kept: Vec<&str> = stem.split('_').filter(|part| !scales.contains(*part)).collect();
    kept.join("_")
}

/// The variant that a core is of: its name without widths and scales.
pub fn variant(config: &CoreConfig) -> String {
    stem_without_scales(&in_formats_of(config.plain(), config))
}

/// A core with the formats and scales of another.
fn in_formats_of(core: CoreConfig, other: &CoreConfig) -> CoreConfig {
    let CoreConfig { scales, q_scales, k_scales, v_scales, .. } = *other;
    CoreConfig { scales, q_scales, k_scales, v_scales, ..core.with_formats(other.formats()) }
}

/// The valid variants with the vector length, formats and scales of a core.
pub fn variants_like(core: &CoreConfig) -> Vec<CoreConfig> {
    let all = CoreConfig::variants(core.d, core.format).into_iter();
    all.map(|variant| in_formats_of(variant, core)).filter(|variant| variant.validate().is_ok()).collect()
}

/// The cores of a grid whose entries are configurations without a vector length: of an entry with a `format` those in that format, of
/// others those in each of `formats`; each core once.
///
/// ```json
/// [{"design": "flash-d", "update": "fixed", "lane": {"o": [16, 18], "v": 12, "w": [7, 8]}},
///  {"design": "fa2", "fa2": ["separate-scale", "shared-scale"], "format": "bf16", "accumulator": {"fraction": [9, 10]}}]
/// ```
///
/// # Errors
/// Names the entry, the field, and what is wrong with it: unknown fields, values that are not allowed, combinations
/// that are not valid, more than [`MOST_CORES`] cores.
pub fn cores(grid: &GridFile, d: usize, formats: &[Format]) -> Result<Vec<CoreConfig>, GridError> {
    let with_d = |fields: &mut Map<String, Value>| {
        if fields.contains_key("d") {
            return Err("d: the vector length is one for the whole grid; leave it out".to_string());
        }
        fields.insert("d".into(), d.into());
        let formats = serde_json::to_value(formats).map_err(|e| e.to_string())?;
        fields.entry("format").or_insert(formats);
        Ok(())
    };
    let core = |(entry, fields)| {
        let wrong = |problem: String| grid.wrong(entry, problem);
        let core: CoreConfig =
            flashd_files::from_value(Value::Object(fields)).map_err(|e| wrong(e.to_string()))?;
        core.validate().map_err(|e| wrong(e.to_string()))?;
        Ok(core)
    };
    let cores = grid.combinations(MOST_CORES, with_d)?.into_iter().map(core);
    Ok(distinct(cores.collect::<Result<_, _>>()?))
}

#[cfg(test)]
mod tests;
