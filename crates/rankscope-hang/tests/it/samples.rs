//! Dumps that torch wrote, in both forms: real jobs of four gloo processes that were made to hang.

use std::fs;
use std::path::Path;

use rankscope_document::{Confidence, HangDocument, HangKind};
use rankscope_hang::{Dump, Evidence, rank_of_file};
use rankscope_testkit::{Need, given};

/// The verdict over the files of `folder` whose names end in `suffix`.
fn verdict(folder: &Path, suffix: &str) -> HangDocument {
    let mut files: Vec<_> = fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()).collect();
    files.sort();
    let mut evidence = Evidence::default();
    for path in files.iter().filter(|path| path.to_str().is_some_and(|path| path.ends_with(suffix))) {
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        let dump = Dump::read(&fs::read(path).expect("read")).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        evidence.add(rank_of_file(name).expect("a rank"), name, dump);
    }
    evidence.verdict("sample")
}

#[test]
fn what_was_planted_in_real_jobs_is_named() {
    let Some(corpus) = given(Need::Corpus) else { return };
    // Gloo leaves no word of messages, so that a job that waits in one cannot be told from one that runs. In the job of different sizes,
    // gloo ended the first rank, which left nothing; the two others are no majority.
    let planted: [(&str, HangKind, &[u32], Option<u64>); 5] = [
        ("ok", HangKind::Healthy, &[], None),
        ("hang", HangKind::Missing, &[1], Some(7)),
        ("type", HangKind::Mismatch, &[1], Some(7)),
        ("size", HangKind::Mismatch, &[1, 2], Some(7)),
        ("p2p", HangKind::Healthy, &[], None),
    ];
    for (job, kind, roots, seq) in planted {
        for suffix in [".pkl", ".json", ""] {
            let document = verdict(&corpus.join("flight-recorder").join(job), suffix);
            let verdict = &document.verdict;
            assert_eq!(verdict.kind, kind, "{job} {suffix}: {verdict:?}");
            assert_eq!(verdict.roots.iter().map(|root| root.rank).collect::<Vec<_>>(), roots, "{job} {suffix}: {verdict:?}");
            assert_eq!(verdict.summary.contains("no word of messages"), kind == HangKind::Healthy, "{verdict:?}");
            assert!(verdict.roots.iter().all(|root| root.seq == seq && root.group.as_deref() == Some("0")), "{verdict:?}");
        }
    }
}

#[test]
fn a_rank_that_did_not_come_is_awaited_by_all_others() {
    let Some(corpus) = given(Need::Corpus) else { return };
    let document = verdict(&corpus.join("flight-recorder/hang"), ".pkl");
    let waiting: Vec<(u32, &[u32])> = document.verdict.waiting.iter().map(|wait| (wait.rank, &wait.awaited[..])).collect();
    assert_eq!(waiting, [(0, &[1][..]), (2, &[1]), (3, &[1])]);
    assert_eq!(document.verdict.confidence, Confidence::High);
    let stuck = document.ranks[0].stuck_in.as_ref().expect("it is stuck");
    assert_eq!((stuck.operation.as_str(), stuck.seq, stuck.description.as_str()), ("all_reduce", Some(7), "default_pg"));
    assert!(stuck.site.as_deref().is_some_and(|site| site.contains(".py:")), "pickles tell where: {stuck:?}");
    assert_eq!(document.ranks[1].last.as_ref().map(|call| call.seq), Some(Some(6)));
}

#[test]
fn both_forms_of_a_full_ring_tell_the_same() {
    let Some(corpus) = given(Need::Corpus) else { return };
    let read = |file: &str| {
        let packed = fs::read(corpus.join("flight-recorder").join(file)).expect("read");
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&packed[..]), &mut bytes).expect("unpacked");
        let mut evidence = Evidence::default();
        evidence.add(0, file, Dump::read(&bytes).expect("a dump"));
        let mut document = evidence.verdict("ring");
        for rank in &mut document.ranks {
            rank.files.clear();
            for call in rank.stuck_in.iter_mut().chain(&mut rank.last) {
                call.site = None;
            }
        }
        document
    };
    assert_eq!(read("full-ring.pkl.gz"), read("full-ring.json.gz"));
}
