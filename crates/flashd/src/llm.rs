//! `flashd llm`.

mod dump;

use crate::cli::{AttentionArg, LlmArgs, Selection};
use crate::output::{Failure, percent, print, print_json, table, unwritable};
use crate::progress::Work;
use crate::select::configuration;
use flashd_llm::{
    AttentionBackend, Checkpoint, Comparison, CoreAttention, F32Attention, Generation, Holds, LlmError,
    Perplexity, RecordHeads, Runner, Tokenizer, compare, generate, perplexity,
};
use flashd_spec::config::CoreConfig;
use flashd_spec::config::Design;
use serde::Serialize;
use std::path::Path;

/// Positions of a run, prompt included, where nothing else is asked for.
const DEFAULT_STEPS: usize = 256;

#[derive(Serialize)]
struct LlmReport {
    checkpoint: String,
    head_size: usize,
    layers: usize,
    heads: usize,
    prompt_tokens: usize,
    f32: WrittenText,
    core: Option<CoreReport>,
}

/// What came of one sort of attention.
#[derive(Serialize)]
struct WrittenText {
    /// Prompt included.
    text: String,
    tokens: Vec<usize>,
    perplexity: Option<Perplexity>,
}

#[derive(Serialize)]
struct CoreReport {
    name: String,
    configuration: CoreConfig,
    #[serde(flatten)]
    run: WrittenText,
    same_text: bool,
    comparison: Comparison,
    /// The choices where the texts part: f32's, then the core's.
    different_tokens: Option<[String; 2]>,
    held: Vec<LayerSteps>,
}

/// Steps of a layer's heads.
#[derive(Serialize)]
struct LayerSteps {
    layer: usize,
    generation: Holds,
    text: Option<Holds>,
}

impl From<LlmError> for Failure {
    fn from(e: LlmError) -> Failure {
        Failure::input(e.to_string())
    }
}

/// The inputs of every run.
struct LlmTask<'a> {
    model: &'a Checkpoint,
    tokenizer: &'a Tokenizer,
    prompt: Vec<usize>,
    steps: usize,
    text: Option<Vec<usize>>,
}

/// The options of the core that computes attention, its design among them; none computes in f32.
fn selection(args: &LlmArgs) -> Result<Option<Selection>, Failure> {
    let mut selection = args.selection.clone();
    if selection.fields.has("design") {
        return Err(Failure::input("--design: the design is chosen with --attention"));
    }
    let design = match args.attention {
        Some(AttentionArg::F32) if selection != Selection::default() => {
            return Err(Failure::input("--attention f32: has no core, and takes no option of one"));
        }
        Some(AttentionArg::F32) => return Ok(None),
        Some(AttentionArg::Fa2) => Some(Design::Fa2),
        None if selection.config.is_some() => None,
        _ => Some(Design::FlashD),
    };
    if selection.fields.has("score_shift") {
        return Err(Failure::input("--score-shift: it follows from each head's scale; leave it out"));
    }
    if let Some(design) = design {
        selection.fields = selection.fields.with_design(design);
    }
    Ok(Some(selection))
}

/// The name of the core that the arguments select, for heads of the length that they name.
pub fn selected(args: &LlmArgs) -> Result<Vec<String>, Failure> {
    let name = |selection: Selection| configuration(&selection, Some(8.into())).map(|core| core.name());
    selection(args)?.map(name).into_iter().collect()
}

