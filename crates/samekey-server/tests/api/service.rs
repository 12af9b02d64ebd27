//! The real binary on a real database, driven over HTTP.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use testbed::Service;

pub(crate) const TOKEN: &str = "sk_dev_demo";

/// The stores that every test of the service runs on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Postgres,
    Sqlite,
}

/// A database with nothing in it, and a folder for the service's files.
pub(crate) struct Place {
    pub(crate) database: String,
    pub(crate) folder: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new(kind: Kind, test: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = match kind {
            Kind::Postgres => testbed::database(test),
            Kind::Sqlite => format!("sqlite:{}", folder.path().join("samekey.db").display()),
        };
        Self { database, folder }
    }

    pub(crate) fn mail(&self) -> std::path::PathBuf {
        self.folder.path().join("mail")
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Service::command(Path::new(env!("CARGO_BIN_EXE_samekey")));
        command.args(args).args(["--database", &self.database]).arg("--data-dir").arg(self.folder.path());
        command
    }

    pub(crate) fn serve(&self, args: &[&str]) -> Service {
        let mut command = self.command(&["serve", "--listen", "127.0.0.1:0"]);
        Service::start_command(command.args(args)).unwrap()
    }

    pub(crate) fn dev(&self) -> Service {
        self.serve(&["--dev"])
    }

    /// Runs a command to its end; gives the lines of its standard output.
    pub(crate) fn run(&self, args: &[&str]) -> Result<Vec<String>, String> {
        let output = self.command(args).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        if output.status.success() {
            Ok(text(output.stdout).lines().map(str::to_owned).collect())
        } else {
            Err(text(output.stderr))
        }
    }
}

/// An answer: status, headers, body.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: ureq::http::HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    pub(crate) fn id(&self) -> String {
        self.json()["id"].as_str().unwrap_or_else(|| panic!("no id: {}", self.text)).to_owned()
    }
}

pub(crate) fn agent() -> ureq::Agent {
    ureq::Agent::config_builder().http_status_as_error(false).build().into()
}

/// A message that nothing is wrong with.
pub(crate) fn message() -> Value {
    json!({"channel": "email", "to": "ada@example.org", "subject": "Shipped", "text": "On its way."})
}

pub(crate) fn post(service: &Service, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let mut request = agent().post(service.url("/v1/messages"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    answer(request.send(body).unwrap())
}

pub(crate) fn send(service: &Service, key: Option<&str>, message: &Value) -> Answer {
    let authorization = format!("Bearer {TOKEN}");
    let mut headers = vec![("authorization", authorization.as_str()), ("content-type", "application/json")];
    headers.extend(key.map(|key| ("idempotency-key", key)));
    post(service, &headers, message.to_string().as_bytes())
}

pub(crate) fn get(service: &Service, path: &str, token: &str) -> Answer {
    answer(agent().get(service.url(path)).header("authorization", format!("Bearer {token}")).call().unwrap())
}

fn answer(mut response: ureq::http::Response<ureq::Body>) -> Answer {
    Answer {
        status: response.status().as_u16(),
        headers: response.headers().clone(),
        text: response.body_mut().read_to_string().unwrap(),
    }
}

/// Asks for a message until it is in a state that satisfies `wanted`.
pub(crate) fn wait_until(service: &Service, id: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    loop {
        let shown = get(service, &format!("/v1/messages/{id}"), TOKEN).json();
        if wanted(&shown) {
            return shown;
        }
        assert!(std::time::Instant::now() < deadline, "never so: {shown}\n{}", service.stderr());
        // waits: the API offers no signal; the deadline above is the bound, this only paces the questions.
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

pub(crate) fn wait_for_status(service: &Service, id: &str, status: &str) -> Value {
    wait_until(service, id, |shown| shown["status"] == status)
}

/// Runs a test on both stores.
macro_rules! on_both_stores {
    ($($(#[$doc:meta])* fn $name:ident($place:ident) $body:block)*) => {
        $(mod $name {
            use super::*;

            $(#[$doc])*
            fn test($place: &$crate::service::Place) $body

            #[test]
            fn postgres() {
                test(&$crate::service::Place::new($crate::service::Kind::Postgres, concat!(stringify!($name), "_service")));
            }

            #[test]
            fn sqlite() {
                test(&$crate::service::Place::new($crate::service::Kind::Sqlite, stringify!($name)));
            }
        })*
    };
}

pub(crate) use on_both_stores;
