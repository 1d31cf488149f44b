//! What the other tests start in a process of its own.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rankscope_counters::{Counters, CountersOptions, Hz, record_node};
use rankscope_record::plugins::Registry;
use rankscope_record::{Session, SessionOptions, record_function};

use super::stage;

#[test]
#[ignore = "what the other tests start in a process of its own"]
fn child() {
    let Ok(part) = std::env::var("RANKSCOPE_TEST_PART") else { return };
    let folder: PathBuf = std::env::var_os("RANKSCOPE_TEST_FOLDER").unwrap().into();
    let hz = Hz::new(100).unwrap();
    match part.as_str() {
        "node" => record_node(&folder, hz, || work(&folder)).unwrap(),
        "process" => {
            let counters = Counters::new(CountersOptions::default().with_hz(hz));
            let options = SessionOptions::to_file(folder.join("program.rkr"));
            let session = Session::start_with(options, Registry::new().with(counters)).unwrap();
            work(&folder);
            session.stop().unwrap();
        }
        other => panic!("no part is called {other}"),
    }
}

/// Takes a processor until the recording has what the test wants to see: so many values of a counter.
fn work(folder: &Path) {
    let _span = record_function!("work");
    let wanted = std::env::var("RANKSCOPE_TEST_UNTIL").unwrap();
    let (count, name) = wanted.split_once(' ').unwrap();
    let count: usize = count.parse().unwrap();
    while stage::live_counters(folder).get(name).is_none_or(|values| values.len() < count) {
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(100) {
            std::hint::spin_loop();
        }
    }
}
