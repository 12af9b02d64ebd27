//! What follows an attempt: the real service, a real mail server, and its faults.

use serde_json::{Value, json};
use testbed::{Service, Smtp, SmtpOptions};

use crate::service::{Place, message, on_both_stores, send, wait_for_status, wait_until};

const QUICK: [&str; 6] = ["--retry-schedule", "10ms,10ms,10ms", "--send-timeout", "5s", "--lease", "10s"];

fn serve(place: &Place, smtp_url: &str, more: &[&str]) -> Service {
    place.serve(&[&["--dev", "--smtp-url", smtp_url], &QUICK[..], more].concat())
}

fn send_to(service: &Service, to: &str) -> String {
    let mut message = message();
    message["to"] = json!(to);
    send(service, Some(to), &message).id()
}

fn outcomes(shown: &Value) -> Vec<&str> {
    shown["attempts"].as_array().unwrap().iter().map(|attempt| attempt["outcome"].as_str().unwrap()).collect()
}

on_both_stores! {
    fn a_mail_that_is_put_off_is_tried_again(place) {
        let smtp = Smtp::start(SmtpOptions::default()).unwrap();
        let service = serve(place, &smtp.url(), &[]);
        let shown = wait_for_status(&service, &send_to(&service, "greylist-once@example.org"), "sent");
        assert_eq!((outcomes(&shown), &shown["maybe_sent"]), (vec!["deferred", "sent"], &json!(false)), "{shown}");
        assert_eq!(smtp.messages().unwrap().len(), 1);
    }

    fn a_refused_mail_is_a_dead_letter_at_once(place) {
        let smtp = Smtp::start(SmtpOptions::default()).unwrap();
        let service = serve(place, &smtp.url(), &[]);
        let shown = wait_for_status(&service, &send_to(&service, "refuse-550@example.org"), "failed");
        assert_eq!((outcomes(&shown), &shown["maybe_sent"]), (vec!["refused"], &json!(false)), "{shown}");
        assert!(shown["attempts"][0]["detail"].as_str().unwrap().contains("550"), "{shown}");
    }

    fn retries_are_used_up_and_then_it_is_a_dead_letter(place) {
        let smtp = Smtp::start(SmtpOptions::default()).unwrap();
        let service = serve(place, &smtp.url(), &[]);
        let shown = wait_for_status(&service, &send_to(&service, "defer-451@example.org"), "failed");
        assert_eq!(outcomes(&shown), ["deferred"; 4], "{shown}");
    }

    fn a_lost_answer_is_tried_again_as_the_same_mail(place) {
        let smtp = Smtp::start(SmtpOptions::default()).unwrap();
        let service = serve(place, &smtp.url(), &[]);
        let shown = wait_for_status(&service, &send_to(&service, "drop-after-dot-once@example.org"), "sent");
        assert_eq!((outcomes(&shown), &shown["maybe_sent"]), (vec!["ambiguous", "sent"], &json!(true)), "{shown}");
        let mails = smtp.messages().unwrap();
        assert_eq!(mails.len(), 2);
        assert_eq!(mails[0].bytes, mails[1].bytes);
    }

    fn answers_that_are_lost_for_ever_are_unknown_and_never_failed(place) {
        let smtp = Smtp::start(SmtpOptions::default()).unwrap();
        let service = serve(place, &smtp.url(), &[]);
        let shown = wait_for_status(&service, &send_to(&service, "drop-after-dot@example.org"), "unknown");
        assert_eq!(outcomes(&shown), ["ambiguous"; 4], "{shown}");
    }

    fn under_at_most_once_a_lost_answer_is_unknown_at_once(place) {
        let smtp = Smtp::start(SmtpOptions::default()).unwrap();
        let service = serve(place, &smtp.url(), &["--email-policy", "at-most-once"]);
        let shown = wait_for_status(&service, &send_to(&service, "drop-after-dot@example.org"), "unknown");
        assert_eq!(outcomes(&shown), ["ambiguous"], "{shown}");
        assert_eq!(smtp.messages().unwrap().len(), 1);
    }

    /// The service accepts while the mail server is away, and catches up when it is back.
    fn a_mail_server_that_comes_back_gets_what_was_accepted(place) {
        let port = testbed::free_port().unwrap();
        let schedule = ["--retry-schedule", "50ms,200ms,500ms,2s,2s,2s,2s"];
        let url = format!("smtp://127.0.0.1:{port}");
        let service = place.serve(&[&["--dev", "--smtp-url", &url], &schedule[..]].concat());
        let id = send_to(&service, "ada@example.org");
        wait_until(&service, &id, |shown| shown["attempts"].as_array().is_some_and(|attempts| !attempts.is_empty()));
        let smtp = Smtp::start(SmtpOptions::default().port(port)).unwrap();
        let shown = wait_for_status(&service, &id, "sent");
        assert_eq!((&shown["attempts"][0]["outcome"], &shown["maybe_sent"]), (&json!("deferred"), &json!(false)));
        assert_eq!(smtp.messages().unwrap().len(), 1);
    }
}