pub fn run(args: LlmArgs) -> Result<(), Failure> {
    // Before the files are read.
    let selection = selection(&args)?;
    let model = Checkpoint::read(&args.checkpoint)?;
    let tokenizer = Tokenizer::read(&args.tokenizer, model.config.vocab)?;
    let core = |selection: Selection| configuration(&selection, Some(model.config.head_size().into()));
    let core = selection.map(core).transpose()?;
    let task = task(&args, &model, &tokenizer)?;
    // The run takes long: find out now where the heads cannot be written.
    if let Some(folder) = &args.dump {
        flashd_files::create_folder(folder).map_err(|e| unwritable("--dump", folder, e))?;
    }
    let mut f32_runner = Runner::new(&model, F32Attention);
    let (generation, f32) = task.run(&mut f32_runner, "f32", &mut |_| ())?;
    if let Some(folder) = &args.dump {
        let heads = match &task.text {
            Some(text) => task.recorded(&text[..text.len().min(model.config.context)]),
            None => task.record(&generation),
        };
        dump::write(folder, &args.checkpoint, &heads)?;
    }
    let core = match core {
        Some(core) => Some(core_report(&task, core, &generation)?),
        None => None,
    };
    let c = model.config;
    let report = LlmReport {
        checkpoint: args.checkpoint.display().to_string(),
        head_size: c.head_size(),
        layers: c.layers,
        heads: c.heads,
        prompt_tokens: task.prompt.len(),
        f32,
        core,
    };
    match args.json {
        true => print_json(&report),
        false => print(&text(&report)),
    }
}

fn task<'a>(args: &LlmArgs, model: &'a Checkpoint, tokenizer: &'a Tokenizer) -> Result<LlmTask<'a>, Failure> {
    let context = model.config.context;
    let steps = args.steps.unwrap_or(DEFAULT_STEPS.min(context));
    if steps == 0 || steps > context {
        return Err(Failure::input(format!(
            "--steps: {steps} is outside 1 to {context}, the model's context"
        )));
    }
    let prompt = tokenizer.encode(&args.prompt);
    if prompt.len() > steps {
        return Err(Failure::input(format!(
            "--prompt: has {} tokens, its beginning included, more than the {} of --steps",
            prompt.len(),
            steps
        )));
    }
    let text = match &args.text {
        Some(path) => Some(read_text(path, tokenizer, args.tokens)?),
        None => None,
    };
    Ok(LlmTask { model, tokenizer, prompt, steps, text })
}

/// Tokens of a text, the first one included that begins every text.
fn read_text(path: &Path, tokenizer: &Tokenizer, limit: Option<usize>) -> Result<Vec<usize>, Failure> {
    let text = flashd_files::read_text(path)
        .map_err(|e| Failure::input(format!("--text {}: {e}", path.display())))?;
    let mut tokens = tokenizer.encode(&text);
    let predicted = tokens.len() - 1;
    if predicted == 0 {
        return Err(Failure::input(format!("--text {}: is empty", path.display())));
    }
    if let Some(limit) = limit {
        if limit == 0 || limit > predicted {
            return Err(Failure::input(format!("--tokens: {limit} is outside 1 to {predicted}")));
        }
        tokens.truncate(limit + 1);
    }
    Ok(tokens)
}

impl LlmTask<'_> {
    /// Generates, then measures the perplexity; `between` sees what computes attention in between.
    fn run<A: AttentionBackend>(
        &self,
        runner: &mut Runner<A>,
        name: &str,
        between: &mut dyn FnMut(&mut A),
    ) -> Result<(Generation, WrittenText), Failure> {
        let text = self.text.as_deref();
        let tokens = self.steps + text.map_or(0, |t| t.len() - 1);
        let bar = Work::start(tokens as u64, "{prefix} {bar:30} {pos} of {len} tokens {elapsed}, {eta} left");
        bar.set_prefix(name.to_string());
        let generation = generate(runner, &self.prompt, self.steps, &mut || bar.inc(1));
        between(runner.attention_mut());
        let perplexity = text.and_then(|text| perplexity(runner, text, &mut || bar.inc(1)));
        drop(bar);
        let finite = generation.logits.iter().flatten().all(|x| x.is_finite());
        if !finite || perplexity.is_some_and(|p| !p.perplexity.is_finite()) {
            return Err(Failure::input(format!(
                "{name}: the model's logits overflow f32; its weights are too large"
            )));
        }
        let text = self.tokenizer.decode(&generation.tokens);
        let run = WrittenText { text, tokens: generation.tokens.clone(), perplexity };
        Ok((generation, run))
    }

    /// The heads of the generation with f32.
    fn record(&self, generation: &Generation) -> RecordHeads {
        // The last token was chosen, but not taken.
        self.recorded(&generation.tokens[..generation.logits.len()])
    }

    /// The heads of a sequence with f32.
    fn recorded(&self, tokens: &[usize]) -> RecordHeads {
        let mut runner = Runner::new(self.model, RecordHeads::default());
        for &token in tokens {
            runner.step(token);
        }
        runner.into_attention()
    }
}

