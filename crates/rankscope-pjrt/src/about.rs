//! [`About`]: which process of which run this is, as the environment says.

use rankscope_record::{own_rank, own_world_size};

/// The variable that `rankscope run` names the run in.
const RUN_ID: &str = "RANKSCOPE_RUN_ID";
/// Raw clocks of one host can be compared until it boots again.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// What the plane says of its process beside the clocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct About {
    /// The run; none outside of `rankscope run`.
    pub run_id: Option<String>,
    /// The rank that the launcher gave the process.
    pub rank: Option<u32>,
    /// Of how many.
    pub world_size: Option<u32>,
    /// The kernel's name for the time since it booted.
    pub boot_id: Option<String>,
}

impl About {
    /// This process.
    pub(crate) fn own() -> Self {
        let text = |text: String| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        Self {
            run_id: std::env::var(RUN_ID).ok().and_then(text),
            rank: own_rank(),
            world_size: own_world_size(),
            boot_id: std::fs::read_to_string(BOOT_ID).ok().and_then(text),
        }
    }

    /// That of a `rank` among so many, for who writes a plane by hand.
    pub fn of_rank(rank: u32, world_size: u32) -> Self {
        Self { rank: Some(rank), world_size: Some(world_size), ..Self::default() }
    }
}
