//! The database's clock.
//!
//! Leases must be judged by one clock that all processes on the file share, that never stands still or runs backwards, and
//! that nobody sets. The wall clock is set by people and by NTP. The boot clock (`CLOCK_BOOTTIME`, which counts suspended
//! time too) is shared by all processes of the machine and only grows, but starts anew with every boot. So the file keeps
//! an anchor: at this reading of the boot clock, it was this time. From there the boot clock counts.
//!
//! The anchor is corrected towards the wall clock by running slightly faster or slower, never by a jump: whoever sets the
//! wall clock ends no lease. On another boot every process of the old one is gone, and the anchor is set anew.
//!
//! Elsewhere than on Linux there is no boot clock that processes share; there the wall clock is both.

/// Readings of the machine's clocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    /// Names this boot of the machine.
    pub(crate) boot: String,
    /// The boot clock.
    pub(crate) boot_ms: i64,
    /// The wall clock.
    pub(crate) wall_ms: i64,
}

/// What the file keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Anchor {
    pub(crate) boot: String,
    pub(crate) wall_ms: i64,
    pub(crate) boot_ms: i64,
    pub(crate) rate_ppm: i64,
}

/// What to do about the anchor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Correction {
    /// Nothing.
    Keep,
    /// Go on from now at another pace.
    Slew(Anchor),
    /// The machine has booted since: every lease of the old boot is over.
    NewBoot(Anchor),
}

/// The fastest correction: 1 %.
const MAX_RATE_PPM: i64 = 10_000;
/// How often the pace is looked at, and in what time a small difference is made up.
const LOOK_EVERY_MS: i64 = 60_000;
/// A smaller difference is left alone.
const TOLERATED_MS: i64 = 50;
/// A larger one is a jump of the wall clock, worth a line in the log.
const JUMP_MS: i64 = 2_000;

impl Anchor {
    /// Where a new file begins.
    pub(crate) fn at(reading: &Reading) -> Self {
        Self { boot: reading.boot.clone(), wall_ms: reading.wall_ms, boot_ms: reading.boot_ms, rate_ppm: 0 }
    }

    /// The database's time. Within one boot it only grows.
    pub(crate) fn now(&self, reading: &Reading) -> i64 {
        let passed = (reading.boot_ms - self.boot_ms).max(0);
        self.wall_ms + passed + passed * self.rate_ppm / 1_000_000
    }

    /// What this reading asks for.
    pub(crate) fn correct(&self, reading: &Reading) -> Correction {
        if self.boot != reading.boot {
            // Never earlier than anything that was written before.
            let wall_ms = reading.wall_ms.max(self.wall_ms + 1);
            return Correction::NewBoot(Self { wall_ms, ..Self::at(reading) });
        }
        if reading.boot_ms - self.boot_ms < LOOK_EVERY_MS {
            return Correction::Keep;
        }
        let behind_ms = reading.wall_ms - self.now(reading);
        let rate_ppm = if behind_ms.abs() <= TOLERATED_MS {
            0
        } else {
            (behind_ms * 1_000_000 / LOOK_EVERY_MS).clamp(-MAX_RATE_PPM, MAX_RATE_PPM)
        };
        if rate_ppm == 0 && self.rate_ppm == 0 {
            return Correction::Keep;
        }
        if behind_ms.abs() > JUMP_MS && self.rate_ppm.abs() < MAX_RATE_PPM {
            tracing::warn!(
                behind_ms,
                "the wall clock has jumped; the database's clock follows it slowly, by 1 % at most"
            );
        }
        Correction::Slew(Self { wall_ms: self.now(reading), rate_ppm, ..Self::at(reading) })
    }
}

/// Reads the machine's clocks.
pub(crate) fn read() -> Reading {
    let wall = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    let wall_ms = millis(wall);
    boot().map_or_else(
        || Reading { boot: "no boot clock".to_owned(), boot_ms: wall_ms, wall_ms },
        |(boot, boot_ms)| Reading { boot: boot.to_owned(), boot_ms, wall_ms },
    )
}

fn millis(time: rustix::time::Timespec) -> i64 {
    time.tv_sec * 1_000 + time.tv_nsec / 1_000_000
}

#[cfg(target_os = "linux")]
fn boot() -> Option<(&'static str, i64)> {
    use std::sync::OnceLock;
    static BOOT: OnceLock<Option<String>> = OnceLock::new();
    let read = || std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
    let id = BOOT.get_or_init(|| read().map(|id| id.trim().to_owned())).as_deref()?;
    Some((id, millis(rustix::time::clock_gettime(rustix::time::ClockId::Boottime))))
}

#[cfg(not(target_os = "linux"))]
fn boot() -> Option<(&'static str, i64)> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: i64 = 1_796_083_200_000;

    fn reading(boot_ms: i64, wall_ms: i64) -> Reading {
        Reading { boot: "a".to_owned(), boot_ms, wall_ms: START + wall_ms }
    }

    fn anchor() -> Anchor {
        Anchor::at(&reading(0, 0))
    }

    #[test]
    fn it_runs_on_the_boot_clock_and_not_on_the_wall_clock() {
        assert_eq!(anchor().now(&reading(5_000, 3_600_000)), START + 5_000);
        assert_eq!(anchor().now(&reading(5_000, -3_600_000)), START + 5_000);
    }

    #[test]
    fn a_jump_is_followed_by_one_per_cent_and_without_a_step() {
        let jumped = reading(60_000, 3_660_000);
        let Correction::Slew(slewed) = anchor().correct(&jumped) else { panic!("it must follow") };
        assert_eq!(slewed.rate_ppm, MAX_RATE_PPM);
        assert_eq!(slewed.now(&jumped), anchor().now(&jumped), "no step at the moment of correction");
        assert_eq!(slewed.now(&reading(160_000, 3_760_000)), START + 60_000 + 100_000 + 1_000);
    }

    #[test]
    fn it_never_runs_backwards_even_when_the_wall_clock_does() {
        let mut anchor = anchor();
        let mut last = anchor.now(&reading(0, 0));
        for minute in 1..200 {
            let now = reading(minute * 60_000, minute * 60_000 - 500_000);
            if let Correction::Slew(slewed) = anchor.correct(&now) {
                anchor = slewed;
            }
            assert!(anchor.now(&now) > last, "minute {minute}");
            last = anchor.now(&now);
        }
    }

    #[test]
    fn drift_is_made_up_and_then_left_alone() {
        let Correction::Slew(slewed) = anchor().correct(&reading(60_000, 60_300)) else {
            panic!("300 ms are drift")
        };
        let later = reading(120_000, 120_300);
        assert_eq!(slewed.now(&later), START + 120_300);
        let Correction::Slew(settled) = slewed.correct(&later) else {
            panic!("the pace goes back to normal")
        };
        assert_eq!(settled.rate_ppm, 0);
        assert_eq!(settled.correct(&reading(180_000, 180_310)), Correction::Keep);
    }

    #[test]
    fn another_boot_anchors_anew_and_never_earlier() {
        let booted = Reading { boot: "b".to_owned(), boot_ms: 7, wall_ms: START - 1_000_000 };
        let Correction::NewBoot(new) = anchor().correct(&booted) else { panic!("another boot") };
        assert_eq!(new.now(&booted), START + 1);
    }
}
