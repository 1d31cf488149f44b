//! A job of eight processes that plays NCCL's calls into the plugin, on clocks that are wrong: what `rankscope report` says of the
//! plugin's recordings alone, and that `rankscope run --nccl` lets a job load the plugin.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rankscope_testkit::{Need, skip};
use rankscope_trace::{ArgValue, SpanId, Trace};
use serde_json::{Value, json};

use crate::combine::traces;
use crate::common::{rankscope, report};
use crate::map_merge::{assert_same, text};
use crate::process::PROGRAM;

/// A program of the plugin's tests, compiled into `folder`. None, and the test is skipped, where nothing can be compiled.
fn compiled(name: &str, folder: &Path) -> Option<PathBuf> {
    if Command::new("cc").arg("--version").output().is_err() {
        skip(Need::Compiler, "cc is not installed");
        return None;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rankscope-nccl/tests/c").join(format!("{name}.c"));
    let to = folder.join(name);
    let mut cc = Command::new("cc");
    let done =
        cc.args(["-std=gnu11", "-O1"]).arg(source).arg("-o").arg(&to).args(["-lpthread", "-ldl"]).output().expect("runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(to)
}

/// The plugin, as Cargo built it for these tests: of several that it left, the newest.
fn plugin() -> PathBuf {
    let beside = env::current_exe().expect("a path").parent().expect("a folder").to_owned();
    let paths = fs::read_dir(beside).expect("readable").map(|entry| entry.expect("readable").path());
    let is_plugin = |path: &PathBuf| {
        let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
        name.starts_with("librankscope_nccl") && name.ends_with(".so")
    };
    let age = |path: &PathBuf| fs::metadata(path).expect("there").modified().expect("a time");
    paths.filter(is_plugin).max_by_key(age).expect("the plugin is beside its tests")
}

/// How far the clock of `rank` is ahead, as job.c bends it.
fn ahead_ns(rank: i64) -> i64 {
    (rank * 5 % 8 - 4) * 3_000_000
}

#[test]
fn the_slow_rank_is_named_from_the_plugins_recordings_alone() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let Some(job) = compiled("job", folder.path()) else { return };
    let run = folder.path().join("run");
    let mut played = Command::new(job);
    played.arg(plugin()).args(["5", "40"]).env_remove("RANKSCOPE_RAW_DIR").env_remove("RANKSCOPE_NCCL_EVENTS");
    let played = played.env("RANKSCOPE_RUN_DIR", &run).env("RANKSCOPE_NCCL_RING", folder.path()).output().expect("runs");
    assert!(played.status.success(), "{}", String::from_utf8_lossy(&played.stderr));
    let document = report(&run, &[]);
    assert_eq!(document["verdict"]["late"][0]["rank"], 5, "{}", document["verdict"]);
    assert_eq!((&document["world_size"], &document["ranks"].as_array().map(Vec::len)), (&Value::from(8), &Some(8)));
    // All ranks' reductions, and those of the two halves among themselves.
    let collectives = &document["collectives"];
    assert_eq!((&collectives["matched"], &collectives["unmatched"]), (&Value::from(120), &Value::from(0)));
    let groups: Vec<(&Value, &Value, &Value)> = collectives["groups"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|group| (&group["kind"], &group["ranks"], &group["matched"]))
        .collect();
    let of =
        |kind: &str, ranks: u64| groups.iter().filter(|group| group.0 == kind && *group.1 == ranks && *group.2 == 40).count();
    assert_eq!((of("all_reduce", 8), of("all_gather", 4), groups.len()), (1, 2, 3), "{groups:?}");
    // The clocks are found from the collectives, and their bounds hold; what a clock gains in half a second is less than the slack.
    const SLACK_NS: i64 = 100_000;
    assert_eq!(document["clock"]["method"], "collectives");
    for offset in document["clock"]["offsets"].as_array().expect("a list") {
        let (rank, lo, hi) = (&offset["rank"], &offset["lo_ns"], &offset["hi_ns"]);
        let truth_ns = ahead_ns(rank.as_i64().expect("a rank")) - ahead_ns(0);
        let (lo_ns, hi_ns) = (lo.as_i64().expect("a bound"), hi.as_i64().expect("a bound"));
        assert!(lo_ns - SLACK_NS <= truth_ns && truth_ns <= hi_ns + SLACK_NS, "{offset}: {truth_ns}");
    }
    let told: Vec<i64> = String::from_utf8_lossy(&played.stdout).lines().map(|line| line.parse().expect("a time")).collect();
    let [base_ns, began_ns @ ..] = &told[..] else { panic!("nothing was told") };
    assert_gpus_are_known(&document["clock"]["gpus"], *base_ns, began_ns);
    let out = folder.path().join("report");
    let said = rankscope(&["report", text(&run), "--out", text(&out)]).stdout;
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains("GPU CLOCKS") && said.contains("on the timeline, by these clocks"), "{said}");
    assert_gpus_lie_where_they_worked(&run, *base_ns, began_ns);
    let shown: usize = traces(&out.join("timeline.pftrace")).iter().map(|trace| of_gpu(trace).count()).sum();
    let placed = |gpu: &Value| gpu["placed"].as_u64().expect("it was asked");
    let placed: u64 = document["clock"]["gpus"].as_array().expect("a list").iter().map(placed).sum();
    assert_eq!(shown as u64, placed, "{document}");
    assert_same(&run.join("raw"), &[]);
    #[cfg(feature = "parquet")]
    assert_datasets_have_what_gpus_did(&run, placed);
}

