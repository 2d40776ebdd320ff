//! Designs that are compiled together: equal names are equal modules.

use crate::GenerateError;
use crate::machine::design;
use crate::verilog::{Emission, GeneratedFile, Sources};
use flashd_spec::machine::Machine;
use std::collections::{HashMap, HashSet};

/// Who has emitted a module, and its text.
struct Owner {
    design: String,
    text: String,
}

/// Designs that are emitted into one folder and can be compiled together.
///
/// With names of their own, designs have all their modules, in files of their own. With a [`Prefix::Shared`](crate::Prefix::Shared), several
/// designs share modules: each has a file in the folder `<prefix>` (`modules` without a prefix), and besides the list of each design
/// `<prefix>.f` has all of them.
pub struct Company {
    emission: Emission,
    owners: HashMap<String, Owner>,
    written: HashSet<String>,
    files: Vec<GeneratedFile>,
    sources: Vec<String>,
}

impl Company {
    /// No design yet, of as many as `designs`.
    pub fn new(emission: Emission, designs: usize) -> Company {
        let shared = designs > 1 && emission.prefix.folder().is_some();
        let sources = if shared { Sources::Shared } else { emission.sources };
        Company {
            emission: Emission { sources, ..emission },
            owners: HashMap::new(),
            written: HashSet::new(),
            files: Vec::new(),
            sources: Vec::new(),
        }
    }

    /// Emits a design.
    ///
    /// # Errors
    /// If the configuration is not valid, or a module has the name of another design's and is not shared with it.
    pub fn add(&mut self, machine: &Machine) -> Result<(), GenerateError> {
        let design = design(machine, &self.emission)?;
        let name = design.emitted.top().to_string();
        for module in &design.emitted.modules {
            let clash = |owner: &Owner, how| GenerateError::Clash {
                module: module.name.clone(),
                first: owner.design.clone(),
                second: name.clone(),
                how,
            };
            match self.owners.get(&module.name) {
                Some(owner) if owner.design == name => return Err(clash(owner, "; name each design once")),
                Some(owner) if owner.text != module.text => {
                    return Err(clash(owner, ", with different texts; emit them with different prefixes"));
                }
                Some(owner) if self.emission.sources != Sources::Shared => {
                    return Err(clash(owner, ", each in its own files; emit them with different prefixes"));
                }
                Some(_) => {}
                None => {
                    let owner = Owner { design: name.clone(), text: module.text.clone() };
                    self.owners.insert(module.name.clone(), owner);
                }
            }
        }
        for file in design.files {
            let new = self.written.insert(file.name.clone());
            if new && file.name.ends_with(".v") {
                self.sources.push(file.name.clone());
            }
            if new {
                self.files.push(file);
            }
        }
        Ok(())
    }

    /// All files, each once.
    pub fn files(mut self) -> Vec<GeneratedFile> {
        if let (Sources::Shared, Some(folder)) = (self.emission.sources, self.emission.prefix.folder()) {
            let name = format!("{folder}.f");
            self.files.push(GeneratedFile { name, text: crate::files::list(&self.sources) });
        }
        self.files
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prefix;
    use flashd_spec::config::{CoreConfig, Design as Datapath};
    use flashd_spec::format::Format;

    fn both(prefix: Prefix, first: &CoreConfig, second: &CoreConfig) -> Result<Vec<String>, String> {
        let mut company = Company::new(prefix.into(), 2);
        for config in [first, second] {
            company.add(&config.into()).map_err(|e| e.to_string())?;
        }
        Ok(company.files().into_iter().map(|file| file.name).collect())
    }

    #[test]
    fn a_design_is_emitted_once() {
        let core = CoreConfig::new(Datapath::Fa2, 4, Format::BF16);
        let shared = || Prefix::Shared(String::new());
        for prefix in [Prefix::Top, shared()] {
            let error = both(prefix, &core, &core).unwrap_err();
            assert_eq!(
                error,
                "module fa2_bf16_d4: fa2_bf16_d4 and fa2_bf16_d4 both have it; name each design once"
            );
        }
        let other = CoreConfig::new(Datapath::FlashD, 4, Format::BF16);
        let error = both(Prefix::Plain, &core, &other).unwrap_err();
        assert!(error.contains(": fa2_bf16_d4 and flash_d_bf16_d4 both have it, "), "{error}");
        assert!(error.ends_with("; emit them with different prefixes"), "{error}");
        let files = both(shared(), &core, &other).unwrap();
        let distinct: HashSet<&String> = files.iter().collect();
        assert_eq!(distinct.len(), files.len());
        let terms = files.iter().filter(|name| name.starts_with("modules/bf16_term_")).count();
        assert_eq!((terms, files.last().unwrap().as_str()), (1, "modules.f"));
    }
}
