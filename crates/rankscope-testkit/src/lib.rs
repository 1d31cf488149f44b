//! Synthetic distributed jobs whose truth is known, and ways to damage the files they leave.
//!
//! A [`Job`] is plain data: ranks, steps, who straggles, how wrong each node's clock is. From it come the traces torch would
//! have written ([`Job::rank_json`]) in any [`Dialect`], and the [`Truth`] that an analysis has to find again. The same job
//! gives the same bytes on every machine: all chance comes from its seed, no clock is read, and times are integers.
//!
//! One law holds in every job: no rank leaves a collective before every rank of its group has entered it.
//!
//! Tests depend on this crate; nothing that ships does. It knows none of the readers, so that a test which compares the two
//! compares two opinions.

mod by_hand;
pub mod damage;
mod dialect;
mod event;
mod file;
mod header;
mod job;
pub mod job_days;
mod json;
pub mod mutations;
mod need;
pub mod operations;
pub mod origin;
pub mod planted;
mod recorder;
mod rounds;
mod schedule;
pub mod simulated;
mod skip;
pub mod steps;
mod timeline;
mod truth;
mod walk;
mod warped;

pub use by_hand::ByHand;
pub use dialect::{Categories, Dialect, Header, Ids, KeyOrder, Layout, RankList, Stamps, TopLevel};
pub use job::{Job, Metadata, NodeClock, Straggler};
pub use need::{Need, REQUIRE, UnknownNeed};
pub use rankscope_clock::Rng;
pub use rounds::{AHEAD_NS_MAX, BASE_NS, OwnRound, Rounds};
pub use schedule::CollectiveKind;
pub use skip::{SKIPS, given, skip};
pub use truth::{Account, Collective, RankTime, Truth};
pub use warped::Warped;
