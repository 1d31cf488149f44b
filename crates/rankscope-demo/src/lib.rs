//! A distributed job on this machine, on clocks that are wrong in a known way, and how far what is measured of it is from the truth.
//!
//! The one idea: ranks and clock agents are processes of their own, on the real recorder, the real network stack and real time;
//! only the hosts' clocks are skewed, by the process that starts them, which therefore knows the truth. How the run is read and
//! reported is not decided here: a [`Product`] does it as it does for every other job, and is judged.
//!
//! [`run`] plays all of it; [`train`] is what each rank's process does.
//!
//! ```
//! use std::path::Path;
//! use std::sync::atomic::AtomicBool;
//!
//! use rankscope_demo::{AlignedJob, Because, Blamed, BoxedError, DemoDocument, Error, Product, Request, run};
//!
//! // Four ranks for five seconds, of which rank 2 waits for its data; Ctrl-C turns `interrupted` on.
//! fn demonstrate(product: &dyn Product, interrupted: &AtomicBool) -> Result<DemoDocument, Error> {
//!     let request = Request {
//!         ranks: 4,
//!         seconds: 5.0,
//!         seed: 1,
//!         slow_rank: Some(2),
//!         because: Some(Because::DataLoader),
//!         live: false,
//!         hangs: false,
//!         path: "a-demo".into(),
//!         hosts: Vec::new(),
//!         command: vec!["a program".to_owned()],
//!     };
//!     run(&request, product, interrupted, || println!("the job begins"))
//! }
//! #
//! # struct Never;
//! # impl Product for Never {
//! #     fn report(&self, _: &Path) -> Result<Option<u32>, BoxedError> { Err("no demo was played".into()) }
//! #     fn judge(&self, _: &Path) -> Result<Blamed, BoxedError> { Err("no demo was played".into()) }
//! #     fn read(&self, _: &Path) -> Result<AlignedJob, BoxedError> { Err("no demo was played".into()) }
//! # }
//! # // Half a second is too short, and refused before anything is played.
//! # let short = Request { ranks: 4, seconds: 0.5, seed: 1, slow_rank: None, because: None, live: false, hangs: false, path: "a-demo".into(), hosts: Vec::new(), command: Vec::new() };
//! # assert!(matches!(run(&short, &Never, &AtomicBool::new(false), || ()), Err(Error::Seconds { .. })));
//! ```

mod agent_settings;
mod clocks;
mod comm;
mod document;
mod error;
mod fleet;
mod folder;
mod hosts;
mod job;
mod plan;
mod product;
mod random;
mod rank;
mod ring;
mod run;
mod slow;
mod task;
mod truth;
mod verdict;
mod work;

pub use document::{DemoDocument, EventErrors, RankClock, Standstill, Straggler, Violations};
pub use error::{BoxedError, Error};
pub use hosts::Host;
pub use product::{AlignedJob, AlignedRank, Blamed, CollectiveSpan, Product};
pub use rank::{Trained, train};
pub use run::{Request, run};
pub use slow::{Because, UnknownCause};
pub use task::RankTask;
