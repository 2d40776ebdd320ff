//! From arguments to one validated configuration.

use crate::cli::{ArrayArgs, Selection, ValuesArg, WrapperArg, WrapperArgs};
use crate::output::{Failure, first_paragraph};
use clap::{Args, Parser};
use flashd_spec::config::{
    ArrayConfig, CoreConfig, CoreFields, Lengths, OPTIONS, SplitConfig, Values, WrapperConfig,
};
use flashd_spec::machine::Machine;
use flashd_spec::unit::UnitConfig;
use std::path::Path;

/// Flags without a program's name.
#[derive(Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct FlagWords<T: Args> {
    #[command(flatten)]
    flags: T,
}

/// Parses the argument of `--core`: flags between spaces, which begin with a dash, or a configuration file, whose name may have spaces.
pub fn parse_flags<T: Args>(text: &str) -> Result<T, Failure> {
    let parsed = match text.starts_with('-') {
        true => FlagWords::try_parse_from(text.split_whitespace()),
        false => FlagWords::try_parse_from([format!("--config={text}")]),
    };
    // The usage text is dropped: it names a program that does not exist.
    parsed.map(|words| words.flags).map_err(|e| Failure::input(first_paragraph(&e.to_string())))
}

/// Adds the core of a `--core`, which must not be there yet.
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

/// The selected core. `d_from_data` fills in vector lengths where neither file nor flag gives any.
pub fn configuration(s: &Selection, d_from_data: Option<Lengths>) -> Result<CoreConfig, Failure> {
    match (select(s, d_from_data)?, &s.config) {
        ((_, Some(array)), Some(path)) => Err(Failure::input(format!(
            "--config {}: an array of {} cores, where a core is needed",
            path.display(),
            array.queries
        ))),
        ((core, _), _) => Ok(core),
    }
}

/// Cores of a configuration for keys in `parts` parts.
pub fn split(core: &CoreConfig, parts: usize) -> Result<SplitConfig, Failure> {
    let split = SplitConfig::new(core.clone(), parts);
    split.validate().map_err(|e| match e.field {
        "partial" => Failure::input(format!("--parts: {}", e.problem)),
        field => Failure::input(format!("--{}: {}", field.replace('_', "-"), e.problem)),
    })?;
    Ok(split)
}

/// The selected core, and the array of it that `--queries` or the file ask for.
pub fn core_or_array(
    flags: &ArrayArgs,
    d_from_data: Option<Lengths>,
) -> Result<(CoreConfig, Option<ArrayConfig>), Failure> {
    let ArrayArgs { selection: s, queries, key_index_bits, interleave } = flags;
    let (core, in_file) = select(s, d_from_data)?;
    let key_index_bits = key_index_bits.or(in_file.as_ref().and_then(|b| b.key_index_bits));
    let interleave = interleave.or(in_file.as_ref().map(|b| b.interleave));
    let Some(n) = queries.or(in_file.map(|b| b.queries)) else {
        return match (key_index_bits, interleave) {
            (Some(_), _) => {
                Err(Failure::input("--key-index-bits: only an array counts its keys; add --queries B"))
            }
            (None, Some(_)) => {
                Err(Failure::input("--interleave: only queries of an array take turns; add --queries B"))
            }
            (None, None) => Ok((core, None)),
        };
    };
    let interleave = interleave.unwrap_or(1);
    let array = ArrayConfig { key_index_bits, interleave, ..ArrayConfig::new(core.clone(), n) };
    array.validate().map_err(|e| match (&s.config, queries) {
        (Some(path), None) => Failure::input(format!("--config {}: {e}", path.display())),
        _ => Failure::input(format!("--{}: {}", e.field.replace('_', "-"), e.problem)),
    })?;
    Ok((core, Some(array)))
}

/// The core, the array, or with `parts` the split keys of that number of parts that the flags select.
pub fn machine(flags: &ArrayArgs, parts: Option<usize>) -> Result<Machine, Failure> {
    if let Some(parts) = parts {
        if flags.interleave.is_some() {
            return Err(Failure::input(
                "--interleave: only queries of an array take turns; leave it out with --parts",
            ));
        }
        if flags.key_index_bits.is_some() {
            return Err(Failure::input(
                "--key-index-bits: only an array counts its keys; leave it out with --parts",
            ));
        }
        return Ok(split(&configuration(&flags.selection, None)?, parts)?.into());
    }
    let (core, array) = core_or_array(flags, None)?;
    Ok(array.map_or(core.into(), Machine::from))
}

