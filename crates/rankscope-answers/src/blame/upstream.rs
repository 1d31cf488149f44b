//! Where the lateness of a message's sender began.
//!
//! Nobody else sends that message, so there is no rank to compare the sender with. It is asked what the sender did while its receiver
//! waited: if it mostly waited itself, then because of whom.

use rankscope_execution::Participant;

use super::spent::{Item, Root, Spending};

/// Where it began that `sender` came `late_ns` after its receiver.
pub(super) fn root(spending: &Spending<'_>, sender: &Participant, late_ns: i64) -> Root {
    let spent = spending.before(sender, late_ns);
    let waited_ns: i64 = spent.held_ns.iter().filter(|(item, _)| matches!(item, Item::Waiting(_))).map(|(_, ns)| ns).sum();
    let most = spent.because.iter().max_by_key(|((name, rank), ns)| (**ns, std::cmp::Reverse((*rank, *name))));
    let most = most.filter(|_| waited_ns.saturating_mul(2) > late_ns);
    most.map_or(Root { rank: sender.rank, name: None }, |((name, rank), _)| Root { rank: *rank, name: Some(*name) })
}
