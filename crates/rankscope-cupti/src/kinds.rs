//! [`Kinds`]: which kinds of records CUPTI was asked for, and what it answered.
//!
//! A kind that is refused is left out and named; the others are recorded. While CUPTI says that CUDA is not up yet, it is asked again:
//! a program may start its recording long before it touches a device.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rankscope_devices::ApiCalls;

use crate::abi::{Domain, Kind, Status};
use crate::calls::Calls;
use crate::hub::Hub;

/// The kinds of a session.
pub(crate) struct Kinds {
    hub: &'static Hub,
    calls: Calls,
    which: ApiCalls,
    answers: Mutex<Vec<(Kind, Result<(), Status>)>>,
}

impl Kinds {
    /// Asks for all of them.
    pub(crate) fn ask(hub: &'static Hub, calls: Calls, which: ApiCalls) -> Self {
        let kinds = Self { hub, calls, which, answers: Mutex::default() };
        let answers = Kind::ALL.map(|kind| (kind, kinds.switch(kind, true)));
        kinds.lock().extend(answers);
        kinds
    }

    /// Asks again for those that were too early.
    pub(crate) fn ask_again(&self) {
        let mut answers = self.lock();
        for (kind, answer) in answers.iter_mut().filter(|(_, answer)| *answer == Err(Status::NOT_INITIALIZED)) {
            *answer = self.switch(*kind, true);
        }
    }

    /// Records none of them any more.
    pub(crate) fn end(&self) {
        for (kind, _) in self.lock().iter().rev() {
            // Also those that were refused, of which a part may have begun. What cannot be ended records on, outside of every session.
            let _ = self.switch(*kind, false);
        }
    }

    /// Those that were refused, with why.
    pub(crate) fn refused(&self) -> Vec<(Kind, Status)> {
        self.lock().iter().filter_map(|(kind, answer)| Some((*kind, answer.err()?))).collect()
    }

    /// Why there is no work at all, if there is none: the first answer that says so.
    pub(crate) fn no_work(&self) -> Option<Status> {
        let answers = self.lock();
        let mut work = answers.iter().filter(|(kind, _)| kind.is_work()).map(|(_, answer)| *answer);
        let first = work.next()?.err()?;
        work.all(|answer| answer.is_err()).then_some(first)
    }

    /// Asks for a kind, or ends it. Of calls only those are recorded that have to be, where the library lets one choose: those of
    /// interest, and those that launch work, because without its call work has no tie.
    fn switch(&self, kind: Kind, is_on: bool) -> Result<(), Status> {
        let library = &self.hub.library;
        let domain = match kind {
            Kind::Runtime => Some(Domain::Runtime),
            Kind::Driver => Some(Domain::Driver),
            _ => None,
        };
        match (domain.filter(|domain| !(*domain == Domain::Runtime && self.which == ApiCalls::All)), library.in_use()) {
            (Some(domain), Some(second)) if is_on => match &self.chosen(domain)[..] {
                [] => Ok(()),
                calls if second.has_options() => second.enable(kind, Some(calls)),
                calls => second.enable_without(kind, domain, &self.calls.others(domain, calls)),
            },
            (Some(domain), None) if library.can_choose_calls() => {
                self.chosen(domain).into_iter().try_for_each(|cbid| library.choose_call(domain, cbid, is_on))
            }
            _ if is_on => library.enable(kind),
            _ => library.disable(kind),
        }
    }

    /// The calls of a domain that have to be recorded.
    fn chosen(&self, domain: Domain) -> Vec<u32> {
        let calls = self.calls.launches().chain(self.calls.recorded(self.which)).filter(|call| call.0 == domain);
        let mut chosen: Vec<u32> = calls.map(|(_, cbid)| cbid).collect();
        chosen.sort_unstable();
        chosen.dedup();
        chosen
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Kind, Result<(), Status>)>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
