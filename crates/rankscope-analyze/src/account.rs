//! Where the time went, as TraceLens defines it (specs: union per class, exposed by subtraction), in integers.
//!
//! With C, M and Y the unions of compute, communication and memory work: exposed communication is M without C, exposed memory
//! work is Y without C and M, idle is what none covers. Streams do not matter: work on any two of them overlaps.

mod held;

use self::held::Until;
use crate::packed::Packed;
use crate::{Class, Direction, Intervals, Work};

/// Time by class. `computation + exposed_comm + exposed_memcpy + idle = total`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Union of compute.
    pub computation_ns: i64,
    /// Communication no compute hides.
    pub exposed_comm_ns: i64,
    /// Memory work neither compute nor communication hides.
    pub exposed_memcpy_ns: i64,
    /// Union of everything.
    pub busy_ns: i64,
    /// Total minus busy.
    pub idle_ns: i64,
    /// The window.
    pub total_ns: i64,
    /// Union of communication.
    pub total_comm_ns: i64,
    /// Union of memory work.
    pub total_memcpy_ns: i64,
}

/// One sort of copy: how many, their union, their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// How many.
    pub count: u64,
    /// Their union.
    pub total_ns: i64,
    /// Bytes moved, as far as the file says.
    pub bytes: u64,
}

/// Copies by direction, and fills.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copies {
    /// From the host.
    pub host_to_device: Copied,
    /// To the host.
    pub device_to_host: Copied,
    /// Within a device.
    pub device_to_device: Copied,
    /// Between devices.
    pub peer_to_peer: Copied,
    /// Of unknown direction.
    pub other: Copied,
    /// Fills.
    pub memset: Copied,
}

/// The sets of time of one rank, from which any window is accounted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accounting {
    compute: Packed,
    comm: Packed,
    memory: Packed,
    extent_ns: (i64, i64),
}

impl Accounting {
    /// The sets of `work`.
    pub fn of(work: &[Work]) -> Self {
        let union = |is: fn(Class) -> bool| {
            Intervals::union_of(work.iter().filter(|piece| is(piece.class)).map(|piece| (piece.start_ns, piece.end_ns)))
        };
        let compute = union(|class| class == Class::Compute);
        let comm = union(|class| class == Class::Comm);
        let memory = union(|class| matches!(class, Class::Memcpy(_) | Class::Memset));
        let start = work.iter().map(|piece| piece.start_ns).min().unwrap_or(0);
        let end = work.iter().map(|piece| piece.end_ns).max().unwrap_or(0);
        Self::of_sets(compute, comm, memory, (start, end))
    }

    /// The sets of work of which these are the unions by class, and whose first start and last end are `extent_ns`.
    pub fn of_sets(compute: Intervals, comm: Intervals, memory: Intervals, extent_ns: (i64, i64)) -> Self {
        let [compute, comm, memory] = [&compute, &comm, &memory].map(Packed::of);
        Self { compute, comm, memory, extent_ns }
    }

    /// Union of compute.
    pub fn compute(&self) -> Intervals {
        self.compute.unpacked()
    }

    /// Union of communication.
    pub fn comm(&self) -> Intervals {
        self.comm.unpacked()
    }

    /// Union of memory work.
    pub fn memory(&self) -> Intervals {
        self.memory.unpacked()
    }

    /// First start and last end of all work.
    pub fn extent_ns(&self) -> (i64, i64) {
        self.extent_ns
    }

    /// Adds sets of another stretch of time.
    pub(crate) fn join(&mut self, other: Self) {
        let add = |own: &mut Packed, other: Packed| *own = Packed::of(&own.unpacked().union(&other.unpacked()));
        add(&mut self.compute, other.compute);
        add(&mut self.comm, other.comm);
        add(&mut self.memory, other.memory);
        let worked = |(from, to): &(i64, i64)| from < to;
        let extents = [self.extent_ns, other.extent_ns].into_iter().filter(worked);
        self.extent_ns = extents.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or(self.extent_ns);
    }

    /// Communication no compute hides.
    pub fn exposed_comm(&self) -> Intervals {
        self.comm().minus(&self.compute())
    }

    /// As much of it as lies inside the window from `start` to `end`.
    pub fn exposed_comm_within(&self, start: i64, end: i64) -> Intervals {
        let [comm, compute] = [&self.comm, &self.compute].map(|set| set.within(start, end));
        comm.minus(&compute)
    }

    /// The account of everything.
    pub fn whole(&self) -> Account {
        self.window(self.extent_ns.0, self.extent_ns.1)
    }

