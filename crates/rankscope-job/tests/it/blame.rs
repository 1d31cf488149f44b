//! Blame adds up to lateness whatever the job, finds the one that is slow, and blames nobody where all are alike.

use std::fs::{self, File};

use rankscope_document::{Document, LatePattern, ReasonKind};
use rankscope_execution::Execution;
use rankscope_formats::{ArgsPolicy, ReadOptions, Scope, read};
use rankscope_job::{Analysed, Facts, Judging, Part, Parts, Rules, judge};
use rankscope_testkit::{Dialect, Job as Synthetic, Need, NodeClock, Straggler, given};
use rankscope_trace::Trace;

use crate::bench::{place, trace};

fn add(parts: &mut Parts, number: usize, mut trace: Trace) {
    let classes = Rules::default().compiled().expect("rules");
    let mut part = Part::of(&mut trace, &classes);
    part.execution = Some(Box::new(Execution::of(&trace, &part.collectives, &classes)));
    parts.add(place(number), part).expect("one part a place");
}

fn answered(parts: Parts) -> Document {
    let job = judge(parts, &Facts::default(), Judging::default().with_partial(true)).expect("it can be judged");
    let mut analysed = Analysed::of(job, None).expect("no step is asked for");
    analysed.answer();
    analysed.document("a job")
}

fn of(job: &Synthetic) -> Document {
    let mut parts = Parts::new(Rules::default());
    for rank in 0..job.ranks {
        let bytes = job.rank_bytes(rank, &Dialect::default());
        add(&mut parts, rank as usize, trace(&format!("rank{rank}.json"), bytes, Scope::All));
    }
    answered(parts)
}

fn assert_adds_up(document: &Document, name: &str) {
    for blame in &document.blame {
        assert_eq!(blame.caused_ns + blame.inherited_ns + blame.uncertain_ns, blame.lateness_ns, "{name}: {blame:?}");
        let reasons: i64 = blame.reasons.iter().map(|reason| reason.ns).sum();
        assert_eq!(reasons + blame.other_reasons_ns, blame.caused_ns + blame.inherited_ns, "{name}: {blame:?}");
    }
}

fn clean() -> Synthetic {
    Synthetic { ranks: 4, steps: 8, ..Synthetic::default() }
}

fn straggling() -> Synthetic {
    Synthetic { straggler: Some(Straggler { rank: 2, factor: 1.5 }), ..clean() }
}

#[test]
fn the_slow_rank_is_blamed_for_its_kernels() {
    let far = NodeClock { offset_ns: 850_000, drift_ppb: 30_000 };
    let jobs = [
        ("one node", straggling()),
        ("two dimensions", Synthetic { group_size: Some(2), ..straggling() }),
        ("wrong clocks", Synthetic { gpus_per_node: 2, clocks: vec![NodeClock::default(), far], ..straggling() }),
        ("many steps", Synthetic { steps: 20, ..straggling() }),
    ];
    for (name, job) in jobs {
        let document = of(&job);
        assert_adds_up(&document, name);
        let first = &document.blame[0];
        assert_eq!((first.rank, &first.pattern), (2, &LatePattern::Persistent), "{name}: {first:#?}");
        assert_eq!(first.reasons[0].kind, ReasonKind::LongerKernels, "{name}: {first:#?}");
        assert!(first.caused_ns * 10 > first.lateness_ns * 7, "{name}: {first:#?}");
        let groups: Vec<_> = document.blame_groups.iter().map(|group| (group.kind.as_str(), group.number)).collect();
        assert_eq!(groups, [("rank", 2)], "{name}");
    }
}

#[test]
fn nobody_is_blamed_in_clean_jobs() {
    for seed in 0..20 {
        for job in [clean(), Synthetic { group_size: Some(2), ranks: 8, ..clean() }] {
            let document = of(&Synthetic { seed, ..job });
            assert_adds_up(&document, "a clean job");
            assert!(document.blame_groups.is_empty(), "seed {seed}: {:?}", document.blame_groups);
        }
    }
}

#[test]
fn blame_of_real_jobs_adds_up() {
    let Some(corpus) = given(Need::Corpus) else { return };
    for folder in ["jobs/crash", "jobs/fsdp", "jobs/pp", "jobs/jax", "traces/torch-gloo-4ranks", "traces/jax-cpu-2procs"] {
        let entries =
            fs::read_dir(corpus.join(folder)).expect("the corpus has it").map(|entry| entry.expect("an entry").path());
        let mut paths: Vec<_> = entries.filter(|path| path.is_file()).collect();
        paths.sort();
        let mut parts = Parts::new(Rules::default());
        for (number, path) in paths.into_iter().enumerate() {
            let label = path.file_name().expect("a file").to_string_lossy();
            let options = ReadOptions::default().with_label(label).with_args(ArgsPolicy::All);
            let Ok(mut members) = read(File::open(&path).expect("it is there"), &options) else { continue };
            let Ok(trace) = members.remove(0).trace else { continue };
            add(&mut parts, number, trace);
        }
        let document = answered(parts);
        assert_adds_up(&document, folder);
    }
}
