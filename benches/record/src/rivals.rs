//! The other recorders, each as its own documentation says, into its usual sink, with no viewer attached.
//!
//! A turn ends with whatever the documentation says ends a recording, outside the measured time: what is compared is what the
//! program pays while it runs.

use std::io::BufWriter;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::Result;
use tracing_subscriber::layer::SubscriberExt;

/// Spans in one frame, request or trace, where a recorder thinks in such.
const SPANS_PER_FRAME: u64 = 1_000;

/// Times what is given for every frame of a turn.
fn frames(spans: u64, mut frame: impl FnMut(u64)) -> Duration {
    let begun = Instant::now();
    let mut left = spans;
    while left > 0 {
        let now = left.min(SPANS_PER_FRAME);
        frame(now);
        left -= now;
    }
    begun.elapsed()
}

/// Scopes on, a frame view as the sink that viewers read from, one scope around each frame and `new_frame` behind it.
pub fn puffin() -> Result<impl FnMut(u64) -> Duration> {
    let view = puffin::GlobalFrameView::default();
    puffin::set_scopes_on(true);
    Ok(move |spans| {
        let took = frames(spans, |spans| {
            {
                puffin::profile_scope!("frame");
                for _ in 0..spans {
                    puffin::profile_scope!("span");
                }
            }
            puffin::GlobalProfiler::lock().new_frame();
        });
        view.lock().clear_slowest();
        took
    })
}

/// A root span with a local parent, local spans below it; the reporter lets the records go, as an exporter with a fast
/// network would.
pub fn fastrace() -> Result<impl FnMut(u64) -> Duration> {
    struct Sink;
    impl fastrace::collector::Reporter for Sink {
        fn report(&mut self, spans: Vec<fastrace::collector::SpanRecord>) {
            drop(spans);
        }
    }
    fastrace::set_reporter(Sink, fastrace::collector::Config::default());
    Ok(|spans| {
        let took = frames(spans, |spans| {
            let root = fastrace::Span::root("frame", fastrace::collector::SpanContext::random());
            let _parent = root.set_local_parent();
            for _ in 0..spans {
                let _span = fastrace::local::LocalSpan::enter_with_local_parent("span");
            }
        });
        fastrace::flush();
        took
    })
}

/// The layer over the registry, writing a file from its own thread.
pub fn tracing_chrome() -> Result<impl FnMut(u64) -> Duration> {
    let folder = tempfile::tempdir()?;
    let (layer, guard) = tracing_chrome::ChromeLayerBuilder::new().file(folder.path().join("trace.json")).build();
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer))?;
    Ok(move |spans| {
        let took = tracing_spans(spans);
        guard.flush();
        let _kept = &folder;
        took
    })
}

/// The layer over the registry, writing a file under a lock; buffered, which its documentation does not even ask for.
pub fn tracing_perfetto() -> Result<impl FnMut(u64) -> Duration> {
    let file = BufWriter::new(tempfile::tempfile()?);
    let layer = tracing_perfetto::PerfettoLayer::new(Mutex::new(file));
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer))?;
    Ok(tracing_spans)
}

fn tracing_spans(spans: u64) -> Duration {
    frames(spans, |spans| {
        for _ in 0..spans {
            let _span = tracing::info_span!("span").entered();
        }
    })
}

/// With its fast clock and room reserved, as in its own benchmark. What was recorded is kept until the end, because nothing
/// of it can be written before.
pub fn perfetto_recorder() -> Result<impl FnMut(u64) -> Duration> {
    perfetto_recorder::start()?;
    let mut kept = Vec::new();
    Ok(move |spans| {
        perfetto_recorder::current_thread_reserve(spans as usize * perfetto_recorder::EVENTS_PER_SPAN);
        let took = frames(spans, |spans| {
            for _ in 0..spans {
                perfetto_recorder::scope!("span");
            }
        });
        kept.push(perfetto_recorder::ThreadTraceData::take_current_thread());
        took
    })
}

/// As [`perfetto_recorder`], but each turn's data is let go of, and the allocator keeps the memory: what is written next has been
/// touched before. That is what a program sees whose room lasts, and what it does not see when it first uses it.
pub fn perfetto_recorder_warm() -> Result<impl FnMut(u64) -> Duration> {
    perfetto_recorder::start()?;
    for parameter in [libc::M_MMAP_THRESHOLD, libc::M_TRIM_THRESHOLD] {
        // SAFETY: sets a number of the allocator, before any other thread runs.
        unsafe { libc::mallopt(parameter, 1 << 30) };
    }
    Ok(|spans| {
        perfetto_recorder::current_thread_reserve(spans as usize * perfetto_recorder::EVENTS_PER_SPAN);
        let took = frames(spans, |spans| {
            for _ in 0..spans {
                perfetto_recorder::scope!("span");
            }
        });
        drop(perfetto_recorder::ThreadTraceData::take_current_thread());
        took
    })
}

/// A running client; with no viewer its queue grows, as in a program whose viewer connects later.
pub fn tracy_client() -> Result<impl FnMut(u64) -> Duration> {
    let client = tracy_client::Client::start();
    Ok(move |spans| {
        let _kept = &client;
        frames(spans, |spans| {
            for _ in 0..spans {
                let _span = tracy_client::span!("span");
            }
        })
    })
}
