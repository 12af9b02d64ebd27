//! Clients that hang up, over real connections.

use std::time::Duration;

use axum::extract::Request;
use axum::middleware::{self, Next};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::UnboundedSender;

use crate::backend::Backend;
use crate::on_both_stores;
use crate::shop::Shop;

on_both_stores! {
    a_client_that_hangs_up_changes_nothing
}

/// Tells when the server has let go of a request.
struct Ends(UnboundedSender<()>);

impl Drop for Ends {
    fn drop(&mut self) {
        // Nobody listens any more once the test is over.
        let _ = self.0.send(());
    }
}

const REQUEST: &[u8] =
    b"POST /orders HTTP/1.1\r\nhost: shop\r\nidempotency-key: k\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";

async fn a_client_that_hangs_up_changes_nothing<B: Backend>(place: B) {
    let shop = Shop::gated(&place);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (gone, mut went) = tokio::sync::mpsc::unbounded_channel();
    let router = shop.router.clone().layer(middleware::from_fn(move |request: Request, next: Next| {
        let request_ends = Ends(gone.clone());
        async move {
            let answer = next.run(request).await;
            drop(request_ends);
            answer
        }
    }));
    tokio::spawn(async move { axum::serve(listener, router).await });
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(REQUEST).await.unwrap();
    shop.script.at_gate.notified().await;
    assert!(went.is_empty(), "the request is under way");
    drop(client);
    went.recv().await.unwrap();
    shop.open_gate(1);
    assert_eq!(shop.keys.shutdown(Duration::from_secs(10)).await, 0, "its attempt has come to its end");
    assert_eq!((shop.script.runs(), place.effects().await), (1, 1));
    let retry = Shop::open(&place).post("/orders", "k", "{}").await;
    assert_eq!((retry.status, retry.replayed()), (201, true));
}
