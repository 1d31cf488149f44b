//! Processes that are ranks of a run, each in a process of its own because what makes them so is the environment.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test of what ranks leave, one of which says when it works")]

mod child;
mod vendor;

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use rankscope_formats::{ReadOptions, recording};
use rankscope_record::plugins::{PluginError, ProfilerPlugin, Registry, TraceSink};
use rankscope_record::snapshots::{NoClock, TracerReader};
use rankscope_record::{SessionOptions, TestClock, join_run, join_run_with, record_function, set_host_name};
use rankscope_time::Rank;
use rankscope_trace::{HostClock, Trace};

/// How far ahead the bent clock is, and how much it gains: a thousandth.
const AHEAD_NS: i64 = 86_400_000_000_000;

/// A plugin that says when its session ends.
struct Beside;

impl ProfilerPlugin for Beside {
    fn name(&self) -> &str {
        "beside"
    }

    fn export_data(&mut self, sink: &mut TraceSink<'_>) -> Result<(), PluginError> {
        sink.metadata("ended", "true");
        Ok(())
    }
}

#[test]
#[ignore = "what the other tests start in a process of its own"]
fn child() {
    let Some((part, _)) = child::part() else { return };
    let _run = match part.as_str() {
        "bent" => join_run_with(
            SessionOptions::default().with_test_clock(Some(TestClock::new(|true_ns| true_ns + AHEAD_NS + true_ns / 1_000))),
            Registry::new(),
        ),
        "beside" => join_run_with(SessionOptions::default(), Registry::new().with(Beside)),
        _ => join_run(),
    };
    set_host_name("elsewhere");
    drop(record_function!("work"));
    if part == "wait" {
        println!("working");
        std::io::stdin().read_line(&mut String::new()).unwrap();
    }
}

/// A child in `folder`, whose environment says nothing of the test's own.
fn rank(part: &str, folder: &Path, variables: &[(&str, &str)]) -> Command {
    let mut command = child::playing(part, folder);
    for name in [
        "RANKSCOPE_RUN_DIR",
        "RANK",
        "WORLD_SIZE",
        "SLURM_PROCID",
        "PMI_RANK",
        "PMIX_RANK",
        "OMPI_COMM_WORLD_RANK",
        "JOB_COMPLETION_INDEX",
    ] {
        command.env_remove(name);
    }
    command.env("RANKSCOPE_RAW_DIR", folder).envs(variables.iter().copied());
    command
}

