//! Which packet a transmit stamp belongs to.
//!
//! The kernel counts the packets of a socket from the moment the option is set. Whether it counted a send that failed depends on
//! its version and on how far the packet came, so after a failed send the option is set anew, which makes the count start over.
//! Stamps may still be under way then; a number that fits a packet from before and one from after belongs to neither.

use std::collections::VecDeque;

/// Packets remembered that wait for a stamp. A stamp that is later than this many packets is as good as lost.
const WAITING_MAX: usize = 4_096;

/// The numbers of the packets of one socket.
#[derive(Debug)]
pub(super) struct SentIds {
    next: u64,
    /// What the kernel calls the next packet.
    next_in_kernel: u32,
    /// Oldest first.
    waiting: VecDeque<Waiting>,
    /// Packets from before it that wait.
    stale: usize,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// None where a stamp came that may have been this packet's or another's.
    id: Option<u64>,
    in_kernel: u32,
}

impl SentIds {
    pub(super) fn new() -> Self {
        Self { next: 0, next_in_kernel: 0, waiting: VecDeque::with_capacity(WAITING_MAX), stale: 0 }
    }

    /// The kernel took a packet.
    pub(super) fn sent(&mut self) -> u64 {
        if self.waiting.len() == WAITING_MAX {
            self.waiting.pop_front();
            self.stale = self.stale.saturating_sub(1);
        }
        let id = self.next;
        self.waiting.push_back(Waiting { id: Some(id), in_kernel: self.next_in_kernel });
        self.next += 1;
        self.next_in_kernel = self.next_in_kernel.wrapping_add(1);
        id
    }

    /// The kernel counts from zero again.
    pub(super) fn restarted(&mut self) {
        self.next_in_kernel = 0;
        self.stale = self.waiting.len();
    }

    /// The packet that the kernel calls `in_kernel`, if one waits for its stamp and no other has that name.
    pub(super) fn stamped(&mut self, in_kernel: u32) -> Option<u64> {
        // From the young end: most stamps are for the last few packets.
        let at = self.waiting.iter().rposition(|packet| packet.in_kernel == in_kernel)?;
        if self.stale > 0 && self.waiting.iter().take(self.stale.min(at)).any(|packet| packet.in_kernel == in_kernel) {
            // One of them has its stamp now, and the next one under this name belongs to any of the others.
            let namesakes = self.waiting.iter_mut().filter(|packet| packet.in_kernel == in_kernel);
            namesakes.for_each(|packet| packet.id = None);
        }
        self.stale -= usize::from(at < self.stale);
        self.waiting.remove(at)?.id
    }

    /// Packets that wait for a stamp.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_late_stamp_shifts_no_other() {
        let mut ids = SentIds::new();
        let sent: Vec<u64> = (0..5).map(|_| ids.sent()).collect();
        assert_eq!(ids.stamped(0), Some(sent[0]));
        assert_eq!(ids.stamped(2), Some(sent[2]));
        assert_eq!(ids.stamped(4), Some(sent[4]));
        assert_eq!(ids.stamped(1), Some(sent[1]));
        assert_eq!(ids.stamped(1), None, "a stamp counts once");
        assert_eq!(ids.waiting(), 1);
    }

    #[test]
    fn after_a_restart_a_number_of_two_packets_is_nobodys() {
        let mut ids = SentIds::new();
        (0..3).for_each(|_| {
            ids.sent();
        });
        assert_eq!(ids.stamped(0), Some(0));
        ids.restarted();
        let fresh = [ids.sent(), ids.sent()];
        assert_eq!(ids.stamped(0), Some(fresh[0]), "its namesake had its stamp");
        assert_eq!(ids.stamped(1), None, "either packet 1 or packet {}", fresh[1]);
        assert_eq!(ids.stamped(1), None);
        assert_eq!(ids.stamped(2), Some(2), "still under way from before");
        assert_eq!(ids.waiting(), 0);
    }

    #[test]
    fn stamps_that_never_come_do_not_pile_up() {
        let mut ids = SentIds::new();
        ids.sent();
        ids.restarted();
        (0..10_000).for_each(|_| {
            ids.sent();
        });
        assert_eq!(ids.waiting(), WAITING_MAX);
        assert_eq!(ids.stamped(9_999), Some(10_000));
        assert_eq!(ids.stamped(0), None);
    }

    proptest! {
        /// Whatever comes back in whatever order, no stamp is given to a packet that the kernel did not mean.
        #[test]
        fn no_stamp_goes_to_the_wrong_packet(steps in prop::collection::vec((0u8..10, any::<prop::sample::Index>()), 0..300)) {
            let mut ids = SentIds::new();
            // What the kernel has under way: its name for the packet, and ours.
            let (mut kernel, mut count) = (Vec::new(), 0u32);
            for (step, index) in steps {
                match step {
                    0..=4 => {
                        kernel.push((count, ids.sent()));
                        count += 1;
                    }
                    5 => {
                        ids.restarted();
                        count = 0;
                    }
                    _ if !kernel.is_empty() => {
                        let (name, ours) = kernel.remove(index.index(kernel.len()));
                        if let Some(id) = ids.stamped(name) {
                            prop_assert_eq!(id, ours);
                        }
                    }
                    _ => {}
                }
            }
        }
    }
}
