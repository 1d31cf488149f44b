//! [`Category`]: what sort of activity an event is, by libkineto's numbers and words (recorder specification, section 3.4).

use std::fmt;
use std::ops::{BitOr, Sub};

macro_rules! categories {
    ($($(#[$doc:meta])* $constant:ident = $number:literal $name:literal;)*) => {
        impl Category {
            $($(#[$doc])* pub const $constant: Self = Self($number);)*
            /// Every category, by number.
            pub const ALL: &'static [Self] = &[$(Self($number),)*];

            /// The word that trace files use.
            pub const fn name(self) -> &'static str {
                match self.0 {
                    $($number => $name,)*
                    _ => "unknown",
                }
            }
        }
    };
}

/// A sort of activity. The numbers are libkineto's, and other tools store them: they never change.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Category(u8);

categories! {
    /// An operator on the host.
    CPU_OP = 0 "cpu_op";
    /// A range the program names itself.
    USER_ANNOTATION = 1 "user_annotation";
    /// Such a range, as the device work under it.
    GPU_USER_ANNOTATION = 2 "gpu_user_annotation";
    /// A copy on or to a device.
    GPU_MEMCPY = 3 "gpu_memcpy";
    /// A fill on a device.
    GPU_MEMSET = 4 "gpu_memset";
    /// A kernel.
    KERNEL = 5 "kernel";
    /// A tie between two numberings of work.
    EXTERNAL_CORRELATION = 6 "external_correlation";
    /// A call of the CUDA runtime.
    CUDA_RUNTIME = 7 "cuda_runtime";
    /// A call of the CUDA driver.
    CUDA_DRIVER = 8 "cuda_driver";
    /// A moment on the host; memory events are of this category.
    CPU_INSTANT_EVENT = 9 "cpu_instant_event";
    /// A call in Python.
    PYTHON_FUNCTION = 10 "python_function";
    /// The profiler's own time.
    OVERHEAD = 11 "overhead";
    /// A call of MTIA's runtime.
    MTIA_RUNTIME = 12 "mtia_runtime";
    /// Work on MTIA.
    MTIA_CCP_EVENTS = 13 "mtia_ccp_events";
    /// MTIA's insights.
    MTIA_INSIGHT = 14 "mtia_insight";
    /// A synchronisation on a device.
    CUDA_SYNC = 15 "cuda_sync";
    /// An event of a device.
    CUDA_EVENT = 16 "cuda_event";
    /// MTIA's counters.
    MTIA_COUNTERS = 17 "mtia_counters";
    /// A call of Glow's runtime.
    GLOW_RUNTIME = 18 "glow_runtime";
    /// Reserved; never produced.
    CUDA_PROFILER_RANGE = 19 "cuda_profiler_range";
    /// An operator on HPU.
    HPU_OP = 20 "hpu_op";
    /// A call of the XPU runtime.
    XPU_RUNTIME = 21 "xpu_runtime";
    /// A call of the XPU driver.
    XPU_DRIVER = 22 "xpu_driver";
    /// A collective.
    COLLECTIVE_COMM = 23 "collective_comm";
    /// A call of a plugged-in device's runtime.
    PRIVATEUSE1_RUNTIME = 24 "privateuse1_runtime";
    /// A call of a plugged-in device's driver.
    PRIVATEUSE1_DRIVER = 25 "privateuse1_driver";
    /// Scopes of XPU.
    XPU_SCOPE_PROFILER = 26 "xpu_scope_profiler";
    /// A synchronisation on XPU.
    XPU_SYNC = 27 "xpu_sync";
    /// Counters of the hardware.
    HARDWARE_COUNTERS = 28 "hardware_counters";
}

impl Category {
    /// The category with this number.
    pub const fn of(number: u8) -> Option<Self> {
        if (number as usize) < Self::ALL.len() { Some(Self(number)) } else { None }
    }

    /// The category with this word.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|category| category.name() == name)
    }

    /// Its number.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// The set of it alone.
    pub const fn alone(self) -> Categories {
        Categories(1 << self.0)
    }
}

impl fmt::Debug for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of categories, one bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Categories(pub u32);

impl Categories {
    /// No category.
    pub const NONE: Self = Self(0);
    /// Every category.
    pub const ALL: Self = Self(u32::MAX);

    /// Whether `category` is in the set.
    pub const fn contains(self, category: Category) -> bool {
        self.0 & (1 << category.0) != 0
    }

    /// Whether nothing is in the set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl From<Category> for Categories {
    fn from(category: Category) -> Self {
        category.alone()
    }
}

impl FromIterator<Category> for Categories {
    fn from_iter<I: IntoIterator<Item = Category>>(categories: I) -> Self {
        categories.into_iter().fold(Self::NONE, |set, category| set | category.alone())
    }
}

impl BitOr for Categories {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl Sub for Categories {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}
