//! Where the lateness of a message's sender began.
//!
//! Nobody else sends that message, so there is no rank to compare the sender with. It is asked what the sender did while its receiver
//! waited: if it mostly waited itself, then because of whom.

use rankscope_execution::Participant;

use super::spent::{Item, Spending};

/// The rank because of which `sender` came `late_ns` after its receiver.
pub(super) fn root(spending: &Spending<'_>, sender: &Participant, late_ns: i64) -> u32 {
    let spent = spending.before(sender, late_ns);
    let waited_ns: i64 = spent.held_ns.iter().filter(|(item, _)| matches!(item, Item::Waiting(_))).map(|(_, ns)| ns).sum();
    let most = spent.because.iter().max_by_key(|((_, rank), ns)| (**ns, std::cmp::Reverse(*rank)));
    most.filter(|_| waited_ns.saturating_mul(2) > late_ns).map_or(sender.rank, |((_, rank), _)| *rank)
}
