//! The clock of a network card (`/dev/ptpN`), read together with a clock of the kernel.
//!
//! Two ways, the better first: the hardware latches both clocks at once (`PTP_SYS_OFFSET_PRECISE`), or the driver reads the card
//! between two readings of `CLOCK_REALTIME` (`PTP_SYS_OFFSET_EXTENDED`).
//!
//! Written to the kernel's interface; the conversions are tested, the ioctls have not met a card yet.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use nix::libc;

use super::{Reading, Sandwich, Snapshot};

/// The clock of a network card cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PhcError {
    /// No permission, most often.
    #[error(
        "{path}: cannot open the clock of the network card: {source}. Give this user read access to it (group or udev rule), \
         or continue with kernel timestamps",
        path = path.display()
    )]
    Open {
        /// The device.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The driver cannot read it together with another clock.
    #[error("{path}: the driver cannot read this clock together with the kernel's: {source}. Continue with kernel timestamps", path = path.display())]
    Read {
        /// The device.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
}

/// The open clock of a network card.
#[derive(Debug)]
pub struct Phc {
    path: PathBuf,
    device: File,
    precise: bool,
}

/// The card's clock and one of the kernel's at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrossStamp {
    /// Against `CLOCK_MONOTONIC_RAW`.
    Raw {
        /// The card.
        phc_ns: i64,
        /// The kernel.
        raw_ns: i64,
    },
    /// Between two readings of `CLOCK_REALTIME`.
    Realtime {
        /// The kernel, then the card, then the kernel.
        sandwich: Sandwich,
    },
}

impl CrossStamp {
    /// As a snapshot over `CLOCK_MONOTONIC_RAW`, if it was taken against that.
    pub fn raw(self) -> Option<Snapshot> {
        match self {
            Self::Raw { phc_ns, raw_ns } => Some(Snapshot { base_ns: raw_ns, other_ns: phc_ns, half_width_ns: LATCH_NS }),
            Self::Realtime { .. } => None,
        }
    }

    /// As a snapshot over `CLOCK_MONOTONIC_RAW`, `convert` taking `CLOCK_REALTIME` there.
    pub fn through(self, convert: impl Fn(i64) -> Option<Reading>) -> Option<Snapshot> {
        match self {
            Self::Raw { .. } => self.raw(),
            Self::Realtime { sandwich } => {
                let raw = convert(sandwich.outer_ns)?;
                let half_width_ns = sandwich.half_width_ns.saturating_add(raw.uncertainty_ns);
                Some(Snapshot { base_ns: raw.base_ns, other_ns: sandwich.inner_ns, half_width_ns })
            }
        }
    }
}

/// How far apart latched clocks may be: the kernel rounds both to nanoseconds after conversion.
const LATCH_NS: u64 = 2;

/// Readings asked of the driver at once, of which the narrowest counts.
const SAMPLES: usize = 5;

impl Phc {
    /// Opens `/dev/ptp<index>`, as [`Capability`](crate::stamps::Capability) gives it.
    ///
    /// # Errors
    /// [`PhcError`] names the device.
    pub fn open(index: u32) -> Result<Self, PhcError> {
        Self::at(Path::new("/dev").join(format!("ptp{index}")))
    }

    fn at(path: PathBuf) -> Result<Self, PhcError> {
        // Reading needs no write access, which often is root's alone.
        match OpenOptions::new().read(true).open(&path) {
            Ok(device) => Ok(Self { path, device, precise: true }),
            Err(source) => Err(PhcError::Open { path, source }),
        }
    }

    /// Reads the card and the kernel together.
    ///
    /// # Errors
    /// [`PhcError::Read`] where the driver knows neither way.
    pub fn cross_stamp(&mut self) -> Result<CrossStamp, PhcError> {
        if self.precise {
            match self.precise_stamp() {
                Ok(stamp) => return Ok(stamp),
                Err(_) => self.precise = false,
            }
        }
        self.extended_stamp().map_err(|source| PhcError::Read { path: self.path.clone(), source })
    }

    #[expect(unsafe_code, reason = "an ioctl of the PTP driver")]
    fn precise_stamp(&self) -> io::Result<CrossStamp> {
        // SAFETY: plain numbers, for which zero is a value.
        let mut offset: libc::ptp_sys_offset_precise = unsafe { std::mem::zeroed() };
        // SAFETY: the request is the one for this structure, which outlives the call; the descriptor is open.
        let done = unsafe { libc::ioctl(self.device.as_raw_fd(), libc::PTP_SYS_OFFSET_PRECISE, &raw mut offset) };
        match done {
            0.. => Ok(CrossStamp::Raw { phc_ns: nanos(&offset.device), raw_ns: nanos(&offset.sys_monoraw) }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    #[expect(unsafe_code, reason = "an ioctl of the PTP driver")]
    fn extended_stamp(&self) -> io::Result<CrossStamp> {
        // SAFETY: plain numbers, for which zero is a value.
        let mut offset: libc::ptp_sys_offset_extended = unsafe { std::mem::zeroed() };
        offset.n_samples = SAMPLES as _;
        // SAFETY: the request is the one for this structure, which outlives the call; the descriptor is open.
        let done = unsafe { libc::ioctl(self.device.as_raw_fd(), libc::PTP_SYS_OFFSET_EXTENDED, &raw mut offset) };
        if done < 0 {
            return Err(io::Error::last_os_error());
        }
        let read = offset.ts.iter().take(SAMPLES).map(|[before, phc, after]| (nanos(before), nanos(phc), nanos(after)));
        narrowest(read).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

fn narrowest(read: impl Iterator<Item = (i64, i64, i64)>) -> Option<CrossStamp> {
    let sandwiches = read.map(|(before, phc, after)| Sandwich::of(before, phc, after));
    sandwiches.min_by_key(|sandwich| sandwich.half_width_ns).map(|sandwich| CrossStamp::Realtime { sandwich })
}

fn nanos(time: &libc::ptp_clock_time) -> i64 {
    crate::nanos(time.sec, i64::from(time.nsec))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrowest_of_the_drivers_readings_counts() {
        let best = narrowest([(100, 7, 200), (300, 8, 310), (400, 9, 450)].into_iter()).unwrap();
        assert_eq!(best, CrossStamp::Realtime { sandwich: Sandwich { outer_ns: 305, inner_ns: 8, half_width_ns: 5 } });
        assert_eq!(best.raw(), None);
        let converted = best.through(|realtime| Some(Reading { base_ns: realtime - 300, uncertainty_ns: 3 }));
        assert_eq!(converted, Some(Snapshot { base_ns: 5, other_ns: 8, half_width_ns: 8 }));
        assert_eq!(best.through(|_| None), None);
    }

    #[test]
    fn latched_clocks_need_no_conversion() {
        let latched = CrossStamp::Raw { phc_ns: 5, raw_ns: 9 };
        assert_eq!(latched.raw(), Some(Snapshot { base_ns: 9, other_ns: 5, half_width_ns: LATCH_NS }));
        assert_eq!(latched.through(|_| None), latched.raw());
    }

    #[test]
    fn a_device_that_is_none_says_so() {
        let missing = Phc::open(9_999).unwrap_err();
        assert!(missing.to_string().starts_with("/dev/ptp9999: cannot open"), "{missing}");
        let mut null = Phc::at(PathBuf::from("/dev/null")).unwrap();
        assert!(matches!(null.cross_stamp(), Err(PhcError::Read { .. })));
    }
}
