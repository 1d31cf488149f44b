//! Tables of a job's collectives over all ranks, as `report --tables` writes them.
//!
//! Rows are flat: a key holds a number, a text, true or false, or null. A key that ends in `_ns` holds nanoseconds, one that ends in `_gbps`
//! 1e9 bytes a second, one that ends in `_bytes` or is `bytes` bytes. Bandwidths are those of nccl-tests.

use serde::{Deserialize, Serialize};

use crate::CollectiveKind;
use crate::vocabulary::{LineFit, Link, WaitsFor};

/// Tables of a job's collectives. Those that were not asked for are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CollectiveTables {
    /// What `at_ns` counts from, on the job's clock: the first arrival of a rank at a collective.
    pub origin_ns: i64,
    /// Collectives by name, type, size and process group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nccl_summary_implicit_sync: Option<Vec<CollectiveSummary>>,
    /// Time in collectives, by rank, name, type, size and process group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nccl_summary_long: Option<Vec<RankCollectiveSummary>>,
    /// Every collective, matched or not, in order of time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nccl_implicit_sync: Option<Vec<CollectiveInstanceRow>>,
    /// Every rank's part in every collective, in the same order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nccl_long: Option<Vec<RankInstanceRow>>,
    /// How often each rank came last, and how long it waited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub straggler_summary: Option<Vec<StragglerRow>>,
    /// Uneven all-to-alls by name, type and process group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nccl_summary_all2allv: Option<Vec<UnevenSummary>>,
    /// Every uneven all-to-all, in order of time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nccl_all2allv: Option<Vec<UnevenRow>>,
    /// What each rank sent to each in uneven all-to-alls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nccl_all2allv_heatmap: Option<Vec<PairRow>>,
    /// Time in collectives by process group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_group: Option<Vec<GroupRow>>,
    /// Time in collectives by what process groups are for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_parallelism: Option<Vec<ParallelismRow>>,
    /// Transfer times by size, and the line through them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_classes: Option<Vec<SizeClassRow>>,
    /// Rows that `nccl_long` would have beyond those listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub nccl_long_left_out: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Collectives of one name, type, size and process group. Statistics are over the matched ones, and null where there is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CollectiveSummary {
    /// Name as recorded, or the kind's.
    pub name: String,
    /// Element type as recorded.
    pub dtype: String,
    /// Elements each rank put in; null where ranks put in different numbers.
    pub in_elements: Option<u64>,
    /// Bytes that bandwidths count; null where collectives of the row have different numbers.
    pub bytes: Option<u64>,
    /// The process group.
    pub process_group: String,
    /// Ranks that each is between.
    pub group_size: u32,
    /// Collectives, matched or not.
    pub count: u64,
    /// How many of them are matched.
    pub matched: u64,
    /// Mean of the shortest time that any rank spent in one: what it takes once all have come.
    pub transfer_mean_ns: Option<f64>,
    /// Mean of the wait for the last to come, averaged over the ranks of one.
    pub wait_mean_ns: Option<f64>,
    /// Mean of bytes over transfer, times the operation's factor.
    pub busbw_mean_gbps: Option<f64>,
    /// Sum of the transfers, each once.
    pub total_transfer_ns: i64,
    /// Sum of the waits of all ranks.
    pub total_wait_ns: i64,
    /// The operation.
    pub kind: CollectiveKind,
    /// Whether the group stays within a node.
    pub link: Link,
    /// Whom a rank waits for in it.
    pub waits_for: WaitsFor,
    /// Median of the shortest time that any rank spent in one: what it takes once all have come.
    pub transfer_median_ns: Option<f64>,
    /// Least of the shortest time that any rank spent in one: what it takes once all have come.
    pub transfer_min_ns: Option<i64>,
    /// Most of the shortest time that any rank spent in one: what it takes once all have come.
    pub transfer_max_ns: Option<i64>,
    /// Mean of last arrival minus first.
    pub start_skew_mean_ns: Option<f64>,
    /// Median of last arrival minus first.
    pub start_skew_median_ns: Option<f64>,
    /// Least of last arrival minus first.
    pub start_skew_min_ns: Option<i64>,
    /// Most of last arrival minus first.
    pub start_skew_max_ns: Option<i64>,
    /// Mean of last end minus first.
    pub end_skew_mean_ns: Option<f64>,
    /// Median of last end minus first.
    pub end_skew_median_ns: Option<f64>,
    /// Least of last end minus first.
    pub end_skew_min_ns: Option<i64>,
    /// Most of last end minus first.
    pub end_skew_max_ns: Option<i64>,
    /// What the clocks may be off in practice between the first and the last rank, the most of all collectives; null where nothing tells.
    pub clock_error_ns: Option<i64>,
    /// Median of the wait for the last to come, averaged over the ranks of one.
    pub wait_median_ns: Option<f64>,
    /// Least of the wait for the last to come, averaged over the ranks of one.
    pub wait_min_ns: Option<f64>,
    /// Most of the wait for the last to come, averaged over the ranks of one.
    pub wait_max_ns: Option<f64>,
    /// Mean of bytes over transfer.
    pub algbw_mean_gbps: Option<f64>,
    /// Median of bytes over transfer.
    pub algbw_median_gbps: Option<f64>,
    /// Least of bytes over transfer.
    pub algbw_min_gbps: Option<f64>,
    /// Most of bytes over transfer.
    pub algbw_max_gbps: Option<f64>,
    /// Median of bytes over transfer, times the operation's factor.
    pub busbw_median_gbps: Option<f64>,
    /// Least of bytes over transfer, times the operation's factor.
    pub busbw_min_gbps: Option<f64>,
    /// Most of bytes over transfer, times the operation's factor.
    pub busbw_max_gbps: Option<f64>,
}

