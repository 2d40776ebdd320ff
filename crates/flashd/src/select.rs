//! From arguments to one validated configuration.

use crate::cli::{ArrayArgs, DesignArg, DotArg, Fa2Arg, Selection, UpdateArg, WeightArg};
use crate::output::Failure;
use clap::{Args, Parser};
use flashd_hwmodel::axis::AxisConfig;
use flashd_hwmodel::block::BlockConfig;
use flashd_hwmodel::config::{CoreConfig, Design, Dot, Fa2Variant, Update, WeightUnit};
use flashd_hwmodel::format::Format;
use flashd_hwmodel::merge::SplitConfig;
use std::path::Path;

/// Flags without a program's name.
#[derive(Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct Words<T: Args> {
    #[command(flatten)]
    flags: T,
}

/// What `--core` stands for: flags between spaces, which begin with a dash, or a configuration file, whose name may
/// have spaces.
pub fn parse_flags<T: Args>(text: &str) -> Result<T, Failure> {
    let parsed = match text.starts_with('-') {
        true => Words::try_parse_from(text.split_whitespace()),
        false => Words::try_parse_from([format!("--config={text}")]),
    };
    parsed.map(|words| words.flags).map_err(|e| {
        // The first paragraph; the others are about the usage of a program that does not exist.
        let text = e.to_string();
        let words: Vec<&str> = text.lines().take_while(|line| !line.trim().is_empty()).collect();
        Failure::input(words.join(" ").trim_start_matches("error: ").to_string())
    })
}

/// Adds the core that a `--core` stands for, which must not be there yet.
pub fn add_core(
    all: &mut Vec<CoreConfig>,
    text: &str,
    core: Result<CoreConfig, Failure>,
) -> Result<(), Failure> {
    let core = core.map_err(|e| Failure::input(format!("--core \"{text}\": {e}")))?;
    if all.iter().any(|c| c.name() == core.name()) {
        let name = core.name();
        return Err(Failure::input(format!(
            "--core \"{text}\": {name} is there already; name each core once"
        )));
    }
    all.push(core);
    Ok(())
}

/// The selected core. `d_from_data` fills in a vector length that neither file nor flag gives.
pub fn configuration(s: &Selection, d_from_data: Option<usize>) -> Result<CoreConfig, Failure> {
    match (select(s, d_from_data)?, &s.config) {
        ((_, Some(array)), Some(path)) => Err(Failure::input(format!(
            "--config {}: an array of {} cores, where a core is needed",
            path.display(),
            array.queries
        ))),
        ((core, _), _) => Ok(core),
    }
}

/// Cores of a configuration for so many parts of the keys.
pub fn split(core: &CoreConfig, parts: usize) -> Result<SplitConfig, Failure> {
    let split = SplitConfig::new(core.clone(), parts);
    split.validate().map_err(|e| match e.field {
        "partial" => Failure::input(format!("--parts: {}", e.problem)),
        field => Failure::input(format!("--{}: {}", field.replace('_', "-"), e.problem)),
    })?;
    Ok(split)
}

/// The selected core, and the array of it that `--queries` or the file ask for.
pub fn core_or_block(
    flags: &ArrayArgs,
    d_from_data: Option<usize>,
) -> Result<(CoreConfig, Option<BlockConfig>), Failure> {
    let ArrayArgs { selection: s, queries, key_index_bits } = flags;
    let (core, in_file) = select(s, d_from_data)?;
    let key_index_bits = key_index_bits.or(in_file.as_ref().and_then(|b| b.key_index_bits));
    let Some(n) = queries.or(in_file.map(|b| b.queries)) else {
        return match key_index_bits {
            Some(_) => {
                Err(Failure::input("--key-index-bits: only an array counts its keys; add --queries B"))
            }
            None => Ok((core, None)),
        };
    };
    let block = BlockConfig { key_index_bits, ..BlockConfig::new(core.clone(), n) };
    block.validate().map_err(|e| match (&s.config, queries) {
        (Some(path), None) => Failure::input(format!("--config {}: {e}", path.display())),
        _ => Failure::input(format!("--{}: {}", e.field.replace('_', "-"), e.problem)),
    })?;
    Ok((core, Some(block)))
}

