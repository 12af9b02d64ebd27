//! How a store is put under the suite.

use std::process::ExitCode;

use samekey_core::store::{Dialect, Join, Messages, Projects, Records};

use crate::case::{Case, run};
use crate::second_process;

/// Everything that a store offers.
pub trait Store: Records + Messages + Projects {}

impl<S: Records + Messages + Projects> Store for S {}

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

/// A store that keeps records and nothing else; it may live in one process. Every [`Harness`] is one.
pub trait RecordsHarness: Send + Sync + 'static {
    /// It.
    type Store: Records;

    /// As [`Harness::create`], but only this process needs to open it.
    fn create(case: &str) -> impl Future<Output = String> + Send;

    /// As [`Harness::open`].
    fn open(address: &str) -> impl Future<Output = Self::Store> + Send;
}

impl<H: Harness> RecordsHarness for H {
    type Store = H::Store;

    fn create(case: &str) -> impl Future<Output = String> + Send {
        <H as Harness>::create(case)
    }

    fn open(address: &str) -> impl Future<Output = Self::Store> + Send {
        <H as Harness>::open(address)
    }
}

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

/// What a case works on.
pub(crate) struct Bench<H: RecordsHarness> {
    pub(crate) store: H::Store,
    pub(crate) address: String,
}

/// What a case about joining works on.
pub(crate) struct JoinBench<H: JoinHarness> {
    pub(crate) store: H::Store,
    pub(crate) address: String,
}

async fn bench<H: RecordsHarness>(case: String) -> Bench<H> {
    let address = H::create(&case).await;
    Bench { store: H::open(&address).await, address }
}

async fn join_bench<H: JoinHarness>(case: String) -> JoinBench<H> {
    let address = H::create(&case).await;
    JoinBench { store: H::open(&address).await, address }
}

/// What is promised of records alone.
fn about_records<H: RecordsHarness>() -> Vec<Case<Bench<H>>> {
    let all = [
        crate::claiming::cases::<H>(),
        crate::leases::cases(),
        crate::steps::cases(),
        crate::retention::cases(),
    ];
    all.into_iter().flatten().collect()
}

/// Runs the suite, or plays the second process of one of its races.
#[must_use]
pub fn main<H: Harness>() -> ExitCode {
    if let Some(role) = second_process::role() {
        crate::case::runtime().block_on(second_process::play::<H>(role));
        return ExitCode::SUCCESS;
    }
    let others = [
        crate::message_keys::cases::<H>(),
        crate::accepting::cases(),
        crate::delivering::cases(),
        crate::tenants::cases(),
        crate::races::cases(),
    ];
    run(about_records::<H>().into_iter().chain(others.into_iter().flatten()), bench::<H>)
}

/// Runs what the suite says of records, in one process.
#[must_use]
pub fn main_records<H: RecordsHarness>() -> ExitCode {
    run(about_records::<H>(), bench::<H>)
}

/// Runs what the suite says of records in the transactions of one driver.
#[must_use]
pub fn main_joining<H: JoinHarness>() -> ExitCode {
    run(crate::joining::cases::<H>(), join_bench::<H>)
}
