//! NVTX and ITT through shared libraries that write down how they are called; skipped where there is no C compiler.

use std::path::{Path, PathBuf};
use std::process::Command;

use rankscope_record::Scope;
use rankscope_record::kineto::{
    Activities, Input, Op, ProfilerConfig, ProfilerState, Ranges, RecordFunction, Tensor, disable_profiler, enable_profiler,
};

use crate::alone;

const NVTX: &str = r#"
#include <stdio.h>
#include <stdlib.h>
static void note(const char *what, const char *name) {
    FILE *log = fopen(getenv("RANKSCOPE_TEST_LOG"), "a");
    fprintf(log, "%s%s\n", what, name);
    fclose(log);
}
int nvtxRangePushA(const char *name) { note("push ", name); return 0; }
int nvtxRangePop(void) { note("pop", ""); return 0; }
void nvtxMarkA(const char *name) { note("mark ", name); }
"#;

const ITT: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef struct { unsigned long long a, b, c; } id;
static char domain[64];
static void note(const char *what, const char *name) {
    FILE *log = fopen(getenv("RANKSCOPE_TEST_LOG"), "a");
    fprintf(log, "%s%s\n", what, name);
    fclose(log);
}
void *__itt_domain_create(const char *name) { strncpy(domain, name, 63); return domain; }
void *__itt_string_handle_create(const char *name) { note("name ", name); return strdup(name); }
void __itt_task_begin(const void *in, id task, id parent, void *name) {
    note(in == domain && !task.a && !task.c && !parent.a && !parent.c ? "begin " : "garbled ", name);
}
void __itt_task_end(const void *in) { note("end ", in); }
"#;

/// What the child process is told by this variable.
const CHILD: &str = "RANKSCOPE_TEST_CHILD";

fn library(folder: &Path, name: &str, source: &str) -> Option<PathBuf> {
    let (code, library) = (folder.join("library.c"), folder.join(name));
    std::fs::write(&code, source).unwrap();
    let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&code).status();
    match built {
        Ok(status) if status.success() => Some(library),
        _ => {
            rankscope_testkit::skip(rankscope_testkit::Need::Compiler, "there is no C compiler called cc");
            None
        }
    }
}

/// Runs this test again in a process whose loader finds the library, and returns what the library wrote.
fn calls_of_child(test: &str, variable: &str, value: &Path, folder: &Path) -> String {
    let log = folder.join("calls");
    let program = std::env::current_exe().unwrap();
    let child = Command::new(program)
        .args(["--exact", test])
        .env(CHILD, "1")
        .env(variable, value)
        .env("RANKSCOPE_TEST_LOG", &log)
        .output()
        .unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
    std::fs::read_to_string(log).unwrap()
}

fn program(state: ProfilerState) {
    let mut config = ProfilerConfig::new(state);
    config.report_input_shapes = true;
    enable_profiler(config, Activities::NONE, &[]).unwrap();
    {
        let _outer = RecordFunction::named("outer", Scope::UserScope);
        let tensor = Input::Tensor(Tensor { sizes: &[2, 3], ..Tensor::default() });
        let _inner = RecordFunction::begin(&Op { sequence_nr: 4, inputs: &[tensor], ..Op::new("in\0visible") });
    }
    assert!(disable_profiler().unwrap().why_empty().is_some());
    drop(RecordFunction::named("later", Scope::UserScope));
}

#[test]
fn nvtx_sees_ranges_as_they_nest() {
    let _alone = alone();
    if std::env::var_os(CHILD).is_some() {
        return program(ProfilerState::Nvtx);
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(_) = library(folder.path(), "libnvToolsExt.so.1", NVTX) else { return };
    let calls = calls_of_child("vendors::nvtx_sees_ranges_as_they_nest", "LD_LIBRARY_PATH", folder.path(), folder.path());
    assert_eq!(calls, "push outer\npush invisible, seq = 4, sizes = [[2,3]]\npop\npop\n");
}

#[test]
fn itt_sees_tasks_of_one_domain() {
    let _alone = alone();
    if std::env::var_os(CHILD).is_some() {
        return program(ProfilerState::Itt);
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(file) = library(folder.path(), "collector.so", ITT) else { return };
    let calls = calls_of_child("vendors::itt_sees_tasks_of_one_domain", "INTEL_LIBITTNOTIFY64", &file, folder.path());
    let expected = "name outer\nbegin outer\nname invisible, seq = 4\nbegin invisible, seq = 4\nend PyTorch\nend PyTorch\n";
    assert_eq!(calls, expected);
}

#[test]
fn a_library_of_something_else_is_absent_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let Some(file) = library(folder.path(), "empty.so", "int nothing;") else { return };
    for error in [Ranges::nvtx_at(file.as_os_str()).unwrap_err(), Ranges::itt_at(file.as_os_str()).unwrap_err()] {
        let said = error.to_string();
        assert!(
            said.contains("empty.so") && (said.contains("nvtxRangePushA") || said.contains("__itt_domain_create")),
            "{said}"
        );
    }
    assert!(Ranges::nvtx_at(folder.path().join("none.so").as_os_str()).is_err());
}

#[test]
fn a_library_that_is_absent_is_named_once() {
    for refused in [Ranges::nvtx_at("libabsent.so.7".as_ref()), Ranges::itt_at("libabsent.so.7".as_ref())] {
        let said = refused.unwrap_err().to_string();
        assert_eq!(said.matches("libabsent.so.7").count(), 1, "{said}");
    }
}
