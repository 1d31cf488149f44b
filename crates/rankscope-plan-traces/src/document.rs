//! What was found, as a document.

use rankscope_dispatch::network::PredictedExchange;
use rankscope_dispatch::network::measured::Comparison;
use rankscope_job::Job;
use rankscope_plan_files::network::Known;
use serde_json::{Value, json};

use crate::{Met, MetExchange};

/// What `met` says of `plan` on the network `known`: one entry an exchange that was seen, with its ranks and links. Times are in nanoseconds.
pub fn document(met: &Met, plan: &[PredictedExchange], known: &Known, job: &Job) -> Value {
    json!({
        "schema": 1,
        "network": {"name": known.name, "source": known.source},
        "clocks": job.clocks.method.name(),
        "notes": job.notes,
        "contradicted": met.contradicted(),
        "others": met.others,
        "incomplete": met.incomplete,
        "exchanges": met.exchanges.iter().map(|one| exchange(one, plan)).collect::<Vec<_>>(),
    })
}

fn exchange(one: &MetExchange, plan: &[PredictedExchange]) -> Value {
    let Comparison { transfer, predicted, arrival_skew, last, ranks, links, slowest_pair } = &one.comparison;
    let ranks = ranks.iter().map(|rank| {
        json!({
            "rank": rank.rank.0,
            "wait_ns": rank.wait.as_nanos(),
            "transfer_ns": rank.transfer.as_nanos(),
            "predicted_ns": rank.predicted.as_nanos(),
            "ratio": rank.ratio(),
        })
    });
    let links = links.iter().map(|link| {
        json!({
            "link": link.link.to_string(),
            "bytes": link.bytes,
            "transfer_ns": link.transfer.map(|span| span.as_nanos()),
            "predicted_ns": link.predicted.as_nanos(),
            "ratio": link.ratio(),
        })
    });
    json!({
        "exchange": plan[one.which].direction.as_str(),
        "transfer_ns": transfer.as_nanos(),
        "predicted_ns": predicted.as_nanos(),
        "ratio": one.comparison.ratio(),
        "arrival_skew_ns": arrival_skew.as_nanos(),
        "last_rank": last.0,
        "slowest_pair": slowest_pair.map(|(from, to)| [from.0, to.0]),
        "counted_ranks": one.counted_ranks,
        "contradictions": one.contradictions.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "ranks": ranks.collect::<Vec<_>>(),
        "links": links.collect::<Vec<_>>(),
    })
}
