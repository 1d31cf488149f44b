//! From paths to documents and files: the one way that the command line, Python, C and a server go.
//!
//! [`map`] reads the files of a job, one trace a thread, and reduces each to a part; [`judged`] has the parts judged with what is
//! known beside them ([`facts`]). The events themselves are there for whoever wants them ([`Judged::trace`]), out of memory where
//! they were kept and out of their files where they were not. What comes of it is written by [`write_report`].
//!
//! Threads, paths and progress are handled here; command lines, colours and exit codes are not, and what is between ranks is
//! decided in [`rankscope_job`].
//!
//! # Example
//!
//! ```
//! use rankscope_formats::{ArgsPolicy, Scope};
//! use rankscope_job::{Analysed, Cards, Judging, Rules, TableSet};
//! use rankscope_pipeline::{Keep, Mapping, Places, Quiet, Reading, Request, judged, memory_default, write_report};
//!
//! # let job = rankscope_testkit::Job { ranks: 2, steps: 2, ..rankscope_testkit::Job::default() };
//! # let folder = tempfile::tempdir()?;
//! # for (rank, bytes) in (0..).zip(job.all_ranks()) {
//! #     std::fs::write(folder.path().join(format!("rank{rank}.json")), bytes)?;
//! # }
//! # let folder = folder.path().to_owned();
//! // A folder with a trace of each rank.
//! let request = Request {
//!     paths: vec![folder.clone()],
//!     clocks: None,
//!     mapping: Mapping {
//!         reading: Reading { args: ArgsPolicy::Analysis, scope: Scope::All },
//!         rules: Rules::default(),
//!         keep: Keep::UpTo(memory_default()),
//!         cards: Cards::known().clone(),
//!         tables: TableSet::ALL,
//!     },
//!     judging: Judging::default(),
//! };
//! let judged = judged(&request, &Quiet)?;
//! let document = Analysed::of(judged.job.clone(), None)?.document("a job");
//! assert_eq!(document.ranks.len(), 2);
//!
//! // report.html, report.json and timeline.pftrace.
//! let written = write_report(&Places::beside(&folder), &document, Some(&judged), &Quiet)?;
//! assert_eq!(written.len(), 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ahead;
mod artefacts;
mod beside;
mod captures;
mod clock_document;
mod clocks;
mod combined_file;
#[cfg(feature = "parquet")]
mod dataset;
#[cfg(feature = "parquet")]
mod dataset_events;
mod division;
mod error;
mod facts;
mod freeze;
#[cfg(feature = "parquet")]
mod frozen_events;
mod hang;
mod held;
mod history;
mod inflate;
mod job_clocks;
mod live;
mod map;
mod node_counters;
mod parts_folder;
mod place;
mod plan;
mod probe_log;
mod progress;
mod read;
mod read_all;
mod report;
mod request;
mod scratch;
mod shelf;
mod shell;
mod side_names;
mod sides;
mod spans;
mod timelines;
mod told;
mod traces_again;
mod wanted;
mod workbooks;
mod workers;

pub use ahead::Ahead;
pub use artefacts::{Places, write_report};
pub use beside::{beside_comparison, beside_history, beside_validation};
pub use clock_document::ClockRounds;
pub use clocks::{node_readings, offsets, pair, read_clocks, windows};
pub use combined_file::{CombinedFile, CombinedFormat, CombinedPart};
#[cfg(feature = "parquet")]
pub use dataset::DatasetRequest;
#[cfg(feature = "parquet")]
pub use dataset_events::{EventsRequest, EventsSummary, write_events};
pub use division::{Division, Shard};
pub use error::{Error, ExitClass, PartsFault};
pub use facts::{Clues, SideReadings, device_clocks, facts, run_directory};
pub use freeze::{Frozen, freeze, freeze_again, frozen_plan};
pub use hang::{FirstJudged, Followed, HangSources, OfRank, follow_ras, hang};
pub use held::{Held, Keep, memory_default, probably_fit};
pub use history::{PastRuns, read_history};
pub use job_clocks::write_clocks;
pub use live::{AlarmLog, LiveJob, LiveLook, Replay, has_ended, live};
pub use map::{Mapped, Mapping, map, map_files, unread};
pub use node_counters::NodeCounters;
pub use parts_folder::{MapRequest, MapSummary, map_into};
pub use probe_log::{FittedLog, ProbeLogFault, WindowLengthError, fit_probe_log, window_length};
pub use progress::{Progress, Quiet, Stage};
pub use read::{Reading, load_file, read_members};
pub use read_all::{Loaded, read_all};
pub use report::{Drawn, ReportRequest, Reported, Shown, analysed, report};
pub use request::{Judged, Request, clock_folder, judged, judged_files, judged_parts, title};
pub use scratch::ScratchFiles;
pub use shelf::{Client, Patient, RunShelf, Visit};
pub use shell::quoted;
pub use side_names::{RepeatError, sides};
pub use sides::{SideRequest, read_sides};
pub use spans::{ReadSpans, spans_document};
pub use timelines::{TimelinesRequest, TimelinesSummary, write_timelines};
pub use told::told;
pub use workbooks::{Workbooks, write_workbook};
