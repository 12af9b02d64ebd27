//! How a driver is put under the part of the suite that is about joining.

use std::pin::Pin;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use samekey_core::store::{Dialect, Join};

use crate::harness::runtime;

/// Where a second transaction on one database waits for the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// At the claim of a key that the first has claimed.
    AtTheClaim,
    /// As soon as it begins (or first writes): there is one writer at a time, whatever the keys. Cases that need two open
    /// transactions at once have nothing to show then.
    AtTheBegin,
}

/// A driver whose transactions a record can join, with one table `effect` of the user's.
///
/// The transaction borrows from a connection, as those of most drivers do; where it does not, the connection is what it is
/// begun on. A store that several drivers can join is run once with each.
///
/// An implementation writes `Self::Tx<'_>` where this trait does, and not the type's own name: the compiler takes the two
/// for different signatures (E0195).
pub trait JoinHarness: 'static {
    /// The store.
    type Store: Dialect;

    /// What a transaction is begun on.
    type Connection;

    /// A transaction, or a savepoint, of the driver under test.
    type Tx<'c>: Join<Self::Store>;

    /// Whether the database lets two of them work at once.
    const WAITING: Waiting = Waiting::AtTheClaim;

    /// A new database with a current schema, nothing in it, and the table `effect`; gives its address.
    fn create(case: &str) -> impl Future<Output = String>;

    /// Opens the store in it, on connections of its own.
    fn open(address: &str) -> impl Future<Output = Self::Store>;

    /// A new connection of the user's.
    fn connect(address: &str) -> impl Future<Output = Self::Connection>;

    /// Begins a transaction, as a user does.
    fn begin(connection: &mut Self::Connection) -> impl Future<Output = Self::Tx<'_>>;

    /// Inserts a row with this text into `effect`.
    fn insert(tx: &mut Self::Tx<'_>, text: &str) -> impl Future<Output = ()>;

    /// How many committed rows `effect` has, as another connection sees it.
    fn effects(address: &str) -> impl Future<Output = usize>;

    /// A savepoint in the transaction; `None` where the driver's savepoints are of another type, so that they cannot be
    /// handed over by mistake.
    fn savepoint<'t>(tx: &'t mut Self::Tx<'_>) -> impl Future<Output = Option<Self::Tx<'t>>> {
        let _ = tx;
        std::future::ready(None)
    }
}

/// What a case about joining works on.
pub(crate) struct JoinBench<H: JoinHarness> {
    pub(crate) store: H::Store,
    pub(crate) address: String,
}

/// Not `Send`: a transaction type with a lifetime would then not compile (rust-lang/rust#100013), and one thread drives it.
type Run<H> = fn(JoinBench<H>) -> Pin<Box<dyn Future<Output = ()>>>;

/// A promise, by name.
pub(crate) struct JoinCase<H: JoinHarness> {
    name: &'static str,
    run: Run<H>,
}

impl<H: JoinHarness> JoinCase<H> {
    pub(crate) const fn new(name: &'static str, run: Run<H>) -> Self {
        Self { name, run }
    }
}

/// A list of cases from async functions over a [`JoinBench`].
macro_rules! join_cases {
    ($($name:ident)*) => {
        pub(crate) fn cases<H: $crate::join_harness::JoinHarness>() -> Vec<$crate::join_harness::JoinCase<H>> {
            vec![$($crate::join_harness::JoinCase::new(
                concat!(module_path!(), "::", stringify!($name)),
                |bench| Box::pin($name(bench)),
            ),)*]
        }
    };
}
pub(crate) use join_cases;

/// Runs what the suite says of records in the transactions of one driver.
#[must_use]
pub fn joining<H: JoinHarness>() -> ExitCode {
    let trials = crate::joining::cases::<H>().iter().map(trial).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn trial<H: JoinHarness>(case: &JoinCase<H>) -> Trial {
    let run = case.run;
    let name = case.name.trim_start_matches("samekey_conformance::");
    Trial::test(name, move || {
        runtime().block_on(async {
            let address = H::create(&name.replace("::", "_")).await;
            let store = H::open(&address).await;
            run(JoinBench { store, address }).await;
        });
        Ok(())
    })
}
