//! Traces that are read in order come out alike, whatever of them was in memory before.

use rankscope_formats::{ArgsPolicy, Scope};
use rankscope_job::Fingerprint;
use rankscope_pipeline::{Ahead, Held, Keep, Quiet, Reading, SideReadings, map_files};

use crate::folder::{Folder, RANKS, mapping};

const READING: Reading = Reading { args: ArgsPolicy::All, scope: Scope::All };

/// The number of its file, the label, and what is in it, of each; or why it cannot be read.
type Told = Vec<(usize, String, Result<(Fingerprint, usize), String>)>;

fn told(folder: &Folder, held: Option<&Held>) -> Told {
    let mut told = Told::new();
    let ahead = Ahead { files: &folder.files, reading: READING, memory_bytes: u64::MAX, held };
    let taken = ahead.read_in_order(|members| {
        told.extend(members.into_iter().map(|(file, member)| {
            let trace = member.trace.as_ref();
            let trace = trace
                .map(|trace| (Fingerprint::of(trace), format!("{:?}", trace.spans.args).len()))
                .map_err(ToString::to_string);
            (file, member.label, trace)
        }));
        Ok::<(), ()>(())
    });
    assert_eq!(taken, Ok(()));
    told
}

#[test]
fn what_was_kept_is_handed_over_as_it_would_be_read() {
    for folder in [Folder::of_files(), Folder::of_exports(), Folder::of_archive(), Folder::of_everything()] {
        let read = told(&folder, None);
        assert!(
            read.len() >= RANKS as usize && read.iter().any(|(.., trace)| trace.as_ref().is_ok_and(|(_, args)| *args > 1_000))
        );
        for keep in [Keep::Nothing, Keep::UpTo(40_000), Keep::UpTo(u64::MAX)] {
            let held = &map_files(&folder.files, &folder.files, &mapping(keep), &SideReadings::default(), &Quiet)
                .expect("mapped")
                .held;
            assert_eq!(told(&folder, Some(held)), read, "{keep:?}");
            assert_eq!(told(&folder, Some(held)), read, "{keep:?}, taken before");
        }
    }
}

#[test]
fn what_was_kept_is_not_read_again() {
    let folder = Folder::of_files();
    let read = told(&folder, None);
    let judged = folder.judged(Keep::UpTo(u64::MAX));
    folder.files.iter().for_each(|file| std::fs::remove_file(&file.path).expect("removed"));
    assert_eq!(told(&folder, Some(&judged.held)), read);
    assert!(told(&folder, Some(&judged.held)).iter().all(|(.., trace)| trace.is_err()), "it is taken once");
}

#[test]
fn a_rank_that_was_told_of_is_read_again() {
    let folder = Folder::of_files();
    let read = told(&folder, None);
    let judged = folder.judged(Keep::UpTo(u64::MAX));
    let mut timeline = Vec::new();
    judged.write_timeline(&mut timeline, &Quiet).expect("written");
    assert_eq!(judged.held.count(), 0);
    assert_eq!(told(&folder, Some(&judged.held)), read);
}
