//! What the screen is about: the document of the last look, what follows from it, and how it was before.

use std::collections::BTreeMap;

use rankscope_document::LiveDocument;
use rankscope_report::plain::one_line;

use crate::nodes::NodeRow;
use crate::trend::Trends;

/// What is shown.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scene {
    pub(crate) document: LiveDocument,
    pub(crate) nodes: Vec<NodeRow>,
    pub(crate) hosts: BTreeMap<u32, String>,
    pub(crate) trends: Trends,
}

impl Scene {
    pub(crate) fn take(&mut self, document: LiveDocument) {
        self.document = plain(document);
        self.nodes = NodeRow::of(&self.document);
        self.hosts = self.document.nodes.iter().map(|node| (node.node, node.host.clone())).collect();
        self.trends.take(&self.document);
    }

    /// The name of a rank's host, or the number of its node.
    pub(crate) fn host(&self, node: Option<u32>) -> String {
        let Some(node) = node else { return String::new() };
        self.hosts.get(&node).filter(|host| !host.is_empty()).cloned().unwrap_or_else(|| format!("node {node}"))
    }

    /// Whether an alarm is about the rank.
    pub(crate) fn is_alarmed(&self, rank: u32) -> bool {
        self.document.alarms.iter().any(|alarm| alarm.rank == Some(rank))
    }
}

/// The same with names that steer no terminal.
fn plain(mut document: LiveDocument) -> LiveDocument {
    let clean = |text: &mut String| *text = one_line(text);
    clean(&mut document.title);
    document.problems.iter_mut().for_each(clean);
    document.nodes.iter_mut().for_each(|node| clean(&mut node.host));
    document.ranks.iter_mut().flat_map(|rank| &mut rank.open).for_each(|open| clean(&mut open.group));
    document.groups.iter_mut().chain(&mut document.collectives).for_each(|met| clean(&mut met.group));
    document
}
