//! Memory of devices, as their libraries tell it: one item for what is allocated and one for what is freed, whoever the vendor is.
//!
//! Nobody tells how much is in use; that follows from all of the items ([`Ledger`](super::ledger::Ledger)). A free may say no more than an
//! address.

/// The largest allocation that can be: no address space of a host or of a device is larger.
pub const ALLOCATION_MAX_BYTES: u64 = 1 << 57;

/// Memory that was allocated or freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceMemory {
    /// When, in nanoseconds since 1970: for an allocation when it is there, for a free when it begins. Zero if the library could not tell.
    pub at_ns: i64,
    /// Which of both.
    pub change: MemoryChange,
    /// What kind of memory.
    pub kind: MemoryKind,
    /// Whose it is; none where that is not told, as some libraries do of what is freed.
    pub owner: Option<MemoryOwner>,
    /// Where it begins; of physical memory without an address its handle.
    pub address: u64,
    /// How much; zero where it is not told.
    pub bytes: u64,
    /// The pool that it is taken from.
    pub pool: Option<MemoryPool>,
    /// The stream that it is ordered on, where there is one.
    pub stream: Option<u64>,
    /// The thread that asked for it, by the operating system's number; none where only the call says that.
    pub thread: Option<u64>,
    /// The library's number of the call behind it; zero for none.
    pub correlation: u64,
}

/// What became of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemoryChange {
    /// Freed. It comes first, so that of two changes at one instant an address is free before it is taken again.
    Freed,
    /// Allocated.
    Allocated,
}

/// Where a pool of memory is, and how large: what is taken from it was allocated before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemoryPool {
    /// Which one.
    pub address: u64,
    /// What it holds in all.
    pub bytes: u64,
}

/// Whose memory it is, in the numbers of torch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemoryOwner {
    device_type: u8,
    device_index: i16,
}

impl MemoryOwner {
    /// The host.
    pub const HOST: Self = Self { device_type: 0, device_index: -1 };

    /// A device of NVIDIA's; none where a recording has no room for its number.
    pub fn cuda(device: u32) -> Option<Self> {
        Self::of(1, device)
    }

    /// A device of AMD's.
    pub fn hip(device: u32) -> Option<Self> {
        Self::of(6, device)
    }

    fn of(device_type: u8, device: u32) -> Option<Self> {
        let device_index = i16::try_from(device).ok().filter(|device| *device <= INDEX_MAX)?;
        Some(Self { device_type, device_index })
    }

    /// The one with these numbers; none where a recording has no room for them.
    pub(super) fn of_numbers(device_type: i64, device_index: i64) -> Option<Self> {
        let device_type = u8::try_from(device_type).ok().filter(|device_type| *device_type <= TYPE_MAX)?;
        let device_index = i16::try_from(device_index).ok().filter(|index| (-1..=INDEX_MAX).contains(index))?;
        Some(Self { device_type, device_index })
    }

    /// Its type: 0 is the host, 1 CUDA, 6 HIP.
    pub fn device_type(self) -> u8 {
        self.device_type
    }

    /// The how many-th of its type it is; −1 for the host.
    pub fn device_index(self) -> i16 {
        self.device_index
    }
}

/// As far as the words of memory events have room.
const TYPE_MAX: u8 = 63;
const INDEX_MAX: i16 = 4_094;

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $number:literal, $name:literal;)+) => {
        /// Kinds of memory. Numbers are part of the format and never change their meaning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum MemoryKind {
            $($(#[$doc])* $kind = $number,)+
        }

        impl MemoryKind {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$kind),+];

            /// What it is called in traces.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)+
                }
            }
        }
    };
}

kinds! {
    /// One that nobody here knows, or that the library does not tell.
    Unknown = 0, "unknown";
    /// Of the host, and may be paged out.
    Pageable = 1, "pageable";
    /// Of the host, and stays where it is.
    Pinned = 2, "pinned";
    /// Of a device.
    Device = 3, "device";
    /// An array of a device, whose layout is the driver's.
    Array = 4, "array";
    /// Of the host and of a device, moved by need. It is counted where it was allocated for, wherever its pages are.
    Managed = 5, "managed";
    /// Variables of modules, on a device.
    DeviceStatic = 6, "device static";
    /// Variables of modules that are moved by need.
    ManagedStatic = 7, "managed static";
    /// Physical memory of a device, which has a handle, and addresses only where it is mapped.
    Physical = 8, "physical";
}

impl MemoryKind {
    /// The one with this number; one of a later version is unknown, so that its bytes still count.
    pub(super) fn of(number: i64) -> Self {
        Self::ALL.iter().copied().find(|kind| i64::from(*kind as u8) == number).unwrap_or(Self::Unknown)
    }
}

impl DeviceMemory {
    /// Its place among others: by time, and of one instant in the order of calls, which are numbered as they are made. Every field counts, so
    /// that only equal ones share a place.
    pub(super) fn place(&self) -> impl Ord + use<> {
        let Self { at_ns, change, kind, owner, address, bytes, pool, stream, thread, correlation } = *self;
        (at_ns, correlation, change, address, kind, owner, bytes, pool, stream, thread)
    }
}
