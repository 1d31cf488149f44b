//! How the clocks of N hosts differ while a job runs, with an interval that contains the truth.
//!
//! The one idea: a packet cannot arrive before it was sent. Every packet from node `a` to node `b` bounds `b - a` from above,
//! every packet back bounds it from below; the widest band between the two clouds of points is the estimate, and what every
//! line between them allows is the guarantee. Edges of a probe graph become the clocks of all nodes by weighted least squares,
//! and their guarantees by difference constraints.
//!
//! Nothing here touches a socket, a file, a clock or a random generator: state machines take `now` and bytes, and are drained
//! before they are fed. Absolute times are integers; floats hold only rates and small differences.
//!
//! # Example
//!
//! Exchanges of one edge become a line with a guarantee ([`fit::fit_window`]), and the lines of all edges the clocks of all nodes
//! ([`nodes::solve`]). Here node 1 is 5 us ahead, and every packet takes between 1 and 1.6 us:
//!
//! ```
//! use rankscope_clock::fit::{Estimator, FitOptions, fit_window};
//! use rankscope_clock::nodes::{SolveOptions, solve};
//! use rankscope_clock::*;
//!
//! let at = |ns: i64| Some(HostInstant::from_nanos_since_epoch(ns));
//! let exchanges: Vec<Exchange> = (0..100)
//!     .map(|n| {
//!         let (sent, there, back) = (i64::from(n) * 1_000_000, 1_000 + i64::from(n % 7) * 100, 1_000 + i64::from(n % 5) * 100);
//!         let pair = |sent, received| [Passage { sent: at(sent), received: at(received) }; 2];
//!         Exchange {
//!             sequence: n,
//!             forward: pair(sent, sent + there + 5_000),
//!             reverse: pair(sent + 50_000 + 5_000, sent + 50_000 + back),
//!         }
//!     })
//!     .collect();
//!
//! let fit = fit_window(&exchanges, None, &FitOptions::usual(Estimator::Band));
//! let line = *fit.fits[0].as_ref().expect("a hundred exchanges are enough");
//! assert!((line.offset.as_nanos() - 5_000).abs() <= 10);
//! assert!(line.bound.lo.as_nanos() <= 5_000 && 5_000 <= line.bound.hi.as_nanos());
//!
//! let edge = EdgeRecord {
//!     events: fit.events,
//!     counts: LinkCounts { complete: 100, ..LinkCounts::default() },
//!     ..EdgeRecord::new(Edge { src: NodeId(0), dst: NodeId(1) }, fit.fits)
//! };
//! let (start, end) = (line.start, line.end);
//! let window = NodeWindow { node: NodeId(0), window_id: 0, round: Some(0), start, end, edges: vec![edge] };
//! let solution = solve(&[window], None, &SolveOptions::for_reference(NodeId(0)));
//! let node = solution.nodes.iter().find(|node| node.node == NodeId(1)).expect("an edge leads to it");
//! assert!((node.offset.as_nanos() - 5_000).abs() <= 10 && !node.degraded);
//! ```

pub mod files;
pub mod fit;
pub mod fit_log;
pub mod graph;
mod ids;
pub mod nodes;
pub mod probe_log;
mod records;
pub mod replay;
pub mod restarts;
mod rng;
pub mod rounds;
mod samples;
pub mod session;
pub mod simulate;
pub mod solved;
pub mod trend;

pub use ids::{Edge, HostInstant, MonotonicClock, MonotonicInstant, NodeId};
pub use records::{ClockEvent, EdgeFit, EdgeRecord, Interval, LinkCounts, NoFit, NodeWindow, StampSource, Transport};
pub use rng::Rng;
pub use samples::{Exchange, Passage};
