//! A core from JSON or from options.

use crate::{Error, guarded};
use flashd_generator::{Emission, GeneratedFile, Origin, Prefix, machine_files, write_all};
use flashd_golden::{Merge, PartialState, Stepper, VectorModel};
use flashd_hwmodel::catalogue::v_step_latency;
use flashd_spec::config::{CoreConfig, CoreFields, CoreOption, OPTIONS};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// A validated configuration, and the models that were made of it.
pub struct Core {
    config: CoreConfig,
    /// By score shift, which depends on the scales of the operands.
    models: Mutex<BTreeMap<i32, Arc<VectorModel>>>,
}

impl Core {
    /// The core of a configuration file's text.
    ///
    /// # Errors
    /// The command line's words after `--config FILE:`.
    pub fn from_json(text: &str) -> Result<Core, Error> {
        let fields: CoreFields = flashd_files::from_json(text).map_err(Error::input)?;
        let config = fields.core().map_err(Error::input)?;
        Ok(Core { config, models: Mutex::default() })
    }

    /// The core of options as on the command line, by their names in JSON; a switch is `true` or `false`.
    ///
    /// # Errors
    /// The command line's words about its flags.
    pub fn from_options<'a>(options: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Core, Error> {
        let mut fields = CoreFields::default();
        for (name, text) in options {
            let field = name.replace('-', "_");
            let Some(option) = CoreOption::of(&field) else {
                let known: Vec<&str> = OPTIONS.into_iter().map(|option| option.field).collect();
                return Err(Error::Input(format!("unknown option '{name}': known are {}", known.join(", "))));
            };
            let value = match (option.is_switch(), text) {
                (true, "true" | "True") => Value::Bool(true),
                (true, "false" | "False") => continue,
                (true, _) => {
                    return Err(Error::Input(format!(
                        "--{}: '{text}' is neither true nor false",
                        option.flag()
                    )));
                }
                (false, _) => {
                    option.parse(text).map_err(|e| Error::Input(format!("--{}: {e}", option.flag())))?
                }
            };
            fields.set(option, value);
        }
        let config = fields.core().map_err(|e| Error::Input(e.by_flag()))?;
        Ok(Core { config, models: Mutex::default() })
    }

    /// The configuration.
    pub fn config(&self) -> &CoreConfig {
        &self.config
    }

    /// It as JSON.
    pub fn json(&self) -> String {
        // A map of plain values always has a text.
        serde_json::to_string(&self.config).unwrap_or_default()
    }

    /// Cycles from a query's last key to its result.
    pub fn latency(&self) -> u32 {
        self.model(self.config.score_shift()).numerics().latency()
    }

    /// Cycles from a key to its `v_step`.
    pub fn v_step_latency(&self) -> u32 {
        v_step_latency(&self.config)
    }

    /// Names and widths of the words of a state: of an accumulator, then of each scalar that the core has.
    pub fn state_widths(&self) -> Vec<(&'static str, u32)> {
        let model = self.model(self.config.score_shift());
        let scalars = model.numerics().scalar_bits(&self.config);
        let accumulator = ("accumulator", self.config.accumulator_bits());
        [accumulator].into_iter().chain(self.config.state_scalars().iter().copied().zip(scalars)).collect()
    }

    /// The empty state, of a query that has seen no key ([`PartialState::no_key`]).
    ///
    /// # Errors
    /// A core that cannot have partial results.
    pub fn no_key(&self) -> Result<PartialState, Error> {
        let refused = || Error::Input("state: paper and literal have no partial results".into());
        let model = self.model(self.config.score_shift());
        PartialState::no_key(&self.config, model.numerics()).ok_or_else(refused)
    }

    /// The merged state of two sets of keys, as the tree of [split keys](flashd_golden::Merge) computes it. The empty state is neutral.
    ///
    /// # Errors
    /// A core without partial results, and states that are not of this core.
    pub fn merge(&self, a: &PartialState, b: &PartialState) -> Result<PartialState, Error> {
        guarded(|| {
            if !self.config.partial {
                return Err(Error::Input("state: takes a core with partial results; add --partial".into()));
            }
            for state in [a, b] {
                self.check_state(state)?;
            }
            let merged = Merge::new(&self.config).merge(Some(a), Some(b));
            merged.ok_or_else(|| Error::Internal("two states have no merge".into()))
        })
    }

    /// The log-sum-exp of a state, in base 2 ([`PartialState::log_sum_exp`]).
    ///
    /// # Errors
    /// A state that is not of this core.
    pub fn log_sum_exp(&self, scalars: [u64; 2]) -> Result<f64, Error> {
        let state = PartialState { scalars, ..self.no_key()? };
        self.check_state(&state)?;
        Ok(state.log_sum_exp(&self.config, self.model(self.config.score_shift()).numerics()))
    }

    fn check_state(&self, state: &PartialState) -> Result<(), Error> {
        let widths = self.state_widths();
        let too_wide = |name: &str, word: u64, bits: u32| match bits < u64::BITS && word >> bits != 0 {
            true => Err(Error::Input(format!("state: {name} is {word:#x}, which has more than {bits} bits"))),
            false => Ok(()),
        };
        if state.o.len() != self.config.dv() {
            let (given, dv) = (state.o.len(), self.config.dv());
            return Err(Error::Input(format!("state: {given} accumulators, {dv} are needed")));
        }
        let Some(((accumulator, bits), scalars)) = widths.split_first() else { return Ok(()) };
        state.o.iter().try_for_each(|&word| too_wide(accumulator, word, *bits))?;
        scalars.iter().zip(state.scalars).try_for_each(|((name, bits), word)| too_wide(name, word, *bits))
    }

    /// The model with this score shift.
    pub(crate) fn model(&self, score_shift: i32) -> Arc<VectorModel> {
        let mut models = self.models.lock().unwrap_or_else(|e| e.into_inner());
        let make = || Arc::new(VectorModel::new(&self.with_shift(score_shift)));
        models.entry(score_shift).or_insert_with(make).clone()
    }

    pub(crate) fn with_shift(&self, score_shift: i32) -> CoreConfig {
        CoreConfig { score_shift: Some(score_shift), ..self.config.clone() }
    }

    /// The core one step at a time.
    pub fn stepper(&self) -> Stepper {
        Stepper::new(&self.config)
    }

    /// Verilog, manifest, constraints and file list; `prefix` is that of `flashd generate`.
    ///
    /// # Errors
    /// As the generator's.
    pub fn files(&self, prefix: Option<&str>) -> Result<Vec<GeneratedFile>, Error> {
        let prefix = prefix.map(str::parse).transpose();
        let prefix: Prefix = prefix.map_err(|e| Error::input(format!("prefix: {e}")))?.unwrap_or_default();
        let revision = if flashd_files::reproducible() { "" } else { flashd_revision::REVISION };
        let origin = Origin { revision: revision.into(), command: None };
        let emission = Emission { prefix, ..Emission::of(origin) };
        machine_files(&self.config, &emission).map_err(Error::input)
    }

    /// Writes them into a folder, as `flashd generate --out` does, and names them.
    ///
    /// # Errors
    /// Also if they cannot be written.
    pub fn write(&self, folder: &Path, prefix: Option<&str>) -> Result<Vec<String>, Error> {
        let written = write_all(folder, &self.files(prefix)?).map_err(Error::input)?;
        Ok(written.iter().map(|path| path.display().to_string()).collect())
    }
}