/// A dataset's events are the spans of all ranks and what is `placed` of their GPUs, whoever wrote it.
#[cfg(feature = "parquet")]
fn assert_datasets_have_what_gpus_did(run: &Path, placed: u64) {
    let place = |name: &str| run.with_file_name(name);
    let [whole, parts, mapped] = ["whole", "parts", "mapped"].map(place);
    let done = |args: &[&str]| {
        let done = rankscope(args);
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    };
    done(&["report", text(run), "--parquet", text(&whole), "--format", "json"]);
    done(&["map", text(run), "--parts", text(&parts)]);
    done(&["merge", text(&parts), "--parquet", text(&mapped), "--format", "json"]);
    done(&["map", "--parts", text(&parts), "--dataset", text(&mapped), "--format", "json"]);
    let list = |dataset: &Path| fs::read_to_string(dataset.join("_rankscope_manifest.json")).expect("a list");
    assert_eq!(list(&whole), list(&mapped));
    let list: Value = serde_json::from_str(&list(&whole)).expect("JSON");
    let files = list["runs"][0]["tables"][0]["files"].as_array().expect("events");
    for file in files {
        let path = file["path"].as_str().expect("a path");
        assert_eq!(fs::read(whole.join(path)).expect("a file"), fs::read(mapped.join(path)).expect("a file"), "{path}");
    }
    let rows: u64 = files.iter().map(|file| file["rows"].as_u64().expect("rows")).sum();
    let shown = run.with_file_name("all.pftrace");
    done(&["combine", text(run), "-o", text(&shown)]);
    let shown = traces(&shown);
    assert_eq!(shown.iter().map(|trace| of_gpu(trace).count() as u64).sum::<u64>(), placed);
    assert_eq!(rows, shown.iter().map(|trace| trace.spans.len() as u64).sum::<u64>());
}

