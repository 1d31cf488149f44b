//! That the binary reads simulated jobs as it reads real ones: without a problem, with all steps, every collective matched. What is
//! wrong with such a job is known; the tests of the answers build on these.

use std::fs::File;
use std::io::BufWriter;

use crate::common::report;
use rankscope_testkit::Dialect;
use rankscope_testkit::simulated::{CauseKind, Job};
use serde_json::Value;

fn reported(job: &Job) -> Value {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let run = job.run();
    for rank in 0..job.layout.ranks {
        let file = File::create(directory.path().join(format!("rank{rank}.json"))).expect("created");
        run.rank_json(rank, &Dialect::default(), &mut BufWriter::new(file)).expect("written");
    }
    report(directory.path(), &[])
}

#[test]
fn simulated_jobs_are_read_without_a_problem() {
    let kinds = [None, Some(CauseKind::SlowLink), Some(CauseKind::UnevenExperts), Some(CauseKind::GarbageCollection)];
    for (kind, seed) in kinds.into_iter().zip(1..) {
        let job = Job { steps: 4, ..Job::drawn_of(kind, seed, 8) };
        let said = reported(&job);
        let ranks = said["ranks"].as_array().expect("a list of ranks");
        assert_eq!(ranks.len(), 8);
        for rank in ranks {
            assert_eq!(rank["problems"].as_array().map(Vec::len), Some(0), "{kind:?}: {}", rank["problems"]);
            assert_eq!(rank["steps"].as_array().map(Vec::len), Some(4), "{kind:?}: {}", rank["steps"]);
        }
        assert_eq!(said["collectives"]["unmatched"], 0, "{kind:?}");
        assert!(said["collectives"]["matched"].as_u64().is_some_and(|matched| matched > 0), "{kind:?}");
    }
}

#[test]
fn a_slow_loader_makes_its_rank_late() {
    let job = Job::drawn_of(Some(CauseKind::DataLoader), 4, 4);
    let verdict = &reported(&job)["verdict"];
    assert_eq!(verdict["late"][0]["rank"], job.truth().ranks[0], "{verdict}");
}