impl Selection {
    /// Refuses the flags of a core that are not among `fields`, all that `who` can honour, and numbers out of range.
    pub fn only(&self, fields: &[&str], who: &str) -> Result<(), Failure> {
        for option in OPTIONS.into_iter().filter(|option| self.fields.has(option.field)) {
            let flag = option.flag();
            if !fields.contains(&option.field) {
                let flags: Vec<String> = fields.iter().map(|field| format!("--{field}")).collect();
                let takes = match flags.as_slice() {
                    [] => "no flag of a core".into(),
                    flags => flags.join(" and ") + " alone",
                };
                return Err(Failure::input(format!("--{flag}: {who} takes {takes}; leave it out")));
            }
            if let Some(problem) =
                self.fields.value(option.field).and_then(|value| option.range.problem(value))
            {
                return Err(Failure::input(format!("--{flag}: {problem}")));
            }
        }
        Ok(())
    }
}

/// Contents of a configuration file.
enum InFile {
    Core(CoreFields),
    Array(ArrayConfig<CoreFields>),
    Wrapper(WrapperConfig<CoreFields>),
    Unit(UnitConfig<CoreFields>),
}

fn read(path: &Path) -> Result<InFile, Failure> {
    let bad = |e: &dyn std::fmt::Display| Failure::input(format!("--config {}: {e}", path.display()));
    let text = flashd_files::read_text(path).map_err(|e| bad(&e))?;
    let value: serde_json::Value = flashd_files::from_json(&text).map_err(|e| bad(&e))?;
    match (value.get("block").is_some(), value.get("core").is_some()) {
        (true, _) if value.get("address_bits").is_some() => flashd_files::from_json(&text).map(InFile::Unit),
        (true, _) => flashd_files::from_json(&text).map(InFile::Wrapper),
        (_, true) => flashd_files::from_json(&text).map(InFile::Array),
        _ => flashd_files::from_json(&text).map(InFile::Core),
    }
    .map_err(|e| bad(&e))
}

/// The surroundings of an array.
pub enum Around {
    /// Streams.
    Wrapper(WrapperConfig),
    /// A port to a memory.
    Unit(UnitConfig),
}

impl From<Around> for Machine {
    fn from(around: Around) -> Machine {
        match around {
            Around::Wrapper(config) => config.into(),
            Around::Unit(config) => config.into(),
        }
    }
}

/// Fields of a wrapper or unit in a file.
#[derive(Default)]
struct AroundInFile {
    wrapper: Option<WrapperArg>,
    beat: Option<u32>,
    values: Values,
    address_bits: Option<u32>,
    in_flight: Option<u32>,
    kv_buffer: u32,
    revision: u32,
}

impl AroundInFile {
    fn of(in_file: Option<InFile>) -> AroundInFile {
        match in_file {
            Some(InFile::Wrapper(WrapperConfig { beat_bits: beat, values, .. })) => {
                AroundInFile { wrapper: Some(WrapperArg::Axis), beat, values, ..AroundInFile::default() }
            }
            Some(InFile::Unit(unit)) => AroundInFile {
                wrapper: Some(WrapperArg::Axi4),
                beat: Some(unit.beat_bits),
                values: unit.values,
                address_bits: Some(unit.address_bits),
                in_flight: Some(unit.in_flight),
                kv_buffer: unit.kv_buffer,
                revision: unit.revision,
            },
            _ => AroundInFile::default(),
        }
    }
}

