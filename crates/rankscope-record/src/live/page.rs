//! The page itself: words in a mapped file, written in place.
#![expect(unsafe_code, reason = "a file is mapped, and written in place through atomics")]

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rankscope_recording::{
    LivePage, PAGE_ARRIVAL_WORDS, PAGE_ARRIVALS, PAGE_ARRIVALS_AT, PAGE_BYTES, PAGE_COUNT_AT, PAGE_GROUP_WORDS, PAGE_GROUPS,
    PAGE_GROUPS_AT, PAGE_NAME_BYTES, PAGE_STATES_AT, PAGE_WORDS, PageArrival, PageHead, PageState,
};

use super::Collective;
use super::phase::Marks;
use crate::store::map_file;
use crate::test_clock::TestClock;
use crate::ticks::clock_ns;
use crate::wall_reading::WallReading;

/// Between readings of the wall clock.
const ANCHOR_EVERY_NS: i64 = 1_000_000_000;

/// The page of this process, mapped.
#[derive(Debug)]
pub(super) struct Page {
    words: *mut AtomicU64,
    pub(super) pid: u32,
    count: u64,
    state: PageState,
    groups: Vec<String>,
    marks: Marks,
    clock: Option<TestClock>,
}

// SAFETY: the words are reached through atomics only, and unmapped by the page's own end.
unsafe impl Send for Page {}

