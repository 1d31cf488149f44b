//! Statistics of comparisons: whether a metric of a training job changed between two sides, by how much, and how sure that is.
//!
//! Steps of a job resemble the step before, so thirty steps are not thirty independent measurements, and the tests that are usual
//! (Mann and Whitney's, the bootstrap, t on steps) raise two to ten times as many false alarms as they claim. Here every
//! step counts for as much as it is worth ([`Evidence::effective_steps`]), and where there are three runs a side, runs are what is counted.
//!
//! Numbers in, numbers out: nothing here knows of traces, ranks or files, and nothing is drawn at random, so the same
//! input gives the same bits. Values are lengths, counts or rates; absolute stamps never come here. The method, and how often it is wrong,
//! is in docs/explanation/statistics.md.
//!
//! # Example
//!
//! ```
//! use rankscope_stats::{Direction, Settings, Side, Verdict, compare};
//!
//! // Three runs a side, one step time a step, in milliseconds. The test is about 3 % slower.
//! let run = |level: f64| -> Vec<f64> { (0..30).map(|step| level + f64::from(step * 7 % 5) / 10.0).collect() };
//! let (base, test) = ([100.0, 100.2, 99.9].map(run), [103.1, 103.0, 102.8].map(run));
//! let base = base.each_ref().map(Vec::as_slice);
//! let test = test.each_ref().map(Vec::as_slice);
//!
//! let evidence = compare(&Side { runs: &base }, &Side { runs: &test }, &Settings::new(Direction::LowerIsBetter));
//! assert_eq!(evidence.verdict, Verdict::Regressed);
//! let (low, high) = evidence.ratio_interval.unwrap();
//! assert!(0.02 < low && high < 0.04);
//!
//! // One run a side: they differ, and nobody knows whether two runs of the same program would.
//! let evidence = compare(&Side { runs: &base[..1] }, &Side { runs: &test[..1] }, &Settings::new(Direction::LowerIsBetter));
//! assert_eq!(evidence.verdict, Verdict::Differs);
//! ```

mod change_points;
mod compare;
mod differences;
mod energy;
mod estimate;
mod evidence;
mod family;
mod judge;
mod middle;
mod needed;
mod ranks;
mod runs;
mod sample;
mod series;
mod settings;
mod spikes;
mod steps;
mod student;
mod trend;
mod verdict;

pub use change_points::{ChangePoint, change_points};
pub use compare::compare;
pub use evidence::{Basis, Evidence, Needed, Unit, Verdict};
pub use family::{benjamini_hochberg, holm};
pub use middle::Middle;
pub use runs::{RUNS_MIN, between_runs, run_spread};
pub use series::{warm_up, whole_run};
pub use settings::{Direction, RunSpread, Settings, Side};
pub use trend::{Trend, trend};
