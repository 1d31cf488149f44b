//! [`RecordingLayer`]: what a program says through the `tracing` crate, on the same timeline and through the same hot path.
//!
//! The idea: a `tracing` span lives from its creation to its last handle, but it is entered and left like a scope, perhaps
//! many times and on many threads. Each stay becomes a span of the thread it happened on, so it nests with
//! `record_function!`; with [`RecordingLayer::with_lifetimes`] the whole life becomes an asynchronous span beside them. Fields
//! are arguments with their types, events are moments with their message. Names are interned once per call site. What is not
//! here: filters, which other layers do, and stacks of spans that cross threads, which a timeline shows as it is.

mod callsite;
mod fields;
mod stays;

use std::sync::atomic::{AtomicU64, Ordering};

use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::{LookupSpan, SpanRef};

use crate::{AsyncSpan, Category, begin_async, begin_raw, end_raw, instant, is_on};
use callsite::names_of;
use fields::Fields;
use stays::Stay;

const SPANS: Category = Category::USER_ANNOTATION;
const EVENTS: Category = Category::CPU_INSTANT_EVENT;

/// Records spans and events of `tracing` while a session runs.
#[derive(Debug)]
pub struct RecordingLayer {
    /// Tells its spans from those of another layer: both number theirs from one.
    number: u64,
    has_lifetimes: bool,
}

/// The whole life of a span.
struct Life(AsyncSpan);

impl RecordingLayer {
    /// Records every stay in a span.
    pub fn new() -> Self {
        static LAYERS: AtomicU64 = AtomicU64::new(0);
        Self { number: LAYERS.fetch_add(1, Ordering::Relaxed), has_lifetimes: false }
    }

    /// Records the life of each span too, from its creation to its end on whatever thread: for asynchronous programs, where a
    /// stay is one poll.
    #[must_use]
    pub fn with_lifetimes(self) -> Self {
        Self { has_lifetimes: true, ..self }
    }

    fn enter<'a, S: LookupSpan<'a>>(&self, span: &SpanRef<'a, S>) {
        let extensions = span.extensions();
        let fields = extensions.get::<Fields>().unwrap_or(Fields::NONE);
        let name = names_of(span.metadata()).name;
        if let Some(open) = fields.lend(0, |args| begin_raw(name, args)) {
            stays::push(Stay { layer: self.number, span: span.id().into_u64(), name, open, fields: fields.len() });
        }
    }
}

impl Default for RecordingLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for RecordingLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if !is_on(SPANS) {
            return;
        }
        let Some(span) = context.span(id) else { return };
        let names = names_of(attributes.metadata());
        let mut fields = Fields::default();
        attributes.record(&mut fields.visitor(names));
        let mut extensions = span.extensions_mut();
        if self.has_lifetimes {
            extensions.insert(Life(fields.lend(0, |args| begin_async(names.name, args))));
        }
        if fields.len() > 0 {
            extensions.insert(fields);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        // Formatted before the span is locked: formatting is the program's code, and may look at the span.
        let mut later = Fields::default();
        values.record(&mut later.visitor(names_of(span.metadata())));
        let mut extensions = span.extensions_mut();
        match extensions.get_mut::<Fields>() {
            Some(fields) => fields.append(&later),
            None => extensions.insert(later),
        }
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        if !is_on(SPANS) {
            return;
        }
        if let Some(span) = context.span(id) {
            self.enter(&span);
        }
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        let Some(left) = stays::leave(self.number, id.into_u64()) else { return };
        let span = context.span(id);
        let extensions = span.as_ref().map(SpanRef::extensions);
        let fields = extensions.as_ref().and_then(|extensions| extensions.get::<Fields>()).unwrap_or(Fields::NONE);
        // What was recorded during the stay belongs to its end.
        fields.lend(left.fields, |args| end_raw(left.open, args));
        drop(extensions);
        stays::reopen();
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if !is_on(EVENTS) {
            return;
        }
        let names = names_of(event.metadata());
        let mut fields = Fields::default();
        event.record(&mut fields.visitor(names));
        fields.lend(0, |args| instant(names.name, args));
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        // Taken out first: the life's end reads the same extensions.
        let life = span.extensions_mut().remove();
        if let Some(Life(life)) = life {
            span.extensions().get::<Fields>().unwrap_or(Fields::NONE).lend(0, |args| life.end(args));
        }
    }
}
