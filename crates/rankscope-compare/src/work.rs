//! What one rank did, by the iteration: the leaves that its time is split into, and what structure compares.
//!
//! Sums of tables are over the whole trace and divided by the number of iterations. Both sides of a rank are split alike: by arguments only
//! where both recorded them, and by operator alone where an operator also copies or communicates, as its arguments do not tell what of its
//! time that is.

use std::collections::{BTreeMap, BTreeSet};

use rankscope_document::{Document, KernelClass, OperatorArguments, Rank, RankCollectiveSummary, Tables};

use crate::common::{Common, Source};
use crate::iterations::share;
use crate::longest::{self, Longest};
use crate::names::{self, arguments, normal};

/// Something whose time is known, by which both sides are matched.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Leaf {
    /// An operator, and what it was called with where the two sides tell.
    Operator { name: String, arguments: Option<String> },
    /// A kernel that no operator is known of.
    Kernel(String),
    /// A copy or fill, by direction and name.
    Copy { direction: String, name: String },
    /// Waiting for the last rank of a collective.
    Wait(Collective),
    /// The rest of the time in it.
    Transfer(Collective),
    /// Time in collectives that are not matched, so that nobody knows which of both it is.
    Unmatched(Collective),
    /// What compute hides of the time in it, which is less than nothing.
    Hidden(Collective),
    /// Idle time by cause.
    Idle(&'static str),
    /// The time of a class that no table splits.
    Unsplit(Class),
}

/// What a collective moves, and among whom.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Collective {
    pub(crate) kind: String,
    pub(crate) dtype: String,
    pub(crate) elements: Option<u64>,
    pub(crate) group: String,
}

impl Collective {
    pub(crate) fn name(&self) -> String {
        names::collective(&self.kind, &self.dtype, self.elements)
    }

    fn of(row: &RankCollectiveSummary) -> Self {
        Self {
            kind: row.kind.to_string(),
            dtype: row.dtype.clone(),
            elements: row.in_elements,
            group: row.process_group.clone(),
        }
    }
}

/// The classes that make up a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Class {
    Computation,
    ExposedComm,
    ExposedMemcpy,
    Idle,
}

impl Class {
    pub(crate) const ALL: [Self; 4] = [Self::Computation, Self::ExposedComm, Self::ExposedMemcpy, Self::Idle];

    /// Its key in the account of time.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Computation => "computation",
            Self::ExposedComm => "exposed_comm",
            Self::ExposedMemcpy => "exposed_memcpy",
            Self::Idle => "idle",
        }
    }

    pub(crate) fn of(self, time: &rankscope_document::Time) -> i64 {
        match self {
            Self::Computation => time.computation,
            Self::ExposedComm => time.exposed_comm,
            Self::ExposedMemcpy => time.exposed_memcpy,
            Self::Idle => time.idle,
        }
    }
}

/// Time and number, over a whole trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) ns: i64,
    pub(crate) count: u64,
}

impl Sum {
    pub(crate) fn add(&mut self, ns: i64, count: u64) {
        self.ns = self.ns.saturating_add(ns);
        self.count = self.count.saturating_add(count);
    }
}

/// How both sides of a rank are split.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Splitting {
    by_arguments: bool,
    /// Operators whose time is split by name alone.
    mixed: BTreeSet<String>,
    /// Collectives that a run has without their counterparts on other ranks, so that nobody knows what of them is waiting.
    unmatched: BTreeSet<Collective>,
    /// Kernels that all runs list among their longest, or that would be there if they took as long.
    longest: BTreeSet<String>,
}

/// One rank of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RankWork<'a> {
    pub(crate) document: &'a Document,
    pub(crate) rank: &'a Rank,
    /// The tables that all runs have which it is compared with.
    pub(crate) common: Common,
    pub(crate) iterations: u64,
}

impl Splitting {
    pub(crate) fn of<'a>(ranks: impl IntoIterator<Item = RankWork<'a>>) -> Self {
        let mut splitting = Self { by_arguments: true, ..Self::default() };
        let mut listed: Vec<Longest> = Vec::new();
        for work in ranks {
            listed.push(Longest::of(work));
            splitting.by_arguments &= work.records_arguments();
            let tells = work.kernels().filter(|kernel| kernel.class != Class::Computation);
            splitting.mixed.extend(tells.filter_map(|kernel| kernel.operator.map(str::to_owned)));
            let unmatched = work.collectives().filter(|(_, row)| row.matched == 0 && row.count > 0);
            splitting.unmatched.extend(unmatched.map(|(collective, _)| collective));
        }
        splitting.longest = longest::told(&listed);
        splitting
    }

    fn arguments(&self, dims: Option<&str>, types: Option<&str>) -> Option<String> {
        dims.filter(|_| self.by_arguments).map(|dims| arguments(dims, types))
    }
}

