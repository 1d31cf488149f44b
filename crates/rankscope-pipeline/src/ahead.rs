//! Traces read ahead of whoever takes them, and taken in the order of their files, several at a time.
//!
//! As many threads read as there are processors, a file each, and each holds what it has read until it is its turn. So many traces are in
//! memory at most as fit, by the largest so far, half of them with the taker, and two in any case; of the first nothing is known yet, so it is
//! read by itself. An archive is one thread's, member after member. What is in memory already is taken from there. What cannot be read is
//! handed over, too: what it means is for the taker to say.

use std::num::NonZero;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::available_parallelism;

use rankscope_formats::Member;
use rankscope_run::InputFile;
use rankscope_trace::Trace;

use crate::held::Held;
use crate::read::{Reading, read_members};

/// Files to be read in order.
#[derive(Clone, Copy, Debug)]
pub struct Ahead<'a> {
    /// Where the traces are.
    pub files: &'a [InputFile],
    /// How much of each is read.
    pub reading: Reading,
    /// Memory that traces may take together, those that are held among them.
    pub memory_bytes: u64,
    /// Traces of these files that are in memory, read in the same way.
    pub held: Option<&'a Held>,
}

impl Ahead<'_> {
    /// Hands all traces to `take`, each with the number of its file, in order, up to as many at once as there are processors. Ends with the
    /// first error of `take`.
    ///
    /// # Errors
    /// That of `take`.
    pub fn read_in_order<E>(&self, take: impl FnMut(Vec<(usize, Member)>) -> Result<(), E>) -> Result<(), E> {
        self.read_by(available_parallelism().map_or(1, NonZero::get), take)
    }

    fn read_by<E>(&self, threads: usize, mut take: impl FnMut(Vec<(usize, Member)>) -> Result<(), E>) -> Result<(), E> {
        let of_held = |file: usize| self.held.and_then(|held| held.take_as_read(file));
        let held: Vec<Option<Vec<Member>>> = (0..self.files.len()).map(of_held).collect();
        // Without room, so that a thread holds one trace and reads no other meanwhile.
        let (senders, receivers): (Vec<_>, Vec<_>) = self.files.iter().map(|_| sync_channel(0)).unzip();
        let lacking: Vec<bool> = held.iter().map(Option::is_none).collect();
        let waiting = Mutex::new(
            self.files.iter().zip(senders).zip(&lacking).filter_map(|(file, is_lacking)| is_lacking.then_some(file)),
        );
        let held_bytes =
            |members: &Vec<Member>| members.iter().flat_map(|member| &member.trace).map(Trace::heap_bytes).sum::<u64>();
        let left_bytes = self.memory_bytes.saturating_sub(held.iter().flatten().map(held_bytes).sum());
        let desks = Desks::within(left_bytes, threads as u64);
        std::thread::scope(|scope| {
            // An error drops those that are left, and whoever sends to them stops.
            let (receivers, held) = (receivers, held);
            for _ in 0..threads.min(self.files.len()) {
                scope.spawn(|| read_next(&waiting, self.reading, &desks));
            }
            let mut taken = Vec::new();
            let mut hand_over = |file: usize, member: Member| {
                taken.push((file, member));
                if (taken.len() as u64) < desks.taken_at_once() { Ok(()) } else { take(std::mem::take(&mut taken)) }
            };
            for (file, (read, held)) in receivers.into_iter().zip(held).enumerate() {
                match held {
                    Some(members) => members.into_iter().try_for_each(|member| hand_over(file, member))?,
                    None => read.into_iter().try_for_each(|member| hand_over(file, member))?,
                }
            }
            if taken.is_empty() { Ok(()) } else { take(taken) }
        })
    }
}

/// Reads one file after the other of those that are `waiting`, until there is none, or nobody wants more.
fn read_next<'a>(waiting: &Mutex<impl Iterator<Item = (&'a InputFile, SyncSender<Member>)>>, reading: Reading, desks: &Desks) {
    // A file is fetched once there is a desk for it: what is to be taken next has one then.
    while let Some(_desk) = desks.sit_down() {
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
        let Some((file, to)) = next else { return };
        read_members(file, reading, |member| {
            if let Ok(trace) = &member.trace {
                desks.has_read(trace.heap_bytes());
            }
            if to.send(member).is_err() {
                desks.close();
            }
        });
    }
}

/// How many may read at a time.
struct Desks {
    memory_bytes: u64,
    threads: u64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    taken: u64,
    /// Of any trace so far.
    largest_bytes: Option<u64>,
    is_closed: bool,
}

/// One of them, until it is dropped.
struct Desk<'a>(&'a Desks);

