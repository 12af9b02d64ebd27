//! How the witness misbehaves: as providers do, on a seeded choice.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fastrand::Rng;

/// What happens to one mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Treatment {
    /// Noted, then answered 250.
    Well,
    /// Noted, answered after this long.
    Slow(Duration),
    /// Noted, then the connection is closed without an answer: the ambiguous attempt.
    DropAfterDot,
    /// Not noted: 451 to the final dot, "try again".
    Defer,
    /// Not noted: the connection is closed before the mail was handed over.
    DropBeforeData,
}

/// Chooses treatments until it is told to stop.
#[derive(Debug)]
pub(super) struct Faults {
    choices: Mutex<Rng>,
    ended: AtomicBool,
}

impl Faults {
    pub(super) fn seeded(seed: u64) -> Self {
        Self { choices: Mutex::new(Rng::with_seed(seed)), ended: AtomicBool::new(false) }
    }

    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    /// One mail in ten is treated badly; one in two hundred holds its caller beyond the limit on a send (1 s here),
    /// which costs a whole second of one call slot each.
    pub(super) fn choose(&self) -> Treatment {
        if self.ended.load(Ordering::Relaxed) {
            return Treatment::Well;
        }
        let mut choices = self.choices.lock().expect("nobody panics while holding this lock");
        match choices.u32(0..200) {
            0 => Treatment::Slow(Duration::from_millis(choices.u64(1_100..1_600))),
            1..=5 => Treatment::Slow(Duration::from_millis(choices.u64(20..200))),
            6..=10 => Treatment::DropAfterDot,
            11..=16 => Treatment::Defer,
            17..=19 => Treatment::DropBeforeData,
            _ => Treatment::Well,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::mem::discriminant;

    use super::{Faults, Treatment};

    #[test]
    fn every_treatment_occurs_and_the_seed_decides() {
        let (one, other) = (Faults::seeded(1), Faults::seeded(1));
        let chosen: Vec<Treatment> = (0..10_000).map(|_| one.choose()).collect();
        assert!(chosen.iter().all(|treatment| *treatment == other.choose()));
        assert_eq!(chosen.iter().map(discriminant).collect::<HashSet<_>>().len(), 5);
    }

    #[test]
    fn once_ended_all_is_well() {
        let faults = Faults::seeded(1);
        faults.end();
        assert!((0..1_000).all(|_| faults.choose() == Treatment::Well));
    }
}
