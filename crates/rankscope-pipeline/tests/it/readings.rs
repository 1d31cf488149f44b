//! A timeline is the same whether its traces were held or read a second time.

use rankscope_pipeline::{Judged, Keep, Quiet};

use crate::folder::{Folder, RANKS};

fn timeline(judged: &Judged) -> Vec<u8> {
    let mut bytes = Vec::new();
    judged.write_timeline(&mut bytes, &Quiet).expect("nothing changed");
    bytes
}

#[test]
fn a_second_reading_writes_the_same_timeline() {
    for (name, folder) in [("files", Folder::of_files()), ("exports", Folder::of_exports()), ("archive", Folder::of_archive())]
    {
        let all = folder.judged(Keep::UpTo(u64::MAX));
        let traces = all.held.count();
        let one_bytes = (0..RANKS as usize).map(|rank| all.trace(rank).expect("held").heap_bytes()).max().expect("ranks");
        let expected = timeline(&all);
        assert_eq!(all.held.count(), 0, "{name}: what was written is let go");
        assert!(expected.len() > 1_000, "{name}");
        for keep in [Keep::Nothing, Keep::UpTo(0), Keep::UpTo(one_bytes), Keep::UpTo(2 * one_bytes)] {
            let again = folder.judged(keep);
            assert!(again.held.count() < traces, "{name}, {keep:?}");
            assert_eq!(timeline(&again), expected, "{name}, {keep:?}");
            // What was let go is read again.
            assert_eq!(timeline(&again), expected, "{name}, {keep:?}");
        }
    }
}

#[test]
fn a_second_reading_gives_the_same_traces() {
    for folder in [Folder::of_files(), Folder::of_exports(), Folder::of_archive()] {
        let (held, again) = (folder.judged(Keep::UpTo(u64::MAX)), folder.judged(Keep::Nothing));
        for rank in 0..RANKS as usize {
            assert_eq!(held.trace(rank).expect("held").spans, again.trace(rank).expect("unchanged").spans);
        }
    }
}
