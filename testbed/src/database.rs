//! One empty database per test, named after the test.
//!
//! Tests that share tables pass or fail by their order. A database costs some tens of milliseconds, and its name in
//! PostgreSQL's log says which test wrote the line. Nothing drops it: the cluster goes away as a whole.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::postgres::quoted;
use crate::{Error, Postgres};

/// Holds the URL of a database on the cluster that the tests may use, with a role that may create databases.
pub const POSTGRES_VARIABLE: &str = "SAMEKEY_TEST_POSTGRES";

/// PostgreSQL cuts longer names silently, and two tests could meet in what is left.
const MAX_NAME_BYTES: usize = 63;

/// The URL of a new, empty database for `test_name`.
///
/// # Panics
/// Without [`POSTGRES_VARIABLE`], and when the database cannot be created: a test cannot go on without it, and must not
/// pass without it.
#[must_use]
pub fn database(test_name: &str) -> String {
    let Ok(url) = std::env::var(POSTGRES_VARIABLE) else {
        panic!(
            "this test needs PostgreSQL: run `cargo xtask test`, which starts a cluster of its own, or set \
             {POSTGRES_VARIABLE} to the URL of a database whose role may create databases"
        );
    };
    match database_on(&url, test_name) {
        Ok(url) => url,
        Err(error) => panic!("could not create the database of test {test_name}: {error}"),
    }
}

/// The same on a cluster of the test's own, named by the URL of any database on it.
///
/// # Errors
/// [`Error::Failed`] with PostgreSQL's message.
pub fn database_on(url: &str, test_name: &str) -> Result<String, Error> {
    let name = unique_name(test_name);
    Postgres::find()?.query(url, &format!("create database {}", quoted(&name)))?;
    Ok(with_database(url, &name))
}

/// The test's name as far as it fits, then the process, the time and a count: unique also when a cluster is used again.
fn unique_name(test_name: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let micros = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros());
    let tail = format!("_{:x}_{micros:x}_{count:x}", std::process::id());
    let word = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let head: String = test_name.chars().map(word).take(MAX_NAME_BYTES - tail.len()).collect();
    head + &tail
}

/// `url` with another database: its path is replaced, what follows a `?` stays.
fn with_database(url: &str, name: &str) -> String {
    let (address, options) = url.split_once('?').map_or((url, None), |(address, rest)| (address, Some(rest)));
    let host = address.find("://").map_or(0, |at| at + 3);
    let end = address[host..].find('/').map_or(address.len(), |at| host + at);
    let options = options.map_or(String::new(), |options| format!("?{options}"));
    format!("{}/{name}{options}", &address[..end])
}

#[cfg(test)]
mod tests {
    use super::{MAX_NAME_BYTES, unique_name, with_database};

    #[test]
    fn names_are_short_plain_and_unique() {
        let long =
            "Store::claim — takes over a lease that ran out, although its owner still lives and heartbeats";
        let (one, other) = (unique_name(long), unique_name(long));
        assert_ne!(one, other);
        assert!(one.starts_with("store__claim___takes_over"), "{one}");
        assert!(one.len() <= MAX_NAME_BYTES, "{one}");
        assert!(one.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'), "{one}");
    }

    #[test]
    fn only_the_path_of_the_url_changes() {
        for (url, changed) in [
            ("postgres://samekey@127.0.0.1:5/postgres", "postgres://samekey@127.0.0.1:5/new"),
            ("postgres://samekey@127.0.0.1:5", "postgres://samekey@127.0.0.1:5/new"),
            ("postgres://u:p@h/a?sslmode=require&x=/y", "postgres://u:p@h/new?sslmode=require&x=/y"),
        ] {
            assert_eq!(with_database(url, "new"), changed);
        }
    }
}
