//! [`ActivityType`]: the groups of activities a user asks for, by torch's numbers (recorder specification, section 1.1), and
//! the libkineto categories behind each group.
//!
//! A trap for whoever takes names from torch itself: its table of words has no HPU, so torch prints "MTIA" for HPU and
//! "PrivateUse1" for MTIA. The words here are the right ones, and [`ActivityType::of_name`] reads those only.

use std::ops::BitOr;

use super::state::numbered;
use rankscope_recording::{Categories, Category};

numbered! {
    /// A group of activities.
    ActivityType {
        /// Ops, annotations and memory of the host.
        Cpu = 0 "CPU",
        /// Devices of Intel.
        Xpu = 1 "XPU",
        /// Devices of CUDA (and ROCm).
        Cuda = 2 "CUDA",
        /// Devices of Habana.
        Hpu = 3 "HPU",
        /// Devices of Meta.
        Mtia = 4 "MTIA",
        /// A plugged-in device.
        PrivateUse1 = 5 "PrivateUse1",
    }
}

impl ActivityType {
    /// The group with this word.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|activity| activity.name() == name)
    }

    /// What libkineto calls the activities of the group. Memory events are the host's only where they were asked for.
    pub fn categories(self) -> Categories {
        const DEVICE: [Category; 4] =
            [Category::GPU_USER_ANNOTATION, Category::GPU_MEMCPY, Category::GPU_MEMSET, Category::KERNEL];
        let own: &[Category] = match self {
            Self::Cpu => {
                return Categories::from_iter([
                    Category::CPU_OP,
                    Category::USER_ANNOTATION,
                    Category::EXTERNAL_CORRELATION,
                    Category::PYTHON_FUNCTION,
                    Category::OVERHEAD,
                    Category::GLOW_RUNTIME,
                    Category::COLLECTIVE_COMM,
                    Category::HARDWARE_COUNTERS,
                ]);
            }
            Self::Xpu => &[Category::XPU_RUNTIME, Category::XPU_DRIVER, Category::XPU_SCOPE_PROFILER, Category::XPU_SYNC],
            Self::Cuda => &[Category::CUDA_RUNTIME, Category::CUDA_DRIVER, Category::CUDA_SYNC, Category::CUDA_EVENT],
            Self::Hpu => &[Category::HPU_OP],
            Self::Mtia => &[Category::MTIA_RUNTIME, Category::MTIA_CCP_EVENTS, Category::MTIA_INSIGHT, Category::MTIA_COUNTERS],
            Self::PrivateUse1 => &[Category::PRIVATEUSE1_RUNTIME, Category::PRIVATEUSE1_DRIVER],
        };
        own.iter().chain(&DEVICE).copied().collect()
    }
}

/// A set of [`ActivityType`]s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Activities(u8);

impl Activities {
    /// No activity: an error wherever something is to be recorded.
    pub const NONE: Self = Self(0);
    /// The host alone.
    pub const CPU: Self = Self(1 << ActivityType::Cpu as u8);

    /// Whether `activity` is in the set.
    pub const fn contains(self, activity: ActivityType) -> bool {
        self.0 & (1 << activity as u8) != 0
    }

    /// Whether nothing is in the set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Its members, by number.
    pub fn iter(self) -> impl Iterator<Item = ActivityType> {
        ActivityType::ALL.iter().copied().filter(move |activity| self.contains(*activity))
    }

    /// What libkineto calls the activities of all its members.
    pub fn categories(self) -> Categories {
        self.iter().fold(Categories::NONE, |set, activity| set | activity.categories())
    }
}

impl From<ActivityType> for Activities {
    fn from(activity: ActivityType) -> Self {
        Self(1 << activity as u8)
    }
}

impl FromIterator<ActivityType> for Activities {
    fn from_iter<I: IntoIterator<Item = ActivityType>>(activities: I) -> Self {
        activities.into_iter().fold(Self::NONE, |set, activity| set | activity.into())
    }
}

impl BitOr for Activities {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_although_those_of_torch_do_not() {
        for activity in ActivityType::ALL {
            assert_eq!(ActivityType::of_name(activity.name()), Some(*activity));
        }
        assert_eq!(ActivityType::of_name("HPU"), Some(ActivityType::Hpu));
        assert_eq!(ActivityType::of_name("hpu"), None);
    }

    #[test]
    fn every_category_but_memory_and_the_reserved_one_belongs_to_a_group() {
        let all: Activities = ActivityType::ALL.iter().copied().collect();
        let left: Vec<_> = Category::ALL.iter().filter(|category| !all.categories().contains(**category)).collect();
        assert_eq!(left, [&Category::CPU_INSTANT_EVENT, &Category::CUDA_PROFILER_RANGE]);
    }

    #[test]
    fn a_set_lists_what_was_put_in() {
        let set = Activities::CPU | ActivityType::Mtia.into();
        assert_eq!(set.iter().collect::<Vec<_>>(), [ActivityType::Cpu, ActivityType::Mtia]);
        assert!(Activities::NONE.is_empty() && !set.is_empty());
    }
}
