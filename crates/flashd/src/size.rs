//! `flashd size`.

mod report;

use crate::cli::SizeArgs;
use crate::explore::{Cost, FlowOf, MeasuredCore, Worker};
use crate::output::{Failure, print, print_json};
use crate::progress::{Phase, ProgressPlan, on_all_processors, rates};
use crate::sample;
use crate::select::configuration;
use flashd_spec::config::CoreConfig;
use flashd_study::Heads;
use flashd_study::equal_error::{
    self, CONFIRMING, Judged, JudgingData, KindErrors, RULE, Ratios, judge, kinds,
};
use flashd_study::parts::KeyParts;
use flashd_study::size::{Judgements, Space};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The result of a search.
#[derive(Serialize)]
struct SizeResult {
    /// Vector length of the cores that are mapped. Synthetic heads have d = 16.
    d: usize,
    /// Most keys of a query.
    max_keys: usize,
    /// Cell library.
    library: String,
    /// The clock.
    clock_ns: f64,
    /// Folder of recorded heads.
    data: PathBuf,
    /// Every n-th query of a recorded head is used.
    every: usize,
    /// Numbers of keys of the synthetic heads.
    lengths: Vec<usize>,
    /// Widths that were searched.
    widths: Vec<&'static str>,
    /// Cores that these widths span.
    cores: usize,
    /// Number of judged cores.
    judged: usize,
    /// The core as selected.
    selected: Sized,
    /// The smallest core under each limit of the geometric mean.
    choices: Vec<SmallestCore>,
}

/// The smallest core that keeps a rule.
#[derive(Serialize)]
struct SmallestCore {
    rule: Ratios,
    /// None if no core within the range of the widths keeps it.
    core: Option<Sized>,
}

/// A core with its errors and figures.
#[derive(Serialize, Clone)]
struct Sized {
    core: String,
    /// The flags that select it.
    flags: String,
    configuration: CoreConfig,
    /// Geometric mean of the ratios of mean errors.
    mean: f64,
    /// Largest ratio of mean errors, and its case.
    worst_mean: f64,
    worst_mean_of: String,
    /// Largest ratio of largest errors, and its case.
    worst_max: f64,
    worst_max_of: String,
    measured: MeasuredCore,
}

/// Mapped cores whose estimated cost is within this fraction of the least are measured.
const NEAR: f64 = 0.004;
/// Most cores that are measured for a rule.
const MOST_MAPPED: usize = 4;
/// Draws of data that a search judges cores on for each limit, about: with FLASH-D's many widths some 40 cores on one, and some 20 of them on all.
const JUDGED: u64 = 140;

pub fn run(args: &SizeArgs) -> Result<(), Failure> {
    let core = configuration(&args.selection, None)?;
    if core.follows_the_paper() {
        return Err(Failure::input(format!(
            "{}: paper and literal follow the paper to the letter, and have no widths to choose",
            core.name()
        )));
    }
    let given = |field: &str| args.selection.fields.has(field);
    let space = Space::around(&core, given);
    if space.widths().is_empty() {
        return Err(Failure::input(
            "every width is given; leave --lane, --accumulator, --score-fraction-bits, --segments or --state-fraction-bits out",
        ));
    }
    let heads = sample::HeadsFolder::new(args.data.as_deref())?;
    let recorded =
        Heads::load(heads.path(), args.every).map_err(|e| Failure::input(format!("--data: {e}")))?;
    let mut search = SizeSearch::new(args, space, &recorded)?;
    search.price()?;
    let mut limits = args.limit.clone();
    limits.sort_by(f64::total_cmp);
    limits.dedup();
    let rules = limits.into_iter().map(|mean| Ratios { mean, ..RULE });
    let mut choices: Vec<SmallestCore> = Vec::new();
    for rule in rules {
        // What keeps a tighter limit keeps this one, too.
        let tighter = choices.last().and_then(|choice| choice.core.clone());
        choices.push(SmallestCore { rule, core: search.choose(rule, tighter)? });
    }
    let judged = search.errors.of(std::slice::from_ref(&core), RULE, &search.plan)?.remove(0);
    let sizes = SizeResult {
        d: core.d,
        max_keys: core.max_keys,
        library: search.library.clone(),
        clock_ns: args.clock,
        data: sample::name(args.data.as_deref()),
        every: args.every,
        lengths: search.errors.data.lengths.clone(),
        widths: search.space.widths().iter().map(|width| width.name).collect(),
        cores: search.space.len(),
        selected: search.sized(&core, &judged)?,
        judged: search.errors.searched.len(),
        choices,
    };
    drop(search);
    if args.json { print_json(&sizes) } else { print(&report::text(&sizes)) }
}

