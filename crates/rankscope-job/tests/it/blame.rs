//! Blame adds up to lateness whatever the job, finds the one that is slow, and blames nobody where all are alike.

use rankscope_document::{Document, LatePattern, ReasonKind};
use rankscope_testkit::{Job as Synthetic, Need, Straggler, given};

use crate::answered::{FOLDERS, answered, clocks, recorded, synthetic};

fn of(job: &Synthetic) -> Document {
    answered(synthetic(job))
}

pub(crate) fn assert_adds_up(document: &Document, name: &str) {
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
    let jobs = [
        ("one node", straggling()),
        ("two dimensions", Synthetic { group_size: Some(2), ..straggling() }),
        ("wrong clocks", Synthetic { gpus_per_node: 2, clocks: clocks(), ..straggling() }),
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
    for folder in FOLDERS {
        assert_adds_up(&answered(recorded(&corpus.join(folder))), folder);
    }
}