/// The stream wrapper or the unit that `--wrapper` or the selected file ask for, around the array that [`core_or_array`] gives. Flags
/// override what the file says.
pub fn around(
    s: &Selection,
    flags: &WrapperArgs,
    array: Option<&ArrayConfig>,
) -> Result<Option<Around>, Failure> {
    let in_file = AroundInFile::of(s.config.as_deref().map(read).transpose()?);
    let Some(wrapper) = flags.wrapper.or(in_file.wrapper) else {
        return match flags.of_wrapper() {
            Some(flag) => Err(Failure::input(format!("--{flag}: takes --wrapper, or a file with one"))),
            None => Ok(None),
        };
    };
    // Another wrapper has other beats.
    let in_file = match in_file.wrapper == Some(wrapper) {
        true => in_file,
        false => AroundInFile { values: in_file.values, ..AroundInFile::default() },
    };
    let word = if wrapper == WrapperArg::Axis { "axis" } else { "axi4" };
    let Some(array) = array.cloned() else {
        return Err(Failure::input(format!(
            "--wrapper {word}: wraps an array of cores; add --queries B, 1 to 64"
        )));
    };
    let values = match flags.values {
        Some(ValuesArg::All) => Values::All,
        Some(ValuesArg::Requested) => Values::Requested,
        None => in_file.values,
    };
    let beat = flags.beat.or(in_file.beat);
    let (config, checked) = match wrapper {
        WrapperArg::Axis => {
            if let Some(flag) = flags.of_memory() {
                return Err(Failure::input(format!("--{flag}: takes --wrapper axi4; axis has no addresses")));
            }
            let config = WrapperConfig { array, beat_bits: beat, values };
            let checked = config.validate();
            (Around::Wrapper(config), checked)
        }
        WrapperArg::Axi4 => {
            let plain = UnitConfig::new(array);
            let config = UnitConfig {
                beat_bits: beat.unwrap_or(plain.beat_bits),
                address_bits: flags.address_bits.or(in_file.address_bits).unwrap_or(plain.address_bits),
                in_flight: flags.in_flight.or(in_file.in_flight).unwrap_or(plain.in_flight),
                values,
                kv_buffer: flags.kv_buffer.unwrap_or(in_file.kv_buffer),
                revision: in_file.revision,
                array: plain.array,
            };
            let checked = config.validate();
            (Around::Unit(config), checked)
        }
    };
    checked.map_err(|e| match (&s.config, flags.beat) {
        (Some(path), None) => Failure::input(format!("--config {}: {e}", path.display())),
        _ => Failure::input(format!("--{}: {}", e.field.replace('_', "-"), e.problem)),
    })?;
    Ok(Some(config))
}

impl WrapperArgs {
    /// A given flag that takes a wrapper.
    fn of_wrapper(&self) -> Option<&'static str> {
        let flags = [("beat", self.beat.is_some()), ("values", self.values.is_some())];
        self.of_memory().or_else(|| flags.into_iter().find_map(|(flag, given)| given.then_some(flag)))
    }

    /// A given flag that only a unit has.
    fn of_memory(&self) -> Option<&'static str> {
        let flags = [
            ("address-bits", self.address_bits),
            ("in-flight", self.in_flight),
            ("kv-buffer", self.kv_buffer),
        ];
        flags.into_iter().find_map(|(flag, given)| given.map(|_| flag))
    }
}

/// The array of the selected file, if it has one.
struct ArrayInFile {
    queries: usize,
    key_index_bits: Option<u32>,
    interleave: usize,
}

fn select(s: &Selection, d_from_data: Option<Lengths>) -> Result<(CoreConfig, Option<ArrayInFile>), Failure> {
    let (in_file, array) = match s.config.as_deref().map(read).transpose()? {
        None => (CoreFields::default(), None),
        Some(InFile::Core(core)) => (core, None),
        Some(
            InFile::Array(array)
            | InFile::Wrapper(WrapperConfig { array, .. })
            | InFile::Unit(UnitConfig { array, .. }),
        ) => {
            let ArrayConfig { core, queries, key_index_bits, interleave } = array;
            (core, Some(ArrayInFile { queries, key_index_bits, interleave }))
        }
    };
    let flags = s.fields.clone();
    let fields = flags.or(in_file);
    let fields = d_from_data.into_iter().fold(fields, CoreFields::or_lengths);
    let config = fields.core().map_err(|e| match &s.config {
        Some(path) => Failure::input(format!("--config {}: {e}", path.display())),
        None if e.field == "design" => Failure::input(format!("--design {} (or --config FILE)", e.problem)),
        None => Failure::input(e.by_flag()),
    })?;
    Ok((config, array))
}
