//! What a step would take without a planted cause is what the simulator says it takes without it.

use std::path::{Path, PathBuf};

use rankscope_document::WhatIfDocument;
use rankscope_job::{Changes, Job, WhatIfError, what_if};
use rankscope_testkit::simulated::{Cause, Job as Simulated, Layout, Part as Layer};
use rankscope_testkit::{Need, NodeClock, given};

use crate::answered::{FOLDERS, opened, recorded, simulated, with_executions};

/// Ranks of real jobs, each by itself, whose delays vary most.
const REAL: [&str; 7] = [
    "traces/kineto/a100_critical_path_simple_add.json.gz",
    "traces/kineto/a100_event_sync_multi_stream.json.gz",
    "traces/kineto/mi250_minitoy.json.gz",
    "traces/kineto/mi300x_resnet_act_checkpoint.json.gz",
    "traces/kineto/sampled_rank-0_of_128.json.gz",
    "traces/torch-gloo-4ranks/rank1.json.gz",
    "traces/torch-gloo-4ranks/rank3.json.gz",
];

fn job(of: &Simulated) -> Job {
    with_executions(simulated(of))
}

fn asked(job: &Job, texts: &[&str]) -> Result<WhatIfDocument, WhatIfError> {
    what_if(job, "a job", &Changes::parse(texts).expect("changes"))
}

/// What is said of the rank whose trace is at `path`, by itself.
fn alone(path: &Path) -> WhatIfDocument {
    asked(&with_executions(opened(path).into_iter().collect()), &[]).expect("an answer")
}

/// The clocks of two nodes, of which one is off.
fn far() -> Vec<NodeClock> {
    vec![NodeClock::default(), NodeClock { offset_ns: 3_000_000, drift_ppb: 20_000 }]
}

#[test]
fn taking_a_cause_away_saves_what_it_costs() {
    // A first batch is loaded before the first step begins on a device, so that its part of the cost is in no step.
    let causes = [
        (Cause::SlowKernel { rank: 3, part: Layer::Up, factor: 2.0 }, "rank:3=median", 5),
        (Cause::ThrottledCard { rank: 5, factor: 1.4 }, "rank:5=median", 5),
        (Cause::DataLoader { rank: 2, ns: 4_000_000, every: 1 }, "rank:2=median", 25),
    ];
    for (cause, change, percent) in causes {
        for clocks in [Vec::new(), far()] {
            let simulated = Simulated { cause: Some(cause), clocks, ..Simulated::default() };
            let document = asked(&job(&simulated), &[change]).expect("an answer");
            let (worth_ns, saved_ns) = (simulated.truth().worth_ns_per_step(), document.saved_ns);
            assert!(document.replay_error.abs() <= 0.02, "{cause:?}: {}", document.replay_error);
            assert!((saved_ns - worth_ns).abs() * 100 <= worth_ns * percent, "{cause:?}: {saved_ns} of {worth_ns}");
        }
    }
}

/// What one rank does longer it does between two collectives, and the rest of what goes by that name is as long as elsewhere.
#[test]
fn a_rank_is_compared_with_others_piece_by_piece() {
    let layout = |pipeline| Layout { ranks: 8, tensor: 1, pipeline, experts: pipeline == 1, gpus_per_node: 4 };
    let causes = [
        (layout(1), 1, Cause::UnevenExperts { rank: 3, factor: 2.0 }),
        (layout(2), 4, Cause::SlowKernel { rank: 3, part: Layer::Up, factor: 3.0 }),
    ];
    for (layout, microbatches, cause) in causes {
        let simulated = Simulated { layout, microbatches, clocks: far(), cause: Some(cause), ..Simulated::default() };
        let document = asked(&job(&simulated), &["rank:3=median"]).expect("an answer");
        let (worth_ns, saved_ns) = (simulated.truth().worth_ns_per_step(), document.saved_ns);
        assert!((saved_ns - worth_ns).abs() * 100 <= worth_ns * 5, "{cause:?}: {saved_ns} of {worth_ns}");
    }
}

#[test]
fn the_ranking_begins_with_what_is_wrong() {
    let layout = Layout { ranks: 4, tensor: 1, pipeline: 1, experts: false, gpus_per_node: 4 };
    let cause = Some(Cause::DataLoader { rank: 2, ns: 4_000_000, every: 1 });
    let document = asked(&job(&Simulated { layout, cause, ..Simulated::default() }), &[]).expect("an answer");
    assert_eq!(document.ranking[0].change, "rank:2=median", "{:?}", document.ranking);
    assert_eq!((document.saved_ns, document.steps, document.changes.len()), (0, 8, 0));
    let sorted = document.ranking.is_sorted_by_key(|row| row.changed_step_ns);
    assert!(sorted && document.ranking.iter().any(|row| row.change.starts_with("op:")), "{:?}", document.ranking);
}

#[test]
fn a_sweep_has_a_row_for_each_value_and_its_best_is_the_answer() {
    let document = asked(&job(&Simulated::default()), &["rank:0=2x,1x,0.5x"]).expect("an answer");
    let rows: Vec<&str> = document.ranking.iter().map(|row| row.change.as_str()).collect();
    assert_eq!(rows.len(), 3);
    assert_eq!((rows[2], document.changed_step_ns), ("rank:0=2x", document.ranking[0].changed_step_ns));
    assert_eq!(document.changes, ["rank:0=2x,1x,0.5x"]);
}

/// The repository's own recording, and those of the corpus where it is there.
#[test]
fn a_replay_that_misses_a_recorded_step_by_more_than_two_percent_says_so() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/torch-gloo-4ranks");
    let corpus = given(Need::Corpus);
    let folders = corpus.iter().flat_map(|corpus: &PathBuf| FOLDERS.map(|folder| corpus.join(folder)));
    for folder in std::iter::once(own).chain(folders) {
        let Ok(document) = asked(&with_executions(recorded(&folder)), &[]) else { continue };
        let says = document.notes.iter().any(|note| note.contains("not to be relied upon"));
        assert_eq!(says, document.replay_error.abs() > 0.02, "{}: {:?}", folder.display(), document.notes);
    }
}

#[test]
fn real_ranks_run_again_take_what_they_took() {
    let Some(corpus) = given(Need::Corpus) else { return };
    for name in REAL {
        let document = alone(&corpus.join(name));
        assert!(document.replay_error.abs() <= 0.02, "{name}: {}", document.replay_error);
    }
}

#[test]
fn stalls_that_stay_are_told_where_they_matter() {
    let Some(corpus) = given(Need::Corpus) else { return };
    let told = |name: &str| alone(&corpus.join(name)).notes.iter().any(|note| note.contains("stay as they were"));
    // Kernels of the first one start up to four seconds after their launches; the other one has warmed up.
    assert!(told("traces/kineto/a100_critical_path_simple_add.json.gz"));
    assert!(!told("traces/kineto/a100_event_sync_multi_stream.json.gz"));
}

#[test]
fn what_cannot_be_told_is_an_error_with_its_reason() {
    let job = job(&Simulated::default());
    assert!(matches!(asked(&job, &["op:aten::nothing=0.5x"]), Err(WhatIfError::Target(_))));
    let without = |answers: bool| {
        let mut job = job.clone();
        job.ranks[3].execution = None;
        job.rules.answers = answers;
        asked(&job, &[]).unwrap_err()
    };
    assert_eq!(without(false), WhatIfError::PartsWithoutAnswers);
    assert_eq!(without(true), WhatIfError::NoExecution { ranks: vec![job.ranks[3].rank] });
}
