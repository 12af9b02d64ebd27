//! The cluster is what it claims: durable, alone on its port, recoverable, gone afterwards.

use testbed::{Cluster, Postgres};

#[test]
fn it_is_durable_and_listens_on_loopback_only() {
    let cluster = Cluster::start().unwrap();
    for (setting, value) in [
        ("fsync", "on"),
        ("synchronous_commit", "on"),
        ("full_page_writes", "on"),
        ("max_connections", "200"),
        ("shared_buffers", "256MB"),
        ("max_wal_size", "4GB"),
        ("listen_addresses", "127.0.0.1"),
    ] {
        assert_eq!(cluster.query("postgres", &format!("show {setting}")).unwrap(), value, "{setting}");
    }
    let role = "select current_user, rolsuper from pg_roles where rolname = current_user";
    assert_eq!(cluster.query("postgres", role).unwrap(), "samekey|t");
}

#[test]
fn what_was_committed_outlives_an_immediate_stop() {
    let mut cluster = Cluster::start().unwrap();
    cluster.create_database("kept").unwrap();
    cluster.query("kept", "create table t (n int); insert into t values (7)").unwrap();
    let url = cluster.url("kept");
    let client = Postgres::find().unwrap();

    cluster.stop_immediately();
    assert!(client.query(&url, "select 1").is_err());

    cluster.start_again().unwrap();
    assert_eq!(client.query(&url, "select n from t").unwrap(), "7", "the same URL reaches it");
}

#[test]
fn dropping_it_removes_its_folder() {
    let cluster = Cluster::start().unwrap();
    let data = cluster.query("postgres", "show data_directory").unwrap();
    assert!(std::path::Path::new(&data).is_dir());
    drop(cluster);
    assert!(!std::path::Path::new(&data).exists());
}

#[test]
fn with_tls_it_proves_itself_and_refuses_plain_connections() {
    let cluster = Cluster::with_tls().unwrap();
    let client = cluster.postgres();
    let authority = cluster.authority().unwrap().display();
    let url = cluster.url("postgres");

    let verified = format!("{url}?sslmode=verify-full&sslrootcert={authority}");
    assert_eq!(
        client.query(&verified, "select ssl from pg_stat_ssl where pid = pg_backend_pid()").unwrap(),
        "t"
    );
    let plain = client.query(&format!("{url}?sslmode=disable"), "select 1").unwrap_err();
    assert!(plain.to_string().contains("no encryption"), "{plain}");
}
