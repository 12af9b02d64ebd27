//! The killer: SIGKILL at random instants, and a restart on the same database.

use std::fs::File;
use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use fastrand::Rng;
use testbed::{Process, Service, Stop};

use crate::client::Field;
use crate::installation::Installation;

/// How long the service may live before it is killed. Longer than a start and several batches take, shorter than the
/// lease: some claims are found by the next life, some by the one after it.
const LIFE_MS: std::ops::Range<u64> = 20..900;

/// One kill in five comes while the service is still starting.
const STILLBIRTHS: u32 = 5;

/// Starts and kills one service.
#[derive(Debug)]
pub(crate) struct Killer<'a> {
    pub(crate) installation: &'a Installation,
    pub(crate) choices: Rng,
    /// What the service wrote in all its lives.
    pub(crate) log: File,
}

impl Killer<'_> {
    pub(crate) fn start(&self) -> Result<Service> {
        Service::start_command(&mut self.installation.serve()).context("start the service")
    }

    /// Kills `service` and each of its successors, `kills` times in all; gives the one that may live.
    pub(crate) fn kill_again_and_again(
        &mut self,
        mut service: Service,
        kills: u32,
        field: &Field,
    ) -> Result<Service> {
        let mut start_time = Duration::from_millis(50);
        let mut left = kills;
        while left > 0 {
            self.pause(LIFE_MS);
            service.kill();
            left -= 1;
            self.keep_log(&service.stderr())?;
            while left > 0 && self.choices.u32(0..STILLBIRTHS) == 0 {
                self.kill_while_starting(start_time)?;
                left -= 1;
            }
            let begun = Instant::now();
            service = self.start()?;
            start_time = begun.elapsed();
            field.move_to(service.addr());
        }
        Ok(service)
    }

    fn kill_while_starting(&mut self, start_time: Duration) -> Result<()> {
        let (mut process, _lines) = Process::spawn(&mut self.installation.serve(), Stop::Kill, &[])?;
        let instant = 0..u64::try_from(start_time.as_micros())?.max(1);
        thread::sleep(Duration::from_micros(self.choices.u64(instant)));
        process.kill();
        self.keep_log(&process.stderr())
    }

    pub(crate) fn keep_log(&mut self, stderr: &str) -> Result<()> {
        writeln!(self.log, "{stderr}--- killed or ended").context("keep the service's log")
    }

    /// The random instant.
    fn pause(&mut self, range_ms: std::ops::Range<u64>) {
        thread::sleep(Duration::from_millis(self.choices.u64(range_ms)));
    }
}
