//! NVIDIA's own libraries, from their packages, in processes of their own: on a machine without a GPU the program goes on.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};

use rankscope_testkit::{Need, given};

use super::stage::{Fake, Stage};

/// The libraries below a folder.
fn libraries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = entries.partition(|path| path.is_dir());
    let is_cupti = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libcupti.so"));
    let mut found: Vec<PathBuf> = files.into_iter().filter(is_cupti).collect();
    found.extend(folders.iter().flat_map(|folder| libraries(folder)));
    found.sort();
    found
}

#[test]
fn nvidias_own_libraries_harm_nobody_where_there_is_no_driver() {
    let Some(folder) = given(Need::Cupti) else { return };
    let found = libraries(&folder);
    assert!(!found.is_empty(), "no library in {}", folder.display());
    for library in found {
        let Some(stage) = Stage::new(Fake::Now, "works") else { return };
        let stage = stage.with("RANKSCOPE_CUPTI_LIBRARY", library.to_string_lossy());
        // As if the machine had a driver, of which only the library comes up: then they are loaded and called.
        let played = stage.run("once", "span forward\nend");
        let absent = played.said("absent").map(str::to_owned);
        println!("{}: {} {absent:?}", library.display(), played.output.status);
        match (played.output.status.signal(), absent.as_deref()) {
            (None, Some(why)) if library.ends_with("libcupti.so.12") => {
                assert!(why.ends_with("cuptiSubscribe returned error 15 (not initialised)"), "{why}");
            }
            (None, Some(why)) => assert!(why.ends_with("error 999 (unknown error)"), "{why}"),
            // The version that recurses until its stack ends, which kills the process or has Rust's own guard abort it.
            (Some(6 | 11), None) => assert!(library.ends_with("libcupti.so.13"), "{}", library.display()),
            other => panic!("{}: {other:?}", library.display()),
        }
        // And as it is.
        let stage = stage.with("RANKSCOPE_CUDA_LIBRARY", "/no/such/libcuda.so.1");
        let reason = stage.play("once", "span forward\nend");
        assert!(reason.said("absent").unwrap().starts_with("no driver: "));
    }
}
