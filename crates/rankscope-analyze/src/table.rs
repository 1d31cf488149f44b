//! The table of collectives: one row for each name, type, size and process group.

use std::collections::BTreeMap;
use std::sync::Arc;

use rankscope_collectives::{CollectiveStay, Group, Instance, Kind, Matched, Operation, RankCollectives};
use rustc_hash::FxHashMap;

use crate::ExposedTimes;
use crate::arrivals::{Arrival, Map, RankArrivals, Waiting, by_rank};
use crate::lineup::{Lineup, Stays};

/// Collectives of one name, type, size and process group. Means are over the matched ones, and absent where there is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CollectiveRow {
    /// Name as recorded.
    pub name: String,
    /// The operation.
    pub kind: &'static str,
    /// Whom a rank waits for in it.
    pub waiting: Waiting,
    /// Element type as recorded.
    pub dtype: String,
    /// Elements each rank put in.
    pub in_elements: Option<u64>,
    /// Bytes the bandwidth counts.
    pub bytes: Option<u64>,
    /// Ranks of the process group.
    pub ranks: u32,
    /// The process group.
    pub group: String,
    /// Collectives, matched or not.
    pub count: u64,
    /// Collectives matched.
    pub matched: u64,
    /// Shortest stay of any rank.
    pub transfer_ns_mean: Option<f64>,
    /// Wait for the last, averaged over ranks.
    pub wait_ns_mean: Option<f64>,
    /// Last arrival minus first.
    pub start_skew_ns_mean: Option<f64>,
    /// Last end minus first, the largest.
    pub end_skew_ns_max: Option<i64>,
    /// Bytes over transfer time, in 1e9 bytes a second.
    pub algbw_gbps_mean: Option<f64>,
    /// The same, times the traffic the operation causes per rank.
    pub busbw_gbps_mean: Option<f64>,
    /// Stay of a rank, averaged over all ranks and collectives, matched or not.
    pub stay_ns_mean: f64,
    /// Exposed time, summed over ranks.
    pub exposed_ns: i64,
}

impl CollectiveRow {
    /// Whether these are messages between two ranks rather than collectives of a group.
    pub fn is_message(&self) -> bool {
        [Kind::Send, Kind::Recv, Kind::SendRecv].iter().any(|kind| kind.name() == self.kind)
    }
}

/// A collective that is not matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lacking {
    /// Name as recorded.
    pub name: String,
    /// The process group.
    pub group: String,
    /// Indices of the ranks that have it.
    pub present: Vec<usize>,
    /// Indices of the ranks given that lack it.
    pub absent: Vec<usize>,
    /// Start on the first rank that has it, on the job's clock.
    pub start_ns: i64,
}

/// Everything about the collectives of a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CollectiveTable {
    /// One row a sort, most exposed first.
    pub rows: Vec<CollectiveRow>,
    /// The matched ones, in order of time.
    pub arrivals: Vec<Arrival>,
    /// The others, in order of time.
    pub lacking: Vec<Lacking>,
    /// By rank.
    pub by_rank: Vec<RankArrivals>,
    /// How many of each name every rank has.
    pub counts: Vec<BTreeMap<String, u64>>,
}

/// What a row is made of, as it is gathered.
#[derive(Default)]
struct Sums {
    row: CollectiveRow,
    transfer_ns: i64,
    /// In parts of a nanosecond, as [`PARTS`] has them: sums of integers are the same in any order.
    wait_parts: i128,
    start_skew_ns: i64,
    /// In parts of a byte a nanosecond, and of how many collectives.
    algbw_parts: i128,
    algbw_count: u64,
    stay_ns: i64,
    stays: u64,
    factor: f64,
}

/// Numbers for what makes a row: name, operation, type, size and process group, in order of their first appearance.
#[derive(Default)]
pub(crate) struct Rows {
    /// The same by operations as they are shared, and by process group: their text is looked at once.
    shared: FxHashMap<(*const Operation, usize), usize>,
    known: BTreeMap<(String, Kind, String, Option<u64>, usize), usize>,
}

