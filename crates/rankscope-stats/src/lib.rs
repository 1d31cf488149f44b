//! Statistics of comparisons: whether a metric of a training job changed between two sides, by how much, and how sure that is.
//!
//! Steps of a job resemble the step before, so thirty steps are not thirty independent measurements, and the tests that are usual
//! (Mann and Whitney's, the bootstrap, t on steps) raise two to ten times as many false alarms as they claim. Here every
//! step counts for as much as it is worth ([`Evidence::effective_steps`]), and where there are three runs a side, runs are what is counted.
//!
//! Numbers in, numbers out: nothing here knows of traces, ranks or files, and nothing is drawn at random, so the same
//! input gives the same bits. Values are lengths, counts or rates; absolute stamps never come here.

mod change_points;
mod compare;
mod differences;
mod energy;
mod estimate;
mod evidence;
mod family;
mod judge;
mod needed;
mod ranks;
mod runs;
mod sample;
mod series;
mod settings;
mod steps;
mod student;
mod trend;
mod verdict;

pub use change_points::{ChangePoint, change_points};
pub use compare::compare;
pub use evidence::{Basis, Evidence, Needed, Unit, Verdict};
pub use family::{benjamini_hochberg, holm};
pub use runs::run_spread;
pub use series::warm_up;
pub use settings::{Direction, RunSpread, Settings, Side};
pub use trend::{Trend, trend};