fn ended(mut command: Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

fn packed(path: &Path) -> Trace {
    recording::packed::read(File::open(path).unwrap(), &ReadOptions::default()).unwrap()
}

#[test]
fn a_rank_leaves_a_packed_recording_that_knows_whose_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let raw = folder.path().join("runs/a/raw");
    ended(rank("work", &raw, &[("SLURM_PROCID", "3"), ("SLURM_NTASKS", "8")]));
    let trace = packed(&raw.join("rank-3.rkr"));
    assert_eq!(trace.provenance.rank.map(|(rank, _)| rank), Some(Rank(3)));
    assert_eq!((trace.provenance.world_size, trace.provenance.host.as_deref()), (Some(8), Some("elsewhere")));
    assert_eq!(trace.spans.ids().map(|span| trace.name(span)).collect::<Vec<_>>(), ["work"]);
    assert_eq!(std::fs::read_dir(&raw).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn plugins_of_the_program_work_beside_its_recording() {
    let folder = tempfile::tempdir().unwrap();
    ended(rank("beside", folder.path(), &[("RANK", "0")]));
    let header = packed(&folder.path().join("rank-0.rkr")).provenance.header;
    assert!(header.contains(&("beside.ended".to_owned(), "true".to_owned())), "{header:?}");
}

#[test]
fn a_killed_rank_leaves_its_live_file_and_the_next_attempt_keeps_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rank-0.rkr");
    let mut command = rank("wait", folder.path(), &[("RANK", "0"), ("WORLD_SIZE", "1")]);
    let mut running = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let said = BufReader::new(running.stdout.take().unwrap()).lines().map(Result::unwrap).any(|line| line.ends_with("working"));
    assert!(said, "it ended before it worked");
    running.kill().unwrap();
    running.wait().unwrap();
    assert_eq!(child::left(&file).threads().len(), 1);

    ended(rank("work", folder.path(), &[("RANK", "0"), ("WORLD_SIZE", "1")]));
    assert_eq!(child::left(&folder.path().join("rank-0.rkr.1")).threads().len(), 1);
    assert_eq!(packed(&file).spans.len(), 1);
}

#[test]
fn whoever_cannot_be_recorded_goes_on_and_says_why_once() {
    let folder = tempfile::tempdir().unwrap();
    let taken = folder.path().join("taken");
    std::fs::write(&taken, "").unwrap();
    for (command, expected) in [
        (rank("work", &taken, &[("RANK", "1")]), "rank 1 is not recorded"),
        (rank("work", folder.path(), &[]), "none of RANK,"),
    ] {
        let said = String::from_utf8(ended(command).stderr).unwrap();
        let ours: Vec<_> = said.lines().filter(|line| line.starts_with("rankscope: ")).collect();
        assert!(matches!(ours[..], [line] if line.contains(expected)), "{said}");
    }
    let mut outside = rank("work", folder.path(), &[("RANK", "1")]);
    outside.env_remove("RANKSCOPE_RAW_DIR");
    assert!(!String::from_utf8(ended(outside).stderr).unwrap().contains("rankscope: "), "no run, no word");
}

#[test]
fn clocks_of_devices_are_read_where_there_are_any() {
    let folder = tempfile::tempdir().unwrap();
    let code = "static unsigned long long now = 5000;\n\
                int cuptiGetTimestamp(unsigned long long *t) { *t = now += 10; return 0; }\n";
    if vendor::library(folder.path(), "libcupti", code).is_none() {
        return rankscope_testkit::skip(rankscope_testkit::Need::Compiler, "there is no C compiler called cc");
    }
    let run = folder.path().join("run");
    let started = |number: &str, part: &str| {
        let mut command = rank(part, &run.join("raw"), &[("RANK", number)]);
        command.env("RANKSCOPE_RUN_DIR", &run);
        command
    };
    // Without a driver the library is not called, even where it would answer.
    let mut without_driver = started("1", "work");
    without_driver.env("LD_LIBRARY_PATH", folder.path());
    let has_driver = !TracerReader::cupti().is_err_and(|absent| matches!(absent.tried[0].why, NoClock::NoDriver(_)));
    ended(without_driver);
    assert_eq!(run.join("clock/snapshots-rank1.jsonl").exists(), has_driver);
    vendor::library(folder.path(), "libcuda", "int cuInit(unsigned flags) { return (int)flags; }").unwrap();
    std::fs::rename(folder.path().join("libcuda.so"), folder.path().join("libcuda.so.1")).unwrap();
    let mut with_device = started("2", "work");
    with_device.env("LD_LIBRARY_PATH", folder.path());
    ended(with_device);
    let text = std::fs::read_to_string(run.join("clock/snapshots-rank2.jsonl")).unwrap();
    let read = text.lines().filter(|line| line.contains("\"cupti\"") && line.contains("\"devices\"")).count();
    assert!(read >= 2, "once at the start and once at the end: {text}");
    if TracerReader::devices().0.is_empty() {
        ended(started("3", "work"));
        assert!(!run.join("clock/snapshots-rank3.jsonl").exists());
    }
    // The host's clocks are not bent with the recorder's, so they would tell something else.
    let mut bent = started("4", "bent");
    bent.env("LD_LIBRARY_PATH", folder.path());
    ended(bent);
    assert!(!run.join("clock/snapshots-rank4.jsonl").exists());
}

#[test]
fn a_test_clock_bends_every_clock_and_no_tick() {
    let folder = tempfile::tempdir().unwrap();
    for (part, number) in [("work", "0"), ("bent", "1")] {
        ended(rank(part, folder.path(), &[("RANK", number)]));
    }
    let [straight, bent] = [0, 1].map(|rank| packed(&folder.path().join(format!("rank-{rank}.rkr"))));
    for clock in [HostClock::MonotonicRaw, HostClock::Monotonic, HostClock::Realtime, HostClock::Boottime] {
        let first = |trace: &Trace| trace.provenance.clock_readings.iter().find(|it| it.clock == clock).unwrap().ns;
        // The second process began within the hour.
        let ahead_ns = first(&bent) - first(&straight);
        assert!((AHEAD_NS..AHEAD_NS * 2).contains(&ahead_ns), "{clock:?} {ahead_ns}");
    }
    let start_ns = |trace: &Trace| trace.spans.start_ns(trace.spans.ids().next().unwrap());
    assert!(start_ns(&bent) - start_ns(&straight) >= AHEAD_NS, "stamps follow the clock that is shown");
}
