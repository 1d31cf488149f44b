//! `alpha_beta_node<ID>.csv`: one row an edge, for eyes and spreadsheets.
//!
//! It holds the last line of each edge and the sums of its counts. It is rewritten as a whole when a run ends; whoever wants
//! every window reads the windows.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::windows::offset_at;
use crate::{Edge, NodeWindow};

/// The last lines of a node's edges.
#[derive(Clone, Debug, Default)]
pub struct AlphaBeta {
    edges: BTreeMap<Edge, Row>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Row {
    alpha: f64,
    beta_ns: i64,
    pairs: u64,
    lost: u64,
}

impl AlphaBeta {
    /// Takes in the next window.
    pub fn add(&mut self, window: &NodeWindow) {
        for record in &window.edges {
            let row = self.edges.entry(record.edge).or_default();
            if let Some(fit) = record.fits.iter().flatten().last() {
                row.alpha = fit.skew_ppb / 1e9;
                row.beta_ns = offset_at(fit, window.start).as_nanos();
            }
            row.pairs += u64::from(record.counts.complete);
            row.lost += u64::from(record.counts.lost_forward) + u64::from(record.counts.lost_reverse);
        }
    }

    /// The file.
    pub fn csv(&self) -> String {
        let mut text = String::from("src,dst,alpha,beta_ns,num_pairs,lost_packets\n");
        for (Edge { src, dst }, Row { alpha, beta_ns, pairs, lost }) in &self.edges {
            writeln!(text, "{src},{dst},{alpha:e},{beta_ns},{pairs},{lost}").expect("a String takes any write");
        }
        text
    }
}