impl Rows {
    /// The number of the row that `instance` belongs to.
    pub(crate) fn number(&mut self, instance: &Instance, ranks: &[RankCollectives]) -> usize {
        let first = described(instance, ranks);
        let shared = (Arc::as_ptr(first.operation), instance.group);
        if let Some(known) = self.shared.get(&shared) {
            return *known;
        }
        let key = (first.name.clone(), first.kind, first.dtype.clone(), first.in_elements, instance.group);
        let next = self.known.len();
        let number = *self.known.entry(key).or_insert(next);
        self.shared.insert(shared, number);
        number
    }
}

/// Builds the table. `exposed_ns` gives, by rank, the exposed time of each of its collectives.
pub(crate) fn table(
    ranks: &[RankCollectives],
    matched: &Matched,
    maps: &[&Map],
    exposed_ns: &[&ExposedTimes],
) -> CollectiveTable {
    let mut rows = Rows::default();
    let mut sums: Vec<Sums> = Vec::new();
    let mut table = CollectiveTable::default();
    // Room for as many as there are: a list that grew would be there twice for a while.
    table.arrivals.reserve_exact(matched.instances.iter().filter(|instance| instance.complete).count());
    let mut numbers = 0..;
    Lineup::with_exposed(ranks, maps, exposed_ns).each_with_stays(&matched.instances, |instance, stays, mut arrival| {
        let number = numbers.next().unwrap_or(u32::MAX);
        let first = described(instance, ranks);
        let group = &matched.groups[instance.group];
        let at = rows.number(instance, ranks);
        if at == sums.len() {
            sums.push(Sums::of(first, group, instance));
        }
        sums[at].add(instance, stays);
        if instance.complete {
            (arrival.row, arrival.instance) = (at, number);
            sums[at].add_arrival(&arrival);
            table.arrivals.push(arrival);
        } else {
            table.lacking.push(lacking(instance, &arrival, first, group));
        }
    });
    table.arrivals.sort_by_key(|arrival| arrival.start_ns);
    table.lacking.sort_by_key(|lacking| lacking.start_ns);
    table.by_rank = by_rank(&table.arrivals, ranks.len());
    table.counts = ranks.iter().map(counts).collect();
    let rows: Vec<CollectiveRow> = sums.into_iter().map(Sums::finish).collect();
    table.sort_rows(rows);
    table
}

impl CollectiveTable {
    /// Puts the most exposed rows first and lets the arrivals follow.
    fn sort_rows(&mut self, rows: Vec<CollectiveRow>) {
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|at| (std::cmp::Reverse(rows[*at].exposed_ns), std::cmp::Reverse(rows[*at].count), *at));
        let mut place = vec![0; rows.len()];
        for (to, from) in order.iter().enumerate() {
            place[*from] = to;
        }
        for arrival in &mut self.arrivals {
            arrival.row = place[arrival.row];
        }
        self.rows = order.iter().map(|at| rows[*at].clone()).collect();
    }
}

/// The member that says most about the collective: one that names its kind, else the first.
pub fn described<'a>(instance: &Instance, ranks: &'a [RankCollectives]) -> CollectiveStay<'a> {
    let mut members = instance.members.iter().map(|member| ranks[member.rank()].collectives.stay(member.collective()));
    let first = members.clone().next().expect("an instance has a member");
    members.find(|collective| collective.kind != Kind::Unknown).unwrap_or(first)
}

/// A process group as tables name it: its name, and what it is for.
pub fn group_name(group: &Group) -> String {
    match (group.name.is_empty(), group.description.is_empty() || group.description == "undefined") {
        (true, _) => "unnamed".to_owned(),
        (false, true) => group.name.clone(),
        (false, false) => format!("{} ({})", group.name, group.description),
    }
}

