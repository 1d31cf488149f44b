//! Our layer for programs that speak `tracing`, and what of its cost is the registry's.

use std::time::{Duration, Instant};

use anyhow::Result;
use rankscope_record::{RecordingLayer, Session};
use tracing_subscriber::layer::SubscriberExt;

use crate::ours;

/// The layer, and nobody records.
pub fn off(layer: RecordingLayer) -> Result<impl FnMut(u64) -> Duration> {
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer))?;
    Ok(spans)
}

/// The registry without a layer: what every layer stands on.
pub fn registry() -> Result<impl FnMut(u64) -> Duration> {
    tracing::subscriber::set_global_default(tracing_subscriber::registry())?;
    Ok(spans)
}

/// The layer, recording.
pub fn on() -> Result<impl FnMut(u64) -> Duration> {
    let mut turn = off(RecordingLayer::new().alone())?;
    let session = Session::start(ours::options())?;
    Ok(move |spans| {
        let _kept = &session;
        turn(spans)
    })
}

fn spans(spans: u64) -> Duration {
    let begun = Instant::now();
    for _ in 0..spans {
        let _span = tracing::info_span!("span").entered();
    }
    begun.elapsed()
}
