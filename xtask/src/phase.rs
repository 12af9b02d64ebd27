//! Banners: what is being done, and how long it took.
//!
//! A cold run takes minutes. Whoever waits sees what for, and whoever wants it shorter sees where the time went.

use std::io::Write;
use std::time::Instant;

use anyhow::Result;

/// Announces `name`, does it, and says how long it took, also when it failed.
pub(crate) fn phase<T>(name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    println!("\n=== {name}");
    // The programs that we start write to the same screen, past our buffer.
    std::io::stdout().flush()?;
    let start = Instant::now();
    let outcome = work();
    let word = if outcome.is_ok() { "done" } else { "failed" };
    println!("=== {name}: {word} after {:.1} s", start.elapsed().as_secs_f64());
    outcome
}
