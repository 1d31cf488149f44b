//! The protocol under loom, which runs every order of steps and every stale value the memory model allows. Buffers of one word,
//! because the number of runs grows with the power of them.

use std::sync::atomic::Ordering;

use loom::sync::Arc;
use loom::sync::atomic::AtomicU64;
use loom::thread;

use super::{Board, Word, put, read};

impl Word for AtomicU64 {
    fn load(&self, order: Ordering) -> u64 {
        self.load(order)
    }

    fn store(&self, value: u64, order: Ordering) {
        self.store(value, order);
    }

    fn store_bits(&self, mask: u64, value: u64) {
        self.fetch_and(!mask, Ordering::Relaxed);
        self.fetch_or(value & mask, Ordering::Relaxed);
    }
}

/// A rank that receives.
struct Owner {
    board: Board<AtomicU64>,
    memory: [AtomicU64; 1],
}

impl Owner {
    fn new(senders: u32) -> Arc<Self> {
        Arc::new(Self { board: Board::new(senders, || AtomicU64::new(0)), memory: [AtomicU64::new(0)] })
    }

    fn send(&self, sender: usize, epoch: u64, at: usize, bytes: &[u8]) {
        wait(|| self.board.is_announced(epoch).then_some(()));
        self.send_unasked(sender, epoch, at, bytes);
    }

    fn send_unasked(&self, sender: usize, epoch: u64, at: usize, bytes: &[u8]) {
        put(&self.memory, at, bytes);
        self.board.signal(sender, epoch, bytes.len() as u64);
    }

    fn receive<const N: usize>(&self, sender: usize, epoch: u64, at: usize) -> [u8; N] {
        assert_eq!(wait(|| self.board.signalled(sender, epoch)), N as u64);
        let mut bytes = [0; N];
        read(&self.memory, at, &mut bytes);
        bytes
    }
}

fn wait<T>(mut condition: impl FnMut() -> Option<T>) -> T {
    loop {
        match condition() {
            Some(found) => return found,
            None => thread::yield_now(),
        }
    }
}

#[test]
fn a_fast_sender_overwrites_nothing_that_is_being_read() {
    loom::model(|| {
        let owner = Owner::new(1);
        let sender = thread::spawn({
            let owner = owner.clone();
            move || (1..=2).for_each(|epoch| owner.send(0, epoch, 0, &[epoch as u8; 8]))
        });
        for epoch in 1..=2 {
            owner.board.announce(epoch);
            assert_eq!(owner.receive(0, epoch, 0), [epoch as u8; 8]);
        }
        sender.join().unwrap();
    });
}

#[test]
fn senders_that_share_a_word_spoil_nothing_of_each_other() {
    loom::model(|| {
        let owner = Owner::new(2);
        let senders = [(0, 0, [1; 3]), (1, 3, [2; 3])].map(|(sender, at, bytes)| {
            let owner = owner.clone();
            thread::spawn(move || owner.send_unasked(sender, 1, at, &bytes))
        });
        assert_eq!(owner.receive(0, 1, 0), [1; 3]);
        assert_eq!(owner.receive(1, 1, 3), [2; 3]);
        senders.into_iter().for_each(|sender| sender.join().unwrap());
    });
}

#[test]
fn two_ranks_that_send_to_each_other_both_get_on() {
    loom::model(|| {
        let owners = [Owner::new(2), Owner::new(2)];
        let other = thread::spawn({
            let owners = owners.clone();
            move || exchange(&owners, 1)
        });
        exchange(&owners, 0);
        other.join().unwrap();
    });
}

fn exchange(owners: &[Arc<Owner>; 2], rank: usize) {
    owners[rank].board.announce(1);
    owners[1 - rank].send(rank, 1, 0, &[rank as u8 + 1; 8]);
    assert_eq!(owners[rank].receive(1 - rank, 1, 0), [2 - rank as u8; 8]);
}

/// The original's race (dispatch spec 6, 20): the second exchange is put before the first has been copied out. That loom finds
/// it is what makes the tests above worth something.
#[test]
#[should_panic(expected = "overwritten")]
fn without_the_announcement_it_would_be_overwritten() {
    loom::model(|| {
        let owner = Owner::new(1);
        let sender = thread::spawn({
            let owner = owner.clone();
            move || (1..=2).for_each(|epoch| owner.send_unasked(0, epoch, 0, &[epoch as u8; 8]))
        });
        for epoch in 1..=2 {
            assert_eq!(owner.receive(0, epoch, 0), [epoch as u8; 8], "overwritten");
        }
        sender.join().unwrap();
    });
}

/// The other half of it: the receiver clears its signal for the next exchange, and the sender's next signal is lost with it.
#[test]
#[should_panic(expected = "lost")]
fn a_signal_that_is_reset_can_be_lost() {
    loom::model(|| {
        let signal = Arc::new(AtomicU64::new(0));
        let sender = thread::spawn({
            let signal = signal.clone();
            move || (0..2).for_each(|_| signal.store(1, Ordering::Release))
        });
        wait(|| (signal.load(Ordering::Acquire) == 1).then_some(()));
        signal.store(0, Ordering::Relaxed);
        sender.join().unwrap();
        assert_eq!(signal.load(Ordering::Acquire), 1, "lost");
    });
}
