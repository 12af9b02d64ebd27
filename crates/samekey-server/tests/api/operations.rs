//! Starting, stopping, losing the database.

use std::time::Duration;

use crate::service::{self, Kind, Place, get, message, on_both_stores, send, wait_for_status};
use testbed::{Cluster, Smtp, SmtpOptions};

on_both_stores! {
    /// SIGTERM while the provider is slow: the attempt goes on to its end and is on record.
    fn a_stop_finishes_what_is_in_hand(place) {
        let smtp = Smtp::start(SmtpOptions::default()).unwrap();
        let mut service = place.serve(&["--dev", "--smtp-url", &smtp.url()]);
        let mut slow = message();
        slow["to"] = serde_json::json!("slow-dot-1500@example.org");
        let id = send(&service, Some("slow"), &slow).id();
        wait_for_status(&service, &id, "sending");
        assert!(service.terminate(Duration::from_secs(30)).unwrap().success(), "{}", service.stderr());
        let service = place.serve(&["--dev", "--no-dispatch"]);
        let shown = get(&service, &format!("/v1/messages/{id}"), service::TOKEN).json();
        assert_eq!((shown["status"].as_str(), smtp.messages().unwrap().len()), (Some("sent"), 1), "{shown}");
    }

    /// A kill in the middle of an attempt: its lease runs out, and it counts as ambiguous.
    fn a_kill_in_mid_attempt_is_tried_again_under_the_same_message_id(place) {
        let smtp = Smtp::start(SmtpOptions::default()).unwrap();
        let quick = ["--lease", "1s", "--send-timeout", "800ms", "--retry-schedule", "10ms,10ms,10ms"];
        let url = smtp.url();
        let args = [&["--dev", "--smtp-url", &url], &quick[..]].concat();
        let mut service = place.serve(&args);
        let mut slow = message();
        slow["to"] = serde_json::json!("slow-dot-500@example.org");
        let id = send(&service, Some("killed"), &slow).id();
        smtp.wait_for(1).unwrap();
        service.kill();
        let service = place.serve(&args);
        let shown = wait_for_status(&service, &id, "sent");
        assert_eq!(shown["maybe_sent"], true, "{shown}");
        assert_eq!(shown["attempts"][0]["outcome"], "lapsed", "{shown}");
        let mails = smtp.wait_for(2).unwrap();
        assert_eq!(mails[0].header("message-id"), mails[1].header("message-id"));
        assert_eq!(mails[0].bytes, mails[1].bytes, "every attempt is the same mail");
    }
}

