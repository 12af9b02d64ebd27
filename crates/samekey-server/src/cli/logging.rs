//! The log, on standard error.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::Layer;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::Failure;
use super::options::{LogFormat, Logging};

/// Starts logging. A second start changes nothing.
pub(super) fn start(logging: &Logging) -> Result<(), Failure> {
    let filter = EnvFilter::try_new(&logging.log)
        .map_err(|error| Failure::new(format!("--log: {error}; write `info` or `info,samekey=debug`")))?;
    let registry = tracing_subscriber::registry().with(filter);
    let lines = Layer::new().with_writer(std::io::stderr);
    let started = match logging.log_format {
        LogFormat::Text => registry.with(lines).try_init(),
        LogFormat::Json => registry.with(lines.json().flatten_event(true)).try_init(),
    };
    drop(started);
    Ok(())
}