impl Desks {
    fn within(memory_bytes: u64, threads: u64) -> Self {
        Self { memory_bytes, threads, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Waits for one; none once nobody wants more.
    fn sit_down(&self) -> Option<Desk<'_>> {
        let is_full = |state: &mut State| !state.is_closed && state.taken >= self.count(state);
        let mut state = self.changed.wait_while(self.lock(), is_full).unwrap_or_else(PoisonError::into_inner);
        if state.is_closed {
            return None;
        }
        state.taken += 1;
        Some(Desk(self))
    }

    /// How many there are. Those that are being taken are in memory, too.
    fn count(&self, state: &State) -> u64 {
        let fit = state.largest_bytes.map_or(1, |bytes| self.memory_bytes / bytes.max(1));
        fit.saturating_sub(self.taken_of(fit)).max(1)
    }

    /// How many traces are taken at once; of those that were in memory before, none has told of its size.
    fn taken_at_once(&self) -> u64 {
        self.lock().largest_bytes.map_or(self.threads, |bytes| self.taken_of(self.memory_bytes / bytes.max(1)))
    }

    /// How many are taken at once where so many `fit`.
    fn taken_of(&self, fit: u64) -> u64 {
        self.threads.min(fit / 2).max(1)
    }

    /// A trace of so many bytes was read.
    fn has_read(&self, bytes: u64) {
        let mut state = self.lock();
        state.largest_bytes = state.largest_bytes.max(Some(bytes));
        self.changed.notify_all();
    }

    /// Nobody wants more.
    fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Desk<'_> {
    fn drop(&mut self) {
        self.0.lock().taken -= 1;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rankscope_formats::{ArgsPolicy, Scope};
    use rankscope_run::discover;

    use super::*;

    const READING: Reading = Reading { args: ArgsPolicy::All, scope: Scope::All };

    /// Traces of all lengths, and now and then what is none.
    fn files(folder: &Path, count: usize) -> Vec<InputFile> {
        for file in 0..count {
            let event = |at: usize| format!(r#"{{"ph":"X","cat":"cpu_op","name":"op","pid":1,"tid":1,"ts":{at},"dur":0.5}}"#);
            let events: Vec<String> = (0..(count - file) * 40 % 997).map(event).collect();
            let text = format!(r#"{{"schemaVersion":1,"traceEvents":[{}]}}"#, events.join(","));
            let text = if file % 5 == 3 { r#"{"other":1}"#.to_owned() } else { text };
            std::fs::write(folder.join(format!("rank{file:03}.json")), text).unwrap();
        }
        discover(&[folder.to_owned()]).unwrap()
    }

    /// Which file gave which label and how many spans, as far as `until` files.
    fn told(
        threads: usize,
        files: &[InputFile],
        memory_bytes: u64,
        until: usize,
    ) -> (Vec<(usize, String, Option<usize>)>, bool) {
        let mut told = Vec::new();
        let ended = Ahead { files, reading: READING, memory_bytes, held: None }.read_by(threads, |members| {
            assert!((1..=threads).contains(&members.len()), "{} at once", members.len());
            assert!(memory_bytes > 1 || members.len() == 1, "two do not fit");
            for (file, member) in members {
                told.push((file, member.label, member.trace.ok().map(|trace| trace.spans.len())));
                if file + 1 == until {
                    return Err(());
                }
            }
            Ok(())
        });
        (told, ended.is_err())
    }

    #[test]
    fn traces_come_in_the_order_of_their_files_whoever_reads_them() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(folder.path(), 40);
        let (alone, _) = told(1, &files, u64::MAX, usize::MAX);
        assert_eq!(alone.iter().map(|(file, ..)| *file).collect::<Vec<_>>(), (0..40).collect::<Vec<_>>());
        assert!(
            alone.iter().any(|(.., spans)| spans.is_none())
                && alone.iter().any(|(.., spans)| spans.is_some_and(|some| some > 100))
        );
        for (threads, memory_bytes) in [(2, u64::MAX), (7, u64::MAX), (7, 1), (64, 200_000)] {
            assert_eq!(told(threads, &files, memory_bytes, usize::MAX), (alone.clone(), false), "{threads} threads");
        }
        assert_eq!(told(4, &[], u64::MAX, usize::MAX), (Vec::new(), false));
    }

    #[test]
    fn an_error_of_the_taker_ends_it() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(folder.path(), 40);
        let (alone, _) = told(1, &files, u64::MAX, usize::MAX);
        for threads in [1, 2, 7] {
            assert_eq!(told(threads, &files, u64::MAX, 9), (alone[..9].to_vec(), true), "{threads} threads");
        }
    }

    #[test]
    fn no_more_are_read_than_fit() {
        let desks = Desks::within(1_000, 2);
        let first = desks.sit_down().unwrap();
        let counts = || {
            let count = desks.count(&desks.lock());
            (count, desks.taken_at_once())
        };
        assert_eq!(counts().0, 1, "nothing is known yet");
        desks.has_read(200);
        assert_eq!(counts(), (3, 2), "five fit, two of them with the taker");
        desks.has_read(100);
        assert_eq!(counts(), (3, 2));
        desks.has_read(300);
        assert_eq!(counts(), (2, 1));
        desks.has_read(5_000);
        assert_eq!(counts(), (1, 1));
        drop(first);
        assert!(desks.sit_down().is_some());
        desks.close();
        assert!(desks.sit_down().is_none());
    }
}