/// Errors of cores by the rule: on the data of the search, and on the larger data that confirms a result.
struct Errors<'a> {
    data: JudgingData<'a>,
    searched: Judgements,
    confirmed: Judgements,
}

impl Errors<'_> {
    /// Judges cores on one draw of data. Where a core holds, its errors are those on [`CONFIRMING`] draws.
    fn of(
        &mut self,
        cores: &[CoreConfig],
        rule: Ratios,
        plan: &ProgressPlan,
    ) -> Result<Vec<Judged>, Failure> {
        let Errors { data, searched, confirmed } = self;
        let on = |draws: usize, cores: &[CoreConfig]| {
            let data = JudgingData { draws, ..data.clone() };
            let judged = judge(cores[0].encodings(), cores, &data, &|| ())?;
            plan.inc((draws * cores.len()) as u64);
            Ok::<_, Failure>(judged)
        };
        let mut judged = searched.of(cores, |unknown| on(1, unknown))?;
        let holding = cores.iter().zip(&judged).filter(|(_, judged)| judged.holds(rule));
        let holding: Vec<CoreConfig> = holding.map(|(core, _)| core.clone()).collect();
        let on_all = confirmed.of(&holding, |unknown| on(CONFIRMING, unknown))?;
        let found = judged.iter_mut().filter(|judged| judged.holds(rule));
        found.zip(on_all).for_each(|(judged, on_all)| *judged = on_all);
        Ok(judged)
    }
}

/// The state of the search.
struct SizeSearch<'a> {
    args: &'a SizeArgs,
    space: Space,
    errors: Errors<'a>,
    worker: Worker,
    measured: BTreeMap<(String, Cost), MeasuredCore>,
    library: String,
    plan: ProgressPlan,
}

/// Phases of the plan.
const MAPPED: usize = 0;
const SEARCHED: usize = 1;

