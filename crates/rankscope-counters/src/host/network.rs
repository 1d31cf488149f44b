//! Network interfaces: `/proc/net/dev`, but for the loopback.

use std::collections::BTreeMap;
use std::time::Instant;

use super::numbers;
use crate::absent::Absent;
use crate::gauge::Rate;
use crate::kept::Kept;
use crate::source::Source;

/// Interfaces that are told of: hosts of containers have hundreds, and those that matter come first.
const INTERFACES_MAX: usize = 16;

pub(super) struct Network {
    dev: Kept,
    rates: BTreeMap<String, [Rate; 3]>,
}

#[derive(Debug, PartialEq, Eq)]
struct Interface<'t> {
    name: &'t str,
    received_bytes: u64,
    sent_bytes: u64,
    /// Packets that were lost here, in either direction.
    dropped: u64,
}

impl Network {
    pub(super) fn open() -> Result<Self, Absent> {
        Ok(Self { dev: Kept::open("/proc/net/dev")?, rates: BTreeMap::new() })
    }
}

impl Source for Network {
    fn name(&self) -> &'static str {
        "network"
    }

    fn look(&mut self, now: Instant) -> Result<(), Absent> {
        let rates = &mut self.rates;
        self.dev.parsed(|text| {
            for Interface { name, received_bytes, sent_bytes, dropped } in interfaces(text) {
                if !rates.contains_key(name) {
                    if rates.len() == INTERFACES_MAX {
                        continue;
                    }
                    let track = |what: &str| Rate::new(&format!("{name} {what}"), 1.0);
                    let tracks = ["received (bytes/s)", "sent (bytes/s)", "dropped packets (1/s)"].map(track);
                    rates.insert(name.to_owned(), tracks);
                }
                for (rate, total) in rates.get_mut(name).into_iter().flatten().zip([received_bytes, sent_bytes, dropped]) {
                    rate.set(now, total);
                }
            }
            Some(())
        })
    }
}

fn interfaces(text: &str) -> impl Iterator<Item = Interface<'_>> {
    text.lines().filter_map(interface).filter(|interface| interface.name != "lo")
}

fn interface(line: &str) -> Option<Interface<'_>> {
    let (name, rest) = line.split_once(':')?;
    let [received_bytes, _, _, lost_coming, _, _, _, _, sent_bytes, _, _, lost_going] = numbers(rest)?;
    Some(Interface { name: name.trim(), received_bytes, sent_bytes, dropped: lost_coming + lost_going })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:    1000      10    0    0    0     0          0         0     1000      10    0    0    0     0       0          0
  eth0: 5000000    4000    1    2    0     0          0         0  7000000    5000    0    3    0     0       0          0
";

    #[test]
    fn interfaces_are_read_but_for_the_loopback() {
        let expected = Interface { name: "eth0", received_bytes: 5_000_000, sent_bytes: 7_000_000, dropped: 5 };
        assert_eq!(interfaces(TEXT).collect::<Vec<_>>(), [expected]);
    }
}
