//! The pooler is one in transaction mode, in front of the database that it was given.

use testbed::{Cluster, Pooler};

#[test]
fn a_database_is_reached_through_it_transaction_by_transaction() {
    let cluster = Cluster::start().unwrap();
    let direct = cluster.url("postgres");
    let pooler = Pooler::before(&direct).unwrap();
    assert_ne!(pooler.url(), direct);
    assert_eq!(cluster.postgres().query(pooler.url(), "select current_user").unwrap(), "samekey");
    let console = pooler.url().replace("/postgres", "/pgbouncer");
    let pools = cluster.postgres().query(&console, "show pools").unwrap();
    assert!(
        pools.lines().any(|pool| pool.starts_with("postgres|") && pool.ends_with("transaction")),
        "{pools}"
    );
}
