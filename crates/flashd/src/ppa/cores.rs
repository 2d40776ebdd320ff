//! Which cores and arrays are measured.

use crate::cli::{ArrayArgs, PpaArgs, Selection};
use crate::output::Failure;
use crate::select::{configuration, core_or_array, parse_flags};
use flashd_ppa::Target;
use flashd_spec::config::{ArrayConfig, CoreConfig, D_RANGE};
use flashd_spec::format::Format;
use flashd_spec::machine::Machine;

/// The selected targets: cores, each followed by its arrays, and the arrays selected explicitly.
pub(super) fn targets(args: &PpaArgs) -> Result<Vec<Target>, Failure> {
    if let Some(twice) = args.queries.iter().enumerate().find(|(i, n)| args.queries[..*i].contains(n)) {
        return Err(Failure::input(format!("--queries: {} is there twice; name each number once", twice.1)));
    }
    let mut all: Vec<Target> = Vec::new();
    let mut add = |target: Target, what: &str| match all.iter().any(|other| other.name() == target.name()) {
        true => Err(Failure::input(format!("{what}{} is there already; name each core once", target.name()))),
        false => {
            all.push(target);
            Ok(())
        }
    };
    if !args.core.is_empty() {
        args.selection.only(&["d", "format"], "--core")?;
    }
    let named = args.core.iter().map(|text| {
        let what = format!("--core \"{text}\": ");
        let target = named(text, &args.selection).map_err(|e| Failure::input(format!("{what}{e}")))?;
        Ok((target, what))
    });
    let listed = match args.core.is_empty() {
        true => cores(args)?.into_iter().map(|core| Ok((core.into(), String::new()))).collect(),
        false => named.collect::<Vec<Result<_, Failure>>>(),
    };
    for target in listed {
        let (target, what) = target?;
        let core = match &*target {
            Machine::Core(core) => Some(core.clone()),
            _ => None,
        };
        add(target, &what)?;
        for (core, &queries) in core.iter().flat_map(|core| args.queries.iter().map(move |n| (core, n))) {
            let array = ArrayConfig::new(core.clone(), queries);
            array.validate().map_err(|e| Failure::input(format!("--{}: {}", e.field, e.problem)))?;
            add(array.into(), &what)?;
        }
    }
    Ok(all)
}

/// One core or array by its flags, which begin with a dash, or by its file.
fn named(text: &str, outer: &Selection) -> Result<Target, Failure> {
    let mut flags = parse_flags::<ArrayArgs>(text)?;
    let s = &mut flags.selection;
    if s.config.is_none() {
        s.fields = s.fields.clone().or(outer.fields.clone());
    }
    let (core, array) = core_or_array(&flags, None)?;
    Ok(array.map_or(core.into(), Target::from))
}

/// The cores selected without their flags in quotes. By default the shipped ones, except cores that follow the
/// paper to the letter.
fn cores(args: &PpaArgs) -> Result<Vec<CoreConfig>, Failure> {
    let s = &args.selection;
    let (d, format) = (s.fields.get("d"), s.fields.get("format"));
    if args.variants {
        s.only(&["d", "format"], "--variants")?;
        let (lo, hi) = D_RANGE;
        let missing = || {
            Failure::input(format!("--d is missing: --variants are those of one vector length, {lo} to {hi}"))
        };
        let all = CoreConfig::variants(d.ok_or_else(missing)?, format.unwrap_or(Format::BF16));
        for core in &all {
            core.validate().map_err(|e| Failure::input(format!("--{e}")))?;
        }
        return Ok(all);
    }
    if s.config.is_some() || s.fields.has("design") {
        return Ok(vec![configuration(s, None)?]);
    }
    s.only(&["d", "format"], "a choice of shipped cores, without --design,")?;
    let fits = |c: &CoreConfig| d.is_none_or(|d| d == c.d) && format.is_none_or(|f| f == c.format);
    let all: Vec<_> =
        CoreConfig::shipped().into_iter().filter(|c| !c.follows_the_paper() && fits(c)).collect();
    match all.is_empty() {
        true => Err(Failure::input("no shipped core has that --d and --format; name a --design")),
        false => Ok(all),
    }
}