/// One rank's time in collectives of one name, type, size and process group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RankCollectiveSummary {
    /// The rank.
    pub rank: u32,
    /// Its node, where known.
    pub node: Option<u32>,
    /// Name as recorded, or the kind's.
    pub name: String,
    /// Element type as recorded.
    pub dtype: String,
    /// Elements it put in; null where that is not recorded, or differs from one to the next.
    pub in_elements: Option<u64>,
    /// The process group.
    pub process_group: String,
    /// Collectives, matched or not.
    pub count: u64,
    /// How many of them are matched.
    pub matched: u64,
    /// Time in them: `wait_ns + transfer_ns + unmatched_ns`.
    pub sum_ns: i64,
    /// Wait for the last rank to come, in matched ones.
    pub wait_ns: i64,
    /// The rest of the time in matched ones.
    pub transfer_ns: i64,
    /// Time in those that are not matched.
    pub unmatched_ns: i64,
    /// Time in them that no compute hid; null where an older version wrote the row.
    #[serde(default)]
    pub exposed_ns: Option<i64>,
    /// The operation.
    pub kind: CollectiveKind,
    /// Elements it got out; null where that is not recorded, or differs from one to the next.
    pub out_elements: Option<u64>,
    /// `in_elements` in bytes.
    pub in_bytes: Option<u64>,
    /// `out_elements` in bytes.
    pub out_bytes: Option<u64>,
    /// Its ranks, `0-3,8`; null where they are not recorded.
    pub members: Option<String>,
    /// Ranks that each is between.
    pub group_size: u32,
    /// Whether the group stays within a node.
    pub link: Link,
    /// Mean time in one.
    pub mean_ns: f64,
    /// Standard deviation (of a sample); null of a single one.
    pub std_ns: Option<f64>,
    /// Shortest.
    pub min_ns: i64,
    /// Longest.
    pub max_ns: i64,
    /// Whom a rank waits for in it: where that is `some`, `wait_ns` is what it can have waited at most.
    #[serde(default)]
    pub waits_for: WaitsFor,
}

