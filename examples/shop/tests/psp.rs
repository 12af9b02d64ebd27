//! The payment provider in a process of its own, over real sockets.
#![cfg(test)]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Barrier;

use serde_json::{Value, json};
use testbed::Service;

fn start(ledger: Option<&Path>) -> Service {
    let mut command = Service::command(Path::new(env!("CARGO_BIN_EXE_psp")));
    command.args(["--listen", "127.0.0.1:0"]);
    command.args(ledger.map(|path| format!("--ledger={}", path.display())));
    Service::start_command(&mut command).unwrap()
}

/// A status and a body; a call whose answer never came has none.
type Heard = Option<(u16, Value)>;

fn agent() -> ureq::Agent {
    ureq::Agent::config_builder().http_status_as_error(false).build().into()
}

fn send(psp: &Service, path: &str, key: Option<&str>, body: &[u8]) -> Heard {
    let mut request = agent().post(psp.url(path)).header("content-type", "application/json");
    if let Some(key) = key {
        request = request.header("idempotency-key", key);
    }
    let mut response = request.send(body).ok()?;
    let status = response.status().as_u16();
    Some((status, serde_json::from_str(&response.body_mut().read_to_string().ok()?).unwrap()))
}

fn charge(psp: &Service, key: &str, amount_cents: i64) -> Heard {
    send(psp, "/charges", Some(key), cart(amount_cents).to_string().as_bytes())
}

fn cart(amount_cents: i64) -> Value {
    json!({"amount_cents": amount_cents, "currency": "eur", "account": "acct_1", "cart": [{"sku": "a", "n": 1}]})
}

fn fail_next(psp: &Service, faults: &[&str]) {
    let (status, _) = send(psp, "/faults", None, json!({ "next": faults }).to_string().as_bytes()).unwrap();
    assert_eq!(status, 202);
}

fn get(psp: &Service, path: &str) -> Vec<Value> {
    let text = agent().get(psp.url(path)).call().unwrap().body_mut().read_to_string().unwrap();
    serde_json::from_str(&text).unwrap()
}

fn charged(psp: &Service) -> Vec<i64> {
    get(psp, "/charges").iter().map(|charge| charge["amount_cents"].as_i64().unwrap()).collect()
}

fn code(heard: &Heard) -> (u16, &str) {
    let (status, body) = heard.as_ref().expect("it was answered");
    (*status, body["code"].as_str().unwrap_or("charged"))
}

#[test]
fn one_key_is_charged_once_and_answered_alike() {
    let psp = start(None);
    let first = charge(&psp, "k", 1_250);
    let (status, body) = first.clone().unwrap();
    assert_eq!((status, body["amount_cents"].as_i64()), (201, Some(1_250)));
    assert!(body["id"].as_str().unwrap().starts_with("ch_"));
    assert_eq!(charge(&psp, "k", 1_250), first);
    let reordered =
        br#" {"cart":[{"n":1,"sku":"a"}],"account":"acct_1","currency":"eur","amount_cents":1250}"#;
    assert_eq!(send(&psp, "/charges", Some("k"), reordered), first, "the order of members says nothing");
    assert_eq!(code(&charge(&psp, "k", 1_251)), (422, "idempotency_key_reused"));
    assert_eq!(code(&charge(&psp, "K", 1_250)), (201, "charged"));
    assert_eq!(charged(&psp), [1_250, 1_250]);
}

#[test]
fn a_body_that_says_no_charge_is_refused_and_leaves_its_key() {
    let psp = start(None);
    let keyless = send(&psp, "/charges", None, cart(1).to_string().as_bytes());
    assert_eq!(code(&keyless), (400, "idempotency_key_missing"));
    for (member, wrong) in
        [("amount_cents", json!(0)), ("amount_cents", json!(1.5)), ("currency", json!("EURO"))]
    {
        let mut body = cart(1);
        body[member] = wrong;
        let heard = send(&psp, "/charges", Some("k"), body.to_string().as_bytes());
        assert_eq!(code(&heard), (400, "invalid_request"), "{member}");
    }
    assert_eq!(code(&send(&psp, "/charges", Some("k"), b"{")), (400, "invalid_request"));
    let large = format!("{{\"description\":\"{}\"}}", "x".repeat(64 * 1024));
    assert_eq!(code(&send(&psp, "/charges", Some("k"), large.as_bytes())), (413, "payload_too_large"));
    assert_eq!(code(&charge(&psp, "k", 1)), (201, "charged"));
    assert_eq!(get(&psp, "/ledger").len(), 7, "every call is in the ledger");
}

