//! Presets: sets of variables that go together and are tried together.
//!
//! `rccl-warp-speed:CUxTHREADS,...` are the pairs of compute units and threads per block that aorta's comparison script tries, with
//! its labels. That script also sets AMD_SERIALIZE_KERNEL=3 and HIP_LAUNCH_BLOCKING=1. This preset does not: with them no
//! communication overlaps with computation, and that overlap is what the comparison is about.

use std::str::FromStr;

use crate::error::Error;
use crate::variables::Case;

/// Configurations by a known name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preset {
    /// As it was given.
    pub text: String,
    /// What they set, and what they are called.
    pub cases: Vec<Case>,
}

const WARP_SPEED: &str = "rccl-warp-speed";

impl FromStr for Preset {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let unknown = || Error::NoPreset { text: text.to_owned() };
        let (name, pairs) = text.split_once(':').ok_or_else(unknown)?;
        if name != WARP_SPEED {
            return Err(unknown());
        }
        let cases: Vec<Case> = pairs.split(',').map(|pair| warp_speed(pair).ok_or_else(unknown)).collect::<Result<_, _>>()?;
        for (at, case) in cases.iter().enumerate() {
            if cases[..at].contains(case) {
                return Err(Error::SameLabel { label: case.label.clone() });
            }
        }
        Ok(Self { text: text.to_owned(), cases })
    }
}

/// `56x256`: compute units and threads of a block.
fn warp_speed(pair: &str) -> Option<Case> {
    let (units, threads) = pair.trim().split_once(['x', 'X'])?;
    let [units, threads] = [units, threads].map(|number| number.parse::<u32>().ok().filter(|number| *number > 0));
    let (units, threads) = (units?, threads?);
    let set = [
        ("RCCL_WARP_SPEED_ENABLE", "1".to_owned()),
        ("RCCL_WARP_SPEED_CU_COUNT", units.to_string()),
        ("RCCL_THREADS_PER_BLOCK", threads.to_string()),
        ("RCCL_UNROLL_FACTOR", "1".to_owned()),
        ("HSA_ENABLE_SDMA", "0".to_owned()),
    ];
    let set = set.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Some(Case { label: format!("{units}cu_{threads}threads"), set })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_labelled_as_in_aorta_and_serialise_nothing() {
        let preset: Preset = "rccl-warp-speed:56x256,37x384,32x512".parse().unwrap();
        let labels: Vec<&str> = preset.cases.iter().map(|case| case.label.as_str()).collect();
        assert_eq!(labels, ["56cu_256threads", "37cu_384threads", "32cu_512threads"]);
        let set: Vec<String> = preset.cases[1].set.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let expected = [
            "HSA_ENABLE_SDMA=0",
            "RCCL_THREADS_PER_BLOCK=384",
            "RCCL_UNROLL_FACTOR=1",
            "RCCL_WARP_SPEED_CU_COUNT=37",
            "RCCL_WARP_SPEED_ENABLE=1",
        ];
        assert_eq!(set, expected);
    }

    #[test]
    fn what_is_no_pair_is_refused() {
        for text in ["rccl-warp-speed", "rccl-warp-speed:", "rccl-warp-speed:56", "rccl-warp-speed:0x4", "other:56x256"] {
            assert!(matches!(text.parse::<Preset>(), Err(Error::NoPreset { .. })), "{text}");
        }
        assert!(matches!("rccl-warp-speed:5x6,5x6".parse::<Preset>(), Err(Error::SameLabel { .. })));
    }
}
