//! What a stretch of a rank's time goes to.

/// Sorts of activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Activity {
    /// A kernel that computes.
    Kernel,
    /// A collective or a message.
    Communication,
    /// A copy.
    Copy,
    /// A fill.
    Fill,
    /// The host, in an operator.
    Operator,
    /// The host, in a call of the device's runtime or driver.
    Call,
    /// The host, in a call that returns when a device is done: what is left of it once the device was.
    Synchronization,
    /// The host, in an annotation of the user's.
    Annotation,
    /// The host, in a function of Python.
    Python,
    /// The host, in nothing that is recorded.
    Unrecorded,
}

impl Activity {
    /// Its name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Communication => "communication",
            Self::Copy => "copy",
            Self::Fill => "fill",
            Self::Operator => "operator",
            Self::Call => "call",
            Self::Synchronization => "synchronization",
            Self::Annotation => "annotation",
            Self::Python => "python",
            Self::Unrecorded => "unrecorded",
        }
    }

    /// Whether it is the host's.
    pub fn is_host(self) -> bool {
        !matches!(self, Self::Kernel | Self::Communication | Self::Copy | Self::Fill)
    }
}

/// What a piece of work is known by on every rank: two pieces with equal keys do the same. Texts that are not known are empty.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// What sort.
    pub activity: Activity,
    /// Its name: the kernel's, the copy's, the operator's, the call's, the annotation's or the function's.
    pub name: String,
    /// The operator that launched it, or that the call was made by.
    pub operator: String,
    /// Where in the program: the innermost module or the function of Python around it, with its file and line as recorded; of host time
    /// in a function, the annotation around it.
    pub place: String,
}

impl Key {
    /// Of which nothing but the name is known.
    pub fn new(activity: Activity, name: impl Into<String>) -> Self {
        Self { activity, name: name.into(), operator: String::new(), place: String::new() }
    }

    /// The same, launched or called by `operator`.
    #[must_use]
    pub fn of_operator(self, operator: impl Into<String>) -> Self {
        Self { operator: operator.into(), ..self }
    }
}
