//! The main job: accept a message once, deliver it once.

use std::fs;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use crate::service::{self, get, message, on_both_stores, post, send, wait_for_status};
use serde_json::json;

on_both_stores! {
    /// The README's three requests.
    fn a_repeat_does_nothing_and_one_e_mail_lies_in_the_folder(place) {
        let service = place.dev();
        let first = send(&service, Some("order-1042-shipped"), &message());
        assert_eq!((first.status, first.text.as_str()), (202, format!(r#"{{"status":"queued","id":"{}"}}"#, first.id()).as_str()));
        for _ in 0..2 {
            let repeat = send(&service, Some("\"order-1042-shipped\""), &message());
            assert_eq!(repeat.status, 202);
            assert_eq!(repeat.text, format!(r#"{{"status":"duplicate_ignored","id":"{}"}}"#, first.id()));
            assert!(repeat.headers.get("idempotent-replayed").is_none());
        }
        let mut other = message();
        other["text"] = json!("Something else.");
        let reused = send(&service, Some("order-1042-shipped"), &other);
        assert_eq!((reused.status, reused.json()["code"].as_str()), (422, Some("idempotency_key_reused")));

        let sent = wait_for_status(&service, &first.id(), "sent");
        assert_eq!(sent["attempts"].as_array().unwrap().len(), 1);
        let files: Vec<_> = fs::read_dir(place.mail()).unwrap().map(|file| file.unwrap().path()).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        let mail = fs::read_to_string(&files[0]).unwrap();
        assert!(mail.contains("Subject: Shipped\r\n") && mail.contains("On its way."), "{mail}");
    }

    /// Member order, white space and the spelling of the key in the body do not make it another request.
    fn the_same_request_in_another_spelling_is_a_repeat(place) {
        let service = place.dev();
        let first = send(&service, Some("k"), &message());
        let authorization = ("authorization", "Bearer sk_dev_demo");
        let spelled = br#" { "text" : "On its w\u0061y.", "subject":"Shipped", "idempotency_key": "k","to":"ada@example.org", "channel":"email" } "#;
        let repeat = post(&service, &[authorization, ("content-type", "application/json; charset=utf-8")], spelled);
        assert_eq!(repeat.json(), json!({"status": "duplicate_ignored", "id": first.id()}));
    }

    fn without_a_key_nothing_is_deduplicated_and_the_answer_says_so(place) {
        let service = place.dev();
        let first = send(&service, None, &message());
        let second = send(&service, None, &message());
        assert_eq!(first.json()["deduplicated"], json!(false));
        assert_ne!(first.id(), second.id());
        for id in [first.id(), second.id()] {
            wait_for_status(&service, &id, "sent");
        }
    }

    /// Cases 1, 9, 20: 2 processes, 10 keys, 50 requests for each let go together.
    fn of_racing_requests_through_two_processes_one_is_queued(place) {
        let services = [place.dev(), place.serve(&["--dev", "--no-dispatch"])];
        for key in 0..10 {
            let key = format!("race-{key}");
            let start = Barrier::new(50);
            let answers: Vec<_> = thread::scope(|scope| {
                let racers: Vec<_> = (0..50)
                    .map(|racer| {
                        let (service, start, key) = (&services[racer % 2], &start, &key);
                        scope.spawn(move || {
                            start.wait();
                            send(service, Some(key), &message())
                        })
                    })
                    .collect();
                racers.into_iter().map(|racer| racer.join().unwrap()).collect()
            });
            let queued = answers.iter().filter(|answer| answer.json()["status"] == "queued").count();
            assert_eq!(queued, 1, "{key}");
            assert!(answers.iter().all(|answer| answer.status == 202 && answer.id() == answers[0].id()), "{key}");
        }
    }

    /// The message stays when its key is past its retention; the key is then refused, not run again (case 39).
    fn an_expired_key_is_refused_with_the_original_status(place) {
        let service = place.serve(&["--dev", "--key-retention", "1ms", "--key-tombstone", "1h"]);
        let first = send(&service, Some("old"), &message());
        wait_for_status(&service, &first.id(), "sent");
        let late = send(&service, Some("old"), &message());
        assert_eq!(late.status, 409, "{}", late.text);
        assert_eq!(late.json()["code"], "idempotency_key_expired");
        assert_eq!(late.json()["original_status"], 202);
    }

    fn accepting_and_delivering_may_be_two_processes(place) {
        let accepting = place.serve(&["--dev", "--no-dispatch"]);
        let id = send(&accepting, Some("apart"), &message()).id();
        assert_eq!(get(&accepting, &format!("/v1/messages/{id}"), service::TOKEN).json()["status"], "queued");
        let mut command = place.command(&["dispatch", "--smtp-url", "discard:"]);
        let (mut dispatcher, lines) = testbed::Process::spawn(&mut command, testbed::Stop::Quit, &[]).unwrap();
        dispatcher.wait_for(&lines, "say `dispatching`", Duration::from_secs(30), |line| (line == "dispatching").then_some(())).unwrap();
        wait_for_status(&accepting, &id, "sent");
        assert!(dispatcher.terminate(Duration::from_secs(30)).unwrap().success());
    }
}
