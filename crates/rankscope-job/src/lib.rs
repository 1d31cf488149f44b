//! Parts of ranks in, a judged job out.
//!
//! Mapping and judging are apart. [`Part::of`] reduces one rank's trace, on its own clock, to the little that a job needs of it;
//! [`judge`] is the only function that sees two ranks, and no [`Trace`](rankscope_trace::Trace) is in its signature. So a report
//! on a laptop and one over a thousand machines are the same two calls, and only the place where parts are made differs.
//!
//! Durations are those of each rank's own clock; only positions are mapped, in `judge`. Pure: no path, no thread that anybody
//! could notice, no clock. Words about a job ([`Analysed::document`], the notes) are made here, too, so that every face says the
//! same; nothing is drawn.
//!
//! # Example
//!
//! ```
//! # use std::io::Cursor;
//! # use rankscope_formats::{ReadOptions, read};
//! use rankscope_job::{Analysed, Facts, Judging, Part, Parts, Place, Rules, judge};
//!
//! # let job = rankscope_testkit::Job {
//! #     ranks: 2,
//! #     steps: 4,
//! #     straggler: Some(rankscope_testkit::Straggler { rank: 1, factor: 1.5 }),
//! #     ..rankscope_testkit::Job::default()
//! # };
//! # let files = (0..).zip(job.all_ranks()).map(|(rank, bytes)| (format!("rank{rank}.json"), bytes));
//! # let mut traces = files.map(|(label, bytes)| {
//! #     let options = ReadOptions::default().with_label(label);
//! #     read(Cursor::new(bytes), &options).unwrap().remove(0).trace.unwrap()
//! # });
//! let rules = Rules::default();
//! let classes = rules.compiled()?;
//! // One worker reduces the trace of one rank, another one that of the other. Neither knows of the other's.
//! let mut here = Parts::new(rules.clone());
//! # let mut trace = traces.next().unwrap();
//! here.add(Place { file: 0, member: 0 }, Part::of(&mut trace, &classes))?;
//! let mut there = Parts::new(rules);
//! # let mut trace = traces.next().unwrap();
//! there.add(Place { file: 1, member: 0 }, Part::of(&mut trace, &classes))?;
//!
//! // Whoever has both judges the job.
//! let job = judge(there.join(here)?, &Facts::default(), Judging::default())?;
//! let document = Analysed::of(job, None)?.document("a job");
//! assert_eq!(document.ranks.len(), 2);
//! assert_eq!(document.verdict.late[0].rank, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod across;
mod alignment;
mod analysed;
mod answers;
mod capture_traces;
mod certainty;
mod chosen_tables;
mod clocks;
mod collective_tables;
mod combined;
mod compared;
mod completeness;
mod document;
mod doubts;
mod error;
mod facts;
mod fingerprint;
mod from_traces;
mod gpu_clocks;
mod gpus;
mod job_table;
mod judge;
mod listed;
mod nodes;
mod notes;
mod own_gpu;
mod part;
mod parts;
mod ranks;
mod replayed;
mod rules;
mod snapshot;
mod tabulated;
mod validation;
mod what_if;
mod windows;
mod words;

pub use alignment::alignment;
pub use analysed::{Analysed, select_rank};
pub use chosen_tables::{AnyTable, ChosenTables, TableChoice, UnknownTable};
pub use combined::{Numbering, combined_node};
pub use compared::WindowChoice;
pub use completeness::Completeness;
pub use document::problem;
pub use error::Error;
pub use facts::{Facts, Failure, KnownClocks};
pub use fingerprint::Fingerprint;
pub use from_traces::from_traces;
pub use gpus::{HostGpus, ahead_of_counter_ns};
pub use job_table::JobTable;
pub use judge::{ClockChoice, Job, JobRank, Judging, judge, passed_over};
pub use own_gpu::OwnGpu;
pub use part::{About, Export, Part, SettledTracer};
pub use parts::{Conflict, Parts, Place, Unread, WhyUnread};
pub use rankscope_execution::replay::{ChangeError, Changes};
pub use rankscope_tables::{Captures, Cards, CardsError, GraphCalls, Table, TableSet};
pub use rules::{ACCOUNTING, Rules};
pub use snapshot::{SnapshotFault, memory_snapshot};
pub use tabulated::select_tables;
pub use validation::{Evidence, Validated, validation_document};
pub use what_if::{WhatIfError, what_if};
pub use words::{list, time};
