//! The examples in C and C++, as their comments say they are used, and what the product reads of what they recorded.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use rankscope_trace::FlowPhase;

use crate::built::{Built, compiler, example, library, names, own, read, succeeded};

#[test]
fn what_a_c_program_recorded_is_the_same_in_every_format() {
    let Some(built) = Built::new() else { return };
    let program = built.program(&example("record.c"));
    let output = succeeded(Command::new(program).arg(built.folder.path()));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.starts_with("14 events of 2 threads, 0 dropped"), "{said}");
    let wanted = ["ProfilerStep#0", "ProfilerStep#1", "ProfilerStep#2", "forward", "forward", "forward", "load batch"]
        .map(str::to_owned);
    for name in ["record.rkr", "record.json.gz", "record.pftrace"] {
        let trace = read(&built.path(name));
        assert_eq!(names(&trace), wanted, "{name}");
        assert_eq!(trace.counters.len(), 3, "{name}");
        assert!(trace.provenance.problems.is_empty(), "{name}: {:?}", trace.provenance.problems);
    }
    let trace = read(&built.path("record.rkr"));
    let phases: Vec<FlowPhase> = trace.flows.iter().map(|point| point.phase).collect();
    assert!(phases.contains(&FlowPhase::Start) && phases.contains(&FlowPhase::End), "{phases:?}");
    assert!(trace.provenance.header.contains(&("model".to_owned(), "\"tiny\"".to_owned())));
    assert!(trace.tracks.iter().any(|(_, track)| trace.strings.text(track.name) == "loader"));
}

#[test]
fn spans_that_an_exception_left_are_in_the_recording() {
    let Some(built) = Built::new() else { return };
    let program = built.program(&example("record.cpp"));
    let output = succeeded(Command::new(program).arg(built.folder.path()));
    assert!(String::from_utf8_lossy(&output.stdout).ends_with("8 events, 0 misused\n"));
    let trace = read(&built.path("record-cpp.rkr"));
    assert_eq!(names(&trace), [["forward"; 4], ["train step"; 4]].concat());
    assert!(trace.unfinished.is_empty());
}

#[test]
fn a_program_that_is_killed_leaves_what_it_recorded() {
    let Some(built) = Built::new() else { return };
    let recording = built.path("killed.rkr");
    let status = Command::new(built.program(&example("killed.c"))).arg(&recording).status().unwrap();
    assert_eq!(status.signal(), Some(9));
    let trace = read(&recording);
    assert_eq!(names(&trace).iter().filter(|name| *name == "work").count(), 1000);
    let [open] = trace.unfinished[..] else { panic!("one span was open") };
    assert_eq!(trace.name(open), "what it was doing when it was killed");
}

#[test]
fn a_program_may_link_the_static_library() {
    let Some(built) = Built::new() else { return };
    let source = example("record.c");
    let program = built.path("static");
    let mut link = compiler(&source);
    link.arg(&source).arg(library("librankscope_capi.a")).arg("-o").arg(&program);
    succeeded(link.args(["-lpthread", "-ldl", "-lm", "-lrt", "-lutil"]));
    succeeded(Command::new(&program).arg(built.folder.path()));
    assert_eq!(names(&read(&built.path("record.rkr"))).len(), 7);
}

/// The header by itself, first and twice, and what it inlines where nothing is used.
#[test]
fn the_headers_compile_by_themselves() {
    let Some(built) = Built::new() else { return };
    for (name, text) in [
        ("alone.c", "#include <rankscope.h>\n#include <rankscope.h>\ntypedef int used;\n"),
        ("alone.cpp", "#include <rankscope.hpp>\n"),
    ] {
        let source = built.path(name);
        std::fs::write(&source, text).unwrap();
        succeeded(compiler(&source).args(["-Wshadow", "-Wconversion", "-Wno-unused-function", "-fsyntax-only"]).arg(&source));
    }
    assert!(own("include/rankscope.hpp").exists());
}

#[test]
fn the_cost_of_a_span_can_be_printed() {
    let Some(built) = Built::new() else { return };
    let program = built.program(&example("cost.c"));
    let output = succeeded(&mut Command::new(&program));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(said.lines().count(), 5, "{said}");
    succeeded(Command::new(program).args(["span", "1000", "on"]));
}
