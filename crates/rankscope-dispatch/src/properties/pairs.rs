//! The four matrices of a fused all-to-all against each other: both ends of every message agree, and messages lie back to back.

use super::{Findings, Property, Violation};

/// What every rank sends and receives, as [`FastAllToAll`](crate::alltoall::FastAllToAll) holds it; any numbers, in any shape.
#[derive(Clone, Debug)]
pub struct Pairs {
    /// Where the message from i to j starts in the send buffer of i.
    pub sender_send_disp: Vec<Vec<i64>>,
    /// Bytes from i to j.
    pub sender_transfer_sz: Vec<Vec<i64>>,
    /// Where the message from i to j starts in the receive buffer of j.
    pub sender_recv_disp: Vec<Vec<i64>>,
    /// Bytes that i receives from j.
    pub recver_transfer_sz: Vec<Vec<i64>>,
}

/// Everything in which the matrices do not fit each other.
#[must_use]
pub fn check_pairs(pairs: &Pairs) -> Vec<Violation> {
    let mut findings = Findings::default();
    let Pairs { sender_send_disp, sender_transfer_sz: sizes, sender_recv_disp, recver_transfer_sz } = pairs;
    let ranks = sizes.len();
    let matrices = [
        ("sender_send_disp", sender_send_disp),
        ("sender_transfer_sz", sizes),
        ("sender_recv_disp", sender_recv_disp),
        ("recver_transfer_sz", recver_transfer_sz),
    ];
    for (what, matrix) in matrices {
        findings.expect(Property::Shape, what, &[], ranks as i64, matrix.len() as i64);
        for (rank, row) in matrix.iter().enumerate() {
            findings.expect(Property::Shape, what, &[rank], ranks as i64, row.len() as i64);
        }
    }
    if !findings.found.is_empty() {
        return findings.found;
    }
    // Bytes to every rank from those before i.
    let mut above = vec![0_i64; ranks];
    for i in 0..ranks {
        let mut before = 0_i64;
        for j in 0..ranks {
            let (index, size) = ([i, j], sizes[i][j]);
            if size < 0 {
                findings.expect(Property::Conservation, "sender_transfer_sz", &index, 0, size);
            }
            findings.expect(Property::Conservation, "recver_transfer_sz", &[j, i], size, recver_transfer_sz[j][i]);
            findings.expect(Property::Packing, "sender_send_disp", &index, before, sender_send_disp[i][j]);
            findings.expect(Property::Packing, "sender_recv_disp", &index, above[j], sender_recv_disp[i][j]);
            before = before.saturating_add(size);
            above[j] = above[j].saturating_add(size);
        }
    }
    findings.found
}
