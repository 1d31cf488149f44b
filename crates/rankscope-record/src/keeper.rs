//! The keeper: one thread per recording that does what no recording thread should wait for: chunks made ready and checked, an
//! anchor every second, losses written down, files flushed.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rankscope_recording::{DropReason, Remark};

use crate::lane::registry;
use crate::lane::tally::grown;
use crate::store::Store;
use crate::{anchors, names, ticks::ticks};

/// Between anchors, once the first few have given the rate. A multiple of what usually lies between flushes, so that both come in one waking.
const ANCHOR_EVERY: Duration = Duration::from_secs(1);
/// The first anchors come sooner, so that a process killed after a moment leaves times and not just ticks.
const FIRST_ANCHORS: [Duration; 3] = [Duration::from_millis(2), Duration::from_millis(20), Duration::from_millis(200)];
/// A shorter time between flushes, which a public field may say, is taken for this.
const FLUSH_EVERY_MIN: Duration = Duration::from_millis(1);

/// Starts the keeper of `store`. Where no thread can be had, the recording does without: it is slower, and has the anchors of
/// its start and stop.
pub(crate) fn start(store: Arc<Store>, flush_every: Duration) {
    store.before.get_or_init(|| registry::lock().tallies());
    let _ = thread::Builder::new()
        .name("rankscope-rec".to_owned())
        .stack_size(256 << 10)
        .spawn(move || keep(&store, flush_every.max(FLUSH_EVERY_MIN)));
}

fn keep(store: &Store, flush_every: Duration) {
    block_signals();
    let (began, first_tick) = (Instant::now(), ticks());
    let mut next_anchor = FIRST_ANCHORS[0];
    let mut next_flush = flush_every;
    let mut anchors_taken = 0;
    loop {
        let ticks_per_second = rate(began, first_tick);
        // Full chunks, and too few that are ready, end the wait: nothing else is worth waking for in between.
        let wait = next_anchor.min(next_flush).saturating_sub(began.elapsed()).max(Duration::from_millis(1));
        store.keep(wait, ticks_per_second);
        if store.is_closing() && !store.has_sealed() {
            return;
        }
        if !store.is_closing() && began.elapsed() >= next_anchor {
            anchors_taken += 1;
            next_anchor = FIRST_ANCHORS.get(anchors_taken).copied().unwrap_or_else(|| next(began.elapsed(), ANCHOR_EVERY));
            let anchors = anchors::take(store.test_clock.as_ref());
            store.system(|system| system.anchors(&anchors));
            write_drops(store);
        }
        if began.elapsed() >= next_flush {
            store.flush();
            next_flush = next(began.elapsed(), flush_every);
        }
    }
}

/// The multiple of `every` that is next after `now`, half of it away at least: a disk that takes long is left alone for a while.
fn next(now: Duration, every: Duration) -> Duration {
    let passed = (now + every / 2).as_nanos() / every.as_nanos();
    every.saturating_mul(u32::try_from(passed).unwrap_or(u32::MAX).saturating_add(1))
}

/// Writes down what threads have lost and remarked in this recording so far, what the ring has overwritten, and names that found
/// no room.
pub(crate) fn write_drops(store: &Store) {
    let before = store.before.get().map_or(&[][..], Vec::as_slice);
    let tallies = grown(before, registry::lock().tallies());
    store.system(|system| {
        for tally in &tallies {
            for (reason, count) in crate::report::reasons(&tally.drops) {
                system.drops(reason, tally.stream, count);
            }
            for (remark, count) in Remark::ALL.into_iter().zip(tally.remarks) {
                system.remark(remark, tally.stream, count);
            }
        }
        system.remark(Remark::NamesCut, 0, store.names_cut());
        let overwritten = store.overwritten();
        if overwritten > 0 {
            system.drops(DropReason::Overwritten, 0, overwritten);
        }
        if let Some((count, key)) = names::full() {
            system.meta(key, &count.to_string());
        }
    });
}

fn rate(began: Instant, first_tick: u64) -> u64 {
    let elapsed_ns = began.elapsed().as_nanos().max(1);
    (u128::from(ticks().saturating_sub(first_tick)) * 1_000_000_000 / elapsed_ns) as u64
}

/// From now on no signal comes to this thread, which is one of ours or of a plugin's. Signals are for the program's threads; a handler that
/// runs here would see a thread it does not know.
#[expect(unsafe_code, reason = "the signal mask is set by a system call")]
pub fn block_signals() {
    // SAFETY: the set is filled before it is used.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// A flush is never more than three halves of its time behind the one before, and every anchor comes with one.
        #[test]
        fn what_is_due_comes_in_time_and_together(now_ms in 0_u64..1_000_000_000, part in prop::sample::select(vec![1, 2, 4, 20])) {
            let (now, flush_every) = (Duration::from_millis(now_ms), ANCHOR_EVERY / part);
            let (flush, anchor) = (next(now, flush_every), next(now, ANCHOR_EVERY));
            prop_assert!(now + flush_every / 2 < flush && flush <= now + flush_every * 3 / 2);
            prop_assert_eq!(anchor.as_nanos() % flush_every.as_nanos(), 0);
            // Right after one it is the next.
            prop_assert_eq!(next(flush + Duration::from_millis(1), flush_every), flush + flush_every);
        }
    }
}