/// One collective of the job. What needs all ranks is null where it is not matched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CollectiveInstanceRow {
    /// Its number in order of time.
    pub id: u64,
    /// First arrival, from `origin_ns` on.
    pub at_ns: i64,
    /// Name as recorded, or the kind's.
    pub name: String,
    /// Element type as recorded.
    pub dtype: String,
    /// Bytes that bandwidths count.
    pub bytes: Option<u64>,
    /// The process group.
    pub process_group: String,
    /// Whether all ranks that are given have it.
    pub matched: bool,
    /// Ranks that have it, `0-3,8`.
    pub ranks: String,
    /// The rank that came last.
    pub last_rank: Option<u32>,
    /// Last arrival minus first.
    pub start_skew_ns: Option<i64>,
    /// Last arrival minus the one before it.
    pub lead_ns: Option<i64>,
    /// What the clocks of the first and the last rank may be off in practice; null where nothing tells.
    pub clock_error_ns: Option<i64>,
    /// The shortest time that any rank spent in it; of a message, what its receiver spent after the sender had come.
    pub transfer_ns: Option<i64>,
    /// `algbw_gbps` times the operation's factor.
    pub busbw_gbps: Option<f64>,
    /// The step that the first arrival lies in, where steps are marked.
    pub step: Option<i64>,
    /// The operation.
    pub kind: CollectiveKind,
    /// Elements each rank put in; null where ranks put in different numbers.
    pub in_elements: Option<u64>,
    /// Ranks that it is between.
    pub group_size: u32,
    /// Whether it stays within a node.
    pub link: Link,
    /// Whom a rank waits for in it.
    pub waits_for: WaitsFor,
    /// Ranks that should have it and do not; null where none.
    pub absent: Option<String>,
    /// The rank that came first.
    pub first_rank: Option<u32>,
    /// What the clocks of the first and the last rank may be off at most; null where nothing bounds them.
    pub clock_bound_ns: Option<i64>,
    /// Whether another rank may have been the last, within `clock_error_ns`.
    pub last_is_open: Option<bool>,
    /// The wait for the last to come, averaged over ranks.
    pub wait_mean_ns: Option<f64>,
    /// Last end minus first.
    pub end_skew_ns: Option<i64>,
    /// Bytes over transfer.
    pub algbw_gbps: Option<f64>,
}

/// One rank's part in one collective.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RankInstanceRow {
    /// The collective's number in order of time.
    pub id: u64,
    /// The rank.
    pub rank: u32,
    /// Its node, where known.
    pub node: Option<u32>,
    /// Name as recorded, or the kind's.
    pub name: String,
    /// The operation.
    pub kind: CollectiveKind,
    /// Element type as recorded.
    pub dtype: String,
    /// Elements it put in.
    pub in_elements: Option<u64>,
    /// Elements it got out.
    pub out_elements: Option<u64>,
    /// The process group.
    pub process_group: String,
    /// Sequence number within the communicator, where recorded.
    pub sequence: Option<u64>,
    /// The other rank of a message, or the root.
    pub peer: Option<u32>,
    /// Its arrival, from `origin_ns` on.
    pub at_ns: i64,
    /// Ranks that came before it.
    pub arrival: u32,
    /// Whether the collective is matched.
    pub matched: bool,
    /// Its time in the collective, on its own clock; of a matched one `wait_ns + transfer_ns`.
    pub stay_ns: i64,
    /// Wait for the last rank to come; null where not matched.
    pub wait_ns: Option<i64>,
    /// The rest of its time; null where not matched.
    pub transfer_ns: Option<i64>,
    /// Whom a rank waits for in it: where that is `some`, `wait_ns` is what it can have waited at most.
    #[serde(default)]
    pub waits_for: WaitsFor,
}

/// One rank's part in all collectives. It counts as first or last where more than one rank takes part; messages are left out of these.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StragglerRow {
    /// The rank.
    pub rank: u32,
    /// Its node, where known.
    pub node: Option<u32>,
    /// Its host, where recorded.
    pub host: Option<String>,
    /// Times it came last.
    pub last: u64,
    /// Times it came last whatever the clocks are within what they may be off in practice.
    pub last_least: u64,
    /// Times it may have come last.
    pub last_most: u64,
    /// Whether `last_least` and `last_most` differ: clocks inside their error bars would give another number.
    pub flips: bool,
    /// `last / arrivals`.
    pub last_share: Option<f64>,
    /// Wait for the last rank to come, summed over its matched collectives.
    pub total_wait_ns: i64,
    /// `total_wait_ns / collective_ns`.
    pub wait_share: Option<f64>,
    /// Matched collectives of more than one rank, messages left out: those it can come first or last to.
    pub arrivals: u64,
    /// Times it came first.
    pub first: u64,
    /// Collectives and messages of its file.
    pub count: u64,
    /// How many of them are matched.
    pub matched: u64,
    /// Whether they would differ within all that causality leaves open.
    pub flips_at_most: bool,
    /// `total_wait_ns / matched`.
    pub mean_wait_ns: Option<f64>,
    /// What `total_wait_ns` may be off by the clocks in practice; null where nothing tells.
    pub wait_error_ns: Option<i64>,
    /// The rest of its time in matched collectives.
    pub total_transfer_ns: i64,
    /// Its time in collectives that are not matched.
    pub unmatched_ns: i64,
    /// Its time in collectives: `total_wait_ns + total_transfer_ns + unmatched_ns`.
    pub collective_ns: i64,
    /// Of `total_wait_ns`, what was in collectives of which a root decides, or whose operation is not known: a rank may have left before others
    /// came, so that much is what it can have waited at most.
    #[serde(default)]
    pub wait_at_most_ns: i64,
}

