//! What a file says about itself: the job, the device, the clock. Where it stands is the dialect's choice.

use std::ops::Range;

use crate::Job;
use crate::dialect::{Dialect, Header, Layout, RankList, Stamps};
use crate::job::BASE_NS;

/// Header keys before and after the events.
pub(crate) type Parts = (Vec<(&'static str, String)>, Vec<(&'static str, String)>);

/// The header of `rank`'s file.
pub(crate) fn header(job: &Job, rank: u32, dialect: &Dialect) -> Parts {
    let colon = if dialect.layout == Layout::Compact { ":" } else { ": " };
    let mut device =
        format!("[{{\"id\"{colon}0, \"name\"{colon}\"NVIDIA H100 80GB HBM3\", \"totalGlobalMem\"{colon}85029158912");
    device.push_str(&format!(", \"computeMajor\"{colon}9, \"computeMinor\"{colon}0, \"numSms\"{colon}132}}]"));
    let ranks = match dialect.ranks {
        RankList::Array => list(0..job.ranks),
        RankList::Text => format!("\"{}\"", list(0..job.ranks)),
    };
    let distributed = format!(
        "{{\"backend\"{colon}\"nccl\", \"rank\"{colon}{rank}, \"world_size\"{colon}{world}, \"pg_count\"{colon}1, \
         \"pg_config\"{colon}[{{\"pg_name\"{colon}\"0\", \"pg_desc\"{colon}\"default_pg\", \"backend_config\"{colon}\"cuda:nccl\", \
         \"pg_size\"{colon}{world}, \"ranks\"{colon}{ranks}}}], \"nccl_version\"{colon}\"2.27.5\"}}",
        world = job.ranks
    );
    let mut keys = vec![
        ("schemaVersion", "1".to_owned()),
        ("deviceProperties", device),
        ("trace_id", format!("\"{:032X}\"", u128::from(job.seed) << 64 | u128::from(rank))),
        ("record_shapes", "1".to_owned()),
        ("distributedInfo", distributed),
        ("host_name", format!("\"node{}\"", job.node(rank))),
        ("displayTimeUnit", "\"ms\"".to_owned()),
    ];
    if dialect.stamps == Stamps::FractionalMicros {
        keys.push(("baseTimeNanoseconds", BASE_NS.to_string()));
    }
    let mut after = match dialect.header {
        Header::Before => Vec::new(),
        // The last two: unit and base time.
        Header::Split => keys.split_off(6),
        Header::After => keys.split_off(0),
    };
    after.insert(0, ("traceName", format!("\"rank{rank}.json\"")));
    (keys, after)
}

/// Ranks as torch lists them.
pub(crate) fn list(ranks: Range<u32>) -> String {
    let ranks: Vec<String> = ranks.map(|rank| rank.to_string()).collect();
    format!("[{}]", ranks.join(", "))
}
