//! The live page of this process: where it is now, for whoever watches the job while it runs.
//!
//! There is one where the process joined a run ([`crate::join_run`]); everywhere else these functions look at one flag. Steps are told
//! by [`crate::begin_step`]; collectives by who calls them, with [`collective`]; that it saves or evaluates with [`phase`]. A page costs a few hundred nanoseconds a collective and nothing
//! for any other span. No thread waits for another here: what comes while another thread writes is not told, and its
//! successor tells it.

mod page;
mod phase;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

pub use phase::{InPhase, enter_phase, leave_phase};
pub use rankscope_recording::{PageOp, PagePhase as Phase};

use crate::test_clock::TestClock;
use page::Page;
use rankscope_recording::page_name;

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

/// Whether this process tells of itself.
#[inline]
pub fn has_page() -> bool {
    IS_ON.load(Ordering::Relaxed)
}

/// Tells that this process comes to a collective, and with the end of what it returns that it leaves.
#[inline]
pub fn collective(collective: &Collective<'_>) -> InCollective {
    if !IS_ON.load(Ordering::Relaxed) {
        return InCollective(None);
    }
    InCollective(with(|page| page.enter(collective, page.now_ns())).flatten())
}

/// As [`collective`], for who learns of it afterwards: it came at `raw_ns` of `CLOCK_MONOTONIC_RAW`.
pub fn collective_at(collective: &Collective<'_>, raw_ns: i64) -> InCollective {
    InCollective(with(|page| page.enter(collective, page.shown_ns(raw_ns))).flatten())
}

impl InCollective {
    /// It left at `raw_ns` of `CLOCK_MONOTONIC_RAW`.
    pub fn left_at(mut self, raw_ns: i64) {
        if let Some(number) = self.0.take() {
            with(|page| page.leave(number, page.shown_ns(raw_ns)));
        }
    }
}

impl Drop for InCollective {
    fn drop(&mut self) {
        if let Some(number) = self.0 {
            with(|page| page.leave(number, page.now_ns()));
        }
    }
}

/// Tells that this process is in a phase in which it may be long before it does anything else, such as saving a checkpoint, until
/// what this returns is dropped. Whoever watches the job is as patient as the phase asks for. Of phases within phases the page tells the one that
/// allows most. Costs some atomic operations where there is no page.
///
/// ```
/// use rankscope_record::live::{Phase, phase};
///
/// let saving = phase(Phase::Checkpoint);
/// // Write the model.
/// drop(saving);
/// ```
pub fn phase(phase: Phase) -> InPhase {
    InPhase::begin(phase)
}

/// Tries so often to tell of a phase: a page is written within a microsecond, and whoever forks may never leave it.
const PHASE_TRIES: u32 = 1_000;

/// The page is to tell of another phase. Where it does not come to it, whatever is told next does.
fn phase_changed() {
    if IS_ON.load(Ordering::Relaxed) {
        let told = || {
            std::hint::spin_loop();
            with(Page::phase_changed)
        };
        let _told = (0..PHASE_TRIES).find_map(|_| told());
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
#[must_use = "the page is gone when this is dropped: give it a name like `_told`"]
#[derive(Debug)]
pub struct Told {
    path: PathBuf,
    pid: u32,
}

impl Told {
    /// Makes the page of a rank in the folder of a run, where this process does not come to that by [`crate::join_run`]. One that an earlier
    /// process of this rank left gives way. With a test clock times are what that shows.
    ///
    /// # Errors
    /// What the system says, and [`io::ErrorKind::AlreadyExists`] where this process has that page already, perhaps by another library in
    /// it.
    pub fn begin(run: &Path, rank: u32, test_clock: Option<TestClock>) -> io::Result<Self> {
        let folder = run.join("live");
        fs::create_dir_all(&folder)?;
        let path = folder.join(page_name(rank));
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
        let begun = read().state;
        assert!(begun.progress == 0 && begun.progress_ns >= begun.anchor[0] - 1_000_000_000, "it moved when it began");
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
        let now_ns = read().state.progress_ns;
        let (first, second) = (collective_at(&all_reduce(601), now_ns + 5), collective_at(&all_reduce(602), now_ns + 9));
        first.left_at(now_ns + 8);
        let last: Vec<_> =
            read().arrivals.iter().rev().take(2).map(|came| (came.sequence, came.arrived_ns, came.left_ns)).collect();
        assert_eq!(last, [(602, now_ns + 9, 0), (601, now_ns + 5, now_ns + 8)]);
        assert_eq!(read().state.progress_ns, now_ns + 9, "what is told late takes nothing back");
        drop(second);
        let before = read().state;
        let evaluating = phase(Phase::Evaluation);
        let saving = phase(Phase::Checkpoint);
        assert_eq!((read().state.mark.phase, read().state.mark.before), (Phase::Checkpoint, 0));
        assert!(read().state.progress > before.progress && read().state.mark.began_ns >= before.progress_ns);
        drop(evaluating);
        drop(collective(&all_reduce(603)));
        assert_eq!(read().state.mark.phase, Phase::Checkpoint, "they end in any order");
        std::thread::spawn(|| drop(saving)).join().unwrap();
        assert_eq!(read().state.mark.phase, Phase::Unmarked);
        assert!(!leave_phase(Phase::Checkpoint), "it is in none");
        enter_phase(Phase::Checkpoint);
        assert!(read().state.mark.before == 1 && read().state.mark.longest_ns > 0);
        assert!(leave_phase(Phase::Checkpoint));
        assert_eq!(Told::begin(run.path(), 3, None).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        drop(told);
        assert!(!path.exists() && !run.path().join("live").exists());
        assert!(collective(&all_reduce(604)).0.is_none(), "off again");
    }
}
