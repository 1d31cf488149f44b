//! What the other tests start in a process of its own: a program that records itself, and plays what a script says.
#![expect(unsafe_code, reason = "the library that stands for CUPTI's is told what to play")]

use std::ffi::{CString, c_char, c_int};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use libloading::os::unix::{Library, RTLD_NOW};
use rankscope_cupti::{ApiCalls, Cupti, CuptiOptions, CuptiState};
use rankscope_record::plugins::Registry;
use rankscope_record::{Category, Overflow, Scope, Session, SessionOptions, SpanGuard, begin_named, intern};

#[test]
#[ignore = "what the other tests start in a process of its own"]
fn child() {
    let Ok(part) = std::env::var("RANKSCOPE_TEST_PART") else { return };
    let script = std::env::var("RANKSCOPE_TEST_SCRIPT").unwrap();
    match part.as_str() {
        "once" => drop(once(&script, options())),
        "twice" => {
            drop(once(&script, options()));
            drop(once(&script, options()));
        }
        "beside" => beside(&script),
        "two-buffers" => drop(once(&script, options().with_buffers(2, 4_096))),
        "joined" => joined(&script),
        "little-room" => little_room(&script),
        "all-calls" => drop(once(&script, options().with_calls(ApiCalls::All))),
        "no-calls" => drop(once(&script, options().with_calls(ApiCalls::None))),
        "killed" => killed(&script),
        other => panic!("no part is called {other}"),
    }
}

/// Of a test nothing is to be waited for that does not come, and nothing comes that it did not ask for.
fn options() -> CuptiOptions {
    CuptiOptions::default().with_patience(Duration::from_millis(20)).with_flush_every(Duration::MAX)
}

fn start(options: CuptiOptions, session: SessionOptions) -> (Session, CuptiState) {
    let cupti = Cupti::new(options);
    let state = cupti.state();
    (Session::start_with(session, Registry::new().with(cupti)).unwrap(), state)
}

/// One session around the script.
fn once(script: &str, options: CuptiOptions) -> Session {
    let (session, state) = start(options, SessionOptions::to_file(file()));
    play(script);
    end(&session, &state);
    session
}

fn end(session: &Session, state: &CuptiState) {
    let stopped = session.stop().unwrap();
    println!("\nfailures={:?}", stopped.report.plugins);
    println!("dropped={}", stopped.report.dropped());
    if let Some(absent) = state.absent() {
        println!("absent={absent}");
        println!("reason={absent:?}");
    }
    if let Some(fake) = Fake::loaded() {
        println!("pushed={}\nrecords={}", fake.number("fake_pushed"), fake.number("fake_records"));
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

/// Plays, says so, and waits to be killed.
fn killed(script: &str) {
    let (_session, _state) = start(options().with_flush_every(Duration::from_millis(20)), SessionOptions::to_file(file()));
    play(script);
    println!("\nplayed");
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

/// A rank of a run, as its program writes it.
fn joined(script: &str) {
    let _run = rankscope_cupti::join_run();
    play(script);
}

/// A recording that is full before all is in it.
fn little_room(script: &str) {
    let session = SessionOptions::to_file(file()).with_overflow(Overflow::Stop { max_bytes: 2 << 20 });
    let (session, state) = start(options(), session);
    play(script);
    end(&session, &state);
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
            "up" => fake.as_ref().unwrap().call("fake_up"),
            "times" => {
                let (times, line) = rest.split_once(' ').unwrap();
                for _ in 0..times.parse::<u32>().unwrap() {
                    fake.as_ref().unwrap().play(line);
                }
            }
            "until" => wait_until(began_ns.unwrap_or(0) + rest.parse::<i64>().unwrap()),
            "recorded" => wait_for(|| fake.as_ref().unwrap().number("fake_records") > 0),
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

fn wait_until(wall_ns: i64) {
    wait_for(|| SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64 > wall_ns);
}

fn wait_for(holds: impl Fn() -> bool) {
    while !holds() {
        std::thread::yield_now();
    }
}

/// The library that the plugin has loaded.
struct Fake(Library);

impl Fake {
    fn loaded() -> Option<Self> {
        let file = std::env::var_os("RANKSCOPE_CUPTI_LIBRARY")?;
        // SAFETY: nothing is loaded that is not loaded already.
        let library = unsafe { Library::open(Some(file), RTLD_NOW | libc::RTLD_NOLOAD) }.ok()?;
        // SAFETY: the function has this type, and is not called.
        let is_fake = unsafe { library.get::<unsafe extern "C" fn()>(b"fake_up") }.is_ok();
        is_fake.then_some(Self(library))
    }

    fn play(&self, line: &str) -> i64 {
        let line = CString::new(line).unwrap();
        // SAFETY: the function has this type, and the text lives as long as the call.
        unsafe { self.0.get::<unsafe extern "C" fn(*const c_char) -> u64>(b"fake_play").unwrap()(line.as_ptr()) as i64 }
    }

    fn call(&self, name: &str) {
        // SAFETY: the function has this type.
        unsafe { self.0.get::<unsafe extern "C" fn()>(name.as_bytes()).unwrap()() }
    }

    fn number(&self, name: &str) -> i32 {
        // SAFETY: the function has this type.
        unsafe { self.0.get::<unsafe extern "C" fn() -> c_int>(name.as_bytes()).unwrap()() }
    }
}
