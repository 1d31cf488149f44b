//! Where the ranks of a process meet before an exchange: each brings a number, and all go on with the largest.
//!
//! Two things need it. Receive buffers are written by others, so they grow only when everybody has agreed to a size and has
//! nothing under way. And ranks may share a card, which runs what it is given in the order it was given if it runs out of
//! queues: whatever a kernel waits for must have been queued before it, at every rank. Data never passes through here.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rankscope_time::Rank;

use crate::TransportError;

/// A meeting place for a fixed number of ranks.
pub(super) struct Meeting {
    state: Mutex<State>,
    changed: Condvar,
    patience: Duration,
}

struct State {
    round: u64,
    /// What each rank has brought to this round.
    brought: Vec<Option<u64>>,
    largest_of_last: u64,
    left: Option<Rank>,
}

impl Meeting {
    pub(super) fn new(ranks: u32, patience: Duration) -> Self {
        let brought = vec![None; ranks as usize];
        Self {
            state: Mutex::new(State { round: 0, brought, largest_of_last: 0, left: None }),
            changed: Condvar::new(),
            patience,
        }
    }

    /// Brings a number for exchange `epoch` and waits for those of all others.
    ///
    /// # Errors
    /// [`TransportError::PeerLeft`], or [`TransportError::Timeout`] with a rank that did not come.
    pub(super) fn agree(&self, rank: Rank, epoch: u64, number: u64) -> Result<u64, TransportError> {
        let begun = Instant::now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let round = state.round;
        state.brought[rank.0 as usize] = Some(number);
        if state.brought.iter().all(Option::is_some) {
            state.largest_of_last = state.brought.iter_mut().filter_map(Option::take).max().unwrap_or(0);
            state.round += 1;
            self.changed.notify_all();
        }
        // The next round cannot end without this rank, so what it reads is the result of the round it came to.
        while state.round == round {
            let waited = begun.elapsed();
            if let Some(peer) = state.left {
                return Err(TransportError::PeerLeft { rank, peer, epoch });
            }
            let Some(left) = self.patience.checked_sub(waited) else {
                let missing = state.brought.iter().position(Option::is_none).expect("the round has not ended");
                let peer = Rank(u32::try_from(missing).expect("ranks are counted in 32 bits"));
                return Err(TransportError::Timeout { rank, peer, epoch, waited });
            };
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(state.largest_of_last)
    }

    /// Tells everybody, now and later, that this rank comes no more.
    pub(super) fn leave(&self, rank: Rank) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).left.get_or_insert(rank);
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn everyone_goes_on_with_the_largest_number() {
        let meeting = Meeting::new(3, Duration::from_secs(60));
        thread::scope(|scope| {
            for rank in 0..3_u32 {
                let meeting = &meeting;
                scope.spawn(move || {
                    for epoch in 1..=50 {
                        let number = u64::from(rank) * 7 * epoch % 11;
                        let expected = (0..3).map(|rank| rank * 7 * epoch % 11).max().unwrap();
                        assert_eq!(meeting.agree(Rank(rank), epoch, number).unwrap(), expected);
                    }
                });
            }
        });
    }

    #[test]
    fn who_leaves_is_named_to_those_who_wait() {
        let meeting = Meeting::new(2, Duration::from_secs(60));
        thread::scope(|scope| {
            let waiting = scope.spawn(|| meeting.agree(Rank(0), 4, 0));
            meeting.leave(Rank(1));
            let error = waiting.join().unwrap().unwrap_err();
            assert!(matches!(error, TransportError::PeerLeft { rank: Rank(0), peer: Rank(1), epoch: 4 }), "{error}");
        });
    }

    #[test]
    fn who_does_not_come_is_named() {
        let error = Meeting::new(3, Duration::ZERO).agree(Rank(1), 9, 0).unwrap_err();
        assert!(matches!(error, TransportError::Timeout { rank: Rank(1), peer: Rank(0), epoch: 9, .. }), "{error}");
    }
}
