//! Clients that hang up, over real connections.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::backend::Backend;
use crate::on_both_stores;
use crate::shop::Shop;

on_both_stores! {
    a_client_that_hangs_up_changes_nothing
}

const REQUEST: &[u8] =
    b"POST /orders HTTP/1.1\r\nhost: shop\r\nidempotency-key: k\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";

async fn a_client_that_hangs_up_changes_nothing<B: Backend>(place: B) {
    let shop = Shop::gated(&place);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = shop.router.clone();
    tokio::spawn(async move { axum::serve(listener, router).await });
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(REQUEST).await.unwrap();
    shop.script.at_gate.notified().await;
    drop(client);
    // The server has seen the end of that connection once it has answered another one that came later.
    let mut other = TcpStream::connect(address).await.unwrap();
    other.write_all(REQUEST).await.unwrap();
    let mut answer = [0; 12];
    other.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 409");
    shop.open_gate(1);
    assert_eq!(shop.keys.shutdown(Duration::from_secs(10)).await, 0, "its attempt has come to its end");
    assert_eq!((shop.script.runs(), place.effects().await), (1, 1));
    let retry = Shop::open(&place).post("/orders", "k", "{}").await;
    assert_eq!((retry.status, retry.replayed()), (201, true));
}