    /// The account of the window from `start` to `end`.
    pub fn window(&self, start: i64, end: i64) -> Account {
        self.windows(&[(start, end)])[0]
    }

    /// The account of each of these windows, which may overlap. The sets are gone through once for all of them.
    pub fn windows(&self, windows: &[(i64, i64)]) -> Vec<Account> {
        let until = Until::of(self, windows);
        windows.iter().map(|(start, end)| until.account(*start, *end)).collect()
    }
}

impl Account {
    /// The account of two windows that do not overlap.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            computation_ns: self.computation_ns.saturating_add(other.computation_ns),
            exposed_comm_ns: self.exposed_comm_ns.saturating_add(other.exposed_comm_ns),
            exposed_memcpy_ns: self.exposed_memcpy_ns.saturating_add(other.exposed_memcpy_ns),
            busy_ns: self.busy_ns.saturating_add(other.busy_ns),
            idle_ns: self.idle_ns.saturating_add(other.idle_ns),
            total_ns: self.total_ns.saturating_add(other.total_ns),
            total_comm_ns: self.total_comm_ns.saturating_add(other.total_comm_ns),
            total_memcpy_ns: self.total_memcpy_ns.saturating_add(other.total_memcpy_ns),
        }
    }
}

impl Copied {
    fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

impl Copies {
    /// Adds those of another stretch of time.
    pub(crate) fn add(&mut self, other: &Self) {
        self.host_to_device.add(&other.host_to_device);
        self.device_to_host.add(&other.device_to_host);
        self.device_to_device.add(&other.device_to_device);
        self.peer_to_peer.add(&other.peer_to_peer);
        self.other.add(&other.other);
        self.memset.add(&other.memset);
    }

    /// Sums up the copies and fills of `work`; `bytes` says what each moved.
    pub fn of(work: &[Work], bytes: impl Fn(&Work) -> Option<u64>) -> Self {
        let of = |class: Class| {
            let pieces = || work.iter().filter(move |piece| piece.class == class);
            Copied {
                count: pieces().count() as u64,
                total_ns: Intervals::union_of(pieces().map(|piece| (piece.start_ns, piece.end_ns))).length_ns(),
                bytes: pieces().filter_map(&bytes).fold(0, u64::saturating_add),
            }
        };
        Self {
            host_to_device: of(Class::Memcpy(Direction::HostToDevice)),
            device_to_host: of(Class::Memcpy(Direction::DeviceToHost)),
            device_to_device: of(Class::Memcpy(Direction::DeviceToDevice)),
            peer_to_peer: of(Class::Memcpy(Direction::PeerToPeer)),
            other: of(Class::Memcpy(Direction::Other)),
            memset: of(Class::Memset),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;
    use rankscope_trace::SpanId;

    use super::*;

    pub(crate) fn any_work() -> impl Strategy<Value = Vec<Work>> {
        let class =
            prop::sample::select(vec![Class::Compute, Class::Comm, Class::Memcpy(Direction::HostToDevice), Class::Memset]);
        let piece = (0i64..1_000, 0i64..200, class);
        prop::collection::vec(piece, 1..40).prop_map(|pieces| {
            let numbered = pieces.into_iter().enumerate();
            numbered
                .map(|(at, (start, len, class))| Work { span: SpanId(at as u32), start_ns: start, end_ns: start + len, class })
                .collect()
        })
    }

    proptest! {
        #[test]
        fn the_classes_add_up(work in any_work(), cut in 0i64..1_200) {
            let accounting = Accounting::of(&work);
            let whole = accounting.whole();
            prop_assert_eq!(whole.computation_ns + whole.exposed_comm_ns + whole.exposed_memcpy_ns + whole.idle_ns, whole.total_ns);
            prop_assert!(whole.idle_ns >= 0);
            // Two windows side by side account for what both together do.
            let (start, end) = accounting.extent_ns();
            let cut = cut.clamp(start, end);
            let (first, second) = (accounting.window(start, cut), accounting.window(cut, end));
            prop_assert_eq!(first.computation_ns + second.computation_ns, whole.computation_ns);
            prop_assert_eq!(first.exposed_comm_ns + second.exposed_comm_ns, whole.exposed_comm_ns);
            prop_assert_eq!(first.idle_ns + second.idle_ns, whole.idle_ns);
            prop_assert_eq!(first.plus(second), whole);
            prop_assert_eq!(accounting.window(start, end), whole);
        }
    }
}
