//! A job that is followed through NCCL's RAS service: told of as the service tells, and judged at once, and again when a process was given up.
//!
//! The service is asked for its status only then, because that asks every process of the job. It need not be at once either: a service that tells
//! events is of an NCCL that bears to be asked at any time, and others are not asked before that is known.

use std::ops::ControlFlow;

use rankscope_document::{HangDocument, HangEvent};
use rankscope_hang::{Evidence, RasAnswer, RasEvent, RasEventKind};
use rankscope_witness::ras;

use super::asked::{ANSWER_WITHIN, answer_of};
use crate::Error;

/// Something new of a job that is followed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Followed {
    /// NCCL told of a process.
    Event(HangEvent),
    /// The job was judged, and not as before.
    Judged(Box<HangDocument>),
}

/// When a job that is followed is judged for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstJudged {
    /// At once.
    AtOnce,
    /// When a process was given up.
    OnceGivenUp,
}

/// Follows the job whose RAS service is at `address` until the service ends or `tell` breaks off; `tell` is asked several times a second with nothing.
///
/// # Errors
/// Where the service cannot be asked or tells no events, hangs up in the middle of one, or answers nothing that is understood at first.
pub fn follow_ras(
    address: &str,
    first: FirstJudged,
    mut tell: impl FnMut(Option<Followed>) -> ControlFlow<()>,
) -> Result<(), Error> {
    let mut job = Job { address, answer: None, last: None, is_stale: false };
    if first == FirstJudged::AtOnce {
        job.ask()?;
        if let Some(news) = job.judged()
            && tell(Some(news)).is_break()
        {
            return Ok(());
        }
    }
    ras::follow(address, ANSWER_WITHIN, |event| match event {
        Some(event) => tell(Some(Followed::Event(job.heard(event)))),
        // All that came at once is told before anybody is asked.
        None => match job.asked_again() {
            Some(news) => tell(Some(news)),
            None => tell(None),
        },
    })?;
    Ok(())
}

struct Job<'a> {
    address: &'a str,
    /// What it said when it was asked last.
    answer: Option<RasAnswer>,
    last: Option<HangDocument>,
    /// Whether a process was given up since it was asked.
    is_stale: bool,
}

impl Job<'_> {
    fn heard(&mut self, bytes: &[u8]) -> HangEvent {
        let Ok(event) = RasEvent::read(bytes) else {
            let details = String::from_utf8_lossy(bytes).trim().chars().take(DETAILS_MAX).collect();
            return HangEvent { schema: 1, event: "UNKNOWN".to_owned(), details, ..HangEvent::default() };
        };
        self.is_stale |= event.kind == RasEventKind::Dead;
        if self.is_stale && self.answer.is_none() {
            // Which rank it was is told by nobody else. Where that is not told either, the event is told without.
            let _unknown = self.ask();
        }
        HangEvent {
            schema: 1,
            event: event.kind.name().to_owned(),
            said_at: event.time.clone(),
            rank: self.answer.as_ref().and_then(|answer| answer.rank_of(&event)),
            host: event.host.clone(),
            pid: event.pid,
            details: event.details,
        }
    }

    /// Asks again if anybody was given up. Whoever does not answer then is judged by what was known.
    fn asked_again(&mut self) -> Option<Followed> {
        if !std::mem::take(&mut self.is_stale) {
            return None;
        }
        self.ask().ok()?;
        self.judged()
    }

    fn ask(&mut self) -> Result<(), Error> {
        self.answer = Some(answer_of(&ras::ask(self.address, ANSWER_WITHIN)?, self.address)?);
        Ok(())
    }

    /// The verdict, if it is another one than before.
    fn judged(&mut self) -> Option<Followed> {
        let mut evidence = Evidence::default();
        evidence.add_ras(self.answer.clone()?);
        let document = evidence.verdict(&format!("RAS at {}", self.address));
        let is_new = self.last.as_ref().is_none_or(|last| last.verdict != document.verdict);
        self.last = Some(document.clone());
        is_new.then(|| Followed::Judged(Box::new(document)))
    }
}

/// Of what is not understood.
const DETAILS_MAX: usize = 200;
