//! How a store is put under the suite.

use std::pin::Pin;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use samekey_core::store::{Messages, Operators, Projects, Records};

use crate::second_process;

/// A store under test.
pub trait Harness: Send + Sync + 'static {
    /// It.
    type Store: Records;

    /// A new database with a current schema and nothing in it, named after the case; gives its address, by which another
    /// process can open the same one.
    fn create(case: &str) -> impl Future<Output = String> + Send;

    /// Opens a database that was created before.
    fn open(address: &str) -> impl Future<Output = Self::Store> + Send;
}

/// A store under test that keeps messages and projects too, and that operators can look into.
pub trait SendingHarness: Harness<Store: Messages + Projects + Operators> {}

impl<H: Harness<Store: Messages + Projects + Operators>> SendingHarness for H {}

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

/// A list of cases from async functions over a [`Bench`]; of those that need more of the store, a list apart.
macro_rules! cases {
    (fn $function:ident<$harness:ident>: $($name:ident)*) => {
        pub(crate) fn $function<H: $crate::harness::$harness>() -> Vec<$crate::harness::Case<H>> {
            vec![$($crate::harness::Case::new(
                concat!(module_path!(), "::", stringify!($name)),
                |bench| Box::pin($name(bench)),
            ),)*]
        }
    };
    ($($name:ident)*) => {
        $crate::harness::cases! { fn cases<Harness>: $($name)* }
    };
}
pub(crate) use cases;

/// Runs the suite, or plays the second process of one of its races.
#[must_use]
pub fn main<H: SendingHarness>() -> ExitCode {
    if let Some(role) = second_process::role() {
        runtime().block_on(second_process::play::<H>(&role, second_process::part));
        return ExitCode::SUCCESS;
    }
    let sending = [
        crate::retention::sending_cases::<H>(),
        crate::operators::cases(),
        crate::accepting::cases(),
        crate::delivering::cases(),
        crate::tenants::cases(),
        crate::races::sending_cases(),
    ];
    run(records_cases().into_iter().chain(sending.into_iter().flatten()))
}

/// The same for a store that keeps records only.
#[must_use]
pub fn records<H: Harness>() -> ExitCode {
    if let Some(role) = second_process::role() {
        runtime().block_on(second_process::play::<H>(&role, second_process::records_part));
        return ExitCode::SUCCESS;
    }
    run(records_cases::<H>())
}

/// The same for a store that lives in one process, which nobody else can open.
#[must_use]
pub fn records_in_one_process<H: Harness>() -> ExitCode {
    run(lone_cases::<H>())
}

fn records_cases<H: Harness>() -> Vec<Case<H>> {
    lone_cases().into_iter().chain(crate::races::cases()).collect()
}

fn lone_cases<H: Harness>() -> Vec<Case<H>> {
    let all =
        [crate::claiming::cases(), crate::leases::cases(), crate::steps::cases(), crate::retention::cases()];
    all.into_iter().flatten().collect()
}

fn run<H: Harness>(cases: impl IntoIterator<Item = Case<H>>) -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = cases.into_iter().map(|case| trial(&case)).collect();
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

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}
