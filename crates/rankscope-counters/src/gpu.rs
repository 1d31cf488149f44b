//! [`Gpu`]: one GPU of any vendor, asked for what it tells. The tracks have the same names and units whoever is asked, so that nothing that reads
//! them need know a vendor. What it cannot tell at the first look is not asked for again.

use std::time::Instant;

use rankscope_record::recording::json::quoted;
use rankscope_record::set_metadata;

use crate::absent::Absent;
use crate::gauge::Gauge;
use crate::source::Source;

/// What is asked for. The unit is the track's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    PowerW,
    PowerLimitW,
    SmMhz,
    MemoryMhz,
    Temperature,
    BusyPercent,
    MemoryBusyPercent,
    MemoryBytes,
    SlowedBy(Cause),
}

/// What lowers the clocks of a GPU against its will. That it is idle, or was told to run slower, is none of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// It would take more power than it may.
    PowerCap,
    /// It is too hot, or its memory.
    Heat,
    /// The host's power supply asks it to.
    PowerBrake,
    /// A line of the board asks it to (PROCHOT), because of heat or of power, which it does not tell.
    Board,
}

impl What {
    /// Whether it can be meant: vendors say by numbers out of all reason that a chip does not tell.
    pub(crate) fn is_plausible(self, value: f64) -> bool {
        let range = match self {
            Self::PowerW | Self::PowerLimitW => 0.0..=1e5,
            Self::SmMhz | Self::MemoryMhz => 0.0..=2e4,
            Self::Temperature => -100.0..=300.0,
            Self::BusyPercent | Self::MemoryBusyPercent => 0.0..=100.0,
            Self::MemoryBytes => 0.0..=1e15,
            Self::SlowedBy(_) => 0.0..=1.0,
        };
        range.contains(&value)
    }

    pub(crate) const ALL: [Self; 12] = [
        Self::PowerW,
        Self::PowerLimitW,
        Self::SmMhz,
        Self::MemoryMhz,
        Self::Temperature,
        Self::BusyPercent,
        Self::MemoryBusyPercent,
        Self::MemoryBytes,
        Self::SlowedBy(Cause::PowerCap),
        Self::SlowedBy(Cause::Heat),
        Self::SlowedBy(Cause::PowerBrake),
        Self::SlowedBy(Cause::Board),
    ];

    /// The end of the track's name. Whether a GPU is slowed is 0 or 1, or how much of the time since the look before it was.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::PowerW => "power (W)",
            Self::PowerLimitW => "power limit (W)",
            Self::SmMhz => "SM clock (MHz)",
            Self::MemoryMhz => "memory clock (MHz)",
            Self::Temperature => "temperature (°C)",
            Self::BusyPercent => "busy (%)",
            Self::MemoryBusyPercent => "memory busy (%)",
            Self::MemoryBytes => "memory used (bytes)",
            Self::SlowedBy(Cause::PowerCap) => "slowed by its power limit",
            Self::SlowedBy(Cause::Heat) => "slowed by heat",
            Self::SlowedBy(Cause::PowerBrake) => "slowed by the power supply",
            Self::SlowedBy(Cause::Board) => "slowed by the board",
        }
    }
}

/// What a GPU says to a question.
#[derive(Debug)]
pub(crate) enum Answer {
    /// This, in the track's unit.
    Told(f64),
    /// It is told of between two looks, and this is the first.
    NotYet,
    /// There is nobody to ask.
    Never,
    /// It refuses: for good at the first look, for a moment later on.
    Refused(Absent),
    /// The GPU is gone, and will not come back in this process.
    Gone(Absent),
}

/// Whoever tells of one GPU.
pub(crate) trait Tells: Send {
    /// A look begins.
    fn begin(&mut self) {}

    fn tell(&mut self, what: What) -> Answer;
}