/// The clocks of all GPUs, as job.c bends them, are where the report says that they are. It began at `base_ns`, and ranks at `began_ns`.
fn assert_gpus_are_known(gpus: &Value, base_ns: i64, began_ns: &[i64]) {
    // By how much the recording began after its rank, times the drift of the rank's clock; and what the wall clock is slewed by meanwhile.
    const SLACK_NS: i64 = 3_000;
    let gpus = gpus.as_array().expect("a list");
    assert_eq!(gpus.len(), 8);
    for gpu in gpus {
        let of = |key: &str| gpu["narrowest"][key].as_i64().expect("a window was found");
        let rank = gpu["rank"].as_i64().expect("a rank");
        let drifted = |since_ns: i64, ppb: i64| (i128::from(since_ns) * i128::from(ppb) / 1_000_000_000) as i64;
        let own_ppb = (rank * 3 % 8 - 4) * 4_000;
        let true_ns = of("at_ns") - ahead_ns(rank);
        let own_ns = ahead_ns(rank) + drifted(true_ns - began_ns[rank as usize], own_ppb);
        let gpu_ppb = (rank * 3 % 8 - 3) * 15_000;
        let gpu_ns = 5_000_000 + (rank * 5 % 8) * 700_000 + drifted(true_ns - base_ns, gpu_ppb);
        let truth_ns = gpu_ns - own_ns;
        assert!((of("lo_ns") - SLACK_NS..=of("hi_ns") + SLACK_NS).contains(&truth_ns), "{truth_ns}: {gpu}");
        assert!((of("drift_lo_ppb")..=of("drift_hi_ppb")).contains(&(gpu_ppb - own_ppb)), "{gpu}");
        assert!(of("hi_ns") - of("lo_ns") < 300_000, "launches and callbacks come at once: {gpu}");
        assert_eq!(
            (&gpu["operations"], &gpu["unusable"], &gpu["windows"]),
            (&Value::from(80), &json!([]), &Value::from(1)),
            "{gpu}"
        );
    }
}

/// What `trace` shows of its GPU.
fn of_gpu(trace: &Trace) -> impl Iterator<Item = SpanId> {
    trace.spans.ids().filter(|span| trace.name(*span).ends_with(" on the GPU"))
}

