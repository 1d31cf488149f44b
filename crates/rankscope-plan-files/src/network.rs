//! Networks as files; `docs/reference/formats/network-json.md` describes the layout.

use rankscope_dispatch::network::{Leaves, Level, LevelCost, Network, SizeTable, Topology};
use rankscope_time::Span;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::MOST_BYTES;

/// Layout version of the file.
const SCHEMA: u32 = 1;
const KIND: &str = "rankscope_network";

/// A network, and what is known of where its figures come from.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// The name it goes by: a preset's, or a file's.
    pub name: String,
    /// Where its figures come from, for people.
    pub source: String,
    /// The network.
    pub network: Network,
}

#[derive(Debug, Deserialize, Serialize)]
struct Document {
    schema: u32,
    kind: String,
    #[serde(default)]
    source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ranks_per_node: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ranks_per_nic: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes_per_leaf: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    leaves: Option<LeavesName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    oversubscription: Option<f64>,
    #[serde(default)]
    base_ns: i64,
    levels: Levels,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum LeavesName {
    PerRail,
    PerNodes,
}

#[derive(Debug, Deserialize, Serialize)]
struct Levels {
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<Cost>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rail: Option<Cost>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spine: Option<Cost>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Cost {
    alpha_ns: i64,
    bytes_per_second: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    small: Vec<(u64, i64)>,
}

/// Why bytes are no network. The fault is the file's.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// Longer than any network file.
    #[error("{bytes} bytes; network files have at most {MOST_BYTES}")]
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// JSON of another shape, or none; the source has the line and the column.
    #[error("not a network file: {0}")]
    Json(#[source] serde_json::Error),
    /// Another file, or one of another layout.
    #[error("kind {kind} of schema {schema}, where a network file is {KIND} of schema {SCHEMA}")]
    Kind {
        /// What it calls itself.
        kind: String,
        /// Its layout.
        schema: u32,
    },
    /// No level tells what anything costs.
    #[error("levels: at least one of node, rail and spine is needed")]
    NoLevels,
    /// Costs that no level can have.
    #[error("levels.{}: {source}", level.as_str())]
    Level {
        /// Which.
        level: Level,
        /// What is wrong with them.
        source: rankscope_dispatch::Error,
    },
    /// A network that cannot be; the message names the field.
    #[error(transparent)]
    Network(#[from] rankscope_dispatch::Error),
}

/// Reads a network file: the network, and where its figures come from.
///
/// # Errors
/// [`NetworkError`]: bytes that are no network file, or a network that cannot be.
pub fn read(text: &[u8]) -> Result<(Network, String), NetworkError> {
    if text.len() > MOST_BYTES {
        return Err(NetworkError::TooLong { bytes: text.len() });
    }
    let document: Document = serde_json::from_slice(text).map_err(NetworkError::Json)?;
    if document.kind != KIND || document.schema != SCHEMA {
        return Err(NetworkError::Kind { kind: document.kind, schema: document.schema });
    }
    // What is nearer stands in for what is further, and the other way round.
    let Levels { node, rail, spine } = document.levels;
    let Some(any) = node.as_ref().or(rail.as_ref()).or(spine.as_ref()).cloned() else {
        return Err(NetworkError::NoLevels);
    };
    let rail = rail.or_else(|| spine.clone());
    let base = Topology::ONE_NODE;
    let network = Network {
        topology: Topology {
            ranks_per_node: document.ranks_per_node.unwrap_or(base.ranks_per_node),
            ranks_per_nic: document.ranks_per_nic.unwrap_or(base.ranks_per_nic),
            nodes_per_leaf: document.nodes_per_leaf.unwrap_or(base.nodes_per_leaf),
            leaves: document.leaves.map_or(base.leaves, Leaves::from),
            oversubscription: document.oversubscription.unwrap_or(base.oversubscription),
        },
        base: Span::from_nanos(document.base_ns),
        spine: cost(spine.or_else(|| rail.clone()).unwrap_or_else(|| any.clone()), Level::Spine)?,
        rail: cost(rail.unwrap_or_else(|| any.clone()), Level::Rail)?,
        node: cost(node.unwrap_or(any), Level::Node)?,
    };
    network.validate()?;
    Ok((network, document.source))
}

fn cost(cost: Cost, level: Level) -> Result<LevelCost, NetworkError> {
    let points = cost.small.into_iter().map(|(bytes, nanos)| (bytes, Span::from_nanos(nanos))).collect();
    let small = SizeTable::new(points).map_err(|source| NetworkError::Level { level, source })?;
    Ok(LevelCost { alpha: Span::from_nanos(cost.alpha_ns), bytes_per_second: cost.bytes_per_second, small })
}

/// `network` as a file; `source` says where its figures come from.
#[must_use]
pub fn text(network: &Network, source: String) -> String {
    let text = serde_json::to_string_pretty(&document(network, source));
    text.expect("numbers, texts and lists of them are JSON") + "\n"
}

/// The same as a value, to be part of another document.
#[must_use]
pub fn value(network: &Network, source: String) -> Value {
    serde_json::to_value(document(network, source)).expect("numbers, texts and lists of them are JSON")
}

fn document(network: &Network, source: String) -> Document {
    let cost = |cost: &LevelCost| Cost {
        alpha_ns: cost.alpha.as_nanos(),
        bytes_per_second: cost.bytes_per_second,
        small: cost.small.points().iter().map(|(bytes, time)| (*bytes, time.as_nanos())).collect(),
    };
    let topology = &network.topology;
    let one_node = *topology == Topology::ONE_NODE;
    Document {
        schema: SCHEMA,
        kind: KIND.to_owned(),
        source,
        ranks_per_node: (!one_node).then_some(topology.ranks_per_node),
        ranks_per_nic: (!one_node).then_some(topology.ranks_per_nic),
        nodes_per_leaf: (!one_node).then_some(topology.nodes_per_leaf),
        leaves: (!one_node).then_some(topology.leaves.into()),
        oversubscription: (!one_node).then_some(topology.oversubscription),
        base_ns: network.base.as_nanos(),
        levels: Levels {
            node: Some(cost(&network.node)),
            rail: (!one_node).then(|| cost(&network.rail)),
            spine: (!one_node).then(|| cost(&network.spine)),
        },
    }
}

impl From<LeavesName> for Leaves {
    fn from(name: LeavesName) -> Self {
        match name {
            LeavesName::PerRail => Self::PerRail,
            LeavesName::PerNodes => Self::PerNodes,
        }
    }
}

impl From<Leaves> for LeavesName {
    fn from(leaves: Leaves) -> Self {
        match leaves {
            Leaves::PerRail => Self::PerRail,
            Leaves::PerNodes => Self::PerNodes,
        }
    }
}

#[cfg(test)]
mod tests {
    use rankscope_dispatch::network::PRESETS;

    use super::*;

    #[test]
    fn every_preset_survives_its_file() -> Result<(), NetworkError> {
        for preset in &PRESETS {
            let network = preset.network();
            let (found, source) = read(text(&network, preset.source.to_owned()).as_bytes())?;
            assert_eq!((&found, source.as_str()), (&network, preset.source), "{}", preset.name);
        }
        Ok(())
    }

    #[test]
    fn one_level_stands_for_all_and_a_field_that_cannot_be_is_named() {
        let file = |more: &str| {
            format!(
                r#"{{"schema":1,"kind":"rankscope_network"{more},"levels":{{"rail":{{"alpha_ns":5,"bytes_per_second":7}}}}}}"#
            )
        };
        let (network, _) = read(file("").as_bytes()).unwrap();
        assert_eq!((network.node.bytes_per_second, network.spine.alpha), (7, Span::from_nanos(5)));
        let refused = read(file(r#","ranks_per_node":0"#).as_bytes()).unwrap_err();
        assert!(refused.to_string().contains("ranks_per_node"), "{refused}");
        assert!(read(b"{\"schema\":2}").is_err());
    }
}
