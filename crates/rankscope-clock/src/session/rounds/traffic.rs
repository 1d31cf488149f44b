//! How often nodes make themselves heard between rounds, and what a master sends for one.
//!
//! Silence as long as a window is death, so a word has to come a few times in each: eight times among few nodes, four among many, whose
//! master has as many words to send each time. Of thousands it is heard more seldom than that, and waited for longer. The end of a round
//! is a word to everybody, and the report of a window one to the master: words between are counted from there.

use rankscope_time::Span;

use super::message::{Knowledge, Message, Term};
use crate::nodes::NodeEstimate;
use crate::session::key::MAC_LEN;
use crate::session::settings::packet_bits;
use crate::session::wire::HEADER_LEN;
use crate::{HostInstant, Interval, NodeId};

/// What follows from the number of nodes and the length of a window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rhythm {
    /// From one word to the next.
    pub(super) beat: Span,
    /// The same for who has not heard its master for half of `patience`, and asks: a lost packet must not look like a lost master.
    pub(super) doubt: Span,
    /// Silence of this length is death.
    pub(super) patience: Span,
}

impl Rhythm {
    pub(super) fn of(nodes: usize, window: Span) -> Self {
        let (nodes, window_ns) = (nodes as i64, window.as_nanos());
        let usual_ns = (FEW_PER_NODE_NS * nodes).clamp(window_ns / 8, window_ns / 4);
        let beat_ns = usual_ns.max(MANY_PER_NODE_NS * nodes);
        Self {
            beat: Span::from_nanos(beat_ns),
            doubt: Span::from_nanos((window_ns / 16).max(MANY_PER_NODE_NS / 2 * nodes)),
            patience: window.max(Span::from_nanos(4 * beat_ns)),
        }
    }
}

/// What a master of `nodes` sends in a window of `window` over IPv4 and UDP: to each worker its words, the end of the round, the receipt
/// of a report and the result; of what is acknowledged a third is sent again.
pub(in crate::session) fn master_bits(nodes: usize, window: Span) -> u64 {
    let live = vec![0; Message::live_len(nodes)];
    let round = 0;
    let acknowledged = [
        Message::RoundEnd { round, live: &live },
        Message::PartAck { round, got: 0 },
        Message::Result { round, estimate: NOWHERE },
    ];
    let words = (window.as_nanos() - 1).max(0) / Rhythm::of(nodes, window).beat.as_nanos().max(1);
    let acknowledged: u64 = acknowledged.iter().map(bits).sum();
    (nodes as u64).saturating_sub(1) * (words as u64 * bits(&Message::Alive { ping: false }) + acknowledged * 4 / 3)
}

fn bits(message: &Message) -> u64 {
    let mut body = Vec::new();
    message.write(Knowledge { term: Some(Term(0)), round: 0 }, &mut body);
    packet_bits(HEADER_LEN + body.len() + MAC_LEN)
}

/// An estimate to be measured in bytes.
pub(super) const NOWHERE: NodeEstimate = NodeEstimate {
    node: NodeId(0),
    at: HostInstant::from_nanos_since_epoch(0),
    offset: Span::ZERO,
    skew_ppb: 0.0,
    bound: Interval { lo: Span::ZERO, hi: Span::ZERO },
    skew_bound_ppb: (0.0, 0.0),
    sigma_ns: 0.0,
    residual_ns: 0.0,
    degraded: false,
};

/// Words of a master of so many nodes that an eighth of a window is too short.
const FEW_PER_NODE_NS: i64 = 4_000_000;

/// A master of a thousand nodes is heard every two seconds: its part of the budget does not grow with them.
const MANY_PER_NODE_NS: i64 = 2_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_comes_eight_times_in_a_window_of_few_nodes_and_four_times_among_many() {
        let window = Span::from_nanos(4_000_000_000);
        let of = |nodes| {
            let Rhythm { beat, doubt, patience } = Rhythm::of(nodes, window);
            [beat, doubt, patience].map(|span| span.as_nanos() / 1_000_000)
        };
        assert_eq!(of(2), [500, 250, 4_000]);
        assert_eq!(of(125), [500, 250, 4_000]);
        assert_eq!(of(256), [1_000, 256, 4_000]);
        assert_eq!(of(500), [1_000, 500, 4_000]);
        assert_eq!(of(1_000), [2_000, 1_000, 8_000]);
    }

    #[test]
    fn who_doubts_asks_oftener_than_others_speak_and_often_before_it_gives_up() {
        for nodes in [1, 2, 64, 256, 511, 1_000, 10_000] {
            for window in [500_000_000, 4_000_000_000, 60_000_000_000] {
                let Rhythm { beat, doubt, patience } = Rhythm::of(nodes, Span::from_nanos(window));
                assert!(doubt + doubt <= beat && 8 * doubt.as_nanos() <= patience.as_nanos(), "{nodes} nodes, {window} ns");
                assert!(4 * beat.as_nanos() <= patience.as_nanos(), "{nodes} nodes, {window} ns");
            }
        }
    }
}
