//! Figures of earlier runs.

use crate::figures::{CoreFigures, CorePart, Measurements};

/// Reads figures as `flashd ppa --json` prints them.
///
/// # Errors
/// Text that is not such a list, or figures that cannot be: says which core and field, and what is needed.
pub fn read(text: &str) -> Result<Measurements, String> {
    let figures: Measurements =
        flashd_files::from_json(text).map_err(|e| format!("not what flashd ppa --json prints: {e}"))?;
    if figures.cores.is_empty() && figures.failed.is_empty() {
        return Err("holds no cores".to_string());
    }
    for core in &figures.cores {
        check(core).map_err(|problem| format!("{} in {}: {problem}", core.core, core.library))?;
    }
    Ok(figures)
}

/// Refuses what would make a report divide by zero or draw a bar of no size.
fn check(f: &CoreFigures) -> Result<(), String> {
    let positive = |field: &str, value: f64| match value.is_finite() && value > 0.0 {
        true => Ok(()),
        false => Err(format!("{field} is {value}; a number above 0 is needed")),
    };
    let parts = |field: &str, values: &[(CorePart, f64)]| match values
        .iter()
        .find(|(_, value)| !(value.is_finite() && *value >= 0.0))
    {
        Some((part, value)) => Err(format!("{field}: {} has {value}; 0 or more is needed", part.name())),
        None => Ok(()),
    };
    f.configuration.validate().map_err(|e| format!("configuration: {e}"))?;
    f.target().validate().map_err(|e| format!("array: {e}"))?;
    positive("area.total", f.area.total)?;
    positive("area.nand2_equivalents", f.area.nand2_equivalents)?;
    parts("area.by_part", &f.area.by_part)?;
    positive("timing.clock", f.timing.clock)?;
    if !f.timing.slack.is_finite() {
        return Err(format!("timing.slack is {}; a number is needed", f.timing.slack));
    }
    if let Some(period) = f.timing.shortest_period {
        positive("timing.shortest_period", period)?;
    }
    if let Some(clock) = f.run.clock {
        positive("run.clock", clock)?;
    }
    if let Some(power) = &f.power {
        positive("power.clock", power.clock)?;
        positive("power.total", power.total)?;
        parts("power.by_part", &power.by_part)?;
        if let Some(glitches) = &power.glitches {
            positive("power.glitches.total", glitches.total)?;
            positive("power.glitches.zero_delay", glitches.zero_delay)?;
            parts("power.glitches.by_part", &glitches.by_part)?;
        }
    }
    Ok(())
}

/// Adds figures to others. A core that was measured alike before is left out if its figures are the same; one that failed
/// alike, too.
///
/// # Errors
/// If they are not: names core and library.
pub fn join(all: &mut Measurements, more: Measurements) -> Result<(), String> {
    for failed in more.failed {
        if !all.failed.contains(&failed) {
            all.failed.push(failed);
        }
    }
    for core in more.cores {
        let twin = all.cores.iter().find(|c| {
            c.core == core.core
                && c.target() == core.target()
                && c.library == core.library
                && c.run == core.run
        });
        let text = |f: &CoreFigures| serde_json::to_string(f).unwrap_or_default();
        match twin {
            None => all.cores.push(core),
            Some(twin) if text(twin) == text(&core) => {}
            Some(_) => {
                return Err(format!(
                    "{} in {} was there before, measured alike but with other figures: leave one of them out",
                    core.core, core.library
                ));
            }
        }
    }
    Ok(())
}
