//! What a plan's exchanges take on a network: the document of `dispatch predict`.

use rankscope_dispatch::network::PredictedExchange;
use serde_json::{Value, json};

use crate::network::Known;

/// All of it, exchange by exchange.
#[must_use]
pub fn document(known: &Known, exchanges: &[PredictedExchange]) -> Value {
    let total: i64 = exchanges.iter().map(|one| one.prediction.total.as_nanos()).sum();
    json!({
        "schema": 1,
        "network": {"name": known.name, "source": known.source},
        "total_ns": total,
        "exchanges": exchanges.iter().map(exchange).collect::<Vec<_>>(),
    })
}

fn exchange(one: &PredictedExchange) -> Value {
    let prediction = &one.prediction;
    let ranks = prediction.ranks.iter().enumerate().map(|(rank, times)| {
        json!({
            "rank": rank,
            "send_bytes": times.send_bytes,
            "receive_bytes": times.receive_bytes,
            "send_ns": times.send.as_nanos(),
            "receive_ns": times.receive.as_nanos(),
            "stay_ns": times.stay.as_nanos(),
        })
    });
    let links = prediction.links.iter().map(|link| {
        json!({"link": link.link.to_string(), "messages": link.messages, "bytes": link.bytes, "busy_ns": link.time.as_nanos()})
    });
    let pairs = one.traffic.pairs().iter().map(|(from, to, bytes)| json!([from.0, to.0, bytes]));
    json!({
        "exchange": one.direction.as_str(),
        "pairs": pairs.collect::<Vec<_>>(),
        "total_ns": prediction.total.as_nanos(),
        "bottleneck": prediction.bottleneck.map(|link| link.to_string()),
        "remote_bytes": one.traffic.remote_bytes(),
        "ranks": ranks.collect::<Vec<_>>(),
        "links": links.collect::<Vec<_>>(),
    })
}
