//! Packets that leave together.
//!
//! The first packet after a rest leaves a cold processor and takes a little longer than those after it. If an edge always came first in one
//! direction and later in the other, one of its ways would look longer. So it is drawn which destination begins, and all take turns
//! from there; packets to one destination keep their order.

use rankscope_clock::Rng;
use rankscope_clock::session::{Destination, Packet, Token};

type Outgoing = (Destination, Option<Token>, Packet);

/// Packets that wait until all that leave now are known.
#[derive(Debug)]
pub(super) struct Leaving {
    /// With the place of their destination.
    packets: Vec<(usize, Outgoing)>,
    /// In the order of their first packets.
    destinations: Vec<Destination>,
    rng: Rng,
}

impl Leaving {
    pub(super) fn new(seed: u64) -> Self {
        Self { packets: Vec::new(), destinations: Vec::new(), rng: Rng::lane(seed, LANE) }
    }

    pub(super) fn push(&mut self, to: Destination, token: Option<Token>, bytes: Packet) {
        let known = self.destinations.iter().position(|known| *known == to);
        let place = known.unwrap_or_else(|| {
            self.destinations.push(to);
            self.destinations.len() - 1
        });
        self.packets.push((place, (to, token, bytes)));
    }

    /// All of them, in the order in which they are to leave.
    pub(super) fn take(&mut self) -> Vec<Outgoing> {
        let count = self.destinations.len();
        let first = self.rng.below(count as u64) as usize;
        self.packets.sort_by_key(|(place, _)| (place + count - first) % count);
        self.destinations.clear();
        self.packets.drain(..).map(|(_, packet)| packet).collect()
    }
}

/// The lane of the seed's generator that draws who begins.
const LANE: u64 = 3;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;
    use rankscope_clock::NodeId;

    use super::*;

    fn leave(leaving: &mut Leaving, nodes: &[u32]) -> Vec<(u32, u8)> {
        for (number, node) in (0..).zip(nodes) {
            leaving.push(Destination::Control(NodeId(*node)), None, Packet::Control(vec![number]));
        }
        let out = leaving.take().into_iter();
        out.filter_map(|(to, _, bytes)| match to {
            Destination::Control(node) => Some((node.0, bytes[0])),
            _ => None,
        })
        .collect()
    }

    proptest! {
        #[test]
        fn all_leave_once_and_in_order_to_each_destination(
            rounds in prop::collection::vec(prop::collection::vec(0u32..6, 0..30), 1..5),
            seed in any::<u64>(),
        ) {
            let mut leaving = Leaving::new(seed);
            for nodes in rounds {
                let out = leave(&mut leaving, &nodes);
                prop_assert_eq!(out.len(), nodes.len());
                for node in nodes.iter().copied().collect::<BTreeSet<u32>>() {
                    let came: Vec<u8> = (0..).zip(&nodes).filter(|(_, of)| **of == node).map(|(number, _)| number).collect();
                    let left: Vec<u8> = out.iter().filter(|(to, _)| *to == node).map(|(_, number)| *number).collect();
                    prop_assert_eq!(left, came);
                }
            }
        }
    }

    #[test]
    fn every_destination_is_first_as_often() {
        let mut leaving = Leaving::new(1);
        let mut firsts = [0; 5];
        for _ in 0..5_000 {
            let first = leave(&mut leaving, &[0, 1, 1, 2, 3, 4])[0];
            firsts[first.0 as usize] += 1;
        }
        assert!(firsts.iter().all(|count| (900..1_100).contains(count)), "{firsts:?}");
    }
}