/// Uneven all-to-alls of one name, type and process group. Statistics of times are over the matched ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UnevenSummary {
    /// Name as recorded.
    pub name: String,
    /// Element type as recorded.
    pub dtype: String,
    /// The process group.
    pub process_group: String,
    /// Its ranks.
    pub group_size: u32,
    /// Collectives, matched or not.
    pub count: u64,
    /// How many of them are matched.
    pub matched: u64,
    /// Bytes that the ranks put in, all together; null where the type or a number of elements is not known.
    pub bytes: Option<u64>,
    /// Most that a rank put in over the mean, averaged over collectives.
    pub sent_imbalance_mean: Option<f64>,
    /// The most that a rank put in over the mean, in the worst collective.
    pub sent_imbalance_max: Option<f64>,
    /// Mean of the shortest time that any rank spent in one: what it takes once all have come.
    pub transfer_mean_ns: Option<f64>,
    /// Mean of the bytes that a rank puts in on average, over transfer, times (n - 1) / n.
    pub busbw_mean_gbps: Option<f64>,
    /// Whether it stays within a node.
    pub link: Link,
    /// Most that a rank got out over the mean, averaged over collectives.
    pub received_imbalance_mean: Option<f64>,
    /// The most that a rank got out over the mean, in the worst collective.
    pub received_imbalance_max: Option<f64>,
    /// Median of the shortest time that any rank spent in one: what it takes once all have come.
    pub transfer_median_ns: Option<f64>,
    /// Least of the shortest time that any rank spent in one: what it takes once all have come.
    pub transfer_min_ns: Option<i64>,
    /// Most of the shortest time that any rank spent in one: what it takes once all have come.
    pub transfer_max_ns: Option<i64>,
    /// Mean of last arrival minus first.
    pub start_skew_mean_ns: Option<f64>,
    /// Mean of the wait for the last to come, averaged over the ranks of one.
    pub wait_mean_ns: Option<f64>,
    /// Mean of the bytes that a rank puts in on average, over transfer.
    pub algbw_mean_gbps: Option<f64>,
    /// Sum of the transfers, each once.
    pub total_transfer_ns: i64,
}

/// One uneven all-to-all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UnevenRow {
    /// Its number among all collectives.
    pub id: u64,
    /// First arrival, from `origin_ns` on.
    pub at_ns: i64,
    /// Name as recorded.
    pub name: String,
    /// Element type as recorded.
    pub dtype: String,
    /// The process group.
    pub process_group: String,
    /// Its ranks.
    pub group_size: u32,
    /// Whether all ranks that are given have it.
    pub matched: bool,
    /// Ranks whose list of what they send is recorded whole.
    pub splits_recorded: u32,
    /// Bytes that the ranks put in, all together.
    pub bytes: Option<u64>,
    /// Most that a rank put in.
    pub sent_max_bytes: Option<u64>,
    /// The rank that put in the most.
    pub sent_max_rank: Option<u32>,
    /// `sent_max_bytes` over the mean of the ranks.
    pub sent_imbalance: Option<f64>,
    /// Most that a rank got out.
    pub received_max_bytes: Option<u64>,
    /// The rank that got out the most.
    pub received_max_rank: Option<u32>,
    /// `received_max_bytes` over the mean of the ranks.
    pub received_imbalance: Option<f64>,
    /// Last arrival minus first.
    pub start_skew_ns: Option<i64>,
    /// Last end minus first.
    pub end_skew_ns: Option<i64>,
    /// Shortest stay of any rank.
    pub transfer_ns: Option<i64>,
    /// Bytes that a rank puts in on average, over transfer.
    pub algbw_gbps: Option<f64>,
    /// `algbw_gbps` times (n - 1) / n.
    pub busbw_gbps: Option<f64>,
}

