//! One database per test, however many tests start at once.

use std::collections::HashSet;
use std::thread;

use testbed::Cluster;

#[test]
fn databases_made_at_once_are_empty_and_apart() {
    let cluster = Cluster::start().unwrap();
    let url = cluster.url("postgres");
    let urls: Vec<String> = thread::scope(|scope| {
        let create = || testbed::database_on(&url, "made at once").unwrap();
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(create)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });

    let client = cluster.postgres();
    let names: HashSet<String> =
        urls.iter().map(|url| client.query(url, "select current_database()").unwrap()).collect();
    assert_eq!(names.len(), 8);
    assert!(names.iter().all(|name| name.starts_with("made_at_once_")), "{names:?}");
    for url in &urls {
        // Fails where the table is there already, that is, where two URLs lead to one database.
        client.query(url, "create table only_here ()").unwrap();
    }
}
