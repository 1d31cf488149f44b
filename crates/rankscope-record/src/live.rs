//! The live page of this process: where it is now, for whoever watches the job while it runs.
//!
//! There is one where the process joined a run ([`crate::join_run`]); everywhere else these functions look at one flag. Steps are told
//! by [`crate::begin_step`]; collectives by who calls them, with [`collective`]. A page costs a few hundred nanoseconds a collective and nothing
//! for any other span. No thread waits for another here: what comes while another thread writes is not told, and its
//! successor tells it.
#![expect(unsafe_code, reason = "a file is mapped, and written in place through atomics")]

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use rankscope_recording::{
    PAGE_ARRIVAL_WORDS, PAGE_ARRIVALS, PAGE_ARRIVALS_AT, PAGE_BYTES, PAGE_COUNT_AT, PAGE_GROUP_WORDS, PAGE_GROUPS,
    PAGE_GROUPS_AT, PAGE_NAME_BYTES, PAGE_STATES_AT, PAGE_WORDS, PageArrival, PageHead, PageState,
};

pub use rankscope_recording::PageOp;

use crate::store::map_file;
use crate::test_clock::TestClock;
use crate::ticks::clock_ns;

/// Whether this process has a page.
static IS_ON: AtomicBool = AtomicBool::new(false);
static PAGE: Mutex<Option<Page>> = Mutex::new(None);

/// A collective that this process is about to enter.
#[derive(Clone, Copy, Debug)]
pub struct Collective<'a> {
    /// The name of its group, the same on all its ranks.
    pub group: &'a str,
    /// How many ranks are in that.
    pub members: u32,
    /// Its number in the group, the same on all its ranks.
    pub sequence: u64,
    /// What it does.
    pub op: PageOp,
    /// What it moves.
    pub bytes: u64,
}

/// This process is in a collective until this is dropped.
#[must_use = "the collective is over when this is dropped: give it a name like `_inside`"]
#[derive(Debug)]
pub struct InCollective(Option<u64>);

/// Tells that this process comes to a collective, and with the end of what it returns that it leaves.
#[inline]
pub fn collective(collective: &Collective<'_>) -> InCollective {
    if !IS_ON.load(Ordering::Relaxed) {
        return InCollective(None);
    }
    InCollective(with(|page| page.enter(collective)).flatten())
}

impl Drop for InCollective {
    fn drop(&mut self) {
        if let Some(number) = self.0 {
            with(|page| page.leave(number));
        }
    }
}

/// A step begins.
#[inline]
pub(crate) fn step(number: i64) {
    if IS_ON.load(Ordering::Relaxed) {
        with(|page| page.step(number));
    }
}

/// The page if nobody else writes it. A fork has that of its parent mapped, and leaves it alone.
#[cold]
fn with<T>(change: impl FnOnce(&mut Page) -> T) -> Option<T> {
    let mut page: MutexGuard<'_, Option<Page>> = PAGE.try_lock().ok()?;
    page.as_mut().filter(|page| page.pid == std::process::id()).map(change)
}

/// A process tells of itself until this is dropped; then the page is gone.
#[derive(Debug)]
pub(crate) struct Told {
    path: PathBuf,
    pid: u32,
}

impl Told {
    /// Makes the page of a rank in the folder of a run. One that an earlier process of this rank left gives way.
    pub(crate) fn begin(run: &Path, rank: u32, test_clock: Option<TestClock>) -> io::Result<Self> {
        let folder = run.join("live");
        fs::create_dir_all(&folder)?;
        let path = folder.join(format!("rank-{rank}.page"));
        let page = Page::create(&path, rank, test_clock)?;
        let pid = page.pid;
        *PAGE.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(page);
        IS_ON.store(true, Ordering::Relaxed);
        Ok(Self { path, pid })
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        if self.pid != std::process::id() {
            return;
        }
        IS_ON.store(false, Ordering::Relaxed);
        *PAGE.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = None;
        // The folder goes with the last of them. Nobody can be told where one cannot be removed.
        let _gone = fs::remove_file(&self.path);
        let _empty = self.path.parent().map(fs::remove_dir);
    }
}

/// Between readings of the wall clock.
const ANCHOR_EVERY_NS: i64 = 1_000_000_000;

#[derive(Debug)]
struct Page {
    words: *mut AtomicU64,
    pid: u32,
    count: u64,
    state: PageState,
    groups: Vec<String>,
    clock: Option<TestClock>,
}

