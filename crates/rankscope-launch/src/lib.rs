//! Runs a distributed job as it would run without us, and leaves a run directory: what `rankscope run` and `rankscope agent` do.
//!
//! The one idea: the job comes first. Its command, its terminal, its signals and its exit code are its own; whatever of ours fails
//! becomes a [`Notice`] and is left out. Nothing is printed here and no trace is read: an [`Observer`] hears what is worth a line,
//! and the report is made by a process of its own, of the [`Executable`] that has the verbs.
//!
//! [`run`] starts a job, [`sweep`](sweep()) one after the other; [`agent`] measures the clock of one node.

pub mod agent;
mod agents;
mod asked;
mod below;
mod collect;
mod counters;
mod directory;
mod error;
mod executable;
mod finish;
mod given_up;
mod hooks;
mod incident;
mod job;
mod left;
mod lines;
mod map_here;
mod name;
mod notice;
mod on_demand;
mod outcome;
mod pages;
mod profile;
mod ras_service;
mod run;
mod signals;
mod standstill;
mod summary;
mod sweep;
mod tied;
mod together;
mod trigger;
mod watcher;
mod words;

pub use counters::Counting;
pub use directory::Place;
pub use error::{Error, ExitClass};
pub use executable::Executable;
pub use incident::{AllKept, Incident, IncidentError, IncidentRequest, Whose, keep_all, keep_incident};
pub use left::Left;
pub use name::{NameError, RunName};
pub use notice::{CutShort, Notice, Observer};
pub use outcome::Outcome;
pub use profile::{Detail, PlanError, ProfilePlan, Windows};
pub use run::{Ended, Request, run};
pub use signals::outlive_file_limit;
pub use summary::{Caution, Found, Reported, Summary};
pub use sweep::{Begins, Intent, Plan, SweepError, SweepNotice, SweepObserver, SweepRequest, Swept, planned, sweep};
pub use tied::become_command;
pub use together::{ProfiledTogether, TogetherError, TogetherRequest, profile_together};
pub use trigger::{TriggerError, TriggerProgress, TriggerRequest, Triggered, trigger};
pub use watcher::Watching;
