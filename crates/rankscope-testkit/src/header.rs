//! What a file says about itself: the job, the device, the clock. Where it stands is the dialect's choice.

use crate::dialect::{self, Dialect, Layout, RankList, Stamps};
use crate::job::BASE_NS;

/// Keys with their values as JSON.
pub(crate) type Header = Vec<(&'static str, String)>;

/// Whose trace it is.
pub(crate) struct About {
    pub(crate) rank: u32,
    /// Of how many ranks.
    pub(crate) ranks: u32,
    pub(crate) seed: u64,
    pub(crate) node: u32,
    /// Number of its GPU within the node.
    pub(crate) gpu: u32,
    /// Process groups it belongs to.
    pub(crate) groups: Vec<ProcessGroup>,
}

/// A process group as `distributedInfo` lists it.
pub(crate) struct ProcessGroup {
    pub(crate) name: String,
    pub(crate) description: &'static str,
    pub(crate) ranks: Vec<u32>,
}

/// The header of a rank's file: what stands before the events, and what after them.
pub(crate) fn header(about: &About, dialect: &Dialect) -> (Header, Header) {
    let colon = if dialect.layout == Layout::Compact { ":" } else { ": " };
    let mut device =
        format!("[{{\"id\"{colon}0, \"name\"{colon}\"NVIDIA H100 80GB HBM3\", \"totalGlobalMem\"{colon}85029158912");
    device.push_str(&format!(", \"computeMajor\"{colon}9, \"computeMinor\"{colon}0, \"numSms\"{colon}132}}]"));
    let rank = about.rank;
    let groups: Vec<String> = about.groups.iter().map(|group| described(group, dialect, colon)).collect();
    let distributed = format!(
        "{{\"backend\"{colon}\"nccl\", \"rank\"{colon}{rank}, \"world_size\"{colon}{world}, \"pg_count\"{colon}{count}, \
         \"pg_config\"{colon}[{groups}], \"nccl_version\"{colon}\"2.27.5\"}}",
        world = about.ranks,
        count = groups.len(),
        groups = groups.join(", "),
    );
    let mut keys = vec![
        ("schemaVersion", "1".to_owned()),
        ("deviceProperties", device),
        ("trace_id", format!("\"{:032X}\"", u128::from(about.seed) << 64 | u128::from(rank))),
        ("record_shapes", "1".to_owned()),
        ("distributedInfo", distributed),
        ("host_name", format!("\"node{}\"", about.node)),
        ("displayTimeUnit", "\"ms\"".to_owned()),
    ];
    if dialect.stamps == Stamps::FractionalMicros {
        keys.push(("baseTimeNanoseconds", BASE_NS.to_string()));
    }
    let mut after = match dialect.header {
        dialect::Header::Before => Vec::new(),
        // The last two: unit and base time.
        dialect::Header::Split => keys.split_off(6),
        dialect::Header::After => keys.split_off(0),
    };
    after.insert(0, ("traceName", format!("\"rank{rank}.json\"")));
    (keys, after)
}

fn described(group: &ProcessGroup, dialect: &Dialect, colon: &str) -> String {
    let ranks = list(group.ranks.iter().copied());
    let ranks = match dialect.ranks {
        RankList::Array => ranks,
        RankList::Text => format!("\"{ranks}\""),
    };
    format!(
        "{{\"pg_name\"{colon}\"{name}\", \"pg_desc\"{colon}\"{description}\", \"backend_config\"{colon}\"cuda:nccl\", \
         \"pg_size\"{colon}{size}, \"ranks\"{colon}{ranks}}}",
        name = group.name,
        description = group.description,
        size = group.ranks.len(),
    )
}

/// Ranks as torch lists them.
pub(crate) fn list(ranks: impl IntoIterator<Item = u32>) -> String {
    let ranks: Vec<String> = ranks.into_iter().map(|rank| rank.to_string()).collect();
    format!("[{}]", ranks.join(", "))
}
