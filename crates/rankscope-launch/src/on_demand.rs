//! SIGUSR2 to `rankscope run`: with `--profile on-signal` the job's next steps are profiled, as `rankscope trigger` would have them; with
//! `--ring` what came before is kept.
//!
//! The signal stays here. Who sends it to the job itself ends most programs, which do not expect it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crate::directory::Directory;
use crate::incident::Ask;
use crate::notice::{Notice, Observer};
use crate::profile::{ProfilePlan, Windows};
use crate::trigger::{TriggerError, TriggerRequest, Triggered, trigger};

/// What SIGUSR2 is for.
pub(crate) struct OnSignal<'a> {
    /// What comes next.
    pub(crate) profile: Option<&'a mut OnDemand>,
    /// What came before.
    pub(crate) keep: Ask,
}

impl OnSignal<'_> {
    /// Whether it is for anything here; else it is the job's.
    pub(crate) fn is_heard(&self) -> bool {
        self.profile.is_some() || self.keep.is_heard()
    }

    /// Somebody sent it.
    pub(crate) fn heard(&mut self) {
        self.profile.iter_mut().for_each(|profile| profile.ask());
        self.keep.keep("asked for by SIGUSR2");
    }
}

/// Whom to ask, and what for.
pub(crate) struct OnDemand {
    request: TriggerRequest,
    observer: Arc<dyn Observer>,
    over: Arc<AtomicBool>,
    asking: Option<JoinHandle<()>>,
}

impl OnDemand {
    /// Where `plan` says so, and there is a run that leads its job; processes that do not would each ask, too.
    pub(crate) fn of(plan: Option<&ProfilePlan>, directory: Option<&Directory>, observer: &Arc<dyn Observer>) -> Option<Self> {
        let plan = plan?;
        let Windows::OnSignal { steps } = plan.windows else { return None };
        let run: PathBuf = directory.filter(|directory| directory.manifest.is_some())?.path().to_owned();
        let mut request = TriggerRequest::new(run, steps);
        request.details.clone_from(&plan.details);
        "signal".clone_into(&mut request.asked_by);
        Some(Self { request, observer: Arc::clone(observer), over: Arc::default(), asking: None })
    }

    /// Asks, unless the last time is not over yet.
    pub(crate) fn ask(&mut self) {
        if self.asking.as_ref().is_some_and(|thread| !thread.is_finished()) {
            return;
        }
        let (request, observer, over) = (self.request.clone(), Arc::clone(&self.observer), Arc::clone(&self.over));
        let work = move || tell(trigger(&request, &over, &mut |_| {}), &*observer);
        match std::thread::Builder::new().name("rankscope-trigger".to_owned()).spawn(work) {
            Ok(thread) => self.asking = Some(thread),
            Err(error) => self.observer.notice(&Notice::NotProfiled(error.to_string())),
        }
    }

    /// The job is over.
    pub(crate) fn end(self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.asking {
            // It says by itself what went wrong.
            let _ended = thread.join();
        }
    }
}

fn tell(done: Result<Triggered, TriggerError>, observer: &dyn Observer) {
    observer.notice(&match done {
        Ok(done) => Notice::Profiled { first_step: done.first_step, steps: done.steps, ranks: done.profiled.len() },
        // The end of the run says what became of the steps.
        Err(TriggerError::Stopped | TriggerError::Over { .. }) => return,
        Err(error) => Notice::NotProfiled(error.to_string()),
    });
}
