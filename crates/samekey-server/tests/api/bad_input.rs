//! Bad input: a reason that a person can act on, and nothing stored.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use crate::service::{self, Kind, Place, TOKEN, get, message, on_both_stores, post, send};
use serde_json::{Value, json};

/// A request that is refused: what is sent, and what is said.
struct Case {
    name: &'static str,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    status: u16,
    code: &'static str,
    /// The pointer of the first error, where the body is at fault.
    pointer: Option<&'static str>,
}

fn case(name: &'static str, change: impl FnOnce(&mut Value), pointer: &'static str) -> Case {
    let mut body = message();
    change(&mut body);
    raw(name, body.to_string().into_bytes(), pointer)
}

fn raw(name: &'static str, body: impl Into<Vec<u8>>, pointer: &'static str) -> Case {
    Case {
        name,
        headers: good_headers(),
        body: body.into(),
        status: 400,
        code: "invalid_request",
        pointer: Some(pointer),
    }
}

fn good_headers() -> Vec<(&'static str, String)> {
    vec![
        ("authorization", format!("Bearer {TOKEN}")),
        ("content-type", "application/json".to_owned()),
        ("idempotency-key", "the-key".to_owned()),
    ]
}

fn with_header(
    name: &'static str,
    header: &'static str,
    value: &str,
    status: u16,
    code: &'static str,
) -> Case {
    let mut headers = good_headers();
    headers.retain(|(name, _)| *name != header);
    if !value.is_empty() {
        headers.push((header, value.to_owned()));
    }
    Case { name, headers, body: message().to_string().into_bytes(), status, code, pointer: None }
}

fn cases() -> Vec<Case> {
    let deep = format!("{{\"channel\":\"email\",\"data\":{}", "[".repeat(500_000));
    let large = message().to_string().replace("On its way.", &"x".repeat(1 << 20));
    vec![
        raw("nothing", "", ""),
        raw("half a body", "{\"channel\":\"email\"", ""),
        raw("no object", "[]", ""),
        raw("two bodies", format!("{0}{0}", message()), ""),
        raw("not UTF-8", b"{\"channel\":\"\xff\"}".to_vec(), ""),
        raw("very deep", deep, ""),
        raw("a member twice", message().to_string().replace("{", "{\"to\":\"x@y.z\","), "/to"),
        case("unknown member", |body| body["txt"] = json!("x"), "/txt"),
        case("unknown channel", |body| body["channel"] = json!("pigeon"), "/channel"),
        case("wrong type", |body| body["subject"] = json!(7), "/subject"),
        case("many recipients", |body| body["to"] = json!(["a@b.c", "d@e.f"]), "/to"),
        case("no address", |body| body["to"] = json!("ada"), "/to"),
        case("two addresses in one", |body| body["to"] = json!("a@b.c, d@e.f"), "/to"),
        case("no recipient", |body| drop(body.as_object_mut().unwrap().remove("to")), "/to"),
        case("no text and no html", |body| drop(body.as_object_mut().unwrap().remove("text")), "/text"),
        case(
            "a header in the subject",
            |body| body["subject"] = json!("S\r\nBcc: eve@example.org"),
            "/subject",
        ),
        case("a header in the address", |body| body["to"] = json!("a@b.c\r\nBcc: eve@example.org"), "/to"),
        case("a header in the sender", |body| body["from"] = json!("A\n <a@b.c>"), "/from"),
        case("data that is no object", |body| body["data"] = json!([1]), "/data"),
        Case {
            body: large.into_bytes(),
            status: 413,
            code: "payload_too_large",
            pointer: None,
            ..raw("too large", "", "")
        },
        with_header("no token", "authorization", "", 401, "unauthorized"),
        with_header("another scheme", "authorization", "Basic c2s6", 401, "unauthorized"),
        with_header("an unknown key", "authorization", "Bearer sk_unknown", 401, "unauthorized"),
        with_header("no content type", "content-type", "", 415, "unsupported_media_type"),
        with_header(
            "a form",
            "content-type",
            "application/x-www-form-urlencoded",
            415,
            "unsupported_media_type",
        ),
        with_header("an empty key", "idempotency-key", "\"\"", 400, "idempotency_key_invalid"),
        with_header("a list of keys", "idempotency-key", "a, b", 400, "idempotency_key_invalid"),
        with_header("a long key", "idempotency-key", &"k".repeat(256), 400, "idempotency_key_invalid"),
        Case {
            status: 400,
            code: "idempotency_key_invalid",
            pointer: None,
            ..case("keys that disagree", |body| body["idempotency_key"] = json!("another"), "")
        },
        Case {
            status: 400,
            code: "idempotency_key_invalid",
            pointer: None,
            ..case("an empty key in the body", |body| body["idempotency_key"] = json!(""), "")
        },
        case("a key that is a number", |body| body["idempotency_key"] = json!(7), "/idempotency_key"),
    ]
}

