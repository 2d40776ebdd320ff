//! The model's steps and results for a lock-step run. A second thread computes them while the hardware runs, so that a long run keeps no
//! steps.

use crate::core::workload::Workload;
use flashd_golden::{Action, Model, Monitor, QueryResult, Step, VectorModel, VectorRun};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Steps and results of queries, as the model has them.
pub(crate) trait ExpectedQueries {
    /// A query's step. Those before it are not asked for again.
    fn step(&mut self, query: usize, step: usize) -> Step;

    /// A query's result.
    fn result(&mut self, query: usize) -> &QueryResult;
}

/// Given results, with their steps.
pub(crate) struct GivenResults<R>(pub(crate) R);

impl<R: AsRef<[QueryResult]>> ExpectedQueries for GivenResults<R> {
    fn step(&mut self, query: usize, step: usize) -> Step {
        self.0.as_ref()[query].steps[step]
    }

    fn result(&mut self, query: usize) -> &QueryResult {
        &self.0.as_ref()[query]
    }
}

impl<E: ExpectedQueries> ExpectedQueries for &mut E {
    fn step(&mut self, query: usize, step: usize) -> Step {
        (**self).step(query, step)
    }

    fn result(&mut self, query: usize) -> &QueryResult {
        (**self).result(query)
    }
}

/// Results without steps, and the actions of the steps: enough to count cycles and reads.
pub(crate) struct Decided {
    pub(crate) run: VectorRun,
    /// By query and step.
    actions: Vec<Vec<Action>>,
}

impl Decided {
    /// A model's run of a workload, shown to a monitor.
    pub(crate) fn new(workload: &Workload, model: &VectorModel, monitor: Monitor) -> Decided {
        let all: Vec<Mutex<Vec<Action>>> = workload.queries.iter().map(|_| Mutex::default()).collect();
        let watch = |query: usize, first: usize, steps: &[Step]| {
            let mut actions = all[query].lock().unwrap_or_else(|e| e.into_inner());
            actions.extend(steps.iter().map(|step| step.action));
            if let Some(watch) = monitor.watch {
                watch(query, first, steps);
            }
        };
        let run = workload.run_model(model, Monitor { watch: Some(&watch), ..monitor });
        let actions = all.into_iter().map(|each| each.into_inner().unwrap_or_else(|e| e.into_inner()));
        Decided { run, actions: actions.collect() }
    }
}

impl ExpectedQueries for Decided {
    fn step(&mut self, query: usize, step: usize) -> Step {
        Step { action: self.actions[query][step], s: 0, x: 0, w: 0, upper: false, l: None }
    }

    fn result(&mut self, query: usize) -> &QueryResult {
        &self.run.results[query]
    }
}

/// Steps that may wait for the hardware: of several short queries, which the model computes side by side.
const WAITING: usize = 1 << 17;

/// Messages on their way.
const MESSAGES: usize = 4;

/// Messages of the model's thread.
enum Message {
    /// The next steps of queries, from a first one on.
    Steps(usize, Vec<Vec<Step>>),
    /// The results of queries, in order.
    Results(usize, Vec<QueryResult>),
}

/// A query of which some steps are still to come or have not been asked for.
#[derive(Default)]
struct Open {
    /// Number of steps that have been dropped from `waiting`.
    before: usize,
    waiting: VecDeque<Step>,
}

/// Steps and results that the model computes in another thread.
pub(crate) struct Computed {
    messages: Receiver<Message>,
    open: BTreeMap<usize, Open>,
    results: BTreeMap<usize, QueryResult>,
}

impl Computed {
    /// Waits for the next message; false after the last one.
    fn receive(&mut self) -> bool {
        match self.messages.recv() {
            Ok(Message::Steps(first, queries)) => {
                for (query, steps) in (first..).zip(queries) {
                    self.open.entry(query).or_default().waiting.extend(steps);
                }
            }
            Ok(Message::Results(first, results)) => self.results.extend((first..).zip(results)),
            Err(_) => return false,
        }
        true
    }

    /// The results of all queries, in order.
    fn results(mut self) -> Vec<QueryResult> {
        while self.receive() {
            // Steps that nobody asks for any more.
            self.open.clear();
        }
        self.results.into_values().collect()
    }
}

impl ExpectedQueries for Computed {
    fn step(&mut self, query: usize, step: usize) -> Step {
        loop {
            let open = self.open.entry(query).or_default();
            let passed = (step - open.before).min(open.waiting.len());
            open.waiting.drain(..passed);
            open.before += passed;
            if let Some(step) = open.waiting.front().filter(|_| open.before == step) {
                return *step;
            }
            assert!(self.receive(), "the model has no step {step} of query {query}");
        }
    }

    fn result(&mut self, query: usize) -> &QueryResult {
        while !self.results.contains_key(&query) {
            assert!(self.receive(), "the model has no result of query {query}");
        }
        // Steps of a query with a result have been asked for.
        self.open.retain(|&open, _| open > query);
        &self.results[&query]
    }
}

/// Runs the hardware, and in a second thread the model on the same workload. Returns the results of both. `groups` lists the queries in
/// the hardware's order; the queries of a group meet their keys at the same time.
///
/// # Errors
/// The errors of `run`.
pub(crate) fn alongside<T, E>(
    model: &Model,
    workload: &Workload,
    groups: impl Iterator<Item = Range<usize>> + Send,
    run: impl FnOnce(&mut Computed) -> Result<T, E>,
) -> Result<(T, Vec<QueryResult>), E> {
    // A thread of a pool that waits for the model does none of the pool's work. If all threads wait, the model needs one that does.
    let of_pool = rayon::current_thread_index().is_some();
    std::thread::scope(|scope| {
        let (sender, messages) = sync_channel(MESSAGES);
        scope.spawn(move || {
            let compute = move || compute(model, workload, groups, &sender);
            if of_pool { own_pool().install(compute) } else { compute() }
        });
        let mut computed = Computed { messages, open: BTreeMap::new(), results: BTreeMap::new() };
        // After an error nobody listens, and the model's thread ends.
        let of_run = run(&mut computed)?;
        Ok((of_run, computed.results()))
    })
}

/// A pool of one thread.
fn own_pool() -> rayon::ThreadPool {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    pool.unwrap_or_else(|error| panic!("no thread for the model: {error}"))
}

/// The model's thread. It ends when nobody listens any more.
fn compute(
    model: &Model,
    workload: &Workload,
    groups: impl Iterator<Item = Range<usize>>,
    sender: &SyncSender<Message>,
) {
    for group in groups {
        let first = group.start;
        let run = workload.with_some(group, |head| {
            model.run_by_piece(head, &mut |steps| sender.send(Message::Steps(first, steps)).is_ok())
        });
        let Some(results) = run else { return };
        if sender.send(Message::Results(first, results)).is_err() {
            return;
        }
    }
}

/// Groups queries for the model. Each element of `together` is a number of queries that the hardware takes at a time, and the steps of
/// each. A group joins elements up to `WAITING` steps.
pub(crate) fn groups(together: Vec<(usize, usize)>) -> impl Iterator<Item = Range<usize>> + Send {
    let (mut groups, mut queries, mut steps): (Vec<Range<usize>>, _, _) = (Vec::new(), 0, 0);
    for (count, of_each) in together {
        let more = count * of_each;
        match groups.last_mut().filter(|_| steps + more <= WAITING) {
            Some(last) => {
                last.end += count;
                steps += more;
            }
            None => {
                groups.push(queries..queries + count);
                steps = more;
            }
        }
        queries += count;
    }
    groups.into_iter()
}
