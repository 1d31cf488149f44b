//! What a reader is asked to keep.

use rankscope_trace::SourceFormat;

/// The trace formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Chrome's JSON trace format, in the dialects Kineto and others write.
    Json,
    /// XLA's protobuf, `.xplane.pb`.
    XSpace,
    /// Perfetto's protobuf, `.pftrace`.
    Perfetto,
    /// The recorder's own, live or packed, `.rkr`.
    Recording,
}

impl Format {
    /// The format a file name asks for, compression suffixes aside.
    pub fn of_name(name: &str) -> Option<Self> {
        let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(name);
        match name {
            _ if name.ends_with(".json") => Some(Self::Json),
            _ if [".xplane.pb", ".xspace.pb", ".xspace"].iter().any(|suffix| name.ends_with(suffix)) => Some(Self::XSpace),
            _ if name.ends_with(".pftrace") || name.ends_with(".perfetto-trace") => Some(Self::Perfetto),
            _ if name.ends_with(".rkr") => Some(Self::Recording),
            _ => None,
        }
    }

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        SourceFormat::from(self).name()
    }
}

/// What a trace says that was read from a file of this format.
impl From<Format> for SourceFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Json => Self::Kineto,
            Format::XSpace => Self::XSpace,
            Format::Perfetto => Self::Perfetto,
            Format::Recording => Self::Recording,
        }
    }
}

/// Whether events keep all their arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ArgsPolicy {
    /// Only what analysis has columns for: correlation, external id, bytes, collective parameters.
    #[default]
    Analysis,
    /// Those, and every argument as a typed value: what converting between formats needs.
    All,
}

/// Which events are kept at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// All of them.
    #[default]
    All,
    /// Device work, the host calls that launch it, and the annotations that give it meaning (steps, collectives). Memory stays
    /// flat however many host operators a file holds.
    Device,
}

/// What a reader is asked to keep, and the name the bytes go by.
///
/// ```
/// use rankscope_formats::{ArgsPolicy, ReadOptions};
///
/// let options = ReadOptions::default().with_label("rank3.json").with_args(ArgsPolicy::All);
/// assert_eq!(options.label, "rank3.json");
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Path, and archive member, for provenance and for guessing the rank.
    pub label: String,
    /// Arguments to keep.
    pub args: ArgsPolicy,
    /// Events to keep.
    pub scope: Scope,
}

impl ReadOptions {
    /// The same for bytes that go by this name.
    #[must_use]
    pub fn with_label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// The same, keeping these arguments.
    #[must_use]
    pub fn with_args(mut self, args: ArgsPolicy) -> Self {
        self.args = args;
        self
    }

    /// The same, keeping these events.
    #[must_use]
    pub fn with_scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }
}