/// All runs of one kernel for one operator.
pub(crate) struct KernelWork<'a> {
    /// None where no operator is known.
    pub(crate) operator: Option<&'a str>,
    pub(crate) name: &'a str,
    pub(crate) class: Class,
    pub(crate) sum: Sum,
}

impl<'a> RankWork<'a> {
    /// Its tables, if all runs have `source`.
    pub(crate) fn tables(self, source: Source) -> Option<&'a Tables> {
        self.rank.tables.as_ref().filter(|_| self.common.has(source))
    }

    pub(crate) fn records_arguments(self) -> bool {
        let rows = self.tables(Source::Arguments).and_then(|tables| tables.ops_unique_args.as_ref());
        rows.is_some_and(|rows| rows.iter().any(|row| row.input_dims.is_some()))
    }

    /// Kernels, copies and fills with their operators.
    pub(crate) fn kernels(self) -> impl Iterator<Item = KernelWork<'a>> {
        let names = |names: Option<Vec<&'a str>>| names.map(BTreeSet::from_iter);
        let comm: Option<BTreeSet<&str>> = names(
            self.tables(Source::Overlap)
                .and_then(|t| t.overlap.as_ref())
                .map(|o| o.kernels.iter().map(|row| row.name.as_str()).collect()),
        );
        let copies: Option<BTreeSet<&str>> = names(
            self.tables(Source::Copies)
                .and_then(|t| t.copies.as_ref())
                .map(|rows| rows.iter().map(|row| row.name.as_str()).collect()),
        );
        let calls: BTreeSet<&str> = self
            .tables(Source::Launches)
            .and_then(|t| t.launches.as_ref())
            .into_iter()
            .flatten()
            .map(|row| row.name.as_str())
            .collect();
        let class = move |name: &str| match (&comm, &copies) {
            (Some(comm), _) if comm.contains(name) => Class::ExposedComm,
            (_, Some(copies)) if copies.contains(name) => Class::ExposedMemcpy,
            (None, _) if is_collective(name) => Class::ExposedComm,
            (_, None) if name.starts_with("Memcpy") || name.starts_with("Memset") => Class::ExposedMemcpy,
            _ => Class::Computation,
        };
        let rows = self.tables(Source::Kernels).and_then(|tables| tables.kernel_summary.as_ref());
        rows.into_iter().flatten().map(move |row| KernelWork {
            operator: row.parent_op.as_deref().filter(|name| !calls.contains(name)),
            class: class(&row.name),
            name: &row.name,
            sum: Sum { ns: row.sum_ns, count: row.count },
        })
    }

    /// The kernels of computation that every report lists, without tables: those that took longest.
    pub(crate) fn longest_kernels(self) -> impl Iterator<Item = (String, Sum)> {
        let rows = self.rank.kernels.iter().filter(|row| row.class == KernelClass::Compute);
        rows.map(|row| (normal(&row.name), Sum { ns: row.total_ns, count: row.count }))
    }

    /// Operators with their arguments, whatever their time is of.
    pub(crate) fn operators(self, splitting: &Splitting) -> BTreeMap<Leaf, Sum> {
        let mut sums: BTreeMap<Leaf, Sum> = BTreeMap::new();
        for (row, arguments) in self.argument_rows(splitting) {
            sums.entry(Leaf::Operator { name: row.name.clone(), arguments }).or_default().add(row.direct_kernel_ns, row.count);
        }
        sums
    }

    /// Operators whose kernels are known, by all that they are called with, and that in short.
    pub(crate) fn argument_rows(self, splitting: &Splitting) -> impl Iterator<Item = (&'a OperatorArguments, Option<String>)> {
        let known: BTreeSet<&str> = self.kernels().filter_map(|kernel| kernel.operator).collect();
        let rows = self.tables(Source::Arguments).and_then(|tables| tables.ops_unique_args.as_ref()).into_iter().flatten();
        rows.filter(move |row| known.contains(row.name.as_str()))
            .map(|row| (row, splitting.arguments(row.input_dims.as_deref(), row.input_types.as_deref())))
    }

    /// Collectives of the rank with their rows.
    pub(crate) fn collectives(self) -> impl Iterator<Item = (Collective, &'a RankCollectiveSummary)> {
        let tables = self.document.collective_tables.as_ref().filter(|_| self.common.has_collectives());
        let rows = tables.and_then(|tables| tables.nccl_summary_long.as_ref());
        let rank = self.rank.rank;
        rows.into_iter().flatten().filter(move |row| row.rank == rank).map(|row| (Collective::of(row), row))
    }

    /// How long it waited for others in each iteration.
    pub(crate) fn wait_ns(self) -> i64 {
        share(self.collectives().map(|(_, row)| row.wait_ns).sum(), self.iterations)
    }

    /// The leaves of `class`, over the whole trace.
    pub(crate) fn leaves(self, class: Class, splitting: &Splitting) -> BTreeMap<Leaf, Sum> {
        let leaves = match class {
            Class::Computation => self.computation(splitting),
            Class::ExposedComm => self.communication(splitting),
            Class::ExposedMemcpy => self.copies(),
            Class::Idle => self.idle(),
        };
        let is_split = leaves.values().any(|sum| sum.ns != 0);
        let whole = class.of(&self.rank.time_ns);
        if is_split || whole == 0 { leaves } else { BTreeMap::from([(Leaf::Unsplit(class), Sum { ns: whole, count: 0 })]) }
    }

    fn computation(self, splitting: &Splitting) -> BTreeMap<Leaf, Sum> {
        let mut sums: BTreeMap<Leaf, Sum> = BTreeMap::new();
        let by_arguments = self.operators(splitting);
        let split: BTreeSet<&str> = by_arguments.keys().filter_map(Leaf::operator).collect();
        let is_split = |name: &str| split.contains(name) && !splitting.mixed.contains(name);
        for kernel in self.kernels().filter(|kernel| kernel.class == Class::Computation) {
            let leaf = match kernel.operator {
                Some(name) if is_split(name) => continue,
                Some(name) => Leaf::Operator { name: name.to_owned(), arguments: None },
                None => Leaf::Kernel(normal(kernel.name)),
            };
            sums.entry(leaf).or_default().add(kernel.sum.ns, kernel.sum.count);
        }
        let of_operators = by_arguments.iter().filter(|(leaf, _)| leaf.operator().is_some_and(is_split));
        sums.extend(of_operators.map(|(leaf, sum)| (leaf.clone(), *sum)));
        if sums.is_empty() {
            for (name, sum) in self.longest_kernels().filter(|(name, _)| splitting.longest.contains(name)) {
                sums.entry(Leaf::Kernel(name)).or_default().add(sum.ns, sum.count);
            }
        }
        sums
    }

    fn communication(self, splitting: &Splitting) -> BTreeMap<Leaf, Sum> {
        let mut sums: BTreeMap<Leaf, Sum> = BTreeMap::new();
        for (collective, row) in self.collectives() {
            let is_split = !splitting.unmatched.contains(&collective);
            let matched = if is_split { row.matched } else { 0 };
            let unmatched_ns = if is_split { row.unmatched_ns } else { row.sum_ns };
            let mut put = |leaf, ns, count| sums.entry(leaf).or_default().add(ns, count);
            if matched > 0 {
                put(Leaf::Wait(collective.clone()), row.wait_ns, matched);
                put(Leaf::Transfer(collective.clone()), row.transfer_ns, matched);
            }
            if row.count > matched {
                put(Leaf::Unmatched(collective.clone()), unmatched_ns, row.count - matched);
            }
            if let Some(exposed_ns) = row.exposed_ns {
                put(Leaf::Hidden(collective), exposed_ns - row.sum_ns, 0);
            }
        }
        if sums.is_empty() {
            for kernel in self.kernels().filter(|kernel| kernel.class == Class::ExposedComm) {
                sums.entry(Leaf::Kernel(normal(kernel.name))).or_default().add(kernel.sum.ns, kernel.sum.count);
            }
        }
        sums
    }

    fn copies(self) -> BTreeMap<Leaf, Sum> {
        let mut sums: BTreeMap<Leaf, Sum> = BTreeMap::new();
        for row in self.tables(Source::Copies).and_then(|tables| tables.copies.as_ref()).into_iter().flatten() {
            let leaf = Leaf::Copy { direction: row.direction.clone(), name: row.name.clone() };
            sums.entry(leaf).or_default().add(row.sum_ns, row.count);
        }
        sums
    }

    fn idle(self) -> BTreeMap<Leaf, Sum> {
        let Some(idle) = self.tables(Source::Idle).and_then(|tables| tables.idle.as_ref()) else { return BTreeMap::new() };
        let causes = [("host_wait", idle.host_wait_ns), ("kernel_wait", idle.kernel_wait_ns), ("other", idle.other_ns)];
        causes.into_iter().map(|(cause, ns)| (Leaf::Idle(cause), Sum { ns, count: 0 })).collect()
    }
}

impl Leaf {
    /// Its operator, if it is of one.
    pub(crate) fn operator(&self) -> Option<&str> {
        match self {
            Self::Operator { name, .. } => Some(name),
            _ => None,
        }
    }

    /// The collective that it is of.
    pub(crate) fn collective(&self) -> Option<&Collective> {
        match self {
            Self::Wait(of) | Self::Transfer(of) | Self::Unmatched(of) | Self::Hidden(of) => Some(of),
            _ => None,
        }
    }
}

fn is_collective(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.contains("nccl") || name.contains("rccl")
}