fn lacking(instance: &Instance, arrival: &Arrival, first: CollectiveStay<'_>, group: &Group) -> Lacking {
    Lacking {
        name: first.name.clone(),
        group: group_name(group),
        present: instance.members.ranks().collect(),
        absent: instance.absent.to_vec(),
        start_ns: arrival.start_ns,
    }
}

fn counts(rank: &RankCollectives) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for (operation, count) in rank.collectives.operations() {
        *counts.entry(operation.name.clone()).or_default() += count as u64;
    }
    counts
}

/// How many ranks `instance` is between, which says as much of itself as `first`: two ends of a message, else as many as its group has,
/// else as many as were seen.
pub fn ranks_of(instance: &Instance, first: CollectiveStay<'_>, group: &Group) -> u32 {
    let known = u32::try_from(group.ranks.len()).unwrap_or(u32::MAX);
    let seen = u32::try_from(instance.members.len() + instance.absent.len()).unwrap_or(u32::MAX);
    match known {
        _ if first.kind.is_point_to_point() && first.peer.is_some() => 2,
        0 => seen,
        known => known,
    }
}

impl Sums {
    fn of(first: CollectiveStay<'_>, group: &Group, instance: &Instance) -> Self {
        let ranks = ranks_of(instance, first, group);
        let row = CollectiveRow {
            name: first.name.clone(),
            kind: first.kind.name(),
            waiting: Waiting::of(first.kind),
            dtype: first.dtype.clone(),
            in_elements: first.in_elements,
            bytes: first.bytes(ranks),
            ranks,
            group: group_name(group),
            ..Default::default()
        };
        Self { row, factor: first.kind.bus_factor(ranks), ..Default::default() }
    }

    fn add(&mut self, instance: &Instance, stays: Stays) {
        self.row.count += 1;
        self.stay_ns = self.stay_ns.saturating_add(stays.stay_ns);
        self.stays += instance.members.len() as u64;
        self.row.exposed_ns += stays.exposed_ns;
    }

    fn add_arrival(&mut self, arrival: &Arrival) {
        self.row.matched += 1;
        self.transfer_ns = self.transfer_ns.saturating_add(arrival.transfer_ns);
        let waited: i64 = arrival.order.iter().fold(0, |sum, (_, wait_ns)| sum.saturating_add(wait_ns));
        self.wait_parts += parts(waited.into(), arrival.order.len() as i128);
        self.start_skew_ns = self.start_skew_ns.saturating_add(arrival.order.wait_ns(0));
        self.row.end_skew_ns_max = self.row.end_skew_ns_max.max(Some(arrival.end_skew_ns));
        if let Some(bytes) = self.row.bytes.filter(|_| arrival.transfer_ns > 0) {
            // Bytes a nanosecond are 1e9 bytes a second.
            self.algbw_parts += parts(bytes.into(), arrival.transfer_ns.into());
            self.algbw_count += 1;
        }
    }

    fn finish(mut self) -> CollectiveRow {
        let matched = self.row.matched as f64;
        if self.row.matched > 0 {
            self.row.transfer_ns_mean = Some(self.transfer_ns as f64 / matched);
            self.row.wait_ns_mean = Some(mean_of_parts(self.wait_parts, self.row.matched));
            self.row.start_skew_ns_mean = Some(self.start_skew_ns as f64 / matched);
        }
        if self.algbw_count > 0 {
            let mean = mean_of_parts(self.algbw_parts, self.algbw_count);
            self.row.algbw_gbps_mean = Some(mean);
            self.row.busbw_gbps_mean = Some(mean * self.factor);
        }
        self.row.stay_ns_mean = self.stay_ns as f64 / self.stays.max(1) as f64;
        self.row
    }
}

/// How fine fractions are summed: to 1e-12 of one.
const PARTS: i128 = 1 << 40;

/// `of / by` in such parts.
fn parts(of: i128, by: i128) -> i128 {
    (of * PARTS) / by.max(1)
}

fn mean_of_parts(sum: i128, count: u64) -> f64 {
    sum as f64 / PARTS as f64 / count as f64
}
