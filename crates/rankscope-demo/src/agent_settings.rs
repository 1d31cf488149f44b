//! What the agent of a host is told, as `--set` words. The decoder is the table of settings, which refuses what it does not know.

use std::path::Path;
use std::time::Duration;

use rankscope_config::Key;

/// Settings that the demo gives its agents; the rest is as usual.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AgentSettings<'a> {
    /// The folder that agents meet in.
    pub(crate) rendezvous: &'a Path,
    /// The interface that ranks talk over, whatever else this machine is connected to.
    pub(crate) interface: &'a str,
    /// Length of a probe window.
    pub(crate) window: Duration,
    /// How this host's clock is skewed.
    pub(crate) clock: &'a str,
    /// True host time minus `CLOCK_MONOTONIC_RAW`.
    pub(crate) clock_shift_ns: i64,
}

/// Nothing lies between two hosts of one machine, so nothing is lost by asking more than the usual.
const CADENCE_US: u32 = 400;
/// Between packets of an exchange.
const SPACING_US: u32 = 5;
/// More than the usual, for the same reason.
const BUDGET_BITS_PER_S: u32 = 4_000_000;
/// Clocks are skewed, so they are read often.
const SNAPSHOT_PERIOD_MS: u32 = 50;

impl AgentSettings<'_> {
    /// Words of the command line.
    pub(crate) fn words(&self) -> Vec<String> {
        let set = |(key, value): (Key, String)| ["--set".to_owned(), format!("{}={value}", key.setting().name)];
        self.values().into_iter().flat_map(set).collect()
    }

    fn values(&self) -> [(Key, String); 9] {
        [
            (Key::Rendezvous, format!("file://{}", self.rendezvous.display())),
            (Key::Interfaces, self.interface.to_owned()),
            (Key::ProbeWindow, self.window.as_secs_f64().to_string()),
            (Key::ProbeCadence, CADENCE_US.to_string()),
            (Key::PacketSpacing, SPACING_US.to_string()),
            (Key::BudgetBitsPerS, BUDGET_BITS_PER_S.to_string()),
            (Key::SnapshotPeriod, SNAPSHOT_PERIOD_MS.to_string()),
            (Key::TestClock, self.clock.to_owned()),
            (Key::TestClockShift, self.clock_shift_ns.to_string()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use rankscope_config::{ClockSettings, Sources, resolve};

    use super::*;

    #[test]
    fn an_agent_understands_what_it_is_told() {
        let clock = "origin-ns=1700000000000000001,offset-ns=-3,skew-ppb=12,wander-ppb=3,seed=9";
        let told = AgentSettings {
            rendezvous: Path::new("/tmp/a demo/meet"),
            interface: "lo",
            window: Duration::from_millis(1_500),
            clock,
            clock_shift_ns: 1_700_000_000_000_000_001,
        };
        let words = told.words();
        let pairs = words.iter().filter(|word| *word != "--set").map(|pair| pair.split_once('=').unwrap());
        let flags: Vec<_> = pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let resolved = resolve(&Sources { file: None, environment: &[], flags: &flags });
        let said: Vec<_> = resolved.complaints.iter().map(ToString::to_string).collect();
        assert_eq!(said, [""; 0]);
        let settings = ClockSettings::of(&resolved);
        assert_eq!(settings.rendezvous.as_deref(), Some("file:///tmp/a demo/meet"));
        assert_eq!((settings.interfaces.as_str(), settings.probe_window), ("lo", Duration::from_millis(1_500)));
        assert_eq!(settings.probe_cadence, Duration::from_micros(400));
        assert_eq!(settings.packet_spacing, Duration::from_micros(5));
        assert_eq!(settings.budget_bits_per_s, Some(4_000_000));
        assert_eq!(settings.snapshot_period, Duration::from_millis(50));
        assert_eq!(settings.test_clock.as_deref(), Some(clock));
        assert_eq!(settings.test_clock_shift_ns, Some(1_700_000_000_000_000_001));
    }
}
