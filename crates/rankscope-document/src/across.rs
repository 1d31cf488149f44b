//! Tables of all ranks side by side, as `report --tables` writes them.

use serde::{Deserialize, Serialize};

/// What the tables of each rank say of the same thing, side by side. Those that were not asked for are absent, and so are all where fewer
/// than two ranks have tables.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AcrossRanks {
    /// Operators by name and category: `direct_kernel_ns` of `ops_summary`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops_across_ranks: Option<Vec<AcrossRow>>,
    /// Kernels by name: `sum_ns` of `kernel_summary`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernels_across_ranks: Option<Vec<AcrossRow>>,
    /// Annotations by side and name: `sum_ns` of `annotations`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations_across_ranks: Option<Vec<AcrossRow>>,
    /// Idle time of the devices by its cause, as `idle` has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_across_ranks: Option<Vec<AcrossRow>>,
    /// Communication, in all and by kernel, and how much of it compute hides: `overlap`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap_across_ranks: Option<Vec<OverlapAcross>>,
}

/// One thing on all ranks. A rank whose table does not have it counts with 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AcrossRow {
    /// The operator, kernel, annotation or cause.
    pub name: String,
    /// The operator's category, or the side of the annotation. Absent of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// The median of the ranks' times, the lower of two in the middle.
    pub median_ns: i64,
    /// The least.
    pub min_ns: i64,
    /// The most.
    pub max_ns: i64,
    /// The rank with the most, the lowest of several.
    pub max_rank: u32,
    /// `(max_ns - min_ns) / median_ns`. Absent where the median is 0.
    pub spread: Option<f64>,
    /// The rank with the least, the lowest of several.
    pub min_rank: u32,
    /// The time that it took on all of them, summed.
    pub sum_ns: i64,
    /// How many ranks have it.
    pub ranks: u32,
    /// How often it ran on all of them. Absent of causes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

/// Communication on all ranks that have any, and the share of it that compute hides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OverlapAcross {
    /// The kernel; `all` of all communication.
    pub name: String,
    /// The median of the ranks' shares, the lower of two in the middle.
    pub median_share: Option<f64>,
    /// The least.
    pub min_share: Option<f64>,
    /// The rank with the least, the lowest of several.
    pub min_rank: Option<u32>,
    /// The most.
    pub max_share: Option<f64>,
    /// The rank with the most, the lowest of several.
    pub max_rank: Option<u32>,
    /// `hidden_ns / comm_ns`, 0 to 1.
    pub share: Option<f64>,
    /// How long it ran on all of them, summed: as in `overlap`.
    pub comm_ns: i64,
    /// How much of that time something computed.
    pub hidden_ns: i64,
    /// How many ranks have it.
    pub ranks: u32,
}
