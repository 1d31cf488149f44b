//! However many threads map a job, its parts are the same.

use rankscope_job::Parts;
use rankscope_pipeline::{Keep, Quiet, SideReadings, map, map_files};
use rayon::ThreadPoolBuilder;

use crate::folder::{Folder, mapping};

fn on(threads: usize, work: impl FnOnce() -> Parts + Send) -> Parts {
    ThreadPoolBuilder::new().num_threads(threads).build().expect("threads").install(work)
}

#[test]
fn the_number_of_threads_changes_no_part() {
    let folder = Folder::of_everything();
    let (mapping, readings) = (mapping(Keep::Nothing), SideReadings::default());
    let parts =
        || map_files(&folder.files, &folder.files, &mapping, &readings, &Quiet).expect("a file that is none is no error").parts;
    let one = on(1, parts);
    assert_eq!((one.iter().count(), one.unread().count()), (15, 3));
    assert_eq!(on(2, parts), one);
    assert_eq!(on(7, parts), one);
}

#[test]
fn paths_that_are_looked_up_are_mapped_alike() {
    let folder = Folder::of_files();
    let (mapping, readings) = (mapping(Keep::Nothing), SideReadings::default());
    let paths = [folder.root().to_owned()];
    let parts = || map(&paths, &mapping, &readings, &Quiet).expect("three files").parts;
    let one = on(1, parts);
    assert_eq!(one.len(), 3);
    assert_eq!(on(7, parts), one);
}
