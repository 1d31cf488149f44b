//! What probing yields: packets with a stamp at each end.

use crate::HostInstant;

/// One packet: when it left on the sender's clock, when it arrived on the receiver's. A stamp that never came is none; it is
/// never replaced by another clock's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passage {
    /// Transmit stamp.
    pub sent: Option<HostInstant>,
    /// Receive stamp.
    pub received: Option<HostInstant>,
}

/// One coded exchange over an edge: two packets from `src` to `dst`, two back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exchange {
    /// Number of the exchange on its edge.
    pub sequence: u32,
    /// `Pt1` and `Pt2`: sent by `src`, received by `dst`.
    pub forward: [Passage; 2],
    /// `Pr1` and `Pr2`: sent by `dst`, received by `src`.
    pub reverse: [Passage; 2],
}
