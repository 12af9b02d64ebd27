//! One trial: one store, one policy, so many kills, then peace, then the judge.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use fastrand::Rng;
use tempfile::TempDir;
use testbed::{Cluster, Service};

use crate::client::{self, Field};
use crate::evidence::{Evidence, Policy};
use crate::heal;
use crate::installation::{Installation, Store};
use crate::journal::Journal;
use crate::judge::{Verdict, judge};
use crate::killer::Killer;
use crate::witness::{self, Witness};

/// What may follow the last kill: some leases of two seconds, some retries, and a slow machine.
const HEALING_LIMIT: Duration = Duration::from_secs(60);

/// An upper bound on one kill with its restart.
const KILL_LIMIT: Duration = Duration::from_secs(5);

/// SIGTERM finishes what is in hand, which a send bounds at one second.
const DRAIN_LIMIT: Duration = Duration::from_secs(30);

/// Peace between the last kill and the end of the load.
const CALM: Duration = Duration::from_millis(300);

const WITNESS_LOG: &str = "witness.log";

/// How a trial is run.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Plan {
    /// How often the service is killed, on each store and under each policy.
    #[arg(long, default_value_t = 30)]
    pub(crate) kills: u32,
    /// How many clients send at once.
    #[arg(long, default_value_t = 16)]
    pub(crate) clients: u32,
    /// Makes the random choices repeatable; chosen at random where it is not given.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
}

impl Plan {
    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or_else(|| fastrand::u64(..1 << 32))
    }
}

/// A trial that is ready to run.
#[derive(Debug)]
pub(crate) struct Trial {
    store: Store,
    plan: Plan,
    seed: u64,
    pub(crate) witness: Witness,
    installation: Installation,
    folder: TempDir,
    // After everything that uses it.
    _cluster: Option<Cluster>,
}

/// What a trial came to.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) store: Store,
    pub(crate) policy: Policy,
    pub(crate) kills: u32,
    pub(crate) elapsed: Duration,
    pub(crate) verdict: Verdict,
    /// Where the evidence lies, where it is worth a look.
    pub(crate) kept: Option<PathBuf>,
}

impl Trial {
    pub(crate) fn set_up(
        binary: &Path,
        store: Store,
        policy: Policy,
        plan: &Plan,
        seed: u64,
    ) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("samekey-crash-").tempdir()?;
        let witness = Witness::start(&folder.path().join(WITNESS_LOG), seed)?;
        let cluster = match store {
            Store::Postgres => Some(Cluster::start()?),
            Store::Sqlite => None,
        };
        let database = match &cluster {
            Some(cluster) => {
                cluster.create_database("crash")?;
                cluster.url("crash")
            }
            None => format!("sqlite:{}", folder.path().join("samekey.db").display()),
        };
        let installation = Installation {
            binary: binary.to_owned(),
            database,
            data: folder.path().join("data"),
            smtp_url: format!("smtp://{}", witness.addr()),
            policy,
        };
        Ok(Self { store, plan: plan.clone(), seed, witness, installation, folder, _cluster: cluster })
    }

    /// Runs it and judges it; the evidence is kept where the judge found a fault.
    pub(crate) fn run(self) -> Result<Outcome> {
        let begun = Instant::now();
        let (store, policy, kills) = (self.store, self.installation.policy, self.plan.kills);
        let (evidence, folder) = self.gather(|_| Ok(()))?;
        let verdict = judge(&evidence);
        let kept = (!verdict.findings.is_empty()).then(|| folder.keep());
        Ok(Outcome { store, policy, kills, elapsed: begun.elapsed(), verdict, kept })
    }

    /// Everything up to the judge. `meddle` may spoil the witness before its log is read.
    pub(crate) fn gather(mut self, meddle: impl FnOnce(&Self) -> Result<()>) -> Result<(Evidence, TempDir)> {
        let mut killer = self.killer()?;
        let service = killer.start()?;
        let token = self.installation.create_api_key()?;
        let journal = Journal::create(&self.folder.path().join("clients.log"))?;
        let deadline = Instant::now() + HEALING_LIMIT + KILL_LIMIT * self.plan.kills;
        let field = Field::new(service.addr(), token, self.seed, journal, deadline);

        let mut service =
            self.load(&field, |field| killer.kill_again_and_again(service, self.plan.kills, field))?;
        drop(killer);
        self.witness.calm()?;
        self.settle(field, &mut service, meddle)
    }

    /// Clients at work for as long as `kill` takes, and a little longer.
    fn load(&self, field: &Field, kill: impl FnOnce(&Field) -> Result<Service>) -> Result<Service> {
        thread::scope(|scope| {
            for client in 0..self.plan.clients {
                let choices = Rng::with_seed(self.seed ^ (u64::from(client) << 32));
                scope.spawn(move || client::run(field, choices));
            }
            let survivor = kill(field);
            thread::sleep(CALM);
            field.end();
            survivor
        })
    }

    /// Waits until all is final, stops the service, and collects what everybody saw.
    fn settle(
        self,
        field: Field,
        service: &mut Service,
        meddle: impl FnOnce(&Self) -> Result<()>,
    ) -> Result<(Evidence, TempDir)> {
        let ids: BTreeSet<String> = field.journal.ids();
        let accounts = heal::accounts_of(&field, &ids)?;
        let status = service.terminate(DRAIN_LIMIT)?;
        ensure!(status.success(), "after SIGTERM the service ended with {status}:\n{}", service.stderr());
        meddle(&self)?;
        let (witness, policy) = (self.witness, self.installation.policy);
        witness.dismiss()?;
        let mails = witness::read_log(&self.folder.path().join(WITNESS_LOG))?;
        let evidence = Evidence { policy, intents: field.journal.close()?, accounts, mails };
        Ok((evidence, self.folder))
    }

    fn killer(&self) -> Result<Killer<'_>> {
        let log = File::create(self.folder.path().join("service.log"))?;
        Ok(Killer { installation: &self.installation, choices: Rng::with_seed(self.seed), log })
    }

    /// Where the witness's log is.
    pub(crate) fn witness_log(&self) -> PathBuf {
        self.folder.path().join(WITNESS_LOG)
    }
}
