//! Which ranks work together: nodes, and the process groups of each parallel dimension.
//!
//! Ranks are numbered as Megatron numbers them: tensor fastest, then data, then pipeline.

use crate::header::ProcessGroup;

/// How a job's ranks are arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Ranks in all.
    pub ranks: u32,
    /// Ranks that share each layer.
    pub tensor: u32,
    /// Stages of the pipeline.
    pub pipeline: u32,
    /// Whether the ranks of a data-parallel group have experts and exchange tokens.
    pub experts: bool,
    /// Ranks of one node, which share a clock.
    pub gpus_per_node: u32,
}

/// What a process group is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dimension {
    /// Its ranks have the same weights and sum up their gradients.
    Data,
    /// Its ranks share each layer and sum up activations.
    Tensor,
    /// Its ranks are the stages of a pipeline.
    Pipeline,
    /// Its ranks have experts and exchange tokens.
    Expert,
}

impl Dimension {
    pub(super) const ALL: [Self; 4] = [Self::Data, Self::Tensor, Self::Pipeline, Self::Expert];

    /// `Process Group Description` in a trace.
    pub fn description(self) -> &'static str {
        match self {
            Self::Data => "mesh_dp",
            Self::Tensor => "mesh_tp",
            Self::Pipeline => "mesh_pp",
            Self::Expert => "mesh_ep",
        }
    }
}

impl Layout {
    /// Ranks that are data-parallel to each other.
    pub fn data(&self) -> u32 {
        self.ranks / (self.tensor * self.pipeline).max(1)
    }

    /// The stage of `rank`.
    pub fn stage(&self, rank: u32) -> u32 {
        rank / (self.tensor * self.data()).max(1)
    }

    /// The rank that does the same as `rank` in another stage.
    pub fn in_stage(&self, rank: u32, stage: u32) -> u32 {
        let each = self.tensor * self.data();
        stage * each + rank % each
    }

    /// The node of `rank`.
    pub fn node(&self, rank: u32) -> u32 {
        rank / self.gpus_per_node.max(1)
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> u32 {
        self.ranks.div_ceil(self.gpus_per_node.max(1))
    }

    /// The group of `rank` along `dimension`, ascending; itself alone where there is none.
    pub fn group(&self, rank: u32, dimension: Dimension) -> Vec<u32> {
        let (tensor, data) = (self.tensor, self.data());
        match dimension {
            Dimension::Tensor => (rank - rank % tensor..).take(tensor as usize).collect(),
            Dimension::Expert if !self.experts => vec![rank],
            Dimension::Data | Dimension::Expert => {
                let first = self.stage(rank) * tensor * data + rank % tensor;
                (0..data).map(|at| first + at * tensor).collect()
            }
            Dimension::Pipeline => (0..self.pipeline).map(|stage| self.in_stage(rank, stage)).collect(),
        }
    }

    /// The name of the group of `rank` along `dimension`: groups are numbered through, from 1 on, in the order of dimensions.
    pub(super) fn group_name(&self, rank: u32, dimension: Dimension) -> String {
        let first = self.group(rank, dimension).first().copied().unwrap_or(rank);
        (1 + dimension as u32 * self.ranks + first).to_string()
    }

    /// The process groups that `rank` belongs to, the whole job first.
    pub(super) fn groups(&self, rank: u32) -> Vec<ProcessGroup> {
        let world = ProcessGroup { name: "0".to_owned(), description: "default_pg", ranks: (0..self.ranks).collect() };
        let of = |dimension| {
            let ranks = self.group(rank, dimension);
            let (name, description) = (self.group_name(rank, dimension), dimension.description());
            (ranks.len() > 1).then_some(ProcessGroup { name, description, ranks })
        };
        [Some(world)].into_iter().chain(Dimension::ALL.map(of)).flatten().collect()
    }
}
