//! Which rank a process is, as whoever launched it says in the environment.

/// Who says which rank a process is, and of how many, in the order they are asked: torchrun, Open MPI, PMIx, PMI, Slurm, and
/// the jobs of Kubernetes.
const RANKS: [(&str, Option<&str>); 6] = [
    ("RANK", Some("WORLD_SIZE")),
    ("OMPI_COMM_WORLD_RANK", Some("OMPI_COMM_WORLD_SIZE")),
    ("PMIX_RANK", Some("PMIX_SIZE")),
    ("PMI_RANK", Some("PMI_SIZE")),
    ("SLURM_PROCID", Some("SLURM_NTASKS")),
    ("JOB_COMPLETION_INDEX", None),
];

/// A process's place in its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) rank: u32,
    /// How many ranks there are, where the launcher says so too.
    pub(crate) world_size: Option<u32>,
}

/// This process's place; none where no launcher gave it one.
pub(crate) fn own() -> Option<Place> {
    place(|name| std::env::var(name).ok())
}

/// The rank that whoever launched this process gave it in the environment; none where no launcher did.
pub fn own_rank() -> Option<u32> {
    own().map(|place| place.rank)
}

/// How many ranks the job has, where whoever launched this process says so in the environment.
pub fn own_world_size() -> Option<u32> {
    own()?.world_size
}

/// The variables that are asked for, for a message.
pub(crate) fn variables() -> String {
    RANKS.map(|(rank, _)| rank).join(", ")
}

/// The place that `variable` tells. What is no number says nothing.
fn place(variable: impl Fn(&str) -> Option<String>) -> Option<Place> {
    let number = |name: &str| variable(name)?.trim().parse::<u32>().ok();
    RANKS.iter().find_map(|(rank, size)| Some(Place { rank: number(rank)?, world_size: size.and_then(number) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Variables = &'static [(&'static str, &'static str)];

    #[test]
    fn launchers_are_asked_in_order() {
        let found = |rank, world_size| Some(Place { rank, world_size });
        let table: [(Variables, _); 6] = [
            (&[], None),
            (&[("RANK", "3"), ("WORLD_SIZE", "8"), ("SLURM_PROCID", "5")], found(3, Some(8))),
            (&[("SLURM_PROCID", "5"), ("SLURM_NTASKS", "6"), ("WORLD_SIZE", "9")], found(5, Some(6))),
            (&[("RANK", ""), ("PMI_RANK", "1")], found(1, None)),
            (&[("JOB_COMPLETION_INDEX", "2")], found(2, None)),
            (&[("RANK", "-1")], None),
        ];
        for (variables, expected) in table {
            let look_up = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
            assert_eq!(place(look_up), expected, "{variables:?}");
        }
    }
}
