//! How a store is put under the suite.

use std::pin::Pin;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use samekey_core::store::{Messages, Operators, Projects, Records};

use crate::second_process;

/// Everything that a store offers.
pub trait Store: Records + Messages + Projects + Operators {}

impl<S: Records + Messages + Projects + Operators> Store for S {}

/// A store under test.
pub trait Harness: Send + Sync + 'static {
    /// It.
    type Store: Store;

    /// A new database with a current schema and nothing in it, named after the case; gives its address, by which another
    /// process can open the same one.
    fn create(case: &str) -> impl Future<Output = String> + Send;

    /// Opens a database that was created before.
    fn open(address: &str) -> impl Future<Output = Self::Store> + Send;
}

/// What a case works on.
pub(crate) struct Bench<H: Harness> {
    pub(crate) store: H::Store,
    pub(crate) address: String,
}

type Run<H> = fn(Bench<H>) -> Pin<Box<dyn Future<Output = ()> + Send>>;

/// A promise, by name.
pub(crate) struct Case<H: Harness> {
    name: &'static str,
    run: Run<H>,
}

impl<H: Harness> Case<H> {
    pub(crate) const fn new(name: &'static str, run: Run<H>) -> Self {
        Self { name, run }
    }
}

/// A list of cases from async functions over a [`Bench`].
macro_rules! cases {
    ($($name:ident)*) => {
        pub(crate) fn cases<H: $crate::harness::Harness>() -> Vec<$crate::harness::Case<H>> {
            vec![$($crate::harness::Case::new(
                concat!(module_path!(), "::", stringify!($name)),
                |bench| Box::pin($name(bench)),
            ),)*]
        }
    };
}
pub(crate) use cases;

/// Runs the suite, or plays the second process of one of its races.
#[must_use]
pub fn main<H: Harness>() -> ExitCode {
    if let Some(role) = second_process::role() {
        runtime().block_on(second_process::play::<H>(role));
        return ExitCode::SUCCESS;
    }
    let arguments = Arguments::from_args();
    let all = [
        crate::claiming::cases::<H>(),
        crate::leases::cases(),
        crate::steps::cases(),
        crate::retention::cases(),
        crate::operators::cases(),
        crate::accepting::cases(),
        crate::delivering::cases(),
        crate::tenants::cases(),
        crate::races::cases(),
    ];
    let trials = all.iter().flatten().map(trial).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn trial<H: Harness>(case: &Case<H>) -> Trial {
    let run = case.run;
    let name = case.name.trim_start_matches("samekey_conformance::");
    Trial::test(name, move || {
        runtime().block_on(async {
            let address = H::create(&name.replace("::", "_")).await;
            let store = H::open(&address).await;
            run(Bench { store, address }).await;
        });
        Ok(())
    })
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}
