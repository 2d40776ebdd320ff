//! Grouping of heads in a row of figures.

use flashd_workload::Trace;
use serde::Serialize;

/// The heads that share a row of figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// One head.
    Head,
    /// A layer of a model.
    Layer,
    /// A prompt of a model.
    Prompt,
    /// A model and head dimension.
    Model,
}

impl By {
    /// The row of a head. Layer and prompt are in its name, `<model>_<prompt>[-..]-layerXX-headYY`.
    ///
    /// # Errors
    /// A name without the part that is asked for.
    pub fn of(self, trace: &Trace) -> Result<String, String> {
        let missing = |what: &str| {
            format!("{}: its name has no {what}; <model>_<prompt>-layerXX-headYY is needed", trace.name)
        };
        match self {
            By::Head => Ok(trace.name.clone()),
            By::Model => Ok(trace.group.clone()),
            By::Layer => {
                Ok(format!("{} layer{:02}", trace.group, trace.layer().ok_or_else(|| missing("layer"))?))
            }
            By::Prompt => {
                let stem = trace.name.split('-').next().unwrap_or_default();
                let prompt = stem.split_once('_').map(|(_, prompt)| prompt).filter(|p| !p.is_empty());
                Ok(format!("{} {}", trace.group, prompt.ok_or_else(|| missing("prompt"))?))
            }
        }
    }
}
