//! Projects and API keys: whose messages they are.

use crate::service::{self, get, message, on_both_stores, post};

fn send_as(service: &testbed::Service, token: &str, key: &str) -> service::Answer {
    let authorization = format!("Bearer {token}");
    let headers = [
        ("authorization", authorization.as_str()),
        ("content-type", "application/json"),
        ("idempotency-key", key),
    ];
    let mut body = message();
    body["from"] = serde_json::json!("shop@example.org");
    post(service, &headers, body.to_string().as_bytes())
}

on_both_stores! {
    fn a_key_means_nothing_outside_its_project(place) {
        let mut tokens = Vec::new();
        for project in ["ada", "bob"] {
            place.run(&["projects", "create", project]).unwrap();
            let lines = place.run(&["api-keys", "create", "--project", project]).unwrap();
            tokens.push(lines.last().unwrap().clone());
        }
        assert!(tokens.iter().all(|token| token.starts_with("sk_") && token.len() == 35), "{tokens:?}");
        let service = place.serve(&["--smtp-url", "discard:"]);
        let ada = send_as(&service, &tokens[0], "order-1");
        let bob = send_as(&service, &tokens[1], "order-1");
        assert_eq!((ada.json()["status"].as_str(), bob.json()["status"].as_str()), (Some("queued"), Some("queued")));
        assert_ne!(ada.id(), bob.id());
        let path = format!("/v1/messages/{}", ada.id());
        assert_eq!(get(&service, &path, &tokens[0]).status, 200);
        assert_eq!(get(&service, &path, &tokens[1]).status, 404);
        assert_eq!(get(&service, &path, service::TOKEN).status, 401, "the demo key is for --dev alone");
    }

    fn a_revoked_key_opens_nothing_and_no_key_is_kept(place) {
        place.run(&["projects", "create", "shop"]).unwrap();
        assert!(place.run(&["projects", "create", "shop"]).unwrap_err().contains("already"));
        let lines = place.run(&["api-keys", "create", "--project", "shop"]).unwrap();
        let token = lines.last().unwrap().clone();
        let listed = place.run(&["api-keys", "list", "--project", "shop"]).unwrap();
        assert!(listed[0].contains("live") && listed[0].contains(&token[31..]) && !listed[0].contains(&token), "{listed:?}");
        let id = listed[0].split('\t').next().unwrap().to_owned();
        place.run(&["api-keys", "revoke", &id, "--project", "shop"]).unwrap();
        assert!(place.run(&["api-keys", "revoke", &id, "--project", "shop"]).is_err());
        let service = place.serve(&["--smtp-url", "discard:"]);
        assert_eq!(send_as(&service, &token, "k").status, 401);
        assert!(place.run(&["api-keys", "create", "--project", "none"]).unwrap_err().contains("projects create none"));
    }
}
