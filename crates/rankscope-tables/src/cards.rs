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
    memory: Figure,
    #[serde(default)]
    vector: Peaks,
    #[serde(default)]
    matrix: Peaks,
}

/// Operations by type, in 10^12 a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Peaks {
    fp64: Option<Figure>,
    fp32: Option<Figure>,
    tf32: Option<Figure>,
    fp16: Option<Figure>,
    bf16: Option<Figure>,
    fp8: Option<Figure>,
    int8: Option<Figure>,
}

/// A number above 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64")]
struct Figure(f64);

impl TryFrom<f64> for Figure {
    type Error = &'static str;

    fn try_from(figure: f64) -> Result<Self, Self::Error> {
        let is_sound = figure.is_finite() && figure > 0.0;
        if is_sound { Ok(Self(figure)) } else { Err("a figure must be above 0; leave out one that is not known") }
    }
}

/// Why a table of cards cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CardsError {
    /// It is no TOML, has keys that no card has or lacks some, or a figure that cannot be.
    Unreadable {
        /// The line, from 1.
        line: usize,
        /// What stands there.
        text: String,
        /// What the reader of TOML says.
        why: String,
    },
    /// It has no card.
    Empty,
    /// Two of its cards have the same device.
    Twice {
        /// The device.
        device: String,
        /// The names of the two cards.
        cards: [String; 2],
    },
}

impl fmt::Display for CardsError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { line, text, why } => write!(to, "line {line}, {text:?}: {why}"),
            Self::Empty => to.write_str("the table of cards has no [[card]]"),
            Self::Twice { device, cards: [one, other] } => {
                write!(to, "the device {device:?} is listed for two cards, {one:?} and {other:?}")
            }
        }
    }
}

impl std::error::Error for CardsError {}

impl CardsError {
    fn unreadable(text: &str, error: &toml::de::Error) -> Self {
        let at = error.span().map_or(0, |span| span.start.min(text.len()));
        let before = text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count();
        let there = text.lines().nth(before).unwrap_or_default().trim();
        Self::Unreadable { line: before + 1, text: there.to_owned(), why: error.message().to_owned() }
    }
}

impl Cards {
    /// The cards that are known here.
    pub fn known() -> &'static Self {
        &KNOWN
    }

    /// The table in `text`.
    ///
    /// # Errors
    ///
    /// If it is no TOML or has no card, if a key of it is none of a card's, if a figure is not above 0, and if a device is listed twice.
    pub fn parse(text: &str) -> Result<Self, CardsError> {
        let cards: Self = toml::from_str(text).map_err(|error| CardsError::unreadable(text, &error))?;
        if cards.all.is_empty() {
            return Err(CardsError::Empty);
        }
        let mut devices: Vec<(&String, &String)> =
            cards.all.iter().flat_map(|card| card.devices.iter().map(move |device| (device, &card.name))).collect();
        devices.sort();
        match devices.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Err(CardsError::Twice { device: pair[0].0.clone(), cards: [pair[0].1.clone(), pair[1].1.clone()] }),
            None => Ok(cards),
        }
    }

    /// These cards before `others`: a device of both is of these.
    pub fn over(mut self, others: &Self) -> Self {
        self.all.extend_from_slice(&others.all);
        self
    }

    /// The card that all `devices` are; none where they differ or it is not in the table.
    pub fn of_devices(&self, devices: &[DeviceInfo]) -> Option<&Card> {
        self.of_device(name_of_all(devices)?)
    }

    /// The card that drivers call `name`; none where it is not in the table.
    pub fn of_device(&self, name: &str) -> Option<&Card> {
        self.all.iter().find(|card| card.devices.iter().any(|device| device == name))
    }
}

/// The name of all `devices`; none where they differ, or there are none.
pub(crate) fn name_of_all(devices: &[DeviceInfo]) -> Option<&str> {
    let (first, others) = devices.split_first()?;
    others.iter().all(|other| other.name == first.name).then_some(first.name.as_str())
}

impl Card {
    /// Bytes that its memory can move, in 10^12 a second.
    pub fn memory(&self) -> f64 {
        self.memory.0
    }

    /// Operations in 10^12 a second of `engine` in `dtype`; none where that is not known.
    ///
    /// Products of matrices in `float` may run in 32 bits or in TF32, which is not recorded: of a card that has both nothing is known.
    /// Single operations on 16 bits are computed in 32.
    pub fn peak(&self, engine: Engine, dtype: Dtype) -> Option<f64> {
        let figure = match (engine, dtype) {
            (Engine::Matrix, Dtype::Fp64) => self.matrix.fp64,
            (Engine::Matrix, Dtype::Fp32) => self.matrix.fp32.filter(|_| self.matrix.tf32.is_none()),
            (Engine::Matrix, Dtype::Fp16) => self.matrix.fp16,
            (Engine::Matrix, Dtype::Bf16) => self.matrix.bf16,
            (Engine::Matrix, Dtype::Fp8) => self.matrix.fp8,
            (Engine::Matrix, Dtype::Int8) => self.matrix.int8,
            (Engine::Vector, Dtype::Fp64) => self.vector.fp64,
            (Engine::Vector, Dtype::Fp32 | Dtype::Fp16 | Dtype::Bf16) => self.vector.fp32,
            _ => None,
        };
        figure.map(|figure| figure.0)
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
        assert_eq!(cards.of_devices(&devices(&["X"])).map(Card::memory), Some(1.5));
        // What is wrong is told with its line and key.
        let why = |text: &str| Cards::parse(text).unwrap_err().to_string();
        assert!(why(&table("0.0")).contains("line 5") && why(&table("-1")).contains("memory = -1"), "{}", why(&table("0.0")));
        let unknown = why(&table("1.5\nmemmory = 2.0"));
        assert!(unknown.contains("line 6") && unknown.contains("`memmory`"), "{unknown}");
        assert!(why("[[card]]\nname = \"x\"\n").contains("devices"), "{}", why("[[card]]\nname = \"x\"\n"));
        assert_eq!(Cards::parse("# none\n"), Err(CardsError::Empty));
        assert!(why(&table("1.0").repeat(2)).contains("\"X\""));
    }

    #[test]
    fn cards_of_ones_own_come_first_and_leave_the_others() {
        let own = "[[card]]\nname = \"mine\"\ndevices = [\"NVIDIA L4\"]\nsource = \"me\"\nmemory = 0.2\n";
        let cards = Cards::parse(own).unwrap().over(Cards::known());
        let of = |name: &str| cards.of_devices(&devices(&[name])).map(|card| card.name.clone());
        assert_eq!((of("NVIDIA L4"), of("NVIDIA L40S")), (Some("mine".to_owned()), Some("L40S".to_owned())));
    }
}
