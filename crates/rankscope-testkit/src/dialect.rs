//! The ways the same trace has been written down over the years, as independent switches.
//!
//! The default is what torch's Kineto writes today. Each other value was seen in a real file; [`Dialect::all`] is the list
//! a reader's table test walks.

/// How to write a job's trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dialect {
    /// White space between events and keys.
    pub layout: Layout,
    /// What the file is at its top level.
    pub top: TopLevel,
    /// Where the header keys stand.
    pub header: Header,
    /// Numbers or strings for `pid` and `tid`.
    pub ids: Ids,
    /// Names of the categories.
    pub categories: Categories,
    /// Order of the keys in an event.
    pub keys: KeyOrder,
    /// How `distributedInfo` lists a group's ranks.
    pub ranks: RankList,
    /// Unit and origin of time stamps.
    pub stamps: Stamps,
}

/// White space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Kineto's: a few keys to a line, events parted by `"\n  },\n  {"`.
    #[default]
    Kineto,
    /// One key to a line, as torch 2.15 writes from Python.
    Indented,
    /// No white space at all, as tools that filter traces write.
    Compact,
}

/// The top level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TopLevel {
    /// An object with `traceEvents` in it.
    #[default]
    Object,
    /// The list of events alone: no header, hence no rank and no base time.
    BareList,
}

/// Where header keys stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Header {
    /// All before the events but for `traceName`.
    #[default]
    Before,
    /// The rank before, the base time after.
    Split,
    /// All after.
    After,
}

/// How `pid` and `tid` are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ids {
    /// `4000`
    #[default]
    Numbers,
    /// `"4000"`
    Strings,
}

/// Names of categories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Categories {
    /// `cpu_op`, `kernel`, `cuda_runtime`, `ac2g`.
    #[default]
    Current,
    /// `Operator`, `Kernel`, `Runtime`, `async`, and threads named `"stream 7"` on the device: torch 1.8.
    Old,
}

/// Order of keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyOrder {
    /// As Kineto writes them.
    #[default]
    Kineto,
    /// Backwards: arguments first, phase last.
    Reversed,
}

/// `ranks` in `distributedInfo.pg_config`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RankList {
    /// `[0, 1]`
    #[default]
    Array,
    /// `"[0, 1]"`, as on-demand recordings have it.
    Text,
}

/// Time stamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stamps {
    /// Microseconds with three decimals since `baseTimeNanoseconds`: exact.
    #[default]
    FractionalMicros,
    /// Whole microseconds since the Unix epoch, rounded down, and no base: exact to a microsecond.
    WholeMicros,
}

impl Dialect {
    /// Every switch alone, and some that are seen together; with a name for a test's message.
    pub fn all() -> Vec<(&'static str, Self)> {
        let new = Self::default();
        vec![
            ("kineto", new),
            ("indented", Self { layout: Layout::Indented, ..new }),
            ("compact", Self { layout: Layout::Compact, ..new }),
            ("bare list", Self { top: TopLevel::BareList, ..new }),
            ("compact bare list", Self { layout: Layout::Compact, top: TopLevel::BareList, ..new }),
            ("base time after", Self { header: Header::Split, ..new }),
            ("header after", Self { header: Header::After, ..new }),
            ("string ids", Self { ids: Ids::Strings, ..new }),
            ("old categories", Self { categories: Categories::Old, ..new }),
            ("reversed keys", Self { keys: KeyOrder::Reversed, ..new }),
            ("compact reversed keys", Self { layout: Layout::Compact, keys: KeyOrder::Reversed, ..new }),
            ("ranks as text", Self { ranks: RankList::Text, header: Header::After, ..new }),
            ("whole microseconds", Self { stamps: Stamps::WholeMicros, ..new }),
            ("torch 1.8", Self { categories: Categories::Old, stamps: Stamps::WholeMicros, header: Header::After, ..new }),
        ]
    }

    pub(crate) fn category(&self, current: &'static str) -> &'static str {
        if self.categories == Categories::Current {
            return current;
        }
        match current {
            "cpu_op" | "user_annotation" => "Operator",
            "cuda_runtime" => "Runtime",
            "kernel" => "Kernel",
            "gpu_memcpy" => "Memcpy",
            "gpu_memset" => "Memset",
            "ac2g" => "async",
            other => other,
        }
    }

    pub(crate) fn argument(&self, current: &'static str) -> &'static str {
        match (self.categories, current) {
            (Categories::Old, "External id") => "external id",
            _ => current,
        }
    }
}