impl<'a> SizeSearch<'a> {
    fn new(args: &'a SizeArgs, space: Space, recorded: &'a Heads) -> Result<SizeSearch<'a>, Failure> {
        let start = space.start();
        let data = JudgingData {
            kinds: kinds(),
            lengths: equal_error::lengths(start.max_keys),
            draws: 1,
            recorded: &recorded.heads,
            parts: KeyParts::Whole,
        };
        let mut worker = Worker::new(args.cache.as_deref());
        let library = worker.flow(&flow_of(args))?.library.cells.name.clone();
        let on_clock = |seconds: f64| on_all_processors(seconds).as_secs_f64();
        let mapped = space.widths().len() as u64 + 1;
        let plan = ProgressPlan::start(
            [
                Phase::new("cores mapped", mapped, on_clock(rates::MAPPING_ELEMENT * start.d as f64)),
                Phase::new("draws judged", JUDGED, on_clock(rates::CORE_BY_RULE)),
            ],
            ", less where modules are in the cache",
        );
        let errors = Errors { data, searched: Judgements::default(), confirmed: Judgements::default() };
        Ok(SizeSearch { args, space, errors, worker, measured: BTreeMap::new(), library, plan })
    }

    /// Area, timing and, if asked for, power of a core.
    fn measure(&mut self, core: &CoreConfig, cost: Cost) -> Result<MeasuredCore, Failure> {
        let key = (core.name(), cost);
        if let Some(measured) = self.measured.get(&key) {
            return Ok(measured.clone());
        }
        let (flow, data) = (flow_of(self.args), self.args.data.as_deref());
        let measured = self.worker.measured(core, cost, self.args.cycles, (&flow, data), self.plan.bar())?;
        self.measured.insert(key, measured.clone());
        Ok(measured)
    }

    fn area(&mut self, core: &CoreConfig) -> Result<f64, Failure> {
        Ok(self.measure(core, Cost::Area)?.area_um2)
    }

    /// Sets the prices of the widths.
    fn price(&mut self) -> Result<(), Failure> {
        self.plan.begin(MAPPED);
        let start = self.space.start().clone();
        let whole = self.area(&start)?;
        self.plan.inc(1);
        let mut costs = Vec::new();
        for probe in self.space.probes() {
            costs.push(self.area(&probe)?);
            self.plan.inc(1);
        }
        self.space.price(whole, &costs);
        Ok(())
    }

    /// The cheapest core under a rule. Of the smallest by estimate, some are mapped, with and without a value stage; `known` keeps the rule.
    fn choose(&mut self, rule: Ratios, known: Option<Sized>) -> Result<Option<Sized>, Failure> {
        self.plan.begin(SEARCHED);
        let SizeSearch { space, errors, plan, .. } = self;
        let holding = space.search(rule, |cores| errors.of(cores, rule, plan))?;
        let Some(first) = holding.first() else { return Ok(known) };
        let start = space.start().clone();
        let near = first.cost + NEAR * self.area(&start)?;
        let cost = self.args.cost;
        // Cores that miss the clock come last.
        let key = |measured: &MeasuredCore| (measured.cost(cost).unwrap_or(f64::INFINITY), measured.area_um2);
        let mut best = known;
        for holding in holding.into_iter().take(MOST_MAPPED).filter(|holding| holding.cost <= near) {
            for core in self.stages(holding.core) {
                let measured = self.measure(&core, cost)?;
                if best.as_ref().is_none_or(|best| key(&measured) < key(&best.measured)) {
                    best = Some(self.sized(&core, &holding.judged)?);
                }
            }
        }
        Ok(best)
    }

    /// A core with and without a value stage, unless it is given or the datapath has none. Results are the same.
    fn stages(&self, core: CoreConfig) -> Vec<CoreConfig> {
        if self.args.selection.fields.has("value_stage") {
            return vec![core];
        }
        let other = CoreConfig { value_stage: Some(!core.value_stage()), ..core.clone() };
        let valid = other.validate().is_ok();
        std::iter::once(core).chain(valid.then_some(other)).collect()
    }

    /// A core with its errors and figures.
    fn sized(&mut self, core: &CoreConfig, judged: &Judged) -> Result<Sized, Failure> {
        let measured = self.measure(core, self.args.cost)?;
        let (worst_mean, worst_mean_of) = worst(judged, |kind| kind.mean_ratio);
        let (worst_max, worst_max_of) = worst(judged, |kind| kind.max_ratio);
        Ok(Sized {
            core: core.name(),
            flags: core.flags(),
            configuration: core.clone(),
            mean: judged.mean,
            worst_mean,
            worst_mean_of,
            worst_max,
            worst_max_of,
            measured,
        })
    }
}

/// The largest ratio, and its case.
fn worst(judged: &Judged, ratio: impl Fn(&KindErrors) -> f64) -> (f64, String) {
    let kinds = judged.kinds.iter().map(|kind| (ratio(kind), kind));
    let (worst, kind) = match kinds.max_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((worst, kind)) => (worst, kind),
        None => return (0.0, String::new()),
    };
    (worst, kind.case.to_string())
}

fn flow_of(args: &SizeArgs) -> FlowOf {
    FlowOf { liberty: args.liberty.clone(), clock_ns: Some(args.clock) }
}
