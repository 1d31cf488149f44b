//! Jobs that were made slow on purpose, and recorded: the first advice names what was done to them.

use serde_json::{Value, json};

use crate::common::{corpus, report};

/// Rule, ranks and name of the first advice on a recorded job.
fn first(job: &str) -> Option<Value> {
    let document = report(&corpus()?.join(job), &["--no-timeline"]);
    let first = &document["advice"][0];
    Some(json!([first["rule"], first["ranks"], first["name"]]))
}

#[test]
fn a_stage_with_three_times_the_layers_is_heavy() {
    // Its process group is no pipeline's by name: only its messages are.
    let Some(first) = first("jobs/pp") else { return };
    assert_eq!(first, json!(["heavy_stage", [1], "aten::mm"]));
}

#[test]
fn a_rank_that_sleeps_where_nothing_is_recorded_is_not_blamed_on_an_operator() {
    let Some(first) = first("jobs/fsdp") else { return };
    assert_eq!(first, json!(["straggler_rank", [3], "unrecorded"]));
}

#[test]
fn a_rank_that_sleeps_in_its_loader_waits_for_data() {
    let Some(first) = first("jobs/crash") else { return };
    assert_eq!(first, json!(["data_loader", [2], "data_loading"]));
}
