//! What makes a rank slow, where it is more than work in general; the recording of the rank shows which of them it is.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Why a rank is slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Because {
    /// It waits longer for each batch.
    DataLoader,
    /// It computes more in the forward pass of each layer.
    Kernel,
    /// It does other work between its operators.
    Host,
    /// What it sends to the next rank arrives later.
    Link,
}

impl Because {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::DataLoader, Self::Kernel, Self::Host, Self::Link];

    /// Its name on a command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::DataLoader => "data-loader",
            Self::Kernel => "kernel",
            Self::Host => "host",
            Self::Link => "link",
        }
    }
}

impl fmt::Display for Because {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// There is no cause of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a rank can be slow because of {known}, not of `{name}`", known = Because::ALL.map(Because::name).join(", "))]
pub struct UnknownCause {
    name: String,
}

impl FromStr for Because {
    type Err = UnknownCause;

    fn from_str(name: &str) -> Result<Self, UnknownCause> {
        Self::ALL.into_iter().find(|because| because.name() == name).ok_or_else(|| UnknownCause { name: name.to_owned() })
    }
}

/// What a rank is told to do more than the others, in each step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Slowness {
    /// Waits so long for its batch.
    Loading(Duration),
    /// Multiplies so many times as often in forward passes.
    Forward(f64),
    /// Does other work after the operator of each forward pass.
    OtherWork(Duration),
    /// Sends each piece so late.
    Sending(Duration),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_its_cause() {
        for because in Because::ALL {
            assert_eq!(because.to_string().parse(), Ok(because));
            assert_eq!(serde_json::to_value(because).unwrap(), because.name());
        }
        assert!("work".parse::<Because>().unwrap_err().to_string().contains("data-loader, kernel, host, link"));
    }
}
