//! A step played in time: the document of `dispatch simulate --events`.

use rankscope_dispatch::events::{Outcome, Scene};
use serde_json::{Value, json};

use crate::network::Known;

/// The step, and what the same would take otherwise.
#[must_use]
pub fn document(scene: &Scene, known: &Known) -> Value {
    let step = &scene.step;
    let outcome = |outcome: &Outcome| {
        let ranks = outcome.ranks.iter().enumerate().map(|(rank, time)| {
            json!({
                "rank": rank,
                "computation_ns": time.computation.as_nanos(),
                "copies_ns": time.copies.as_nanos(),
                "exposed_ns": time.exposed.as_nanos(),
                "idle_ns": time.idle.as_nanos(),
                "exchanges_ns": time.exchanges.as_nanos(),
                "waiting_ns": time.waiting.as_nanos(),
                "buffer_bytes": time.buffer_bytes,
            })
        });
        json!({
            "makespan_ns": outcome.makespan.as_nanos(),
            "idle_share": outcome.idle_share(),
            "buffer_bytes": outcome.buffer_bytes(),
            "ranks": ranks.collect::<Vec<_>>(),
        })
    };
    let exchanges =
        scene.exchanges().into_iter().map(|(direction, bytes)| json!({"exchange": direction.as_str(), "remote_bytes": bytes}));
    json!({
        "schema": 1,
        "network": {"name": known.name, "source": known.source},
        "layers": step.layers,
        "stages": step.stages,
        "microbatches": step.microbatches.len(),
        "nano_batches": step.nano_batches,
        "exchanges": exchanges.collect::<Vec<_>>(),
        "played": outcome(&scene.played),
        "without_overlap": scene.without_overlap.as_ref().map(outcome),
        "undispatched": outcome(&scene.undispatched),
    })
}
