//! `samekey serve` and `samekey dispatch`.

use std::sync::Arc;

use samekey_core::store::Projects;
use samekey_core::tenant::ProjectId;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::options::{Dispatch, Email, Serve};
use super::{Failure, database, dispatching, logging, say};
use crate::api::{Api, Authentication, Listener, MessageRules, metrics, router};
use crate::channels::email::Draft;
use crate::intake::Intake;
use crate::store::Store;
use crate::upkeep;

const DEV_KEY: &str = "sk_dev_demo";
const DEV_PROJECT: &str = "dev";
const DEV_SENDER: &str = "Samekey <samekey@example.org>";

/// Serves until SIGTERM or SIGINT.
pub(super) async fn serve(mut options: Box<Serve>) -> Result<(), Failure> {
    logging::start(&options.logging)?;
    if options.dev {
        check_dev(&options)?;
        options.email.mail_from.get_or_insert_with(|| DEV_SENDER.to_owned());
    }
    check_sender(&options.email)?;
    let rules = options.dispatching.rules()?;
    let dev_folder = options.dev.then(|| options.database.data_dir.join("mail"));
    let transport = if options.no_dispatch { None } else { Some(options.email.transport(dev_folder)?) };
    raise_descriptor_limit();
    metrics::install();

    let store = database::open(&options.database, options.database.schema()).await?;
    let due = Arc::new(Notify::new());
    let api = api(&options, &store, &due).await?;
    let listener = Listener::bind(options.listen, options.max_connections)
        .await
        .map_err(|error| Failure::new(format!("{} cannot be listened on: {error}", options.listen)))?;
    let address = listener.address().map_err(|error| Failure::new(error.to_string()))?;

    let stop = stop_on_signal()?;
    let dispatcher = transport.map(|transport| dispatching::start(&store, transport, rules, &due, &stop));
    let upkeep = tokio::spawn(upkeep::run(store));
    say(&format!("listening on http://{address}"));
    let served = listener.serve(router(api), stop.clone()).await;
    tracing::info!(?served, "no longer listening");
    if let Some(dispatcher) = dispatcher {
        dispatcher.await.map_err(|error| Failure::new(format!("the dispatcher broke: {error}")))?;
    }
    upkeep.abort();
    Ok(())
}

/// Delivers until SIGTERM or SIGINT.
pub(super) async fn dispatch(options: Box<Dispatch>) -> Result<(), Failure> {
    logging::start(&options.logging)?;
    let rules = options.dispatching.rules()?;
    let transport = options.email.transport(None)?;
    let store = database::open(&options.database, options.database.schema()).await?;
    let stop = stop_on_signal()?;
    let upkeep = tokio::spawn(upkeep::run(store.clone()));
    say("dispatching");
    let dispatcher = dispatching::start(&store, transport, rules, &Arc::new(Notify::new()), &stop);
    dispatcher.await.map_err(|error| Failure::new(format!("the dispatcher broke: {error}")))?;
    upkeep.abort();
    Ok(())
}

async fn api(options: &Serve, store: &Store, due: &Arc<Notify>) -> Result<Api, Failure> {
    let recipe = MessageRules::recipe();
    let mut authentication = Authentication::new(store.clone());
    if options.dev {
        authentication = authentication.knowing(DEV_KEY, dev_project(store).await?);
    }
    Ok(Api {
        recipe: store.recipe(&recipe).await?,
        intake: Intake::open(store, due),
        authentication,
        rules: MessageRules {
            default_sender: options.email.mail_from.clone(),
            retention: options.key_retention,
            tombstone: options.key_tombstone,
            recipe,
        },
        store: store.clone(),
    })
}

/// The project of the demo key. The key itself is never stored: served without `--dev`, the database does not know it.
async fn dev_project(store: &Store) -> Result<ProjectId, Failure> {
    if let Some(project) = store.create_project(DEV_PROJECT).await? {
        return Ok(project.id);
    }
    let projects = store.projects().await?;
    let dev = projects.into_iter().find(|project| project.name == DEV_PROJECT);
    dev.map(|project| project.id).ok_or_else(|| Failure::new("the project `dev` came and went"))
}

fn check_dev(options: &Serve) -> Result<(), Failure> {
    if options.listen.ip().is_loopback() {
        return Ok(());
    }
    Err(Failure::new(format!(
        "--dev knows the public key {DEV_KEY} and therefore listens on loopback only, not on {}",
        options.listen
    )))
}

/// A default sender that no message could be sent from is a fault of the set-up.
fn check_sender(email: &Email) -> Result<(), Failure> {
    let Some(from) = email.mail_from.as_deref() else { return Ok(()) };
    let draft = Draft { to: "a@example.org", from, reply_to: None, subject: "", text: Some("x"), html: None };
    match draft.faults().into_iter().find(|fault| fault.pointer == "/from") {
        Some(fault) => Err(Failure::new(format!("--mail-from: {}", fault.detail))),
        None => Ok(()),
    }
}

/// Cancelled by the first SIGTERM or SIGINT. A second one ends the process at once, as a kill would.
fn stop_on_signal() -> Result<CancellationToken, Failure> {
    let failed = |error: std::io::Error| Failure::new(format!("signals cannot be heard: {error}"));
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let stop = CancellationToken::new();
    let stopping = stop.clone();
    tokio::spawn(async move {
        for patience in ["finishing what is in hand", "ending at once"] {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            tracing::info!("told to stop: {patience}");
            if stopping.is_cancelled() {
                std::process::exit(1);
            }
            stopping.cancel();
        }
    });
    Ok(stop)
}

/// Each connection is a descriptor, and shells hand out few.
fn raise_descriptor_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::debug!(%error, "the limit of open files stays as it is");
    }
}