/// A file's core and, if it describes one, its array, also that in a stream wrapper.
fn read(path: &Path) -> Result<(CoreConfig, Option<BlockConfig>), Failure> {
    let bad = |e: &dyn std::fmt::Display| Failure::input(format!("--config {}: {e}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|e| bad(&e))?;
    let value = serde_json::from_str::<serde_json::Value>(&text).unwrap_or_default();
    match (value.get("block").is_some(), value.get("core").is_some()) {
        (true, _) => serde_json::from_str::<AxisConfig>(&text).map(|a| (a.block.core.clone(), Some(a.block))),
        (_, true) => serde_json::from_str::<BlockConfig>(&text).map(|b| (b.core.clone(), Some(b))),
        _ => serde_json::from_str::<CoreConfig>(&text).map(|core| (core, None)),
    }
    .map_err(|e| bad(&e))
}

/// The stream wrapper that the selected file describes, if it does: its array is that of [`core_or_block`].
pub fn wrapper_in_file(s: &Selection) -> Option<AxisConfig> {
    let text = std::fs::read_to_string(s.config.as_ref()?).ok()?;
    serde_json::from_str(&text).ok()
}

fn select(s: &Selection, d_from_data: Option<usize>) -> Result<(CoreConfig, Option<BlockConfig>), Failure> {
    let (mut config, array) = match &s.config {
        Some(path) => read(path)?,
        None => {
            let design = match s.design {
                Some(DesignArg::FlashD) => Design::FlashD,
                Some(DesignArg::Fa2) => Design::Fa2,
                None => return Err(Failure::input("--design is missing: flash-d or fa2 (or --config FILE)")),
            };
            let d =
                s.d.or(d_from_data)
                    .ok_or_else(|| Failure::input("--d is missing: a vector length, 2 to 512"))?;
            (CoreConfig::new(design, d, s.format.unwrap_or(Format::BF16)), None)
        }
    };
    if let Some(design) = s.design {
        config.design = match design {
            DesignArg::FlashD => Design::FlashD,
            DesignArg::Fa2 => Design::Fa2,
        };
    }
    if let Some(weight) = s.weight {
        config.weight = match weight {
            WeightArg::Lse => WeightUnit::Lse,
            WeightArg::Paper => WeightUnit::Paper,
        };
    }
    if let Some(fa2) = s.fa2 {
        config.fa2 = match fa2 {
            Fa2Arg::SeparateScale => Fa2Variant::SeparateScale,
            Fa2Arg::Literal => Fa2Variant::Literal,
            Fa2Arg::SharedScale => Fa2Variant::SharedScale,
            Fa2Arg::Fixed => Fa2Variant::Fixed,
            Fa2Arg::LogReference => Fa2Variant::LogReference,
        };
    }
    if let Some(update) = s.update {
        config.update = match update {
            UpdateArg::Rounded => Update::Rounded,
            UpdateArg::Fused => Update::Fused,
            UpdateArg::Fixed => Update::Fixed,
        };
    }
    config.dot = match s.dot {
        Some(DotArg::Tree) => Some(Dot::Tree),
        Some(DotArg::Fused) => Some(Dot::Fused),
        None => config.dot,
    };
    config.lane = s.lane.or(config.lane);
    config.value_stage = s.value_stage.or(config.value_stage);
    config.masks |= s.masks;
    config.partial |= s.partial;
    config.value_latency = s.value_latency.unwrap_or(config.value_latency);
    config.d = s.d.unwrap_or(config.d);
    config.format = s.format.unwrap_or(config.format);
    config.hold = s.hold.or(config.hold);
    config.accumulator = s.accumulator.or(config.accumulator);
    config.weight_bits = s.weight_bits.or(config.weight_bits);
    config.segments = s.segments.unwrap_or(config.segments);
    config.score_shift = s.score_shift.or(config.score_shift);
    config.score_integer_bits = s.score_integer_bits.unwrap_or(config.score_integer_bits);
    config.score_fraction_bits = s.score_fraction_bits.unwrap_or(config.score_fraction_bits);
    config.state_fraction_bits = s.state_fraction_bits.unwrap_or(config.state_fraction_bits);
    config.validate().map_err(|e| match &s.config {
        Some(path) => Failure::input(format!("--config {}: {e}", path.display())),
        None => Failure::input(format!("--{}: {}", e.field.replace('_', "-"), e.problem)),
    })?;
    Ok((config, array))
}
