//! [`RecordingLayer`]: what a program says through the `tracing` crate, on the same timeline and through the same hot path.
//!
//! The idea: a `tracing` span lasts from its creation to its last handle, but it is entered and left like a scope, perhaps many
//! times and on many threads. Each time inside becomes a slice of the thread it happened on, so it nests with
//! `record_function!`. A span that is entered again, or outlives its only slice, becomes an async span too, and its
//! slices are linked ([`Life`]). Fields are arguments with their types, events are instants with their message. Names are interned
//! once per call site. What is not here: filters, which other layers do, and stacks of spans that cross threads, which a timeline
//! shows as it is.

mod callsite;
mod fields;
mod stays;

use std::sync::atomic::{AtomicU64, Ordering};

use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Event, Interest, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use crate::events::instant;
use crate::kept_args::KeptArgs;
use crate::lane;
use crate::life::Life;
use crate::span::{begin_raw, end_raw};
use crate::state::is_on;
use crate::ticks::ticks;
use callsite::{Names, names_of};
use fields::Visitor;
use rankscope_recording::Category;
use stays::Stay;

const SPANS: Category = Category::USER_ANNOTATION;
const EVENTS: Category = Category::CPU_INSTANT_EVENT;

/// Records spans and events of `tracing` while a session runs.
///
/// ```
/// use rankscope_record::{RecordingLayer, Session, SessionOptions};
/// use tracing_subscriber::layer::SubscriberExt;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Once, when the program starts.
/// tracing::subscriber::set_global_default(tracing_subscriber::registry().with(RecordingLayer::new().alone()))?;
///
/// let session = Session::start(SessionOptions::default())?;
/// tracing::info_span!("request", id = 7).in_scope(|| tracing::info!("accepted"));
/// assert_eq!(session.stop()?.report.events(), 2);
/// # Ok(())
/// # }
/// ```
///
/// A span that is entered once and closed when it is left is a slice of its thread. One that is entered again (an `async fn` under `#[instrument]` is, at
/// every poll) is an async span as well, from its creation to its end, with its waiting; a flow links its slices across threads.
#[derive(Debug)]
pub struct RecordingLayer {
    /// Tells its spans from those of another layer: both number theirs from one.
    number: u64,
    has_lifetimes: bool,
    is_alone: bool,
}

/// A thread that recorded nothing for so many ticks has waited: 1 to 4 ms with the counters of x86-64 and current Arm servers,
/// 0.2 s with a counter of 24 MHz. Between the end of a slice and of its span lie some hundred nanoseconds, unless the thread is
/// taken off its core there.
const WAITED_TICKS: u64 = 1 << 22;

/// How often fields were recorded later, by anybody: an end looks for such only if it changed meanwhile.
static RECORDED_LATER: AtomicU64 = AtomicU64::new(0);

/// What the layer keeps of a span.
struct Known {
    names: &'static Names,
    fields: KeptArgs,
    life: Option<Life>,
}

impl RecordingLayer {
    /// Records the slices of every span, and the lifetimes of those that are entered again or outlive their slice.
    pub fn new() -> Self {
        static LAYERS: AtomicU64 = AtomicU64::new(0);
        Self { number: LAYERS.fetch_add(1, Ordering::Relaxed), has_lifetimes: true, is_alone: false }
    }

    /// Records only slices: no async spans, and no flows between the slices of one span.
    #[must_use]
    pub fn without_lifetimes(self) -> Self {
        Self { has_lifetimes: false, ..self }
    }

    /// Says that no other layer of the subscriber wants spans or events: while nothing is recorded, they are disabled at their
    /// call site, and the registry never hears of them. A span that was created then stays unrecorded when a session begins.
    ///
    /// Beside other layers this would take their spans too. There, use `with_filter` of `tracing-subscriber` on this layer.
    #[must_use]
    pub fn alone(self) -> Self {
        Self { is_alone: true, ..self }
    }

