//! The shop and its payment provider as processes, on both databases, judged by the provider's ledger.
#![cfg(test)]

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use testbed::Service;

/// One database, one provider, and any number of shops.
struct Town {
    database: String,
    psp: Service,
    _folder: TempDir,
}

/// An answer.
#[derive(Debug)]
struct Heard {
    status: u16,
    replayed: bool,
    body: Value,
}

impl Town {
    fn on_sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite:{}", folder.path().join("shop.db").display());
        Self { database, psp: psp(), _folder: folder }
    }

    fn on_postgres(case: &str) -> Self {
        Self { database: testbed::database(case), psp: psp(), _folder: tempfile::tempdir().unwrap() }
    }

    fn shop(&self) -> Service {
        let mut command = Service::command(Path::new(env!("CARGO_BIN_EXE_shop")));
        command.args(["--listen", "127.0.0.1:0", "--lease-ms", "600", "--database", &self.database]);
        Service::start_command(command.args(["--psp", &self.psp.url("")])).unwrap()
    }

    fn faults(&self, next: &[&str]) {
        let heard = post(&self.psp.url("/faults"), &[], &json!({ "next": next }));
        assert_eq!(heard.status, 202);
    }

    fn charges(&self) -> usize {
        list(&self.psp.url("/charges")).len()
    }

    fn calls(&self) -> Vec<Value> {
        list(&self.psp.url("/ledger"))
    }
}

fn psp() -> Service {
    let mut command = Service::command(Path::new(env!("CARGO_BIN_EXE_psp")));
    Service::start_command(command.args(["--listen", "127.0.0.1:0"])).unwrap()
}

fn list(url: &str) -> Vec<Value> {
    let text = ureq::get(url).call().unwrap().body_mut().read_to_string().unwrap();
    serde_json::from_str(&text).unwrap()
}

fn post(url: &str, headers: &[(&str, &str)], body: &Value) -> Heard {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(Duration::from_secs(30)))
        .build()
        .into();
    let mut request = agent.post(url).header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut response = request.send(body.to_string()).unwrap();
    let replayed = response.headers().contains_key("idempotent-replayed");
    let text = response.body_mut().read_to_string().unwrap();
    Heard {
        status: response.status().as_u16(),
        replayed,
        body: serde_json::from_str(&text).unwrap_or_default(),
    }
}

fn order(shop: &Service, key: &str) -> Heard {
    let cart = json!({ "items": [{ "sku": "cup", "quantity": 2, "unit_price_cents": 450 }] });
    post(&shop.url("/orders"), &[("authorization", "Bearer ada-token"), ("idempotency-key", key)], &cart)
}

/// As a client does: again, with the same key, for as long as it is told to come back.
fn order_until_answered(shop: &Service, key: &str) -> Heard {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let heard = order(shop, key);
        if ![409, 503].contains(&heard.status) {
            return heard;
        }
        assert!(Instant::now() < deadline, "no end: {heard:?}");
        // waits: as a client between two attempts; the deadline above is the bound.
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn an_order_is_charged_once(town: &Town) {
    let (a, b) = (town.shop(), town.shop());
    let first = order(&a, "order-1");
    assert_eq!((first.status, first.replayed), (201, false));
    assert_eq!((&first.body["id"], &first.body["total_cents"]), (&json!(1), &json!(900)));
    assert!(first.body["charge"].as_str().unwrap().starts_with("ch_"));
    for shop in [&a, &b] {
        let again = order(shop, "order-1");
        assert_eq!((again.status, again.replayed, &again.body), (201, true, &first.body));
    }
    assert_eq!((town.charges(), town.calls().len()), (1, 1));
    assert_eq!(order(&b, "order-2").body["id"], 2);
}

fn whatever_the_provider_does_the_money_moves_once(town: &Town) {
    let shop = town.shop();
    for (n, fault) in ["drop", "error_after", "error_before"].into_iter().enumerate() {
        town.faults(&[fault]);
        let key = format!("order-{fault}");
        assert_eq!(order(&shop, &key).status, 503, "{fault}");
        assert_eq!(order_until_answered(&shop, &key).status, 201, "{fault}");
        assert_eq!(town.charges(), n + 1, "{fault}");
        let calls = town.calls();
        let [.., first, second] = calls.as_slice() else { panic!("two calls") };
        assert_eq!(first["key"], second["key"], "the same key for both calls");
    }
    town.faults(&["declined"]);
    let declined = order(&shop, "order-declined");
    let again = order(&shop, "order-declined");
    assert_eq!((declined.status, again.status, again.replayed), (402, 402, true));
    assert_eq!((declined.body, town.charges()), (again.body, 3));
}

fn a_shop_that_dies_in_the_middle_is_taken_over(town: &Town) {
    let (mut a, b) = (town.shop(), town.shop());
    town.faults(&["slow:1500"]);
    let url = a.url("/orders");
    let dying = std::thread::spawn(move || {
        ureq::post(url)
            .header("authorization", "Bearer ada-token")
            .header("idempotency-key", "order-1")
            .header("content-type", "application/json")
            .send(r#"{"items":[{"sku":"cup","quantity":2,"unit_price_cents":450}]}"#)
    });
    let deadline = Instant::now() + Duration::from_secs(20);
    while town.calls().is_empty() {
        assert!(Instant::now() < deadline, "the provider was never called");
        // waits: until the provider has heard the call; the deadline above is the bound.
        std::thread::sleep(Duration::from_millis(5));
    }
    a.kill();
    assert!(dying.join().unwrap().is_err(), "its client does not know");
    let heard = order_until_answered(&b, "order-1");
    assert_eq!((heard.status, heard.body["id"].as_i64()), (201, Some(1)));
    let keys: Vec<String> = town.calls().iter().map(|call| call["key"].to_string()).collect();
    assert!(keys.len() > 1 && keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    assert_eq!(town.charges(), 1);
}

fn a_note_is_kept_once_and_only_by_whom_it_belongs_to(town: &Town) {
    let shop = town.shop();
    order(&shop, "order-1");
    let note = |token: &str, order: i64| {
        let headers = [("authorization", token), ("idempotency-key", "note-1")];
        post(&shop.url(&format!("/orders/{order}/notes")), &headers, &json!({ "text": "ring twice" }))
    };
    assert_eq!(note("Bearer nobody", 1).status, 401);
    assert_eq!(note("Bearer bob-token", 1).status, 404, "not his order");
    let first = note("Bearer ada-token", 1);
    let again = note("Bearer ada-token", 1);
    assert_eq!((first.status, again.status, again.replayed), (201, 201, true));
    assert_eq!(first.body, again.body);
    assert_eq!(note("Bearer ada-token", 2).status, 422, "the same key for another order");
}

macro_rules! on_both_databases {
    ($($name:ident)*) => {
        mod on_sqlite {
            $(#[test] fn $name() { super::$name(&super::Town::on_sqlite()); })*
        }
        mod on_postgres {
            $(#[test] fn $name() { super::$name(&super::Town::on_postgres(stringify!($name))); })*
        }
    };
}

on_both_databases! {
    an_order_is_charged_once
    whatever_the_provider_does_the_money_moves_once
    a_shop_that_dies_in_the_middle_is_taken_over
    a_note_is_kept_once_and_only_by_whom_it_belongs_to
}
