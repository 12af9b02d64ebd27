//! What surrounds the store: the server's settings, the schema and its name, the role it works under.
#![cfg(test)]

use samekey_core::StoreError;
use samekey_core::store::{Messages as _, Projects as _};
use samekey_postgres::{Options, Postgres, schema_sql};
use testbed::Cluster;

fn options(url: &str) -> Options {
    Options::from_url(url).unwrap()
}

#[tokio::test]
async fn settings_that_lose_acknowledged_work_are_complained_of() {
    let cluster = Cluster::start().unwrap();
    cluster.create_database("s").unwrap();
    let options = options(&cluster.url("s")).with_connections(1);
    assert_eq!(Postgres::migrate(&options).await.unwrap().cautions().await.unwrap(), []);
    cluster.query("postgres", "ALTER DATABASE s SET synchronous_commit = off").unwrap();
    cluster.query("postgres", "ALTER SYSTEM SET full_page_writes = off").unwrap();
    cluster.query("postgres", "SELECT pg_reload_conf()").unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    loop {
        // A new connection sees the new settings once the server has read them.
        let cautions = Postgres::open(&options).await.unwrap().cautions().await.unwrap();
        let mut settings: Vec<_> = cautions.iter().map(|caution| caution.setting.as_str()).collect();
        settings.sort_unstable();
        if settings == ["full_page_writes", "synchronous_commit"] {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "{cautions:?}");
        // waits: for the server to read its settings; the deadline above is the bound.
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_schema_that_this_release_would_damage_is_refused_and_a_newer_harmless_one_is_not() {
    let url = testbed::database("a_schema_that_this_release_would_damage");
    let missing = Postgres::open(&options(&url)).await.unwrap_err();
    assert!(matches!(&missing, StoreError::Schema(text) if text.contains("samekey migrate")), "{missing}");
    Postgres::migrate(&options(&url)).await.unwrap();
    let sql = |sql: &'static str| testbed::Postgres::find().unwrap().query(&url, sql).unwrap();
    sql("UPDATE samekey.meta SET schema = 9");
    Postgres::open(&options(&url)).await.unwrap();
    Postgres::migrate(&options(&url)).await.unwrap();
    sql("UPDATE samekey.meta SET readable_by = 8");
    for refused in [Postgres::open(&options(&url)).await, Postgres::migrate(&options(&url)).await] {
        let error = refused.unwrap_err().to_string();
        assert!(error.contains("only releases that know schema 8"), "{error}");
    }
}

#[tokio::test]
async fn a_role_without_ddl_works_in_a_schema_of_another_name_made_by_hand() {
    let url = testbed::database("a_role_without_ddl");
    let postgres = testbed::Postgres::find().unwrap();
    postgres.query(&url, &schema_sql("billing")).unwrap();
    let role = format!("worker_{}", std::process::id());
    postgres.query(&url, &format!("CREATE ROLE {role} LOGIN")).unwrap();
    let grants = [
        format!("GRANT USAGE ON SCHEMA billing TO {role}"),
        format!("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA billing TO {role}"),
        format!("GRANT USAGE ON ALL SEQUENCES IN SCHEMA billing TO {role}"),
    ];
    for grant in grants {
        postgres.query(&url, &grant).unwrap();
    }
    let as_role = url.replacen("samekey@", &format!("{role}@"), 1);
    let store = Postgres::migrate(&options(&as_role).in_schema("billing").unwrap()).await.unwrap();
    assert!(store.create_project("shop").await.unwrap().is_some());
    store.ping().await.unwrap();
}

#[tokio::test]
async fn processes_that_migrate_at_once_take_turns() {
    let url = testbed::database("processes_that_migrate_at_once");
    let migrations: Vec<_> = (0..8)
        .map(|_| {
            let options = options(&url);
            tokio::spawn(async move { Postgres::migrate(&options).await.map(drop) })
        })
        .collect();
    for migration in migrations {
        migration.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_away() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgres://samekey@{}/none", nobody.local_addr().unwrap());
    let impatient = options(&url).with_patience(std::time::Duration::from_millis(200));
    let error = Postgres::open(&impatient).await.map(drop).unwrap_err();
    assert!(error.is_passing(), "{error}");
}
