//! How the clocks of N hosts differ while a job runs, with an interval that contains the truth.
//!
//! The one idea: a packet cannot arrive before it was sent. Every packet from node `a` to node `b` bounds `b - a` from above,
//! every packet back bounds it from below; the widest band between the two clouds of points is the estimate, and what every
//! line between them allows is the guarantee. Edges of a probe graph become the clocks of all nodes by weighted least squares,
//! and their guarantees by difference constraints.
//!
//! Nothing here touches a socket, a file, a clock or a random generator: state machines take `now` and bytes, and are drained
//! before they are fed. Absolute times are integers; floats hold only rates and small differences.

pub mod files;
pub mod fit;
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
pub mod trend;

pub use ids::{Edge, HostInstant, MonotonicClock, MonotonicInstant, NodeId};
pub use records::{ClockEvent, EdgeFit, EdgeRecord, Interval, LinkCounts, NoFit, NodeWindow, StampSource};
pub use rng::Rng;
pub use samples::{Exchange, Passage};
