//! The e-mail channel against a real SMTP server.
#![cfg(test)]

use std::future::{pending, ready};
use std::sync::Arc;
use std::time::Duration;

use samekey_core::UnixMs;
use samekey_core::delivery::Ending;
use samekey_server::channels::email::{Composed, Draft, SmtpTransport, Transport};
use testbed::{Smtp, SmtpOptions, SmtpTls};

const LIMIT: Duration = Duration::from_secs(20);

fn mail(to: &str) -> Composed {
    let draft = Draft {
        to,
        from: "Shop <shop@example.com>",
        reply_to: Some("help@example.com"),
        subject: "Bestellung nº 7 — unterwegs",
        text: Some("Grüße,\n.\nein Punkt allein, und eine Zeile mit viel Text: ".repeat(20).leak()),
        html: Some("<p>Grüße</p>"),
    };
    draft.compose("the-outgoing-id", UnixMs(1_796_083_200_000)).unwrap()
}

fn transport(smtp: &Smtp) -> Transport {
    Transport::Smtp(SmtpTransport::new(&smtp.url(), smtp.authority()).unwrap())
}

async fn send(transport: &Transport, to: &str, limit: Duration) -> Ending {
    transport.send(&mail(to), "msg_1", limit, pending()).await
}

fn plain() -> Smtp {
    Smtp::start(SmtpOptions::default()).unwrap()
}

#[tokio::test]
async fn what_arrives_is_what_was_composed() {
    let smtp = plain();
    let ending = send(&transport(&smtp), "Ada Ä <ada@example.org>", LIMIT).await;
    assert!(matches!(ending, Ending::Sent { .. }), "{ending:?}");
    let received = smtp.wait_for(1).unwrap().remove(0);
    assert_eq!(
        (received.from.as_str(), received.rcpt.as_slice()),
        ("shop@example.com", &["ada@example.org".to_owned()][..])
    );
    assert_eq!(received.header("message-id").as_deref(), Some("<the-outgoing-id@example.com>"));
    let composed = mail("Ada Ä <ada@example.org>").bytes;
    assert_eq!(
        String::from_utf8_lossy(&received.bytes).trim_end(),
        String::from_utf8_lossy(&composed).trim_end()
    );
}

/// Read by somebody else's parser: Python's.
#[tokio::test]
async fn another_parser_reads_the_same_fields() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mail.eml");
    std::fs::write(&file, mail("Ada Ä <ada@example.org>").bytes).unwrap();
    let script = "import email, email.policy, sys, json
m = email.message_from_binary_file(open(sys.argv[1], 'rb'), policy=email.policy.default)
print(json.dumps([m['to'], m['subject'], m['reply-to'], m.get_body(('plain',)).get_content(), m.get_body(('html',)).get_content(), [str(d) for d in m.defects]]))";
    let output = std::process::Command::new("python3").args(["-c", script]).arg(&file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(read[0], "Ada Ä <ada@example.org>");
    assert_eq!(read[1], "Bestellung nº 7 — unterwegs");
    assert_eq!(read[2], "help@example.com");
    assert!(read[3].as_str().unwrap().starts_with("Grüße,\n.\nein Punkt allein"), "{}", read[3]);
    assert_eq!(read[4].as_str().unwrap().trim_end(), "<p>Grüße</p>");
    assert_eq!(read[5], serde_json::json!([]));
}

#[tokio::test]
async fn the_servers_word_is_definite() {
    let smtp = plain();
    let transport = transport(&smtp);
    for (to, refused) in [
        ("refuse-550@example.org", true),
        ("defer-451@example.org", false),
        ("data-550@example.org", true),
        ("data-451@example.org", false),
    ] {
        match send(&transport, to, LIMIT).await {
            Ending::Refused { detail } if refused => assert!(detail.contains("550"), "{to}: {detail}"),
            Ending::Deferred { detail, .. } if !refused => assert!(detail.contains("451"), "{to}: {detail}"),
            other => panic!("{to}: {other:?}"),
        }
    }
    // The connection survives a refusal.
    assert!(matches!(send(&transport, "ada@example.org", LIMIT).await, Ending::Sent { .. }));
}