#[test]
fn a_lost_database_is_503_and_it_recovers_by_itself() {
    let mut cluster = Cluster::start().unwrap();
    cluster.create_database("lost").unwrap();
    let place = Place { database: cluster.url("lost"), folder: tempfile::tempdir().unwrap() };
    let service = place.dev();
    assert_eq!(send(&service, Some("before"), &message()).status, 202);

    cluster.stop_immediately();
    let lost = send(&service, Some("during"), &message());
    assert_eq!((lost.status, lost.json()["retryable"].as_bool()), (503, Some(true)), "{}", lost.text);
    assert_eq!(lost.headers["retry-after"], "1");
    assert_eq!(get(&service, "/readyz", service::TOKEN).status, 503);
    assert_eq!(get(&service, "/healthz", service::TOKEN).status, 200);

    cluster.start_again().unwrap();
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    let after = loop {
        let answer = send(&service, Some("during"), &message());
        if answer.status == 202 {
            break answer;
        }
        assert!(std::time::Instant::now() < deadline, "{}\n{}", answer.text, service.stderr());
        // waits: the client's own retry; the deadline above is the bound.
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(after.json()["status"], "queued", "nothing had been half done");
    wait_for_status(&service, &after.id(), "sent");
    assert_eq!(send(&service, Some("before"), &message()).json()["status"], "duplicate_ignored");
}

/// A limit on the size of files is a full disk to the process under it, and can be lifted from outside.
#[test]
fn a_full_disk_is_503_with_nothing_half_done_and_it_recovers_by_itself() {
    let place = Place::new(Kind::Sqlite, "");
    let binary = env!("CARGO_BIN_EXE_samekey");
    let mut command = testbed::Service::command(std::path::Path::new("sh"));
    command.arg("-c").arg("trap '' XFSZ; ulimit -S -f 8192; exec \"$0\" \"$@\"").arg(binary);
    command.args([
        "serve",
        "--dev",
        "--no-dispatch",
        "--listen",
        "127.0.0.1:0",
        "--database",
        &place.database,
    ]);
    let service =
        testbed::Service::start_command(command.arg("--data-dir").arg(place.folder.path())).unwrap();
    let mut large = message();
    large["text"] = serde_json::json!("x".repeat(400_000));
    let accepted = |number: usize| send(&service, Some(&format!("k{number}")), &large);
    let full =
        (0..64).find(|number| accepted(*number).status == 503).expect("64 × 400 kB do not fit into 4 MiB");
    assert!(full > 0, "{}", service.stderr());
    assert_eq!(get(&service, "/healthz", service::TOKEN).status, 200);

    let pid = rustix::process::Pid::from_raw(service.pid().cast_signed());
    let unlimited = rustix::process::Rlimit { current: None, maximum: None };
    rustix::process::prlimit(pid, rustix::process::Resource::Fsize, unlimited).unwrap();
    let answer = accepted(full);
    assert_eq!(answer.json()["status"], "queued", "its key had been half taken: {}", answer.text);
    for number in 0..full {
        assert_eq!(
            accepted(number).json()["status"],
            "duplicate_ignored",
            "k{number} was acknowledged and is gone"
        );
    }
}

#[test]
fn tls_to_the_database_is_checked_when_asked_for() {
    let cluster = Cluster::with_tls().unwrap();
    cluster.create_database("tls").unwrap();
    let authority = cluster.authority().unwrap().display().to_string();
    let at = |query: String| Place {
        database: format!("{}?{query}", cluster.url("tls").split('?').next().unwrap()),
        folder: tempfile::tempdir().unwrap(),
    };
    let verified = at(format!("sslmode=verify-full&sslrootcert={authority}"));
    assert_eq!(send(&verified.dev(), Some("k"), &message()).status, 202);
    assert_eq!(send(&at("sslmode=require".to_owned()).dev(), Some("k"), &message()).status, 202);
    let distrusted = at("sslmode=verify-full".to_owned()).run(&["projects", "list"]).unwrap_err();
    assert!(distrusted.contains("ertificate"), "{distrusted}");
}

#[test]
fn a_set_up_that_cannot_work_is_refused_in_one_sentence() {
    let place = Place::new(Kind::Sqlite, "");
    for (args, says) in [
        (vec!["serve"], "--smtp-url"),
        (vec!["serve", "--dev", "--listen", "0.0.0.0:0"], "loopback"),
        (vec!["serve", "--dev", "--lease", "10s"], "--send-timeout"),
        (vec!["serve", "--dev", "--mail-from", "nobody"], "--mail-from"),
        (vec!["serve", "--dev", "--smtp-url", "http://x"], "--smtp-url"),
        (vec!["serve", "--no-dispatch", "--no-migrate"], "samekey migrate"),
    ] {
        let said = place.run(&args).unwrap_err();
        assert!(said.contains(says) && said.lines().count() == 1, "{args:?}: {said}");
    }
}

#[test]
fn neither_keys_nor_bodies_nor_tokens_are_logged() {
    let place = Place::new(Kind::Sqlite, "");
    let service = place.serve(&["--dev", "--log", "debug", "--log-format", "json"]);
    let mut secret = message();
    secret["text"] = serde_json::json!("the body is private");
    let id = send(&service, Some("key-of-a-customer"), &secret).id();
    send(&service, Some("key-of-a-customer"), &message());
    wait_for_status(&service, &id, "sent");
    let log = service.stderr();
    assert!(log.lines().filter(|line| line.starts_with('{')).count() > 0, "{log}");
    for private in ["key-of-a-customer", "the body is private", service::TOKEN] {
        assert!(!log.contains(private), "{private} is in the log:\n{log}");
    }
}
