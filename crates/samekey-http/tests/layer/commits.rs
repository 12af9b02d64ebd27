//! Commits whose answer is lost, and connections that others hold: PostgreSQL alone has a network in between.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use samekey_core::store::Records as _;
use samekey_http::Keys;
use samekey_postgres::{Options, Postgres};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::backend::{Backend as _, OnPostgres};
use crate::shop::Shop;

/// What happens to the next COMMIT that a user's transaction sends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Cut {
    /// It reaches the database; its answer does not come back.
    After,
    /// It does not reach the database.
    Before,
}

/// Stands between the user's pool and the database, and cuts the connection at the first COMMIT.
async fn cutting_proxy(target: String, cut: Cut) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let cuts = Arc::new(AtomicUsize::new(0));
    let counted = cuts.clone();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = TcpStream::connect(&target).await.unwrap();
            tokio::spawn(relay(client, server, cut, counted.clone()));
        }
    });
    (address, cuts)
}

async fn relay(mut client: TcpStream, mut server: TcpStream, cut: Cut, cuts: Arc<AtomicUsize>) {
    let (mut from_client, mut from_server) = ([0; 16_384], [0; 16_384]);
    loop {
        tokio::select! {
            read = client.read(&mut from_client) => {
                let Ok(length @ 1..) = read else { return };
                let sent = &from_client[..length];
                // A simple query: its type, its length, its text.
                let commits = sent.windows(7).any(|window| window == b"COMMIT\0");
                if commits && cuts.fetch_add(1, Ordering::SeqCst) == 0 {
                    if cut == Cut::After {
                        server.write_all(sent).await.unwrap();
                        // Its answer says that it was committed; it goes no further.
                        server.read_exact(&mut from_server[..1]).await.unwrap();
                    }
                    return;
                }
                server.write_all(sent).await.unwrap();
            }
            read = server.read(&mut from_server) => {
                let Ok(length @ 1..) = read else { return };
                if client.write_all(&from_server[..length]).await.is_err() {
                    return;
                }
            }
        }
    }
}

/// `postgres://user@host:port/db` with another host and port.
fn through(url: &str, address: &str) -> (String, String) {
    let (scheme, rest) = url.split_once("://").unwrap();
    let (user, rest) = rest.split_once('@').unwrap();
    let (host, database) = rest.split_once('/').unwrap();
    let database = database.split('?').next().unwrap();
    (format!("{scheme}://{user}@{address}/{database}?sslmode=disable"), host.to_owned())
}

async fn cut_at_the_commit(case: &str, path: &str, cut: Cut) {
    let place = OnPostgres::open(case).await;
    let (_, target) = through(&place.url, "");
    let (address, cuts) = cutting_proxy(target, cut).await;
    let (url, _) = through(&place.url, &address);
    let far = OnPostgres::at(place.url.clone(), &url).await;
    let shop = Shop::open(&far);
    let heard = shop.post(path, "k", "{}").await;
    assert_eq!(cuts.load(Ordering::SeqCst), 1, "the branch was reached");
    match cut {
        Cut::After => {
            assert_eq!((heard.status, heard.replayed()), (201, false), "committed, and found out");
            assert_eq!(place.effects().await, 1);
        }
        Cut::Before => {
            assert_eq!((heard.status, place.effects().await), (503, 0), "not committed, and never will be");
        }
    }
    let again = shop.post(path, "k", "{}").await;
    assert_eq!(
        (again.status, place.effects().await),
        (201, 1),
        "and a retry finds the one effect, or does it"
    );
    assert_eq!(again.replayed(), cut == Cut::After);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leased_commit_whose_answer_is_lost_is_found_out() {
    cut_at_the_commit("leased_cut_after", "/orders", Cut::After).await;
    cut_at_the_commit("leased_cut_before", "/orders", Cut::Before).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_joined_commit_whose_answer_is_lost_is_found_out() {
    cut_at_the_commit("joined_cut_after", "/notes", Cut::After).await;
    cut_at_the_commit("joined_cut_before", "/notes", Cut::Before).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_handlers_that_hold_every_connection_still_get_their_steps() {
    let place = OnPostgres::open("fifty_hold").await;
    let options = Options::from_url(&place.url).unwrap().with_connections(1);
    let keys = Keys::new(Postgres::open(&options).await.unwrap());
    let holders = (0..50).map(|n| {
        let (keys, db) = (keys.clone(), place.db.clone());
        async move {
            let scope = samekey_core::Scope::new("t").unwrap();
            let key = samekey_core::Key::new(&n.to_string()).unwrap();
            let work = async move |attempt: samekey_http::Attempt<Postgres>| {
                let mut client = db.get().await?;
                let tx = client.transaction().await?;
                tx.execute("INSERT INTO effect DEFAULT VALUES", &[]).await?;
                let charge: String = attempt
                    .step("charge", async |key| Ok::<_, crate::backend::Failed>(key.to_string()))
                    .await??;
                Ok::<_, crate::backend::Failed>(attempt.complete(tx, axum::Json(charge)).await?)
            };
            let ran: Result<samekey_http::Ran<String>, _> = keys.run(&scope, &key, &(), work).await;
            ran.unwrap()
        }
    });
    futures_util::future::join_all(holders).await;
    assert_eq!(place.effects().await, 50);
    assert_eq!(
        keys.store()
            .load(&samekey_core::Scope::new("t").unwrap(), &samekey_core::Key::new("0").unwrap())
            .await
            .unwrap()
            .unwrap()
            .status,
        Some(200)
    );
}
