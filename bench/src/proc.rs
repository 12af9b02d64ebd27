//! What the kernel says of a process: processor time and memory (`/proc`, so on Linux only).

use std::fs;

use anyhow::{Context, Result};

/// The kernel's unit in `/proc/PID/stat`, the same on every Linux that Rust runs on (`USER_HZ`).
const TICKS_PER_SECOND: f64 = 100.0;

/// Processor time that process `pid` has used until now, in seconds, its threads included.
pub(crate) fn cpu_seconds(pid: u32) -> Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).context("read the processor time")?;
    ticks(&stat).map(|ticks| ticks / TICKS_PER_SECOND).context("/proc/PID/stat has another form")
}

/// Memory that process `pid` holds now, in MiB.
pub(crate) fn resident_mib(pid: u32) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).context("read the memory")?;
    resident_kib(&status).map(|kib| kib / 1024.0).context("/proc/PID/status has another form")
}

/// Fields 14 and 15, counted from the program's name, which may itself hold spaces and parentheses.
fn ticks(stat: &str) -> Option<f64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let (user, system): (f64, f64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(user + system)
}

fn resident_kib(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{cpu_seconds, resident_kib, resident_mib, ticks};

    #[test]
    fn a_name_with_parentheses_shifts_nothing() {
        let stat = "7 (a) (b c) S 1 2 3 4 5 6 7 8 9 10 40 2 0 0";
        assert_eq!(ticks(stat), Some(42.0));
        assert_eq!(resident_kib("VmSize:\t9 kB\nVmRSS:\t  512 kB\n"), Some(512.0));
    }

    #[test]
    fn our_own_figures_can_be_read() {
        assert!(cpu_seconds(std::process::id()).is_ok());
        assert!(resident_mib(std::process::id()).unwrap() > 0.1);
    }
}
