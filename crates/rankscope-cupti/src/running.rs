//! [`Running`]: CUPTI at work for one session, from subscribing to the last buffer.
//!
//! Whoever profiles subscribes first. Where the library gives each of several subscribers its own records, we are one of them; elsewhere we
//! stand back where somebody else did: records of both would go to whoever came last. The end
//! asks for buffers whose records are complete until all are back or patience is over. It neither waits for devices nor forces CUPTI:
//! a program that wants its last kernels waits for them before it ends the session.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rankscope_devices::Worker;

use crate::abi::Status;
use crate::absent::Absent;
use crate::calls::Calls;
use crate::counts::Counts;
use crate::decode::Decoder;
use crate::edge;
use crate::hub::Hub;
use crate::kinds::Kinds;
use crate::library::Subscription;
use crate::options::CuptiOptions;
use crate::probe::{FIELDS_FROM, OPTIONS_FROM, not_taken, refusal};
use crate::worker::{Collected, Collector};

/// Between asking for buffers at the end.
const ASK_EVERY: Duration = Duration::from_millis(1);

/// A session at work.
pub struct Running {
    pub(crate) hub: &'static Hub,
    subscription: Subscription,
    kinds: Arc<Kinds>,
    worker: Worker<Collected>,
    /// Records have the fields that were chosen.
    pub(crate) chooses_fields: bool,
    /// Who was subscribed first, where several may be.
    pub(crate) beside: Option<String>,
}

impl Running {
    /// Begins.
    ///
    /// # Errors
    /// Why there will be nothing. Then nothing was begun.
    pub(crate) fn begin(hub: &'static Hub, options: &CuptiOptions) -> Result<Self, Absent> {
        if !hub.switch.begin() {
            return Err(Absent::InUse);
        }
        Self::with_hub(hub, options).inspect_err(|_| hub.switch.end())
    }

    /// Beside others and with chosen fields, if that can be; a library that refuses that still has the first version, but whoever allows
    /// no others would be in its way there, too.
    fn with_hub(hub: &'static Hub, options: &CuptiOptions) -> Result<Self, Absent> {
        let has_options = hub.version >= OPTIONS_FROM;
        let can_choose = hub.version >= FIELDS_FROM && (has_options || hub.library.can_leave_calls_out());
        if options.choose_fields() && can_choose {
            match Self::beside_others(hub, options) {
                Err(Absent::Taken { name, status: Status::MULTIPLE_SUBSCRIBERS }) => {
                    return Err(Absent::Taken { name, status: Status::MULTIPLE_SUBSCRIBERS });
                }
                Err(_) => {}
                running => return running,
            }
        }
        Self::subscribed(hub, options, subscribe(hub)?, None)
    }

    fn beside_others(hub: &'static Hub, options: &CuptiOptions) -> Result<Self, Absent> {
        let subscribed = hub.library.subscribe_beside_others(edge::call_told, hub.version >= OPTIONS_FROM);
        let (subscription, first) = subscribed.map_err(|why| not_taken(&hub.library, why))?;
        Self::subscribed(hub, options, subscription, first)
    }

    fn subscribed(
        hub: &'static Hub,
        options: &CuptiOptions,
        subscription: Subscription,
        beside: Option<String>,
    ) -> Result<Self, Absent> {
        let chooses_fields = hub.library.in_use().is_some();
        let recording = record(hub, options, subscription).inspect_err(|_| hub.library.unsubscribe(subscription));
        recording.map(|(kinds, worker)| Self { hub, subscription, kinds, worker, chooses_fields, beside })
    }

    /// Ends, and returns what came of it.
    pub(crate) fn end(self, patience: Duration) -> Ended {
        let Self { hub, subscription, kinds, worker, chooses_fields, .. } = self;
        hub.switch.end();
        if !chooses_fields {
            hub.library.unsubscribe(subscription);
        }
        kinds.end();
        let deadline = Instant::now() + patience;
        // What it returns says nothing that the buffers do not say.
        while hub.library.flush().is_ok() && hub.outstanding() > 0 && Instant::now() < deadline {
            thread::sleep(ASK_EVERY);
        }
        let refused = kinds.refused().iter().map(|(kind, status)| format!("{}: {status}", kind.name())).collect();
        let absent = kinds.no_work().map(|status| refusal(&hub.library, ENABLE, status));
        let collected = worker.finish();
        // Records are read as those of a subscriber, who stays as long as somebody may read.
        if chooses_fields && collected.is_some() {
            hub.library.unsubscribe(subscription);
        }
        let is_unread =
            |it: &Collected| chooses_fields && it.counts.records > 0 && it.counts.short_records == it.counts.records;
        let unread = collected.as_ref().filter(|it| is_unread(it));
        let absent = absent.or_else(|| unread.map(|_| Absent::NoLayouts { file: hub.library.file.clone() }));
        Ended { collected, refused, absent }
    }
}

/// Has all recorded that is wanted, through the version of the interface that is in use.
fn record(
    hub: &'static Hub,
    options: &CuptiOptions,
    subscription: Subscription,
) -> Result<(Arc<Kinds>, Worker<Collected>), Absent> {
    let library = &hub.library;
    let (call, registered) = match library.in_use() {
        Some(second) => (
            "cuptiActivityRegisterCallbacks_v2",
            second.prepare(edge::buffer_requested_by_second, edge::buffer_completed_by_second),
        ),
        None => ("cuptiActivityRegisterCallbacks", library.register_callbacks(edge::buffer_requested, edge::buffer_completed)),
    };
    registered.map_err(|status| refusal(library, call, status))?;
    // One that does not know how numbers threads as it likes, and calls are on threads that nobody else knows.
    let _ = library.number_threads_as_the_system_does();
    let calls = Calls::of(library);
    for (domain, cbid) in calls.launches() {
        // A call that is not told of is recorded without its span.
        let _ = library.tell_of(subscription, domain, cbid, true);
    }
    let kinds = Arc::new(Kinds::ask(hub, calls.clone(), options.calls));
    // What comes too early is asked for again; anything else is final.
    if let Some(status) = kinds.no_work().filter(|status| *status != Status::NOT_INITIALIZED) {
        kinds.end();
        return Err(refusal(library, ENABLE, status));
    }
    let layouts = library.in_use().and_then(|_| library.layouts());
    let decoder = Decoder::new(calls, options.calls).with_layouts(layouts);
    let collector = Collector::new(hub, kinds.clone(), decoder);
    let worker = Worker::start("rankscope-cupti", collector, options.flush_every).map_err(|error| {
        kinds.end();
        Absent::NoRoom { what: "a thread", said: error.to_string() }
    })?;
    Ok((kinds, worker))
}

const ENABLE: &str = "cuptiActivityEnable";

/// What came of a session.
pub(crate) type Ended = rankscope_devices::Ended<Absent, Counts>;

fn subscribe(hub: &Hub) -> Result<Subscription, Absent> {
    hub.library.subscribe(edge::call_told).map_err(|status| match refusal(&hub.library, "cuptiSubscribe", status) {
        Absent::Taken { status, .. } => Absent::Taken { name: hub.library.holder(edge::call_told), status },
        other => other,
    })
}
