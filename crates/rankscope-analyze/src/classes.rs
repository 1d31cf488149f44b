//! What each piece of work is: compute, communication, a copy, a fill.
//!
//! Device work is classed by its category and its kernel's name. A trace without device work is accounted on the host:
//! operators compute, the backend's own ranges communicate, and calls that only hand a collective over count as neither.

use rankscope_collectives::CommPatterns;
pub use rankscope_trace::CopyDirection as Direction;
use rankscope_trace::{CategoryKind, SpanId, StrId, Trace};
use rustc_hash::FxHashSet;

/// What a piece of work is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Compute.
    Compute,
    /// Communication.
    Comm,
    /// A copy.
    Memcpy(Direction),
    /// A fill.
    Memset,
}

impl Class {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Comm => "communication",
            Self::Memcpy(_) => "memcpy",
            Self::Memset => "memset",
        }
    }
}

/// Whose rules class the work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClassMode {
    /// Ours: fills are memory work, every known library communicates.
    #[default]
    Default,
    /// TraceLens': fills compute, only `nccl`, `rccl` and `cross_device_reduce` communicate.
    Tracelens,
}

/// The rules.
#[derive(Clone, Debug, Default)]
pub struct Classes {
    /// Whose.
    pub mode: ClassMode,
    /// Which kernels communicate.
    pub patterns: CommPatterns,
}

/// Where the accounted work ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// On devices.
    Device,
    /// On the host: the trace shows no device work.
    #[default]
    Host,
}

/// One piece of work, on the clock of its rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// The span it is.
    pub span: SpanId,
    /// Start, in nanoseconds since the epoch.
    pub start_ns: i64,
    /// End.
    pub end_ns: i64,
    /// What it is.
    pub class: Class,
}

impl Classes {
    /// All work of `trace` that time accounting counts, and where it ran.
    pub fn work(&self, trace: &Trace) -> (Side, Vec<Work>) {
        let kinds: Vec<CategoryKind> = trace.categories.iter().map(|category| category.kind).collect();
        let mut names: Vec<Option<Class>> = vec![None; trace.strings.len()];
        let mut work = Vec::new();
        for span in trace.spans.ids() {
            let at = span.0 as usize;
            let kind = kinds[usize::from(trace.spans.category[at])];
            if !kind.is_device_work() {
                continue;
            }
            let name = trace.spans.name[at];
            let class = match kind {
                CategoryKind::Kernel => *names[name.0 as usize].get_or_insert_with(|| self.kernel(trace.strings.text(name))),
                CategoryKind::Memset if self.mode == ClassMode::Tracelens => Class::Compute,
                CategoryKind::Memset => Class::Memset,
                _ => Class::Memcpy(told(trace, span).unwrap_or_else(|| Direction::of_text(trace.strings.text(name)))),
            };
            work.push(piece(trace, span, class));
        }
        if work.is_empty() { (Side::Host, self.host_work(trace)) } else { (Side::Device, work) }
    }

    /// The class of a kernel by its name. ROCm does some copies and fills with kernels of its own.
    fn kernel(&self, name: &str) -> Class {
        if self.patterns.matches(name) {
            Class::Comm
        } else if name.starts_with("__amd_rocclr_copy") {
            Class::Memcpy(Direction::Other)
        } else if name.starts_with("__amd_rocclr_fill") && self.mode == ClassMode::Default {
            Class::Memset
        } else {
            Class::Compute
        }
    }

    fn host_work(&self, trace: &Trace) -> Vec<Work> {
        let collectives: FxHashSet<SpanId> = trace.collectives.iter().map(|args| args.span).collect();
        let hands_over = |name: StrId| {
            let name = trace.strings.text(name);
            name.starts_with("c10d::") || name == "record_param_comms"
        };
        // A category may be there for flows or counters alone.
        let has_operators = trace.spans.ids().any(|span| trace.kind(span) == CategoryKind::CpuOp);
        let class = |span: SpanId| {
            let at = span.0 as usize;
            let is_operator = !has_operators || trace.kind(span) == CategoryKind::CpuOp;
            match collectives.contains(&span) {
                _ if hands_over(trace.spans.name[at]) => None,
                true => Some(Class::Comm),
                false => is_operator.then_some(Class::Compute),
            }
        };
        trace.spans.ids().filter_map(|span| Some(piece(trace, span, class(span)?))).collect()
    }
}

/// The direction that a copy's arguments tell. Where they do not, its name may.
fn told(trace: &Trace, span: SpanId) -> Option<Direction> {
    trace.directions.get(span).filter(|direction| *direction != Direction::Other)
}

fn piece(trace: &Trace, span: SpanId, class: Class) -> Work {
    Work { span, start_ns: trace.spans.start_ns(span), end_ns: trace.spans.end_ns(span), class }
}

#[cfg(test)]
mod tests {
    use rankscope_trace::{SpanRow, TrackKey, TrackKind};

    use super::*;

    #[test]
    fn annotations_count_where_no_operator_ran() {
        let mut trace = Trace::default();
        let track = trace.tracks.find_or_add(TrackKind::Process, None, TrackKey::Number(1));
        let annotation = trace.category("user_annotation", CategoryKind::UserAnnotation);
        // As of counters and arrows, which may be of a category that no span has.
        let operator = trace.category("cpu_op", CategoryKind::CpuOp);
        let name = trace.strings.intern("work");
        let span = |category| SpanRow { start_ns: 0, dur_ns: 5, name, track, category, offset: 0 };
        trace.spans.push(span(annotation));
        let counted = |trace: &Trace| Classes::default().work(trace).1.len();
        assert_eq!(counted(&trace), 1);
        trace.spans.push(span(operator));
        assert_eq!(counted(&trace), 1, "the operator, and no longer the annotation around it");
    }
}