/// What one GPU is known by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    /// What the vendor calls its kind.
    pub(crate) kind: Option<String>,
    /// What no other GPU in the world has: of NVIDIA's the UUID, without what NVML writes in front of it, of AMD's 16 digits.
    pub(crate) uuid: Option<String>,
    /// Where it is on the bus of its host, as the kernel writes it: `0000:c3:00.0`.
    pub(crate) place: Option<String>,
}

impl Identity {
    /// Says it of GPU `index` in the recording that runs.
    fn say(&self, index: u32) {
        for (what, text) in [("", &self.kind), (".uuid", &self.uuid), (".pci", &self.place)] {
            if let Some(text) = text {
                set_metadata(&format!("counters.gpu.{index}{what}"), &quoted(text));
            }
        }
    }
}

/// One GPU.
pub(crate) struct Gpu<T> {
    /// What the source is called.
    name: &'static str,
    tells: T,
    tracks: Vec<(What, Gauge)>,
    /// Looks running at which it refused everything.
    silent: u32,
}

/// Looks running at which a GPU tells nothing before it is let go: a driver that resets one takes a second or so.
const SILENT_MAX: u32 = 30;

impl<T: Tells> Gpu<T> {
    /// GPU `index` of the host, which `name` tells of. The recording gets what it is known by.
    ///
    /// # Errors
    /// It tells nothing at all.
    pub(crate) fn new(name: &'static str, index: u32, identity: &Identity, mut tells: T) -> Result<Self, Absent> {
        identity.say(index);
        tells.begin();
        let (mut tracks, mut why) = (Vec::new(), None);
        for what in What::ALL {
            match tells.tell(what) {
                Answer::Told(_) | Answer::NotYet => tracks.push((what, Gauge::new(&format!("GPU {index} {}", what.name())))),
                Answer::Refused(absent) | Answer::Gone(absent) => why = why.or(Some(absent)),
                Answer::Never => {}
            }
        }
        if tracks.is_empty() {
            Err(why.unwrap_or(Absent::SilentGpu { index }))
        } else {
            Ok(Self { name, tells, tracks, silent: 0 })
        }
    }
}

impl<T: Tells> Source for Gpu<T> {
    fn name(&self) -> &str {
        self.name
    }

    fn look(&mut self, _: Instant) -> Result<(), Absent> {
        let (mut told, mut refusal) = (false, None);
        self.tells.begin();
        for (what, gauge) in &mut self.tracks {
            match self.tells.tell(*what) {
                Answer::Told(value) => {
                    gauge.set(value);
                    told = true;
                }
                Answer::Gone(absent) => return Err(absent),
                Answer::Refused(absent) => refusal = Some(absent),
                Answer::NotYet | Answer::Never => {}
            }
        }
        self.silent = if told { 0 } else { self.silent + 1 };
        match refusal {
            Some(absent) if self.silent >= SILENT_MAX => Err(absent),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tells its power so many times, and nothing else.
    struct Few(u32);

    impl Tells for Few {
        fn tell(&mut self, what: What) -> Answer {
            match (what, self.0.checked_sub(1)) {
                (What::PowerW, Some(left)) => {
                    self.0 = left;
                    Answer::Told(1.0)
                }
                (What::PowerW, None) => Answer::Refused(Absent::NoGpu),
                _ => Answer::Never,
            }
        }
    }

    #[test]
    fn a_gpu_that_refuses_everything_for_long_is_let_go_and_not_before() {
        let mut gpu = Gpu::new("few", 0, &Identity::default(), Few(3)).unwrap();
        let looks = 2 + SILENT_MAX;
        for look in 1..looks {
            assert!(gpu.look(Instant::now()).is_ok(), "look {look} of {looks}");
        }
        assert!(matches!(gpu.look(Instant::now()), Err(Absent::NoGpu)));
    }

    #[test]
    fn a_gpu_that_tells_nothing_is_an_absence_with_what_it_said() {
        assert!(matches!(Gpu::new("few", 3, &Identity::default(), Few(0)), Err(Absent::NoGpu)));
    }
}
