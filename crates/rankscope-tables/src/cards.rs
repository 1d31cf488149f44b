//! What cards can do at most, by the name that their driver gives them: a table in TOML, `cards.toml` or a user's own.
//!
//! A card that is not in the table, and a figure that its row does not have, are not known: nothing is taken from a card like it.

use std::fmt;
use std::sync::LazyLock;

use rankscope_trace::DeviceInfo;
use serde::{Deserialize, Serialize};

use crate::{Dtype, Engine};

static KNOWN: LazyLock<Cards> =
    LazyLock::new(|| Cards::parse(include_str!("cards.toml")).expect("the table is part of the program, and a test reads it"));

/// A table of cards.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cards {
    #[serde(default, rename = "card")]
    all: Vec<Card>,
}

/// One card, or the part of one that shows as a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Card {
    /// What it is called.
    pub name: String,
    /// The names that drivers have for it, exactly.
    pub devices: Vec<String>,
    /// Where the figures are from.
    pub source: String,
    /// Bytes that its memory can move, in 10^12 a second.
    pub memory: f64,
    #[serde(default)]
    vector: Peaks,
    #[serde(default)]
    matrix: Peaks,
}

/// Operations by type, in 10^12 a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Peaks {
    fp64: Option<f64>,
    fp32: Option<f64>,
    tf32: Option<f64>,
    fp16: Option<f64>,
    bf16: Option<f64>,
    fp8: Option<f64>,
    int8: Option<f64>,
}

/// Why a table of cards cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CardsError {
    /// It is no TOML, or has keys that no card has; what the reader of TOML says.
    Unreadable(String),
    /// A figure of the card with this name is not above 0.
    Figure(String),
}

impl fmt::Display for CardsError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(why) => write!(to, "the table of cards cannot be read: {why}"),
            Self::Figure(name) => {
                write!(to, "every figure of the card {name:?} must be above 0; leave out those that are not known")
            }
        }
    }
}

impl std::error::Error for CardsError {}

impl Cards {
    /// The cards that are known here.
    pub fn known() -> &'static Self {
        &KNOWN
    }

    /// The table in `text`.
    ///
    /// # Errors
    ///
    /// If it is no TOML, if a key of it is none of a card's, and if a figure is not above 0.
    pub fn parse(text: &str) -> Result<Self, CardsError> {
        let cards: Self = toml::from_str(text).map_err(|error| CardsError::Unreadable(error.to_string()))?;
        match cards.all.iter().find(|card| !card.is_sound()) {
            Some(card) => Err(CardsError::Figure(card.name.clone())),
            None => Ok(cards),
        }
    }

    /// The card that all `devices` are; none where they differ or it is not in the table.
    pub fn of_devices(&self, devices: &[DeviceInfo]) -> Option<&Card> {
        let (first, others) = devices.split_first()?;
        if others.iter().any(|other| other.name != first.name) {
            return None;
        }
        self.all.iter().find(|card| card.devices.contains(&first.name))
    }
}

impl Card {
    /// Operations in 10^12 a second of `engine` in `dtype`; none where that is not known.
    ///
    /// Products of matrices in `float` may run in 32 bits or in TF32, which is not recorded: of a card that has both nothing is known.
    /// Single operations on 16 bits are computed in 32.
    pub fn peak(&self, engine: Engine, dtype: Dtype) -> Option<f64> {
        match (engine, dtype) {
            (Engine::Matrix, Dtype::Fp64) => self.matrix.fp64,
            (Engine::Matrix, Dtype::Fp32) => self.matrix.fp32.filter(|_| self.matrix.tf32.is_none()),
            (Engine::Matrix, Dtype::Fp16) => self.matrix.fp16,
            (Engine::Matrix, Dtype::Bf16) => self.matrix.bf16,
            (Engine::Matrix, Dtype::Fp8) => self.matrix.fp8,
            (Engine::Matrix, Dtype::Int8) => self.matrix.int8,
            (Engine::Vector, Dtype::Fp64) => self.vector.fp64,
            (Engine::Vector, Dtype::Fp32 | Dtype::Fp16 | Dtype::Bf16) => self.vector.fp32,
            _ => None,
        }
    }

    fn is_sound(&self) -> bool {
        let peaks = [self.vector, self.matrix].into_iter();
        let peaks = peaks.flat_map(|peaks| [peaks.fp64, peaks.fp32, peaks.tf32, peaks.fp16, peaks.bf16, peaks.fp8, peaks.int8]);
        peaks.flatten().chain([self.memory]).all(|figure| figure.is_finite() && figure > 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn devices(names: &[&str]) -> Vec<DeviceInfo> {
        names.iter().zip(0..).map(|(name, index)| DeviceInfo { index, name: (*name).to_owned() }).collect()
    }

    #[test]
    fn cards_are_known_by_their_exact_name() {
        let of = |names: &[&str]| Cards::known().of_devices(&devices(names)).map(|card| card.name.as_str());
        assert_eq!(of(&["NVIDIA H100 80GB HBM3"; 8]), Some("H100 SXM"));
        assert_eq!(of(&["AMD Instinct MI300X"]), Some("MI300X"));
        assert_eq!(of(&["NVIDIA H100 80GB HBM3 MIG 1g.10gb"]), None);
        assert_eq!(of(&["NVIDIA H100 80GB HBM3", "NVIDIA H100 PCIe"]), None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn every_known_card_has_a_source_and_every_name_is_of_one() {
        let cards = &Cards::known().all;
        let mut names: Vec<&String> = cards.iter().flat_map(|card| &card.devices).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(cards.iter().all(|card| !card.source.is_empty() && !card.devices.is_empty()));
    }

    #[test]
    fn products_of_floats_have_a_peak_only_where_there_is_one_way_to_do_them() {
        let peak = |name: &str, engine, dtype| Cards::known().of_devices(&devices(&[name])).unwrap().peak(engine, dtype);
        assert_eq!(peak("NVIDIA H100 PCIe", Engine::Matrix, Dtype::Fp32), None);
        assert_eq!(peak("Tesla V100-SXM2-16GB", Engine::Matrix, Dtype::Fp32), Some(15.7));
        assert_eq!(peak("Tesla V100-SXM2-16GB", Engine::Matrix, Dtype::Bf16), None);
        assert_eq!(peak("NVIDIA H100 PCIe", Engine::Vector, Dtype::Bf16), Some(51.2));
    }

    #[test]
    fn a_table_of_ones_own_is_read_and_checked() {
        let table = |memory: &str| format!("[[card]]\nname = \"x\"\ndevices = [\"X\"]\nsource = \"me\"\nmemory = {memory}\n");
        let cards = Cards::parse(&table("1.5")).unwrap();
        assert_eq!(cards.of_devices(&devices(&["X"])).map(|card| card.memory), Some(1.5));
        assert_eq!(Cards::parse(&table("0.0")), Err(CardsError::Figure("x".to_owned())));
        assert!(matches!(Cards::parse(&table("1.5\nmemmory = 2.0")), Err(CardsError::Unreadable(_))));
    }
}
