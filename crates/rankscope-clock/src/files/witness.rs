//! Who says what time it is beside what was measured: the time daemons of a host, by the names that files give them.

use std::fmt;
use std::str::FromStr;

/// The identity of a clock in the Precision Time Protocol (IEEE 1588): eight bytes, of a network card's address as a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClockIdentity(pub [u8; 8]);

impl fmt::Display for ClockIdentity {
    /// As linuxptp prints it: `4e879f.fffe.3793ff`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g, h, i] = self.0;
        write!(f, "{a:02x}{b:02x}{c:02x}.{d:02x}{e:02x}.{g:02x}{h:02x}{i:02x}")
    }
}

impl FromStr for ClockIdentity {
    type Err = NoWitness;

    fn from_str(text: &str) -> Result<Self, NoWitness> {
        let lengths = text.split('.').map(str::len);
        let digits: String = text.split('.').collect();
        if !lengths.eq([6, 4, 6]) || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(NoWitness);
        }
        u64::from_str_radix(&digits, 16).map(|number| Self(number.to_be_bytes())).map_err(|_| NoWitness)
    }
}

/// A clock that time daemons keep hosts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Witness {
    /// Coordinated universal time as chronyd has it.
    Chrony,
    /// The grandmaster of a PTP domain, as ptp4l has it. Those of two domains need not agree.
    Ptp {
        /// Which clock that is.
        grandmaster: ClockIdentity,
    },
}

const CHRONY: &str = "chrony";
const PTP: &str = "ptp:";

impl Witness {
    /// What it is called in files.
    pub fn name(self) -> String {
        match self {
            Self::Chrony => CHRONY.to_owned(),
            Self::Ptp { grandmaster } => format!("{PTP}{grandmaster}"),
        }
    }
}

impl FromStr for Witness {
    type Err = NoWitness;

    fn from_str(name: &str) -> Result<Self, NoWitness> {
        match name.strip_prefix(PTP) {
            Some(identity) => Ok(Self::Ptp { grandmaster: identity.parse()? }),
            None if name == CHRONY => Ok(Self::Chrony),
            None => Err(NoWitness),
        }
    }
}

impl fmt::Display for Witness {
    /// What it is called in sentences.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chrony => f.write_str("chrony"),
            Self::Ptp { grandmaster } => write!(f, "PTP (grandmaster {grandmaster})"),
        }
    }
}

/// A name that is no witness's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the name of a witness: `chrony`, or `ptp:` and the identity of a grandmaster")]
pub struct NoWitness;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn names_lead_back(bytes in any::<[u8; 8]>()) {
            for witness in [Witness::Chrony, Witness::Ptp { grandmaster: ClockIdentity(bytes) }] {
                prop_assert_eq!(witness.name().parse(), Ok(witness));
            }
        }

        #[test]
        fn no_name_makes_it_panic(name in "(ptp:)?[0-9a-fé+.]{0,20}") {
            let _ = name.parse::<Witness>();
        }
    }

    #[test]
    fn other_clocks_are_no_witnesses() {
        for name in
            ["realtime", "ptp", "ptp:", "ptp:4e879ffffe3793ff", "ptp:4e879f.fffe.3793f", "ptp:4e879f.+ffe.3793ff", "Chrony"]
        {
            assert_eq!(name.parse::<Witness>(), Err(NoWitness), "{name}");
        }
        let grandmaster = ClockIdentity([0x4e, 0x87, 0x9f, 0xff, 0xfe, 0x37, 0x93, 0xff]);
        assert_eq!("ptp:4e879f.fffe.3793ff".parse(), Ok(Witness::Ptp { grandmaster }));
    }
}