/// Each rank's work on its GPU, as far as its recording lets it be placed, is where job.c had it, within the error that is told.
fn assert_gpus_lie_where_they_worked(run: &Path, base_ns: i64, began_ns: &[i64]) {
    // As above.
    const SLACK_NS: i64 = 3_000;
    let mut placed = 0;
    for file in fs::read_dir(run.join("raw")).expect("readable") {
        let file = file.expect("readable").path();
        let out = run.with_file_name(file.file_stem().expect("a name")).with_extension("pftrace");
        let done = rankscope(&["combine", text(&file), "-o", text(&out)]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let [trace] = &traces(&out)[..] else { panic!("one file is one rank") };
        let rank = i64::from(trace.provenance.rank.expect("told").0.0);
        let scaled = |ns: i64, ppb: i64| (i128::from(ns) * i128::from(ppb) / i128::from(1_000_000_000 + ppb)) as i64;
        // What the GPU's clock showed, on the rank's own: job.c's arithmetic backwards, and forwards again.
        let own_ns = |gpu_ns: i64| {
            let since_ns = gpu_ns - 5_000_000 - (rank * 5 % 8) * 700_000 - base_ns;
            let true_ns = base_ns + since_ns - scaled(since_ns, (rank * 3 % 8 - 3) * 15_000);
            let drifted =
                i128::from(true_ns - began_ns[rank as usize]) * i128::from((rank * 3 % 8 - 4) * 4_000) / 1_000_000_000;
            true_ns + ahead_ns(rank) + drifted as i64
        };
        let number = |span: SpanId, key: &str| {
            let (_, value) = trace.spans.args.row(span.0 as usize).find(|(name, _)| trace.strings.text(*name) == key)?;
            match value {
                ArgValue::I64(number) => Some(number),
                ArgValue::U64(number) => i64::try_from(number).ok(),
                _ => None,
            }
        };
        // A reading of the GPU's clock shows what was up to a step ago.
        let step_ns = 1_024;
        let told = trace.spans.ids().filter_map(|span| Some([number(span, "GPU start ns")?, number(span, "GPU stop ns")?]));
        let truths: Vec<[i64; 2]> = told.map(|told| told.map(own_ns)).collect();
        assert_eq!(truths.len(), 80);
        for span in of_gpu(trace) {
            let [start_error_ns, stop_error_ns] =
                ["start error ns", "stop error ns"].map(|key| number(span, key).expect("an error is told"));
            let (start_ns, stop_ns) = (trace.spans.start_ns(span), trace.spans.end_ns(span));
            let is_it = |truth: &&[i64; 2]| {
                (truth[0] - start_ns).abs() <= start_error_ns + SLACK_NS + step_ns
                    && (truth[1] - stop_ns).abs() <= stop_error_ns + SLACK_NS + step_ns
            };
            assert!(start_error_ns < 200_000 && truths.iter().any(|truth| is_it(&truth)), "rank {rank}: {start_ns} {stop_ns}");
            placed += 1;
        }
    }
    // A rank's times may look odd by chance, and then it has no places; not those of all.
    assert!(placed >= 80 && placed % 80 == 0, "{placed}");
}

/// A job that stands still after 20 steps: `stuck` comes to nothing more, and where it is no rank, all come and no kernel ends.
#[cfg(all(target_os = "linux", feature = "clock"))]
fn stuck_job(folder: &Path, stuck: &str) -> Option<Command> {
    let mut job = Command::new(compiled("job", folder)?);
    job.arg(plugin()).args(["5", "20", stuck]);
    Some(job)
}

#[cfg(all(target_os = "linux", feature = "clock"))]
#[test]
fn a_rank_that_does_not_come_is_named_from_the_plugins_live_pages_while_the_job_hangs() {
    use crate::process::{Running, wait_for};

    let folder = tempfile::tempdir().expect("a temporary directory");
    let run = folder.path().join("run");
    let Some(mut job) = stuck_job(folder.path(), "6") else { return };
    job.env_remove("RANKSCOPE_RAW_DIR").env_remove("RANKSCOPE_NCCL_EVENTS");
    job.env("RANKSCOPE_RUN_DIR", &run).env("RANKSCOPE_NCCL_RING", folder.path());
    let job = Running::start(job);
    let asked = || rankscope(&["hang", text(&run), "--format", "json"]);
    wait_for("a rank to be named", || asked().status.code() == Some(3));
    let document: Value = serde_json::from_slice(&asked().stdout).expect("JSON");
    let (verdict, group) = (&document["verdict"], "000000000000feed (default_pg)");
    let roots: Vec<(&Value, &Value, &Value)> =
        verdict["roots"].as_array().expect("a list").iter().map(|root| (&root["rank"], &root["group"], &root["seq"])).collect();
    assert_eq!(roots, [(&Value::from(6), &Value::from(group), &Value::from(20))], "{document}");
    assert_eq!(
        (&verdict["kind"], verdict["waiting"].as_array().map(Vec::len)),
        (&Value::from("missing"), Some(7)),
        "{verdict}"
    );
    let inside =
        document["ranks"].as_array().expect("a list").iter().filter(|rank| rank["stuck_in"]["operation"] == "all_reduce");
    assert_eq!(inside.count(), 7, "{document}");
    // Killed, and its ranks with it: their pages stay, and say no more whether the job stood still.
    drop(job);
    wait_for("the processes to be gone", || asked().status.code() == Some(1));
    let after: Value = serde_json::from_slice(&asked().stdout).expect("JSON");
    assert_eq!(after["verdict"]["roots"], Value::Array(Vec::new()), "{after}");
}

#[cfg(all(target_os = "linux", feature = "clock"))]
#[test]
fn a_job_whose_kernels_never_end_is_judged_and_raises_an_alarm_while_it_hangs() {
    use crate::process::{Running, command, wait_for};

    let folder = tempfile::tempdir().expect("a temporary directory");
    let (run, alarms) = (folder.path().join("run"), folder.path().join("alarms"));
    let Some(job) = stuck_job(folder.path(), "99") else { return };
    let on_alarm = format!("cat >> '{}'", alarms.display());
    let mut words = vec![
        "run",
        "--no-clock",
        "--no-hooks",
        "--no-report",
        "--on-hang",
        "12s",
        "--ring",
        "60s",
        "--on-alarm",
        &on_alarm,
        "--out",
        text(&run),
        "--",
    ];
    let job: Vec<String> =
        [job.get_program()].into_iter().chain(job.get_args()).map(|word| word.to_string_lossy().into_owned()).collect();
    words.extend(job.iter().map(String::as_str));
    let mut running = command(&words);
    running.env_remove("RANKSCOPE_NCCL_EVENTS").env("RANKSCOPE_NCCL_RING", folder.path());
    let running = Running::start(running);
    // Both are told by the live pages: what the job waits for, after 12 s, and that nothing moves, after 30.
    let verdicts =
        || fs::read_dir(run.join("hang")).into_iter().flatten().flatten().map(|entry| entry.path().join("verdict.json"));
    wait_for("a verdict", || verdicts().any(|path| path.exists()));
    wait_for("an alarm", || fs::read_to_string(&alarms).is_ok_and(|text| text.ends_with('\n')));
    let path = verdicts().next().expect("it is there");
    let verdict: Value = serde_json::from_slice(&fs::read(path).expect("read")).expect("JSON");
    assert_eq!(
        (&verdict["verdict"]["kind"], &verdict["verdict"]["roots"]),
        (&Value::from("library"), &Value::Array(Vec::new())),
        "{verdict}"
    );
    let passed_on = fs::read_to_string(&alarms).expect("read");
    let alarm: Value = serde_json::from_str(passed_on.lines().next().expect("a line")).expect("JSON");
    assert_eq!((&alarm["kind"], &alarm["rank"]), (&Value::from("hang"), &Value::Null), "{alarm}");
    assert!(
        fs::read_to_string(run.join("alarms.jsonl")).expect("written").starts_with(passed_on.lines().next().expect("a line"))
    );
    // What came before the standstill is kept, of all ranks; the alarm after it is part of the same minute.
    let incidents = || fs::read_dir(run.join("incidents")).into_iter().flatten().flatten().map(|entry| entry.path());
    wait_for("an incident", || incidents().any(|folder| folder.join("report/report.json").exists()));
    let folders: Vec<_> = incidents().collect();
    let read = |name: &str| serde_json::from_slice(&fs::read(folders[0].join(name)).expect("read")).expect("JSON");
    let (about, report): (Value, Value) = (read("incident.json"), read("report/report.json"));
    assert_eq!((folders.len(), &about["because"]), (1, &Value::from("the job stands still")), "{about}");
    assert_eq!(about["recordings"].as_array().map(Vec::len), Some(8), "{about}");
    let groups = report["collectives"]["groups"].as_array().expect("a list");
    assert!(groups.iter().any(|group| group["kind"] == "all_reduce" && group["ranks"] == 8), "{groups:?}");
    running.terminate();
    let said = running.ended();
    let errors = String::from_utf8_lossy(&said.stderr);
    assert!(errors.contains("Nothing has moved for"), "{errors}");
    assert!(errors.contains("kept what came before (the job stands still)"), "{errors}");
}

#[test]
fn a_job_is_told_of_the_plugin_that_lies_beside_the_binary() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let binary = folder.path().join("rankscope");
    fs::copy(PROGRAM, &binary).expect("copied");
    let run = |chosen: Option<&str>, out: &str| {
        let mut run = Command::new(&binary);
        let out = folder.path().join(out);
        run.args(["run", "--nccl", "--no-clock", "--no-hooks", "--no-report", "--out", text(&out), "--", "sh", "-c"]);
        run.arg("echo $NCCL_PROFILER_PLUGIN $RANKSCOPE_NCCL_CHAIN")
            .env_remove("NCCL_PROFILER_PLUGIN")
            .env_remove("RANKSCOPE_NCCL_CHAIN");
        chosen.map(|chosen| run.env("NCCL_PROFILER_PLUGIN", chosen));
        let output = run.output().expect("runs");
        assert!(output.status.success(), "{output:?}");
        (String::from_utf8_lossy(&output.stdout).trim().to_owned(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (told, said) = run(None, "without");
    assert!(told.is_empty() && said.contains("librankscope_nccl.so is not there"), "{told} {said}");
    let beside = folder.path().join("librankscope_nccl.so");
    fs::copy(plugin(), &beside).expect("copied");
    assert_eq!(run(None, "alone").0, text(&beside));
    let (told, said) = run(Some("inspector"), "both");
    assert_eq!(told, format!("{} inspector", text(&beside)));
    assert!(said.contains("inspector"), "{said}");
}
