//! From arguments to one validated configuration.

use crate::cli::{ArrayArgs, DesignArg, DotArg, Fa2Arg, Selection, UpdateArg, WeightArg};
use crate::output::Failure;
use clap::{Args, Parser};
use flashd_hwmodel::array::BlockConfig;
use flashd_hwmodel::split::SplitConfig;
use flashd_hwmodel::wrapper::{AxisConfig, Values};
use flashd_spec::config::{CoreConfig, CoreFields, Design, Dot, Fa2Variant, Update, WeightUnit};
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

/// What a configuration file describes.
enum InFile {
    Core(CoreFields),
    Array(BlockConfig<CoreFields>),
    Wrapper(AxisConfig<CoreFields>),
}

fn read(path: &Path) -> Result<InFile, Failure> {
    let bad = |e: &dyn std::fmt::Display| Failure::input(format!("--config {}: {e}", path.display()));
    let text = flashd_files::read_text(path).map_err(|e| bad(&e))?;
    let value: serde_json::Value = flashd_files::from_json(&text).map_err(|e| bad(&e))?;
    match (value.get("block").is_some(), value.get("core").is_some()) {
        (true, _) => flashd_files::from_json(&text).map(InFile::Wrapper),
        (_, true) => flashd_files::from_json(&text).map(InFile::Array),
        _ => flashd_files::from_json(&text).map(InFile::Core),
    }
    .map_err(|e| bad(&e))
}

/// The beat and the values of the stream wrapper that the selected file describes, if it does: its array is that of
/// [`core_or_block`].
pub fn wrapper_in_file(s: &Selection) -> Result<Option<(Option<u32>, Values)>, Failure> {
    match s.config.as_deref().map(read).transpose()? {
        Some(InFile::Wrapper(wrapper)) => Ok(Some((wrapper.beat_bits, wrapper.values))),
        _ => Ok(None),
    }
}

/// The fields that the flags give.
fn fields(s: &Selection) -> CoreFields {
    CoreFields {
        design: s.design.map(|design| match design {
            DesignArg::FlashD => Design::FlashD,
            DesignArg::Fa2 => Design::Fa2,
        }),
        d: s.d,
        format: s.format,
        weight: s.weight.map(|weight| match weight {
            WeightArg::Lse => WeightUnit::Lse,
            WeightArg::Paper => WeightUnit::Paper,
        }),
        fa2: s.fa2.map(|fa2| match fa2 {
            Fa2Arg::SeparateScale => Fa2Variant::SeparateScale,
            Fa2Arg::Literal => Fa2Variant::Literal,
            Fa2Arg::SharedScale => Fa2Variant::SharedScale,
            Fa2Arg::Fixed => Fa2Variant::Fixed,
            Fa2Arg::LogReference => Fa2Variant::LogReference,
        }),
        dot: s.dot.map(|dot| match dot {
            DotArg::Tree => Dot::Tree,
            DotArg::Fused => Dot::Fused,
        }),
        update: s.update.map(|update| match update {
            UpdateArg::Rounded => Update::Rounded,
            UpdateArg::Fused => Update::Fused,
            UpdateArg::Fixed => Update::Fixed,
        }),
        lane: s.lane,
        value_stage: s.value_stage,
        masks: s.masks.then_some(true),
        partial: s.partial.then_some(true),
        value_latency: s.value_latency,
        hold: s.hold,
        accumulator: s.accumulator,
        weight_bits: s.weight_bits,
        segments: s.segments,
        score_shift: s.score_shift,
        score_integer_bits: s.score_integer_bits,
        score_fraction_bits: s.score_fraction_bits,
        state_fraction_bits: s.state_fraction_bits,
    }
}

/// What the selected file says about its array, if it is one.
struct ArrayInFile {
    queries: usize,
    key_index_bits: Option<u32>,
}

fn select(s: &Selection, d_from_data: Option<usize>) -> Result<(CoreConfig, Option<ArrayInFile>), Failure> {
    let (in_file, array) = match s.config.as_deref().map(read).transpose()? {
        None => (CoreFields::default(), None),
        Some(InFile::Core(core)) => (core, None),
        Some(InFile::Array(block) | InFile::Wrapper(AxisConfig { block, .. })) => {
            let BlockConfig { core, queries, key_index_bits } = block;
            (core, Some(ArrayInFile { queries, key_index_bits }))
        }
    };
    let data = CoreFields { d: d_from_data, ..CoreFields::default() };
    let config = fields(s).or(in_file).or(data).config().map_err(|e| match &s.config {
        Some(path) => Failure::input(format!("--config {}: {e}", path.display())),
        None if e.field == "design" => Failure::input(format!("--design {} (or --config FILE)", e.problem)),
        None => Failure::input(format!("--{} {}", e.field, e.problem)),
    })?;
    config.validate().map_err(|e| match &s.config {
        Some(path) => Failure::input(format!("--config {}: {e}", path.display())),
        None => Failure::input(format!("--{}: {}", e.field.replace('_', "-"), e.problem)),
    })?;
    Ok((config, array))
}