/// Case 65: the connection is lost after the final dot.
#[tokio::test]
async fn a_lost_answer_is_ambiguous_and_the_next_attempt_is_the_same_mail() {
    let smtp = plain();
    let transport = transport(&smtp);
    let ending = send(&transport, "drop-after-dot-once@example.org", LIMIT).await;
    assert!(matches!(&ending, Ending::Ambiguous { .. }), "{ending:?}");
    assert!(matches!(send(&transport, "drop-after-dot-once@example.org", LIMIT).await, Ending::Sent { .. }));
    let received = smtp.wait_for(2).unwrap();
    assert_eq!(received[0].bytes, received[1].bytes);
}

#[tokio::test]
async fn a_connection_lost_before_the_content_left_is_not() {
    let smtp = plain();
    let ending = send(&transport(&smtp), "drop-at-data@example.org", LIMIT).await;
    assert!(matches!(&ending, Ending::Deferred { .. }), "{ending:?}");
    assert_eq!(smtp.messages().unwrap().len(), 0);
}

#[tokio::test]
async fn an_answer_that_is_too_slow_is_ambiguous() {
    let smtp = plain();
    let ending = send(&transport(&smtp), "slow-dot-30000@example.org", Duration::from_millis(500)).await;
    assert!(matches!(&ending, Ending::Ambiguous { .. }), "{ending:?}");
}

#[tokio::test]
async fn a_stop_before_the_mail_left_is_not_ambiguous_and_one_after_it_is() {
    let smtp = Arc::new(plain());
    let transport = transport(&smtp);
    let mail = mail("slow-dot-30000@example.org");
    let at_once = transport.send(&mail, "msg_1", LIMIT, ready(())).await;
    assert!(matches!(&at_once, Ending::Deferred { .. }), "{at_once:?}");
    let arrived = smtp.clone();
    let stop = async move { drop(tokio::task::spawn_blocking(move || arrived.wait_for(1)).await) };
    let in_mid_answer = transport.send(&mail, "msg_1", LIMIT, stop).await;
    assert!(matches!(&in_mid_answer, Ending::Ambiguous { .. }), "{in_mid_answer:?}");
}

#[tokio::test]
async fn a_server_that_is_away_is_deferred() {
    let url = format!("smtp://127.0.0.1:{}", testbed::free_port().unwrap());
    let transport = Transport::Smtp(SmtpTransport::new(&url, None).unwrap());
    let ending = send(&transport, "ada@example.org", LIMIT).await;
    assert!(
        matches!(&ending, Ending::Deferred { detail, .. } if detail.contains("no connection")),
        "{ending:?}"
    );
}

#[tokio::test]
async fn tls_and_login_work_and_a_stranger_is_not_trusted() {
    for tls in [SmtpTls::StartTls, SmtpTls::Implicit] {
        let smtp = Smtp::start(SmtpOptions::default().tls(tls).login("user", "secret")).unwrap();
        let ending = send(&transport(&smtp), "ada@example.org", LIMIT).await;
        assert!(matches!(&ending, Ending::Sent { .. }), "{tls:?}: {ending:?}");
        let received = smtp.wait_for(1).unwrap().remove(0);
        assert!(received.tls && received.login.is_some(), "{tls:?}: {received:?}");

        let stranger = Transport::Smtp(SmtpTransport::new(&smtp.url(), None).unwrap());
        let ending = send(&stranger, "ada@example.org", LIMIT).await;
        let Ending::Deferred { detail, .. } = &ending else { panic!("{tls:?}: {ending:?}") };
        assert!(detail.to_lowercase().contains("certificate") && !detail.contains("secret"), "{detail}");
    }
}

#[tokio::test]
async fn a_wrong_password_is_deferred_and_not_repeated() {
    let smtp = Smtp::start(SmtpOptions::default().tls(SmtpTls::StartTls).login("user", "secret")).unwrap();
    let url = smtp.url().replace("secret", "wrong");
    let transport = Transport::Smtp(SmtpTransport::new(&url, smtp.authority()).unwrap());
    let Ending::Deferred { detail, .. } = send(&transport, "ada@example.org", LIMIT).await else {
        panic!("let in")
    };
    assert!(detail.contains("535") && !detail.contains("wrong"), "{detail}");
}