fn core_report(task: &LlmTask, core: CoreConfig, reference: &Generation) -> Result<CoreReport, Failure> {
    let attention = CoreAttention::new(&core, &task.model.config, &task.record(reference))?;
    let mut runner = Runner::new(task.model, attention);
    let mut generated = Vec::new();
    let name = core.name();
    let (generation, run) = task.run(&mut runner, &name, &mut |attention| {
        generated = attention.held().to_vec();
        attention.clear_held();
    })?;
    let of_text = |layer: usize| task.text.as_ref().map(|_| runner.attention().held()[layer]);
    let held = generated
        .iter()
        .enumerate()
        .map(|(layer, &generation)| LayerSteps { layer, generation, text: of_text(layer) })
        .collect();
    let comparison = compare(reference, &generation);
    let piece = |token: usize| task.tokenizer.decode(&[0, token]);
    let different_tokens = comparison.difference.as_ref().map(|d| [piece(d.reference), piece(d.other)]);
    let same_text = reference.tokens == generation.tokens;
    Ok(CoreReport { name, configuration: core, run, same_text, comparison, different_tokens, held })
}

fn text(report: &LlmReport) -> String {
    let mut text = format!(
        "{}: {} layers, {} heads of {}\n\nf32\n{}\n",
        report.checkpoint, report.layers, report.heads, report.head_size, report.f32.text
    );
    let perplexity =
        |run: &WrittenText| run.perplexity.map(|p| format!("{:.4} over {} tokens", p.perplexity, p.tokens));
    let Some(core) = &report.core else {
        if let Some(perplexity) = perplexity(&report.f32) {
            text += &format!("\nperplexity {perplexity}");
        }
        return text;
    };
    let c = &core.comparison;
    text += &format!("\n{}\n", core.name);
    match (core.same_text, &c.difference, &core.different_tokens) {
        (false, Some(d), Some([a, b])) => {
            text += &format!(
                "{}\n\nThe texts part after position {}: {a:?} with f32, whose logit is {:.3e} above that of {b:?};\n\
                 {b:?} with the core, whose logit is {:.3e} above.\n",
                core.run.text, d.position, d.reference_gap, d.other_gap
            );
        }
        _ => text += "the same text\n",
    }
    text += &format!(
        "Logit errors over {} positions with the same tokens: max {:.3e}, mean {:.3e}\n",
        c.common, c.max_logit_error, c.mean_logit_error
    );
    if let (Some(a), Some(b)) = (perplexity(&report.f32), perplexity(&core.run)) {
        text += &format!("Perplexity: f32 {a}, core {b}\n");
    }
    let share =
        |h: &Holds| format!("{} of {} ({})", h.held, h.steps, percent(h.held as f64 / h.steps.max(1) as f64));
    let rows = core.held.iter().map(|layer| {
        let mut row = vec![layer.layer.to_string(), share(&layer.generation)];
        row.extend(layer.text.as_ref().map(share));
        row
    });
    let header = ["layer", "held, generation", "held, text"];
    let columns = if report.f32.perplexity.is_some() { 3 } else { 2 };
    text += "\n";
    text + &table(&header[..columns], rows.collect())
}
