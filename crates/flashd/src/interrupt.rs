//! Ctrl-C and termination: the run stops, and recorded files stay.

use flashd_simulator::{Cycle, Observer};
use std::io::{Error, ErrorKind, Result};
use std::sync::atomic::{AtomicBool, Ordering};

/// As shells have it: 128 and the number of SIGINT.
pub const EXIT_CODE: u8 = 130;

/// Whether a run is under way that ends by itself when it is asked to.
static RECORDING: AtomicBool = AtomicBool::new(false);
/// Whether somebody has asked.
static ASKED: AtomicBool = AtomicBool::new(false);

/// Handles SIGINT and SIGTERM of this process, from now on. A SIGHUP that `nohup` has turned off stays so.
pub fn install() {
    // Where signals cannot be handled they end the program at once, and the next run cleans up.
    #[cfg(unix)]
    {
        use signal_hook::consts::{SIGINT, SIGTERM};
        if let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) {
            std::thread::spawn(move || signals.forever().for_each(|_| end()));
        }
    }
}

/// Ends the program, or asks the run under way to end by itself.
#[cfg(unix)]
fn end() {
    // Asked twice: no longer waited for.
    if RECORDING.load(Ordering::SeqCst) && !ASKED.swap(true, Ordering::SeqCst) {
        return;
    }
    flashd_files::remove_temporaries();
    std::process::exit(EXIT_CODE.into());
}

/// Ends a run between two cycles when that is asked for, so that its wave can be completed.
#[derive(Default)]
pub struct Interruptible {
    cycles: u64,
}

impl Interruptible {
    /// Cycles of the run, if it was ended.
    pub fn ended_after(&self) -> Option<u64> {
        ASKED.load(Ordering::SeqCst).then_some(self.cycles)
    }
}

impl Observer for Interruptible {
    fn cycle(&mut self, _: &Cycle) -> Result<()> {
        self.cycles += 1;
        // Not before there is something to keep.
        RECORDING.store(true, Ordering::SeqCst);
        match ASKED.load(Ordering::SeqCst) {
            true => Err(Error::from(ErrorKind::Interrupted)),
            false => Ok(()),
        }
    }
}

impl Drop for Interruptible {
    fn drop(&mut self) {
        RECORDING.store(false, Ordering::SeqCst);
    }
}
