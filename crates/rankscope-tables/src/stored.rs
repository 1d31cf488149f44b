//! How values of the rooms below are stored with tables. Those rooms know nothing of it.

use rankscope_analyze::{Direction, Side, StepSource};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// [`Side`].
#[derive(Serialize, Deserialize)]
#[serde(remote = "Side", rename_all = "snake_case")]
pub(crate) enum StoredSide {
    Device,
    Host,
}

/// [`StepSource`].
#[derive(Serialize, Deserialize)]
#[serde(remote = "StepSource", rename_all = "snake_case")]
pub(crate) enum StoredStepSource {
    DeviceAnnotations,
    Launches,
    HostAnnotations,
    None,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Direction", rename_all = "snake_case")]
enum StoredDirection {
    HostToDevice,
    DeviceToHost,
    DeviceToDevice,
    PeerToPeer,
    Other,
}

/// A [`Direction`], or none.
pub(crate) mod direction {
    use super::*;

    #[derive(Serialize, Deserialize)]
    pub(super) struct Stored(#[serde(with = "StoredDirection")] pub(super) Direction);

    pub(crate) fn serialize<S: Serializer>(direction: &Option<Direction>, to: S) -> Result<S::Ok, S::Error> {
        direction.map(Stored).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Direction>, D::Error> {
        Ok(Option::<Stored>::deserialize(from)?.map(|stored| stored.0))
    }
}

/// What there is for each [`Direction`].
pub(crate) mod by_direction {
    use super::direction::Stored;
    use super::*;

    type By<T> = Option<Vec<(Option<Direction>, T)>>;

    pub(crate) fn serialize<T: Serialize, S: Serializer>(by: &By<T>, to: S) -> Result<S::Ok, S::Error> {
        let rows =
            by.as_ref().map(|rows| rows.iter().map(|(direction, what)| (direction.map(Stored), what)).collect::<Vec<_>>());
        rows.serialize(to)
    }

    pub(crate) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<By<T>, D::Error> {
        let stored = Option::<Vec<(Option<Stored>, T)>>::deserialize(from)?;
        let row = |(direction, what): (Option<Stored>, T)| (direction.map(|stored| stored.0), what);
        Ok(stored.map(|rows| rows.into_iter().map(row).collect()))
    }
}

/// The bins of a histogram: serde knows no array of so many.
pub(crate) mod bins {
    use serde::de::Error;

    use super::*;

    pub(crate) fn serialize<S: Serializer, const N: usize>(bins: &[u64; N], to: S) -> Result<S::Ok, S::Error> {
        bins.as_slice().serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>, const N: usize>(from: D) -> Result<[u64; N], D::Error> {
        let bins = Vec::<u64>::deserialize(from)?;
        let count = bins.len();
        bins.try_into().map_err(|_| D::Error::invalid_length(count, &"as many bins as a histogram has"))
    }
}
