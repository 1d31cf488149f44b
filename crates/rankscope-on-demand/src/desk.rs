//! Who is there, and what each is to get at its next question. Times come in as numbers; nothing is read or sent.

use std::collections::BTreeMap;

use crate::datagram::{ACTIVITIES, Poll, Refused};

/// Processes that are known at a time.
const CLIENTS_MAX: usize = 4_096;

/// A process that has not asked for so long is forgotten.
const FORGOTTEN_AFTER_MS: u64 = 60_000;

/// Looking at all of them takes longer than an answer.
const SWEEP_EVERY_MS: u64 = 1_000;

/// The processes of a node that ask.
#[derive(Debug, Default)]
pub struct Desk {
    clients: BTreeMap<i32, Client>,
    /// When it was last looked who is silent.
    swept_ms: u64,
}

#[derive(Debug)]
struct Client {
    job: i64,
    /// Those that started it.
    above: Vec<i32>,
    seen_ms: u64,
    pending: Option<String>,
}

/// Whom a configuration is for.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Of this job; none takes any.
    pub job: Option<i64>,
    /// These processes, or what they started; none takes all.
    pub pids: Vec<i32>,
    /// At most so many.
    pub limit: usize,
}

/// What became of a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placed {
    /// Processes that it is for.
    pub matched: Vec<i32>,
    /// Those that get it when they ask.
    pub triggered: Vec<i32>,
    /// Those that have another one waiting.
    pub busy: Vec<i32>,
}

impl Desk {
    /// Hears a poll; returns the configuration that it is to be answered with, which stays until [`Self::given`].
    ///
    /// # Errors
    /// [`Refused::Full`], where too many others are known.
    pub fn hear(&mut self, poll: &Poll, now_ms: u64) -> Result<Option<&str>, Refused> {
        let Some((pid, above)) = poll.pids.split_first() else { return Err(Refused::Pids) };
        self.forget(now_ms);
        if self.clients.len() >= CLIENTS_MAX && !self.clients.contains_key(pid) {
            return Err(Refused::Full);
        }
        let client = self.clients.entry(*pid).or_insert_with(|| Client {
            job: poll.job,
            above: above.to_vec(),
            seen_ms: now_ms,
            pending: None,
        });
        (client.seen_ms, client.job) = (now_ms, poll.job);
        Ok(client.pending.as_deref().filter(|_| poll.kinds & ACTIVITIES != 0))
    }

    /// What was heard has reached `pid`.
    pub fn given(&mut self, pid: i32) {
        if let Some(client) = self.clients.get_mut(&pid) {
            client.pending = None;
        }
    }

    /// Has a configuration wait for all that are `wanted`; `text` is that of each.
    pub fn place(&mut self, wanted: &Wanted, text: impl Fn(i32) -> String, now_ms: u64) -> Placed {
        self.forget(now_ms);
        let is_wanted = |pid: &i32, client: &Client| {
            let named = wanted.pids.iter().any(|other| other == pid || client.above.contains(other));
            wanted.job.is_none_or(|job| job == client.job) && (wanted.pids.is_empty() || named)
        };
        let mut placed = Placed::default();
        for (pid, client) in self.clients.iter_mut().filter(|(pid, client)| is_wanted(pid, client)) {
            placed.matched.push(*pid);
            if client.pending.is_some() {
                placed.busy.push(*pid);
            } else if placed.triggered.len() < wanted.limit {
                client.pending = Some(text(*pid));
                placed.triggered.push(*pid);
            }
        }
        placed
    }

    /// Takes back what waits for `pids`; returns those that had something.
    pub fn cancel(&mut self, pids: &[i32]) -> Vec<i32> {
        let mut had = Vec::new();
        for pid in pids {
            if self.clients.get_mut(pid).is_some_and(|client| client.pending.take().is_some()) {
                had.push(*pid);
            }
        }
        had
    }

    /// The processes that are known.
    pub fn pids(&self) -> impl Iterator<Item = i32> {
        self.clients.keys().copied()
    }

    fn forget(&mut self, now_ms: u64) {
        if now_ms.saturating_sub(self.swept_ms) < SWEEP_EVERY_MS {
            return;
        }
        self.swept_ms = now_ms;
        self.clients.retain(|_, client| now_ms.saturating_sub(client.seen_ms) <= FORGOTTEN_AFTER_MS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poll(pid: i32, job: i64) -> Poll {
        Poll { kinds: ACTIVITIES, job, pids: vec![pid, 7, 1] }
    }

    fn all() -> Wanted {
        Wanted { limit: 1_000, ..Wanted::default() }
    }

    #[test]
    fn a_configuration_waits_until_it_has_reached_its_process() {
        let mut desk = Desk::default();
        assert_eq!(desk.hear(&poll(40, 5), 0), Ok(None));
        assert_eq!(desk.hear(&poll(41, 6), 0), Ok(None));
        let placed = desk.place(&Wanted { job: Some(5), ..all() }, |pid| format!("for {pid}"), 10);
        assert_eq!((placed.matched, placed.triggered), (vec![40], vec![40]));
        assert_eq!(desk.hear(&poll(40, 5), 20), Ok(Some("for 40")));
        assert_eq!(desk.hear(&poll(40, 5), 30), Ok(Some("for 40")), "the answer was lost");
        assert_eq!(
            desk.place(&all(), |_| "again".to_owned(), 31),
            Placed { matched: vec![40, 41], triggered: vec![41], busy: vec![40] }
        );
        desk.given(40);
        assert_eq!(desk.hear(&poll(40, 5), 40), Ok(None));
        assert_eq!(desk.cancel(&[40, 41]), [41]);
        assert_eq!(desk.hear(&poll(41, 6), 50), Ok(None));
        assert_eq!(desk.hear(&Poll { kinds: 1, ..poll(41, 6) }, 50), Ok(None));
    }

    #[test]
    fn processes_are_found_by_who_started_them_and_forgotten_when_they_are_silent() {
        let mut desk = Desk::default();
        for pid in 40..50 {
            assert_eq!(desk.hear(&poll(pid, 0), 0), Ok(None));
        }
        let placed = desk.place(&Wanted { pids: vec![7], limit: 3, ..Wanted::default() }, |_| String::new(), 1);
        assert_eq!((placed.matched.len(), placed.triggered), (10, vec![40, 41, 42]));
        assert_eq!(desk.hear(&poll(60, 0), FORGOTTEN_AFTER_MS + 1), Ok(None));
        assert_eq!(desk.pids().collect::<Vec<_>>(), [60]);
    }

    #[test]
    fn a_flood_of_processes_has_an_end() {
        let mut desk = Desk::default();
        let heard = (1..=5_000).map(|pid| desk.hear(&poll(pid, 0), 0).is_ok()).filter(|heard| *heard).count();
        assert_eq!(heard, CLIENTS_MAX);
        assert_eq!(desk.hear(&poll(5_000, 0), 0), Err(Refused::Full));
        assert_eq!(desk.hear(&poll(1, 0), 0), Ok(None), "who was there stays");
    }
}
