//! Metrics in Prometheus' text format.
//!
//! Counters are kept by the process; what only the store knows (the backlog) is asked for when somebody looks, at most
//! once every few seconds.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use metrics::{counter, describe_counter, describe_gauge, gauge};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use samekey_core::message::ChannelKind;
use samekey_core::store::Messages;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::Api;

/// The backlog is not asked for more often.
const FRESH_FOR: Duration = Duration::from_secs(5);

static RECORDER: OnceLock<PrometheusHandle> = OnceLock::new();
static ASKED: Mutex<Option<Instant>> = Mutex::const_new(None);

/// Starts counting. Further calls change nothing.
pub fn install() {
    RECORDER.get_or_init(|| {
        let recorder = PrometheusBuilder::new().build_recorder();
        let handle = recorder.handle();
        // Fails only where somebody else counts already; then they also show.
        let _ = metrics::set_global_recorder(recorder);
        describe();
        handle
    });
}

fn describe() {
    describe_counter!("samekey_requests_total", "Requests to accept a message, by what was answered");
    describe_counter!("samekey_attempts_total", "Attempts that ended, by channel and outcome");
    describe_counter!("samekey_deliveries_total", "Deliveries that became final, by channel and state");
    describe_counter!("samekey_lease_losses_total", "Attempts that ended after their lease, by channel");
    describe_counter!("samekey_swept_keys_total", "Message keys removed after their retention");
    describe_counter!(
        "samekey_abandoned_records_total",
        "Records that nobody came back for in time, and that are unknown now"
    );
    describe_gauge!(
        "samekey_backlog_due",
        "Deliveries due and not in hand, by channel (counted up to 100,000)"
    );
    describe_gauge!("samekey_backlog_sending", "Deliveries in hand, by channel");
    describe_gauge!(
        "samekey_backlog_oldest_due_seconds",
        "How long the oldest due delivery has been due, by channel"
    );
    describe_gauge!("samekey_store_up", "1 while the store answers");
}

/// One request to accept a message was answered like this.
pub(super) fn count_request(outcome: &'static str) {
    counter!("samekey_requests_total", "outcome" => outcome).increment(1);
}

/// Everything that is counted.
pub(super) async fn show(State(api): State<Arc<Api>>) -> Response {
    ask_for_backlog(&api).await;
    let text = RECORDER.get().map(PrometheusHandle::render).unwrap_or_default();
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}

async fn ask_for_backlog(api: &Api) {
    let mut asked = ASKED.lock().await;
    if asked.is_some_and(|last| last.elapsed() < FRESH_FOR) {
        return;
    }
    *asked = Some(Instant::now());
    for channel in ChannelKind::ALL {
        let backlog = tokio::time::timeout(Duration::from_secs(2), api.store.backlog(channel)).await;
        let Ok(Ok(backlog)) = backlog else {
            gauge!("samekey_store_up").set(0.0);
            return;
        };
        let name = channel.word();
        gauge!("samekey_store_up").set(1.0);
        gauge!("samekey_backlog_due", "channel" => name).set(approximately(backlog.due));
        gauge!("samekey_backlog_sending", "channel" => name).set(approximately(backlog.sending));
        gauge!("samekey_backlog_oldest_due_seconds", "channel" => name).set(backlog.oldest_due.as_secs_f64());
    }
}

/// Counts below 2^52 are exact as a double, and more rows there are not.
#[expect(clippy::cast_precision_loss, reason = "see above")]
fn approximately(count: u64) -> f64 {
    count as f64
}
