//! What a report counts of such a recording.

use rankscope_formats::{ArgsPolicy, Scope};
use rankscope_job::{Cards, Judging, Rules, TableSet};
use rankscope_pipeline::{Keep, Mapping, Quiet, Reading, ReportRequest, Request, report};

use super::sessions::LAUNCHES;
use super::stage::{Fake, Stage};

#[test]
fn a_report_counts_the_kernels_and_copies_of_a_rank() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let raw = tempfile::tempdir().unwrap();
    let stage = stage.with("RANKSCOPE_RAW_DIR", raw.path().to_string_lossy()).with("RANK", "0").with("WORLD_SIZE", "1");
    stage.play("joined", LAUNCHES);
    let reading = Reading { args: ArgsPolicy::All, scope: Scope::All };
    let rules = Rules::default();
    let mapping = Mapping { reading, rules, keep: Keep::Nothing, cards: Cards::default(), tables: TableSet::ALL };
    let job = Request { paths: vec![raw.path().to_owned()], clocks: None, mapping, judging: Judging::default() };
    let document = report(&ReportRequest::of(job), &Quiet).unwrap().document;
    let document = serde_json::to_value(&document).unwrap();
    let rank = &document["ranks"][0];
    let kernels = rank["kernels"].as_array().unwrap().iter().map(|kernel| {
        format!(
            "{} {} {} {}",
            kernel["class"].as_str().unwrap(),
            kernel["name"].as_str().unwrap(),
            kernel["count"],
            kernel["total_ns"]
        )
    });
    let mut kernels: Vec<String> = kernels.collect();
    kernels.sort();
    // Times are the recording's, which may round a nanosecond away.
    let names: Vec<&str> = kernels.iter().map(|line| line.rsplit_once(' ').unwrap().0).collect();
    let expected =
        ["compute (kernel without a name) 1", "compute gemm 1", "compute relu 1", "memcpy Memcpy HtoD (Host -> Device) 1"];
    assert_eq!((names, &rank["accounting"]), (expected.to_vec(), &"device".into()));
    let ns = |of: &str| rank["time_ns"][of].as_i64().unwrap();
    assert!(ns("computation").abs_diff(4_900) <= 6 && ns("total_memcpy").abs_diff(500) <= 2, "{}", rank["time_ns"]);
    assert_eq!(rank["copies"]["host_to_device"]["count"], 1);
}