/// What one rank sent another in uneven all-to-alls, by the lists of either.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PairRow {
    /// The sender, as global rank.
    pub from_rank: u32,
    /// The receiver.
    pub to_rank: u32,
    /// Whether they are on one node.
    pub link: Link,
    /// Collectives whose lists say what was sent.
    pub count: u64,
    /// Those of them whose type is not known, so that their bytes are missing.
    pub unsized_count: u64,
    /// Bytes in all.
    pub bytes: u64,
    /// `bytes` over the mean of all pairs of different ranks; null where none sent anything.
    pub over_mean: Option<f64>,
}

/// All collectives of one process group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupRow {
    /// The process group.
    pub process_group: String,
    /// What it is for: `tp`, `dp+cp`, …; null where neither its description nor its name says.
    pub parallelism: Option<String>,
    /// Its ranks, `0-3,8`; of a group that does not list them, those that were seen in it.
    pub members: String,
    /// How many.
    pub group_size: u32,
    /// Whether it stays within a node.
    pub link: Link,
    /// Collectives, matched or not.
    pub count: u64,
    /// How many of them are matched.
    pub matched: u64,
    /// Time of all ranks in them: `wait_ns + transfer_ns + unmatched_ns`.
    pub collective_ns: i64,
    /// Wait for the last rank to come, in matched ones.
    pub wait_ns: i64,
    /// The rest of the time in matched ones.
    pub transfer_ns: i64,
    /// Time in those that are not matched.
    pub unmatched_ns: i64,
    /// `wait_ns / collective_ns`.
    pub wait_share: Option<f64>,
    /// Nodes they are on; null where that of any is not known.
    pub nodes: Option<u64>,
    /// Bytes that bandwidths count, of all whose number is known.
    pub bytes: u64,
    /// Of `wait_ns`, what was in collectives of which a root decides, or whose operation is not known: a rank may have left before others
    /// came, so that much is what ranks can have waited at most.
    #[serde(default)]
    pub wait_at_most_ns: i64,
}

/// All collectives of the process groups that are for the same and reach as far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ParallelismRow {
    /// What they are for; null where nothing says.
    pub parallelism: Option<String>,
    /// Whether they stay within a node.
    pub link: Link,
    /// How many groups.
    pub groups: u64,
    /// Collectives, matched or not.
    pub count: u64,
    /// How many of them are matched.
    pub matched: u64,
    /// Bytes that bandwidths count, of all whose number is known.
    pub bytes: u64,
    /// Time of all ranks in them: `wait_ns + transfer_ns + unmatched_ns`.
    pub collective_ns: i64,
    /// Wait for the last rank to come, in matched ones.
    pub wait_ns: i64,
    /// The rest of the time in matched ones.
    pub transfer_ns: i64,
    /// Time in those that are not matched.
    pub unmatched_ns: i64,
    /// `wait_ns / collective_ns`.
    pub wait_share: Option<f64>,
    /// Of `wait_ns`, what was in collectives of which a root decides, or whose operation is not known: a rank may have left before others
    /// came, so that much is what ranks can have waited at most.
    #[serde(default)]
    pub wait_at_most_ns: i64,
}

/// Matched collectives of one process group, kind and size, beside the line through all sizes: `latency_ns + bytes / bandwidth`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SizeClassRow {
    /// The process group.
    pub process_group: String,
    /// The operation.
    pub kind: CollectiveKind,
    /// Ranks that each is between.
    pub group_size: u32,
    /// Bytes that bandwidths count: the median of the class.
    pub bytes: u64,
    /// Collectives in the class.
    pub count: u64,
    /// Median of their transfers.
    pub transfer_median_ns: f64,
    /// What the line says of the size; null where there is no line.
    pub line_ns: Option<f64>,
    /// `transfer_median_ns / line_ns - 1`.
    pub over_line: Option<f64>,
    /// Where the line begins: what it says of no bytes.
    pub latency_ns: Option<f64>,
    /// What the line adds for each byte, as a bandwidth.
    pub bandwidth_gbps: Option<f64>,
    /// How the line was made, or why there is none.
    pub fit: LineFit,
    /// Least bytes in the class.
    pub min_bytes: u64,
    /// Most bytes in the class.
    pub max_bytes: u64,
    /// Size classes of the group and kind.
    pub sizes: u64,
}
