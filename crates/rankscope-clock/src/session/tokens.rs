//! Transmit stamps that are still to come.
//!
//! A ring: a stamp that takes longer than [`RING`] packets is lost, and its packet counts as unstamped.

use super::Token;
use super::wire::Leg;

/// Packets whose stamp may be outstanding. At 2,500 packets a second a stamp has 400 ms.
const RING: usize = 1024;

/// The packet that a stamp belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sender {
    /// Which end of an edge sent it.
    pub(super) role: Role,
    /// Place of the edge in that role's list.
    pub(super) index: usize,
    /// Number of the exchange.
    pub(super) sequence: u32,
    /// Which of its packets.
    pub(super) leg: Leg,
}

/// Which end of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// `src`.
    Prober,
    /// `dst`.
    Listener,
}

/// Tokens given out and not yet answered.
#[derive(Debug)]
pub(super) struct Tokens {
    next: u64,
    /// By number, for packets whose token was not handed in.
    ring: Box<[Option<(u64, Sender)>]>,
}

impl Tokens {
    pub(super) fn new() -> Self {
        Self { next: 0, ring: vec![None; RING].into_boxed_slice() }
    }

    pub(super) fn give(&mut self, sender: Sender) -> Token {
        let number = self.next;
        self.ring[number as usize % RING] = Some((number, sender));
        self.next += 1;
        Token(number)
    }

    /// Whose stamp it is; nobody's if it comes too late, or is the token of another session.
    pub(super) fn redeem(&mut self, Token(number): Token) -> Option<Sender> {
        let slot = &mut self.ring[(number % RING as u64) as usize];
        let (_, sender) = slot.take_if(|(given, _)| *given == number)?;
        Some(sender)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_not_good_for_ever_nor_elsewhere() {
        let mut tokens = Tokens::new();
        let sender = |sequence| Sender { role: Role::Prober, index: 0, sequence, leg: Leg::First };
        let first = tokens.give(sender(0));
        let second = tokens.give(sender(1));
        assert_eq!(tokens.redeem(second), Some(sender(1)));
        for sequence in 2..=RING as u32 {
            drop(tokens.give(sender(sequence)));
        }
        assert_eq!(tokens.redeem(first), None, "its place went to another");
        let mut others = Tokens::new();
        let foreign = (0..9_999).map(|number| others.give(sender(number))).last().unwrap();
        assert_eq!(tokens.redeem(foreign), None, "of another session");
    }
}
