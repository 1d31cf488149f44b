//! What the other tests start in a process of its own: a program that records itself, and plays what a script says.
#![expect(unsafe_code, reason = "the library that stands for rocprofiler-sdk is told what to play")]

use std::ffi::{CString, c_char, c_int};
use std::path::PathBuf;
use std::time::Duration;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use rankscope_record::plugins::Registry;
use rankscope_record::{Category, Scope, Session, SessionOptions, SpanGuard, begin_named, intern};
use rankscope_rocprofiler::{ApiCalls, Rocprofiler, RocprofilerOptions, RocprofilerState};

#[test]
#[ignore = "what the other tests start in a process of its own"]
fn child() {
    let Ok(part) = std::env::var("RANKSCOPE_TEST_PART") else { return };
    let script = std::env::var("RANKSCOPE_TEST_SCRIPT").unwrap();
    match part.as_str() {
        "once" => once(&script, options()),
        "twice" => {
            once(&script, options());
            once(&script, options());
        }
        "beside" => beside(&script),
        "little-room" => once(&script, options().with_buffers(1, 4_096)),
        "all-calls" => once(&script, options().with_calls(ApiCalls::All)),
        "no-calls" => once(&script, options().with_calls(ApiCalls::None)),
        "hip-before" => {
            open(std::env::var_os("RANKSCOPE_TEST_HIP").unwrap().into(), 0);
            once(&script, options());
        }
        "hip-first" => hip_first(&script),
        "joined" => {
            let _run = rankscope_rocprofiler::join_run();
            play(&script);
        }
        "killed" => killed(&script),
        other => panic!("no part is called {other}"),
    }
}

/// Of a test nothing comes that it did not ask for.
fn options() -> RocprofilerOptions {
    RocprofilerOptions::default().with_flush_every(Duration::MAX)
}

fn start(options: RocprofilerOptions, session: SessionOptions) -> (Session, RocprofilerState) {
    let rocprofiler = Rocprofiler::new(options);
    let state = rocprofiler.state();
    (Session::start_with(session, Registry::new().with(rocprofiler)).unwrap(), state)
}

/// One session around the script.
fn once(script: &str, options: RocprofilerOptions) {
    let (session, state) = start(options, SessionOptions::to_file(file()));
    play(script);
    end(&session, &state);
}

fn end(session: &Session, state: &RocprofilerState) {
    let stopped = session.stop().unwrap();
    println!("\nfailures={:?}", stopped.report.plugins);
    if let Some(absent) = state.absent() {
        println!("absent={absent}");
    }
    if let Some(fake) = Fake::loaded() {
        println!("contexts={}", fake.contexts());
    }
}

/// A second session while the first runs.
fn beside(script: &str) {
    let (first, first_state) = start(options(), SessionOptions::to_file(file()));
    let (second, second_state) = start(options(), SessionOptions::default());
    println!("\nsecond={:?}", second_state.absent());
    second.stop().unwrap();
    play(script);
    end(&first, &first_state);
}

/// A program that calls HIP long before it records itself: what ROCm was told of tools is loaded then.
fn hip_first(script: &str) {
    let library = std::env::var_os("RANKSCOPE_ROCPROFILER_LIBRARY").unwrap();
    open(library.into(), 0);
    let (before, after) = script.split_once("session\n").unwrap();
    play(before);
    once(after, options());
}

/// Plays, says so, and waits to be killed.
fn killed(script: &str) {
    let options = options().with_flush_every(Duration::from_millis(20));
    let (_session, _state) = start(options, SessionOptions::to_file(file()));
    play(script);
    println!("\nplayed");
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

fn file() -> PathBuf {
    std::env::var_os("RANKSCOPE_TEST_FILE").unwrap().into()
}

/// Lines that are about spans are played here, the others by the library.
fn play(script: &str) {
    let fake = Fake::loaded();
    let mut open: Vec<SpanGuard> = Vec::new();
    let mut began_ns = None;
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (what, rest) = line.split_once(' ').unwrap_or((line, ""));
        match what {
            "span" => open.push(begin(rest, Category::USER_ANNOTATION)),
            "op" => open.push(begin(rest, Category::CPU_OP)),
            "end" => drop(open.pop()),
            "until" => {
                let until_ns = began_ns.unwrap_or(0) + rest.parse::<i64>().unwrap();
                while fake.as_ref().is_some_and(|fake| fake.now_ns() <= until_ns) {
                    std::thread::yield_now();
                }
            }
            _ => began_ns = fake.as_ref().map(|fake| fake.play(line)).or(began_ns),
        }
    }
    if let Some(began_ns) = began_ns {
        println!("\nbegan={began_ns}");
    }
}

fn begin(name: &str, category: Category) -> SpanGuard {
    begin_named(intern(name, category, Scope::Function), &[])
}

/// Opens a library for good.
fn open(file: PathBuf, flags: c_int) {
    // SAFETY: one that was compiled for these tests.
    std::mem::forget(unsafe { Library::open(Some(file), RTLD_NOW | RTLD_LOCAL | flags) }.unwrap());
}

/// The library that the plugin has loaded.
struct Fake(Library);

impl Fake {
    fn loaded() -> Option<Self> {
        let file = std::env::var_os("RANKSCOPE_ROCPROFILER_LIBRARY")?;
        // SAFETY: nothing is loaded that is not loaded already.
        unsafe { Library::open(Some(file), RTLD_NOW | libc::RTLD_NOLOAD) }.ok().map(Self)
    }

    fn play(&self, line: &str) -> i64 {
        let line = CString::new(line).unwrap();
        // SAFETY: the function has this type, and the text lives as long as the call.
        unsafe { self.0.get::<unsafe extern "C" fn(*const c_char) -> u64>(b"fake_play").unwrap()(line.as_ptr()) as i64 }
    }

    fn now_ns(&self) -> i64 {
        // SAFETY: the function has this type.
        unsafe { self.0.get::<unsafe extern "C" fn() -> u64>(b"fake_now").unwrap()() as i64 }
    }

    fn contexts(&self) -> c_int {
        // SAFETY: the function has this type.
        unsafe { self.0.get::<unsafe extern "C" fn() -> c_int>(b"fake_contexts").unwrap()() }
    }
}
