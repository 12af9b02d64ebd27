//! The layer put into the situations that went wrong elsewhere, on both databases, and on the store in memory that people test with.
#![cfg(test)]

mod backend;
mod claiming;
mod commits;
mod crashes;
mod faults;
mod joined;
mod replays;
mod sameness;
mod shop;
mod sockets;
mod steps;
mod without_http;

/// Each case on each store, in one of its own, named after it.
macro_rules! on_both_stores {
    ($($name:ident)*) => {
        mod on_postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(<crate::backend::OnPostgres as crate::backend::Backend>::open(stringify!($name)).await).await;
            })*
        }
        mod on_sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(<crate::backend::OnSqlite as crate::backend::Backend>::open(stringify!($name)).await).await;
            })*
        }
        mod on_memory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(<crate::backend::OnMemory as crate::backend::Backend>::open(stringify!($name)).await).await;
            })*
        }
    };
}
pub(crate) use on_both_stores;