// SAFETY: the words are reached through atomics only, and unmapped by the page's own end.
unsafe impl Send for Page {}

impl Page {
    fn create(path: &Path, rank: u32, clock: Option<TestClock>) -> io::Result<Self> {
        let unfinished = path.with_extension(format!("{}.new", std::process::id()));
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&unfinished)?;
        let words = map_file(&file, 0, PAGE_BYTES)?.cast();
        let pid = std::process::id();
        let state = PageState { step: -1, ..PageState::default() };
        let mut page = Self { words, pid, count: 0, state, groups: Vec::new(), clock };
        let head = PageHead { rank, pid, process_start: process_start(), boot: boot() };
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

    fn now_ns(&self) -> i64 {
        let now_ns = clock_ns(libc::CLOCK_MONOTONIC_RAW);
        self.clock.as_ref().map_or(now_ns, |clock| now_ns.saturating_add(clock.error_ns(now_ns)))
    }

    fn step(&mut self, number: i64) {
        let now_ns = self.now_ns();
        if self.state.step >= 0 {
            self.state.step_took_ns = now_ns.saturating_sub(self.state.step_began_ns);
        }
        (self.state.step, self.state.step_began_ns) = (number, now_ns);
        self.progressed(now_ns);
    }

    /// The number of the arrival; none where the page has no room for another group.
    fn enter(&mut self, collective: &Collective<'_>) -> Option<u64> {
        let (group, number, now_ns) = (self.group(collective)?, self.state.arrivals, self.now_ns());
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

    fn leave(&mut self, number: u64) {
        let now_ns = self.now_ns();
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
        self.state.progress_ns = now_ns;
        self.publish();
    }

    /// Writes the state over the older one, and then says that it is the newer.
    fn publish(&mut self) {
        if self.count == 0 || self.state.progress_ns - self.state.anchor[0] > ANCHOR_EVERY_NS {
            let (raw_ns, wall_ns) = both_clocks();
            let off_ns = self.clock.as_ref().map_or(0, |clock| clock.error_ns(raw_ns));
            self.state.anchor = [raw_ns.saturating_add(off_ns), wall_ns.saturating_add(off_ns)];
        }
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

/// The raw monotonic and the wall clock at one moment: the narrowest of a few tries.
fn both_clocks() -> (i64, i64) {
    let once = |_| {
        let before_ns = clock_ns(libc::CLOCK_MONOTONIC_RAW);
        let wall_ns = clock_ns(libc::CLOCK_REALTIME);
        let width_ns = clock_ns(libc::CLOCK_MONOTONIC_RAW).saturating_sub(before_ns);
        (width_ns, before_ns.saturating_add(width_ns / 2), wall_ns)
    };
    (0..5).map(once).min().map_or((0, 0), |(_, raw_ns, wall_ns)| (raw_ns, wall_ns))
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use rankscope_recording::LivePage;

    #[test]
    fn what_a_process_does_is_in_its_page_and_the_page_goes_with_it() {
        let run = tempfile::tempdir().unwrap();
        let told = Told::begin(run.path(), 3, None).unwrap();
        let path = run.path().join("live/rank-3.page");
        let read = || {
            let bytes = fs::read(&path).unwrap();
            LivePage::read(&bytes, &bytes).unwrap()
        };
        assert_eq!((read().head.rank, read().head.pid, read().state.step), (3, std::process::id(), -1));
        step(4);
        let all_reduce = |sequence| Collective { group: "default_pg", members: 2, sequence, op: PageOp::AllReduce, bytes: 64 };
        (0..600).for_each(|sequence| drop(collective(&all_reduce(sequence))));
        let inside = collective(&all_reduce(600));
        let page = read();
        assert_eq!((page.state.step, page.groups[0].name.as_str(), page.groups[0].members), (4, "default_pg", 2));
        let open = page.open().unwrap();
        assert_eq!((open.sequence, open.op, open.bytes, open.step), (600, PageOp::AllReduce, 64, 4));
        assert!(page.arrivals.len() > 200 && page.arrivals.is_sorted_by_key(|arrival| arrival.arrived_ns));
        drop(inside);
        assert!(read().open().is_none() && read().state.progress > page.state.progress);
        drop(told);
        assert!(!path.exists() && !run.path().join("live").exists());
        assert!(collective(&all_reduce(601)).0.is_none(), "off again");
    }
}
