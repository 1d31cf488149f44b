//! The library that ROCm loads as a tool, for programs whose session begins later than HIP.

use std::fs;
use std::path::PathBuf;

use super::sessions::{LAUNCHED, LAUNCHES};
use super::stage::{Fake, Stage, metadata, on_devices};

/// The library as it was built with these tests, under the name that it is looked for by.
fn tool(folder: &std::path::Path) -> PathBuf {
    let beside = std::env::current_exe().unwrap();
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("librankscope_rocprofiler") && name.ends_with(".so")
    };
    let built = fs::read_dir(beside.parent().unwrap()).unwrap().flatten().map(|entry| entry.path()).filter(is_ours);
    let newest = built.max_by_key(|path| fs::metadata(path).unwrap().modified().unwrap()).unwrap();
    let tool = folder.join("librankscope_rocprofiler.so");
    fs::copy(newest, &tool).unwrap();
    tool
}

/// HIP is up, and has loaded its code, before there is a session.
fn late() -> String {
    let (before, after) = LAUNCHES.split_once("span forward").unwrap();
    format!("{before}session\nnow\nspan forward{after}")
}

#[test]
fn a_session_finds_the_tool_that_rocm_loaded_with_the_names_that_it_heard() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let folder = tempfile::tempdir().unwrap();
    let stage = stage.with("ROCP_TOOL_LIBRARIES", tool(folder.path()).to_string_lossy());
    let played = stage.play("hip-first", &late());
    assert_eq!((played.said("absent"), played.said("failures")), (None, Some("[]")));
    assert_eq!(on_devices(&played.trace()), LAUNCHED);
}

#[test]
fn without_the_tool_such_a_session_is_too_late() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let played = stage.play("hip-first", &late());
    assert!(played.said("absent").unwrap().starts_with("too late: rocprofiler was configured before; "));
    assert!(metadata(&played.trace(), "rocprofiler.absent").is_some());
}

#[test]
fn a_tool_whose_services_were_refused_says_which() {
    let Some(stage) = Stage::new(Fake::Now, "refuses") else { return };
    let folder = tempfile::tempdir().unwrap();
    let stage = stage.with("ROCP_TOOL_LIBRARIES", tool(folder.path()).to_string_lossy());
    let absent = stage.play("hip-first", &late()).said("absent").unwrap().to_owned();
    assert!(absent.ends_with("rocprofiler_configure_buffer_tracing_service returned error 17 (not implemented)"), "{absent}");
}

#[test]
fn a_session_before_hip_has_its_own_tool_beside_the_one_that_rocm_loads() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let folder = tempfile::tempdir().unwrap();
    let stage = stage.with("ROCP_TOOL_LIBRARIES", tool(folder.path()).to_string_lossy());
    let played = stage.play("once", LAUNCHES);
    assert_eq!(on_devices(&played.trace()), LAUNCHED);
    assert_eq!(played.said("contexts"), Some("2"), "that of names, of both; none records work any more");
}
