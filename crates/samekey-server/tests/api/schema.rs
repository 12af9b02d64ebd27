//! The schema made by people's own tools, from what the binary prints.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::service::{Kind, Place, message, send};
use testbed::{Postgres, Service};

fn printed(args: &[&str]) -> Result<String, String> {
    let mut command = Service::command(Path::new(env!("CARGO_BIN_EXE_samekey")));
    let output = command.arg("schema").args(args).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

/// Feeds `text` to a program.
fn feed(command: &mut Command, text: &str) {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "{command:?}");
}

fn psql(place: &Place, sql: &str) {
    let mut psql = Postgres::find().unwrap().command("psql");
    feed(psql.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", &place.database]), sql);
}

fn serves(place: &Place, args: &[&str]) {
    let service = place.serve(&[&["--dev", "--no-migrate", "--no-dispatch"], args].concat());
    assert_eq!(send(&service, Some("k"), &message()).json()["status"], "queued");
    assert_eq!(send(&service, Some("k"), &message()).json()["status"], "duplicate_ignored");
}

#[test]
fn what_is_printed_for_postgres_is_served_without_a_migration() {
    let place = Place::new(Kind::Postgres, "what_is_printed_for_postgres");
    psql(&place, &printed(&["postgres"]).unwrap());
    serves(&place, &[]);
}

#[test]
fn what_is_printed_for_sqlite_is_served_without_a_migration() {
    let place = Place::new(Kind::Sqlite, "what_is_printed_for_sqlite");
    let file = place.folder.path().join("samekey.db");
    rusqlite::Connection::open(file).unwrap().execute_batch(&printed(&["sqlite"]).unwrap()).unwrap();
    serves(&place, &[]);
}

#[test]
fn everything_may_be_kept_in_a_schema_of_another_name() {
    let place = Place::new(Kind::Postgres, "everything_may_be_kept_in_a_schema");
    psql(&place, &printed(&["postgres", "--schema", "billing_keys"]).unwrap());
    serves(&place, &["--schema-name", "billing_keys"]);
    let tables = "SELECT string_agg(DISTINCT schemaname, ' ') FROM pg_tables WHERE tablename = 'message_key'";
    assert_eq!(Postgres::find().unwrap().query(&place.database, tables).unwrap(), "billing_keys");
    let other = place.run(&["projects", "list", "--no-migrate"]).unwrap_err();
    assert!(other.contains("no schema `samekey`"), "{other}");
}

#[test]
fn a_name_that_would_need_quotes_is_refused() {
    let refused = printed(&["postgres", "--schema", "Billing; DROP"]).unwrap_err();
    assert!(refused.contains("--schema: `Billing; DROP` cannot be the schema"), "{refused}");
    let place = Place::new(Kind::Postgres, "a_name_that_would_need_quotes");
    let refused = place.run(&["projects", "list", "--schema-name", "Billing"]).unwrap_err();
    assert!(refused.contains("--schema-name: `Billing` cannot be the schema"), "{refused}");
}