impl Page {
    pub(super) fn create(path: &Path, rank: u32, clock: Option<TestClock>) -> io::Result<Self> {
        let head = PageHead { rank, pid: std::process::id(), process_start: process_start(), boot: boot() };
        if read_head(path) == Some(head) {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "this process tells of itself there already"));
        }
        let unfinished = path.with_extension(format!("{}.new", std::process::id()));
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&unfinished)?;
        let words = map_file(&file, 0, PAGE_BYTES)?.cast();
        let pid = std::process::id();
        let state = PageState { step: -1, ..PageState::default() };
        let mut page = Self { words, pid, count: 0, state, groups: Vec::new(), marks: Marks::default(), clock };
        // That it is there is the first thing that a rank does.
        page.state.progress_ns = page.now_ns();
        page.fill(0, &head.words());
        page.publish();
        // It appears under its name when it can be read.
        fs::rename(&unfinished, path)?;
        Ok(page)
    }

    fn fill(&self, at: usize, words: &[u64]) {
        debug_assert!(at + words.len() <= PAGE_WORDS, "within the page");
        for (at, word) in (at..PAGE_WORDS).zip(words) {
            self.put(at, *word);
        }
    }

    fn put(&self, at: usize, word: u64) {
        // SAFETY: every caller's place is below PAGE_WORDS, all of which are mapped while the page lives.
        unsafe { (*self.words.add(at)).store(word.to_le(), Ordering::Release) };
    }

    pub(super) fn now_ns(&self) -> i64 {
        self.shown_ns(clock_ns(libc::CLOCK_MONOTONIC_RAW))
    }

    /// What this process's clock shows at an instant of the raw monotonic one.
    pub(super) fn shown_ns(&self, raw_ns: i64) -> i64 {
        self.clock.as_ref().map_or(raw_ns, |clock| raw_ns.saturating_add(clock.error_ns(raw_ns)))
    }

    pub(super) fn step(&mut self, number: i64) {
        let now_ns = self.now_ns();
        if self.state.step >= 0 {
            self.state.step_took_ns = now_ns.saturating_sub(self.state.step_began_ns);
        }
        (self.state.step, self.state.step_began_ns) = (number, now_ns);
        self.progressed(now_ns);
    }

    /// That phases begin and end is progress, too.
    pub(super) fn phase_changed(&mut self) {
        self.progressed(self.now_ns());
    }

    /// The number of the arrival; none where the page has no room for another group.
    pub(super) fn enter(&mut self, collective: &Collective<'_>, now_ns: i64) -> Option<u64> {
        let (group, number) = (self.group(collective)?, self.state.arrivals);
        let arrival = PageArrival {
            group,
            op: collective.op,
            sequence: collective.sequence,
            bytes: collective.bytes,
            arrived_ns: now_ns,
            left_ns: 0,
            step: self.state.step,
        };
        let (at, words) = (place(number), arrival.words(number));
        // Its number is taken away first and comes back last: whoever reads meanwhile finds none.
        self.put(at, 0);
        self.fill(at + 1, &words[1..]);
        self.put(at, words[0]);
        self.state.arrivals += 1;
        self.progressed(now_ns);
        Some(number)
    }

    pub(super) fn leave(&mut self, number: u64, now_ns: i64) {
        if self.state.arrivals - number <= PAGE_ARRIVALS as u64 {
            self.put(place(number) + 5, now_ns as u64);
        }
        self.progressed(now_ns);
    }

    fn group(&mut self, collective: &Collective<'_>) -> Option<usize> {
        if let Some(known) = self.groups.iter().position(|name| name == collective.group) {
            return Some(known);
        }
        let number = self.groups.len();
        if number == PAGE_GROUPS {
            return None;
        }
        let at = PAGE_GROUPS_AT + number * PAGE_GROUP_WORDS;
        let mut name = [0; PAGE_NAME_BYTES];
        let length = collective.group.len().min(PAGE_NAME_BYTES);
        name[..length].copy_from_slice(&collective.group.as_bytes()[..length]);
        self.put(at, u64::from(collective.members) << 32 | length as u64);
        for (place, word) in name.as_chunks().0.iter().enumerate() {
            self.put(at + 1 + place, u64::from_le_bytes(*word));
        }
        self.groups.push(collective.group.to_owned());
        self.state.groups += 1;
        Some(number)
    }

    fn progressed(&mut self, now_ns: i64) {
        self.state.progress += 1;
        // What others saw may be told out of its order.
        self.state.progress_ns = self.state.progress_ns.max(now_ns);
        self.publish();
    }

    /// Writes the state over the older one, and then says that it is the newer.
    fn publish(&mut self) {
        if self.count == 0 || self.state.progress_ns - self.state.anchor[0] > ANCHOR_EVERY_NS {
            let WallReading { raw_ns, wall_ns, .. } = WallReading::narrowest(ANCHOR_TRIES);
            let off_ns = self.clock.as_ref().map_or(0, |clock| clock.error_ns(raw_ns));
            self.state.anchor = [raw_ns.saturating_add(off_ns), wall_ns.saturating_add(off_ns)];
        }
        self.state.mark = self.marks.at(self.state.progress_ns);
        self.count += 1;
        self.fill(PAGE_STATES_AT[(self.count & 1) as usize], &self.state.words(self.count));
        self.put(PAGE_COUNT_AT, self.count);
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: mapped by `map_file`, and nobody else has the address.
        unsafe { libc::munmap(self.words.cast(), PAGE_BYTES) };
    }
}

/// Who wrote the page at `path`, if one is there.
fn read_head(path: &Path) -> Option<PageHead> {
    let bytes = fs::read(path).ok()?;
    LivePage::read(&bytes, &bytes).ok().map(|page| page.head)
}

/// Readings of the clocks, of which the narrowest is an anchor: whoever is told of a step waits for them.
const ANCHOR_TRIES: u32 = 5;

fn place(number: u64) -> usize {
    PAGE_ARRIVALS_AT + (number % PAGE_ARRIVALS as u64) as usize * PAGE_ARRIVAL_WORDS
}

/// When this process began, in the kernel's ticks; zero where it is not told.
fn process_start() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let behind_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    behind_name.split_ascii_whitespace().nth(19).and_then(|ticks| ticks.parse().ok()).unwrap_or(0)
}

/// Which start of which machine this is; zeros where it is not told.
fn boot() -> [u64; 2] {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits: String = id.chars().filter(char::is_ascii_hexdigit).collect();
    let half =
        |range: std::ops::Range<usize>| digits.get(range).and_then(|half| u64::from_str_radix(half, 16).ok()).unwrap_or(0);
    [half(0..16), half(16..32)]
}