#[test]
fn a_dropped_answer_is_a_charge_all_the_same() {
    let psp = start(None);
    fail_next(&psp, &["drop", "drop"]);
    assert_eq!(charge(&psp, "k", 5), None);
    assert_eq!(charge(&psp, "k", 5), None, "a replay can be lost too");
    assert_eq!(code(&charge(&psp, "k", 5)), (201, "charged"));
    assert_eq!(charged(&psp), [5]);
    let ledger = get(&psp, "/ledger");
    let stages: Vec<_> = ledger.iter().map(|call| call["stage"].as_str().unwrap()).collect();
    assert_eq!(stages, ["dropped", "dropped", "answered"]);
    assert_eq!(
        (&ledger[0]["key"], &ledger[0]["amount_cents"], &ledger[0]["answered"]),
        (&json!("k"), &json!(5), &Value::Null)
    );
    assert_eq!(ledger[2]["answered"]["status"], 201);
}

#[test]
fn a_dropped_call_writes_nothing_to_the_socket() {
    let psp = start(None);
    fail_next(&psp, &["drop"]);
    let mut socket = TcpStream::connect(psp.addr()).unwrap();
    let body = cart(5).to_string();
    let head = format!(
        "POST /charges HTTP/1.1\r\nhost: x\r\nidempotency-key: k\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    socket.write_all(format!("{head}{body}").as_bytes()).unwrap();
    let mut heard = Vec::new();
    // A reset is as good as an end.
    let _ = socket.read_to_end(&mut heard);
    assert_eq!(String::from_utf8_lossy(&heard), "");
}

#[test]
fn an_error_says_nothing_about_the_charge() {
    let psp = start(None);
    fail_next(&psp, &["error_before", "error_after"]);
    assert_eq!(code(&charge(&psp, "k", 7)), (500, "internal_error"));
    assert_eq!(charged(&psp), [0; 0]);
    assert_eq!(code(&charge(&psp, "k", 7)), (500, "internal_error"));
    assert_eq!(charged(&psp), [7]);
    assert_eq!(code(&charge(&psp, "k", 7)), (201, "charged"), "the key kept the truth");
    assert_eq!(charged(&psp), [7]);
}

#[test]
fn a_refusal_of_the_bank_is_kept_under_its_key() {
    let psp = start(None);
    fail_next(&psp, &["declined"]);
    let declined = charge(&psp, "k", 9);
    assert_eq!(code(&declined), (402, "card_declined"));
    assert_eq!(declined.as_ref().unwrap().1["reason"], "insufficient_funds");
    assert_eq!(charge(&psp, "k", 9), declined);
    let mut always = cart(9);
    always["account"] = json!("acct_declined");
    assert_eq!(
        code(&send(&psp, "/charges", Some("other"), always.to_string().as_bytes())),
        (402, "card_declined")
    );
    assert_eq!(charged(&psp), [0; 0]);
}

#[test]
fn a_second_call_beside_the_first_is_refused_and_a_caller_that_hangs_up_stops_nothing() {
    let psp = start(None);
    fail_next(&psp, &["slow:2000"]);
    let mut first = TcpStream::connect(psp.addr()).unwrap();
    let body = cart(3).to_string();
    let head = format!(
        "POST /charges HTTP/1.1\r\nhost: x\r\nidempotency-key: k\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    first.write_all(format!("{head}{body}").as_bytes()).unwrap();
    let stage = || get(&psp, "/ledger").first().map(|call| call["stage"].as_str().unwrap().to_owned());
    wait_until("it has come", || stage().as_deref() == Some("in_progress"));
    assert_eq!(code(&charge(&psp, "k", 3)), (409, "request_in_progress"));
    assert_eq!(code(&charge(&psp, "k", 4)), (422, "idempotency_key_reused"));
    drop(first);
    wait_until("it has ended", || stage().as_deref() == Some("answered"));
    assert_eq!(code(&charge(&psp, "k", 3)), (201, "charged"));
    assert_eq!(charged(&psp), [3]);
}

/// The provider's books are the only signal there is.
fn wait_until(what: &str, so: impl Fn() -> bool) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !so() {
        assert!(std::time::Instant::now() < deadline, "never so: {what}");
        // waits: the deadline above is the bound, this only paces the questions.
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn of_many_racing_calls_one_is_charged() {
    let psp = start(None);
    let barrier = Barrier::new(16);
    let heard: Vec<Heard> = std::thread::scope(|scope| {
        let race = || {
            barrier.wait();
            charge(&psp, "k", 11)
        };
        let racers: Vec<_> = (0..16).map(|_| scope.spawn(race)).collect();
        racers.into_iter().map(|racer| racer.join().unwrap()).collect()
    });
    for heard in &heard {
        assert!(matches!(code(heard), (201, "charged") | (409, "request_in_progress")), "{heard:?}");
    }
    assert_eq!(charged(&psp), [11]);
}

#[test]
fn a_fault_that_there_is_not_is_refused() {
    let psp = start(None);
    for wrong in
        [json!({"next": ["slow:60001"]}), json!({"next": ["fire"]}), json!({"next": vec!["drop"; 1_001]})]
    {
        let heard = send(&psp, "/faults", None, wrong.to_string().as_bytes());
        assert_eq!(code(&heard), (400, "invalid_request"), "{wrong}");
    }
    assert_eq!(code(&charge(&psp, "k", 1)), (201, "charged"), "none of them was taken");
}

#[test]
fn a_kill_forgets_nothing_and_a_line_that_was_cut_was_told_to_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let mut psp = start(Some(&path));
    fail_next(&psp, &["drop", "declined"]);
    assert_eq!(charge(&psp, "dropped", 1), None);
    let declined = charge(&psp, "declined", 2);
    let plain = charge(&psp, "plain", 3);
    let ledger = get(&psp, "/ledger");
    psp.kill();
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(br#"{"seq":4,"key":"cu"#).unwrap();

    let mut psp = start(Some(&path));
    assert_eq!(get(&psp, "/ledger"), ledger);
    assert_eq!(charged(&psp), [1, 3]);
    assert_eq!(charge(&psp, "plain", 3), plain);
    assert_eq!(charge(&psp, "declined", 2), declined);
    assert_eq!(code(&charge(&psp, "dropped", 1)), (201, "charged"));
    assert_eq!(code(&charge(&psp, "plain", 4)), (422, "idempotency_key_reused"));
    psp.kill();

    let psp = start(Some(&path));
    assert_eq!(charged(&psp), [1, 3]);
    assert_eq!(get(&psp, "/ledger").len(), 7);
}

/// A shell lets the file grow to two blocks and no further; writing past that fails instead of killing.
#[test]
fn a_call_that_cannot_be_written_down_charges_nothing_and_leaves_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let mut command = Service::command(Path::new("sh"));
    command.args(["-c", "trap '' XFSZ; ulimit -f 2; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_psp")]);
    command.args(["--listen", "127.0.0.1:0"]).arg(format!("--ledger={}", path.display()));
    let mut psp = Service::start_command(&mut command).unwrap();
    let amounts: Vec<i64> = (1..=10).collect();
    let heard = amounts.iter().map(|amount| code(&charge(&psp, &amount.to_string(), *amount)).0);
    let heard: Vec<u16> = heard.collect();
    let fit = heard.iter().take_while(|status| **status == 201).count();
    assert!((1..10).contains(&fit) && heard[fit..].iter().all(|status| *status == 500), "{heard:?}");
    assert_eq!(charged(&psp), amounts[..fit]);
    assert!(std::fs::read(&path).unwrap().ends_with(b"\n"), "a line was cut, and the next would follow it");

    // There is room again.
    std::fs::File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
    assert_eq!(code(&charge(&psp, "10", 10)), (201, "charged"));
    psp.kill();
    assert_eq!(charged(&start(Some(&path))), [10]);
}
