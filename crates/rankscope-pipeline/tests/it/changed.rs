//! A file that is another one when it is read again is refused by its name.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use rankscope_pipeline::{Error, ExitClass, Keep, Progress, Quiet, Stage};

use crate::folder::{Folder, export};

/// The name of the file that `folder` is refused for after `change`.
fn refused(folder: &Folder, change: impl FnOnce(&Folder)) -> String {
    let judged = folder.judged(Keep::Nothing);
    change(folder);
    let error = judged.write_timeline(&mut Vec::new(), &Quiet).expect_err("a file changed");
    assert_eq!(error.class(), ExitClass::InputChanged, "{error}");
    let Error::Changed { file } = error else { panic!("{error}") };
    file.strip_prefix(&folder.root().display().to_string()).expect("a file of the folder").trim_start_matches('/').to_owned()
}

fn write(name: &'static str, bytes: Vec<u8>) -> impl FnOnce(&Folder) {
    move |folder| fs::write(folder.path(name), bytes).expect("written")
}

#[test]
fn a_file_that_changed_between_two_readings_is_named() {
    // As many spans as before, at other times; another rank's; cut; gone.
    assert_eq!(refused(&Folder::of_files(), write("rank1.json", export(1, 5))), "rank1.json");
    assert_eq!(refused(&Folder::of_files(), write("rank2.json", export(0, 0))), "rank2.json");
    assert_eq!(refused(&Folder::of_files(), write("rank1.json", b"{\"traceEvents\": [".to_vec())), "rank1.json");
    let gone = |folder: &Folder| fs::remove_file(folder.path("rank0.json")).expect("removed");
    assert_eq!(refused(&Folder::of_files(), gone), "rank0.json");
}

#[test]
fn of_several_exports_the_one_that_changed_is_named() {
    assert_eq!(refused(&Folder::of_exports(), write("rank1.2.json", export(1, 7))), "rank1.2.json");
}

#[test]
fn of_an_archive_the_trace_that_changed_is_named() {
    let other = Folder::of_files();
    let mut archive = tar::Builder::new(Vec::new());
    archive.append_path_with_name(other.path("rank0.json"), "rank0.0.json").expect("appended");
    let bytes = archive.into_inner().expect("finished");
    assert_eq!(refused(&Folder::of_archive(), write("job.tar", bytes)), "job.tar:rank0.1.json");
}

#[derive(Default)]
struct Counted {
    begun: AtomicUsize,
    ended: AtomicUsize,
}

impl Progress for Counted {
    fn begin(&self, _: Stage, _: usize) {
        self.begun.fetch_add(1, Ordering::Relaxed);
    }

    fn advance(&self) {}

    fn end(&self) {
        self.ended.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn progress_ends_where_the_work_fails() {
    let (folder, counted) = (Folder::of_files(), Counted::default());
    let judged = folder.judged(Keep::Nothing);
    fs::remove_file(folder.path("rank1.json")).expect("removed");
    judged.write_timeline(&mut Vec::new(), &counted).expect_err("a file is gone");
    assert_eq!((counted.begun.into_inner(), counted.ended.into_inner()), (1, 1));
}
