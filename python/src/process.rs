//! The threads of runs, and Python's names of arguments in messages.

use flashd_spec::config::OPTIONS;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::{Mutex, OnceLock};

/// The process that made the threads of rayon's global pool, if one has.
static FIRST: OnceLock<u32> = OnceLock::new();
/// The pool of a process that was forked from that one.
static OWN: Mutex<Option<(u32, &'static ThreadPool)>> = Mutex::new(None);

/// Runs with threads of this process. After a fork the parent's threads are missing, and a run that waits for them would not end.
pub(crate) fn with_threads<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    let process = std::process::id();
    if *FIRST.get_or_init(|| process) == process {
        return run();
    }
    match own_pool(process) {
        Some(pool) => pool.install(run),
        None => run(),
    }
}

/// The pool of a forked process. It is never dropped: the threads of a parent's would be waited for.
fn own_pool(process: u32) -> Option<&'static ThreadPool> {
    let made = || ThreadPoolBuilder::new().build().ok().map(|pool| &*Box::leak(Box::new(pool)));
    // A thread of the parent may have held the lock when the process was forked: no thread here releases it.
    let Ok(mut own) = OWN.try_lock() else { return made() };
    match *own {
        Some((owner, pool)) if owner == process => Some(pool),
        _ => {
            let pool = made()?;
            *own = Some((process, pool));
            Some(pool)
        }
    }
}

/// A message of the command line in Python's words: `--causal-align` is `causal_align`, and `add --masks` is `add masks=True`.
pub(crate) fn in_python(text: &str) -> String {
    let mut told = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("--") {
        let (before, flag) = rest.split_at(at);
        let name = &flag[2..];
        let end = name.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).unwrap_or(name.len());
        let (name, after) = name.split_at(end);
        told += before;
        let begins = before.is_empty() || before.ends_with([' ', '(']);
        match begins && name.starts_with(|c: char| c.is_ascii_lowercase()) {
            true => {
                told += &name.replace('-', "_");
                if is_switch(name) && !after.starts_with(':') {
                    told += "=True";
                }
            }
            false => told += &flag[..2 + end],
        }
        rest = after;
    }
    told + rest
}

/// Whether an argument is True or False.
fn is_switch(flag: &str) -> bool {
    let of_runs = ["causal", "smooth-k"];
    of_runs.contains(&flag) || OPTIONS.iter().any(|option| option.is_switch() && option.flag() == flag)
}