on_both_stores! {
    fn every_refusal_says_what_to_do_and_stores_nothing(place) {
        let service = place.serve(&["--dev", "--no-dispatch"]);
        for case in cases() {
            let headers: Vec<_> = case.headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let answer = post(&service, &headers, &case.body);
            let problem = answer.json();
            assert_eq!((answer.status, problem["code"].as_str()), (case.status, Some(case.code)), "{}: {}", case.name, answer.text);
            assert_eq!(answer.headers["content-type"], "application/problem+json", "{}", case.name);
            assert_eq!(problem["type"], format!("urn:samekey:problem:{}", case.code.replace('_', "-")), "{}", case.name);
            assert_eq!(problem["status"], case.status, "{}", case.name);
            assert_eq!(problem["retryable"], false, "{}", case.name);
            assert!(problem["detail"].as_str().unwrap().len() > 10, "{}: {problem}", case.name);
            if let Some(pointer) = case.pointer {
                assert_eq!(problem["errors"][0]["pointer"], pointer, "{}: {problem}", case.name);
            }
        }
        // None of them has taken the key.
        assert_eq!(send(&service, Some("the-key"), &message()).json()["status"], "queued");
        let metrics = get(&service, "/metrics", TOKEN).text;
        assert!(metrics.contains("samekey_backlog_due{channel=\"email\"} 1\n"), "{metrics}");
    }
}

#[test]
fn unknown_paths_methods_and_queries_are_problems_too() {
    let place = Place::new(Kind::Sqlite, "");
    let service = place.serve(&["--dev", "--no-dispatch"]);
    for (path, status, code) in [
        ("/", 404, "not_found"),
        ("/v1/message", 404, "not_found"),
        ("/v1/messages/msg_x", 404, "not_found"),
        ("/v1/messages/%ff", 404, "not_found"),
        ("/v1/messages/msg_01m8qatkkre7jtaw3sra76jjj9", 404, "not_found"),
    ] {
        let answer = get(&service, path, TOKEN);
        assert_eq!((answer.status, answer.json()["code"].as_str()), (status, Some(code)), "{path}");
    }
    let mut put = service::agent().put(service.url("/v1/messages")).send_empty().unwrap();
    assert_eq!((put.status().as_u16(), &put.headers()["allow"]), (405, &"POST".parse().unwrap()));
    let problem: Value = serde_json::from_str(&put.body_mut().read_to_string().unwrap()).unwrap();
    assert_eq!(problem["code"], "method_not_allowed");

    let mut dry = service::agent()
        .post(service.url("/v1/messages?dry=1"))
        .header("authorization", format!("Bearer {TOKEN}"))
        .header("content-type", "application/json")
        .send(message().to_string())
        .unwrap();
    assert_eq!(dry.status().as_u16(), 400);
    assert!(dry.body_mut().read_to_string().unwrap().contains("query"));
}

#[test]
fn two_header_lines_are_refused_even_if_they_agree() {
    let place = Place::new(Kind::Sqlite, "");
    let service = place.serve(&["--dev", "--no-dispatch"]);
    let authorization = format!("Bearer {TOKEN}");
    let headers = [
        ("authorization", authorization.as_str()),
        ("content-type", "application/json"),
        ("idempotency-key", "a"),
        ("idempotency-key", "a"),
    ];
    let answer = post(&service, &headers, message().to_string().as_bytes());
    assert_eq!((answer.status, answer.json()["code"].as_str()), (400, Some("idempotency_key_invalid")));
}

#[test]
fn slow_clients_hold_up_nobody() {
    let place = Place::new(Kind::Sqlite, "");
    let service = place.serve(&["--dev", "--no-dispatch"]);
    let head = format!(
        "POST /v1/messages HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{{"
    );
    let slow: Vec<TcpStream> = (0..200)
        .map(|index| {
            let mut stream = TcpStream::connect(service.addr()).unwrap();
            // Half of them stop inside the head, half inside the body.
            let sent = if index % 2 == 0 { &head[..40] } else { &head[..] };
            stream.write_all(sent.as_bytes()).unwrap();
            stream
        })
        .collect();
    assert_eq!(send(&service, Some("quick"), &message()).status, 202);
    drop(slow);
}

#[test]
fn a_client_that_hangs_up_in_its_body_stores_nothing() {
    let place = Place::new(Kind::Sqlite, "");
    let service = place.serve(&["--dev", "--no-dispatch"]);
    let body = message().to_string();
    let mut stream = TcpStream::connect(service.addr()).unwrap();
    let head = format!(
        "POST /v1/messages HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\nidempotency-key: cut\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{}",
        body.len(),
        &body[..20]
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    // The server closes once it has seen the end; only then is the next request sent.
    let _ = stream.read_to_end(&mut Vec::new());
    assert_eq!(send(&service, Some("cut"), &message()).json()["status"], "queued");
}

#[test]
fn a_key_that_the_server_would_write_is_not_believed() {
    let place = Place::new(Kind::Sqlite, "");
    let service = place.serve(&["--dev", "--no-dispatch"]);
    let authorization = format!("Bearer {TOKEN}");
    let headers = [
        ("authorization", authorization.as_str()),
        ("content-type", "application/json"),
        ("idempotency-key", "k"),
        ("idempotent-replayed", "true"),
        ("x-request-id", "mine-1"),
    ];
    let answer = post(&service, &headers, message().to_string().as_bytes());
    assert_eq!(answer.json()["status"], "queued");
    assert!(answer.headers.get("idempotent-replayed").is_none());
    assert_eq!(answer.headers["x-request-id"], "mine-1");
}