    fn known(&self, metadata: &'static Metadata<'static>) -> Known {
        let names = names_of(metadata);
        let life = self.has_lifetimes.then(|| Life::new(names.name, ticks()));
        Known { names, fields: KeptArgs::default(), life }
    }

    fn enter(&self, id: &Id, known: &mut Known) {
        let Known { names, fields, life } = known;
        let Some(open) = fields.lend(0, |args| begin_raw(names.name, args)) else { return };
        if let Some(life) = life {
            life.entered(open.correlation_id(), fields);
        }
        let later = RECORDED_LATER.load(Ordering::Relaxed);
        stays::push(Stay { layer: self.number, span: id.into_u64(), name: names.name, open, fields: fields.len(), later });
    }
}

impl Default for RecordingLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for RecordingLayer {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        if self.is_alone { Interest::sometimes() } else { Interest::always() }
    }

    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        !self.is_alone || is_on(if metadata.is_event() { EVENTS } else { SPANS })
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if !is_on(SPANS) {
            return;
        }
        let Some(span) = context.span(id) else { return };
        let mut known = self.known(attributes.metadata());
        // Formatted before the span is locked: formatting is the program's code, and may look at the span.
        attributes.record(&mut Visitor { args: &mut known.fields, names: known.names });
        span.extensions_mut().insert(known);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let names = match span.extensions().get::<Known>() {
            Some(known) => known.names,
            None if is_on(SPANS) => names_of(span.metadata()),
            None => return,
        };
        let mut later = KeptArgs::default();
        values.record(&mut Visitor { args: &mut later, names });
        let mut extensions = span.extensions_mut();
        match extensions.get_mut::<Known>() {
            Some(known) => later.lend(0, |args| args.iter().for_each(|(key, value)| known.fields.push(*key, *value))),
            None => extensions.insert(Known { fields: later, ..self.known(span.metadata()) }),
        }
        RECORDED_LATER.fetch_add(1, Ordering::Relaxed);
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        if !is_on(SPANS) {
            return;
        }
        let Some(span) = context.span(id) else { return };
        let mut extensions = span.extensions_mut();
        match extensions.get_mut::<Known>() {
            Some(known) => self.enter(id, known),
            None => {
                // It was created before anybody recorded.
                let mut known = self.known(span.metadata());
                self.enter(id, &mut known);
                extensions.insert(known);
            }
        }
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        let Some(left) = stays::leave(self.number, id.into_u64()) else { return };
        if left.later == RECORDED_LATER.load(Ordering::Relaxed) {
            end_raw(left.open, &[]);
        } else {
            // What was recorded meanwhile belongs to the end.
            let span = context.span(id);
            let extensions = span.as_ref().map(|span| span.extensions());
            match extensions.as_ref().and_then(|extensions| extensions.get::<Known>()) {
                Some(known) => known.fields.lend(left.fields, |args| end_raw(left.open, args)),
                None => end_raw(left.open, &[]),
            }
        }
        stays::reopen();
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if !is_on(EVENTS) {
            return;
        }
        let names = names_of(event.metadata());
        let mut fields = KeptArgs::default();
        event.record(&mut Visitor { args: &mut fields, names });
        fields.lend(0, |args| instant(names.name, args));
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        // A scope ends right behind its slice. What is closed later, elsewhere, or was never entered, is more than a scope.
        let outlived = !stays::take_left_last(self.number, id.into_u64()) || has_waited();
        let Some(span) = context.span(&id) else { return };
        // Taken out first: what the end writes may look at the span.
        let known = span.extensions_mut().remove::<Known>();
        if let Some(Known { fields, life: Some(life), .. }) = known {
            life.end(outlived, &fields);
        }
    }
}

/// Whether the last event of this thread is so long ago that the thread has waited since.
fn has_waited() -> bool {
    ticks().saturating_sub(lane::with(lane::Lane::last_tick)) > WAITED_TICKS
}
