//! `align --from-traces`: clocks out of the collectives of files.

use crate::common::{corpus, fixture, rankscope, write_job};
use rankscope_testkit::{Job, NodeClock, Straggler};
use serde_json::Value;

fn from_traces(path: &std::path::Path) -> Value {
    let output = rankscope(&["align", &path.display().to_string(), "--from-traces", "--format", "json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

fn number(row: &Value, key: &str) -> i64 {
    row[key].as_i64().unwrap_or_else(|| panic!("{key} in {row}"))
}

#[test]
fn gloo_on_one_host_is_left_as_it_is() {
    let document = from_traces(&fixture("torch-gloo-4ranks"));
    assert_eq!(
        (&document["method"], &document["matched"], &document["unmatched"]),
        (&"as_recorded".into(), &30.into(), &0.into())
    );
    for row in document["ranks"].as_array().expect("ranks") {
        assert!(number(row, "bound_lo_ns") <= 0 && 0 <= number(row, "bound_hi_ns"), "{row}");
        assert_eq!((number(row, "offset_ns"), number(row, "drift_ppb"), &row["applied"]), (0, 0, &false.into()));
    }
}

/// Ranks of nodes of eight, of which every second has another clock.
fn nodes(ranks: u32, group_size: Option<u32>) -> Job {
    let clocks: Vec<_> = (0..i64::from(ranks.div_ceil(8)))
        .map(|node| NodeClock { offset_ns: node * 700_000, drift_ppb: if node == 0 { 0 } else { 4_000 - node * 500 } })
        .collect();
    let straggler = Some(Straggler { rank: ranks - 1, factor: 1.2 });
    let per_node = if ranks < 8 { 1 } else { 8 };
    Job {
        ranks,
        steps: 2,
        group_size,
        straggler,
        clocks,
        gpus_per_node: per_node,
        ops_per_step: 16,
        python_frames: 0,
        ..Job::default()
    }
}

#[test]
fn jobs_of_every_size_have_an_answer_that_holds() {
    for (ranks, group_size) in [(1, None), (2, None), (8, Some(4)), (16, Some(8)), (64, Some(8))] {
        let job = nodes(ranks, group_size);
        let document = from_traces(write_job(&job).path());
        let rows = document["ranks"].as_array().expect("ranks");
        assert_eq!(rows.len(), ranks as usize);
        let truth = job.truth();
        for (row, clock) in rows.iter().zip(&truth.clocks) {
            // At the start of the job, which is when the traces begin.
            let (offset, expected) = (number(row, "offset_ns"), clock.offset_ns - truth.clocks[0].offset_ns);
            assert!((offset - expected).abs() <= 1_500, "{ranks} ranks: {row}, truly {expected}");
            let (lo, hi) = (number(row, "bound_lo_ns"), number(row, "bound_hi_ns"));
            assert!(lo <= expected && expected <= hi && lo <= offset && offset <= hi, "{ranks} ranks: {row}");
        }
        assert_eq!(document["unmatched"], 0);
    }
}

#[test]
fn the_table_says_what_it_is() {
    let out = tempfile::tempdir().expect("a temporary directory");
    let (traces, out) = (fixture("torch-gloo-4ranks").display().to_string(), out.path().display().to_string());
    let output = rankscope(&["align", &traces, "--from-traces", "--out", &out]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("at least us") && text.contains("measured clocks would be more certain"), "{text}");
}

/// Two nodes whose clocks leave open who is late.
#[test]
fn what_hangs_on_the_clocks_is_said_in_sentences() {
    let job = Job { straggler: Some(Straggler { rank: 1, factor: 1.001 }), ..nodes(2, None) };
    let (traces, out) = (write_job(&job), tempfile::tempdir().expect("a temporary directory"));
    let (traces, out) = (traces.path().display().to_string(), out.path().display().to_string());
    let output = rankscope(&["align", &traces, "--from-traces", "--out", &out]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("With the clock of rank 1 at the ") && text.contains(" would be rank "), "{text}");
}

#[test]
fn clocks_put_on_a_real_trace_are_found_again() {
    let Some(corpus) = corpus() else { return };
    let python = std::env::var_os("RANKSCOPE_PYTHON").unwrap_or_else(|| "python3".into());
    let script = corpus.parent().expect("a folder").join("tools/gen_multirank.py");
    if !std::process::Command::new(&python).args(["-c", "import orjson"]).output().is_ok_and(|done| done.status.success()) {
        rankscope_testkit::skip(rankscope_testkit::Need::Orjson, "no Python with orjson; RANKSCOPE_PYTHON may name one");
        return;
    }
    for (seed, noise_us, off_us_max) in [(31, "0", 1.0), (32, "0", 1.0), (33, "300", 5.0)] {
        let out = tempfile::tempdir().expect("a temporary directory");
        let base = corpus.join("traces/kineto/a100_nccl_data.json.gz");
        let options = "--ranks 4 --gpus-per-node 2 --offset-ms 3 --drift-ppm 10 --straggler 3:1.08 --repeat 2 --gz";
        let made = std::process::Command::new(&python)
            .arg(&script)
            .args([base.as_path(), out.path()])
            .args(options.split(' '))
            .args(["--seed", &seed.to_string(), "--end-noise-us", noise_us])
            .status();
        assert!(made.expect("it runs").success());
        let truth: Value = serde_json::from_slice(&std::fs::read(out.path().join("truth.json")).expect("truth")).expect("JSON");
        std::fs::remove_file(out.path().join("truth.json")).expect("removed");
        let document = from_traces(out.path());
        for (at, row) in document["ranks"].as_array().expect("ranks").iter().enumerate() {
            let expected_us = truth["clock_offset_us"][at].as_f64().expect("an offset");
            let found_us = number(row, "offset_ns") as f64 / 1e3;
            assert!((found_us - expected_us).abs() <= off_us_max, "seed {seed}: {row}, truly {expected_us}");
            let (lo, hi) = (number(row, "bound_lo_ns") as f64 / 1e3, number(row, "bound_hi_ns") as f64 / 1e3);
            assert!(lo <= expected_us && expected_us <= hi, "seed {seed}: {row}, truly {expected_us}");
        }
    }
}
