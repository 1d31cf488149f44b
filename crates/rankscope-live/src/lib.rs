//! The running job, watched: which rank comes late, whether steps take longer than they did, and whether anything moves at all.
//!
//! Two kinds of signal are told apart, because one of them cannot be trusted over a day. Step times drift, and a rank that waits for
//! others is as slow as they are, so step times tell only about the job as a whole. *Lateness* is what a rank's own work made it
//! come later at matched collectives than the rank in the middle: what is common to all ranks is not in it, and its expected value
//! is zero. So it may be summed up over time ([`Cusum`]), which finds small delays; step times are judged by changes ([`Changes`])
//! and by medians of blocks ([`Blocks`]).
//!
//! What the pages of ranks say together at one moment is a [`Look`]. Nobody is woken by one sign: an [`Alarm`] needs two detectors, or one
//! twice. [`Watch`] puts them together, and [`Following`] feeds it from one look at the pages to the next. There is no clock here and
//! nothing is read: instants, steps and progress come in, alarms go out.
//!
//! ```
//! use rankscope_live::{AlarmKind, RankStep, Step, Watch};
//!
//! // Four ranks, a second a step; from step 400 on rank 2 works 10 % longer.
//! let mut watch = Watch::new(4);
//! let mut alarms = Vec::new();
//! for number in 0..500_i64 {
//!     let noise = |rank: i64| (number * 7_919 + rank * 104_729) % 20_000_000;
//!     let late = |rank: i64| if rank == 2 && number >= 400 { 100_000_000 } else { 0 };
//!     let ranks: Vec<_> = (0..4).map(|rank| RankStep::known(noise(rank) - 10_000_000 + late(rank), 20_000)).collect();
//!     let step = Step { time_ns: number * 1_000_000_000, duration_ns: 1_000_000_000, ranks: &ranks };
//!     alarms.extend(watch.step(&step));
//! }
//! assert_eq!(alarms.len(), 1);
//! assert_eq!((alarms[0].kind, alarms[0].rank), (AlarmKind::Straggler, Some(2)));
//! assert!(alarms[0].time_ns < 420_000_000_000);
//! ```

mod alarm;
mod blocks;
mod changes;
mod clock;
mod cusum;
mod follow;
mod hang;
mod inside;
mod lateness;
mod look;
mod meetings;
mod slow;
mod straggler;
mod watch;

pub use alarm::{Alarm, AlarmKind, Confidence, Detector};
pub use blocks::Blocks;
pub use changes::Changes;
pub use clock::NodeClock;
pub use cusum::Cusum;
pub use follow::Following;
pub use hang::{Phase, Progress};
pub use lateness::{Came, own_lateness};
pub use look::{Compared, Found, Look, Seen};
pub use meetings::{By, Met, Open};
pub use straggler::RankStep;
pub use watch::{Step, Watch};
