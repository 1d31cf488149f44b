//! What analysis says of causes, for a job of any size: paths, blame and advice, as long as real ones are.

use rankscope_document::{Advice, Blame, Budget, CriticalPath, Document, PathShare, Reason, Slack};

use super::{Chance, MS};

/// `document` with answers.
pub(crate) fn answered(mut document: Document) -> Document {
    let ranks = document.ranks.len() as u32;
    let mut chance = Chance(u64::from(ranks) + 7);
    let steps = document.ranks.first().map_or(0, |rank| rank.steps.len()) as i64;
    let late = ranks * 5 / 8;
    document.critical_path = (0..steps).map(|step| path(step, late, ranks, &mut chance)).collect();
    document.blame = (0..ranks).map(|rank| blame(rank, rank == late, &mut chance)).collect();
    document.budgets = ["all_gather", "reduce_scatter", "all_reduce"].map(|kind| budget(kind, &mut chance)).into();
    document.advice = vec![advice(late)];
    document
}

const NAMES: [&str; 8] =
    ["all_reduce", "aten::mm", "linear_backward", "load batch", "optimizer", "flash_fwd_kernel", "all_gather", "not recorded"];

fn path(step: i64, late: u32, ranks: u32, chance: &mut Chance) -> CriticalPath {
    let top: Vec<PathShare> = (0..20_i64).map(|at| share(at, late, ranks, chance)).collect();
    let sum = |class: &str| top.iter().filter(|share| share.class == class).map(|share| share.ns).sum::<i64>();
    let classes = ["clock", "communication", "compute", "copy", "device_gap", "host", "launch", "unknown"];
    CriticalPath {
        step: Some(step),
        rank: late,
        length_ns: top.iter().map(|share| share.ns).sum(),
        by_class: classes.map(|class| (class.to_owned(), sum(class))).into(),
        hops: 3 + chance.below(6) as u64,
        slack: (0..4)
            .map(|at| Slack {
                name: NAMES[at].to_owned(),
                rank: chance.below(ranks.into()) as u32,
                least_ns: chance.below(MS),
                ns: chance.below(40 * MS),
            })
            .collect(),
        top,
        ..CriticalPath::default()
    }
}

fn share(at: i64, late: u32, ranks: u32, chance: &mut Chance) -> PathShare {
    let name = NAMES[chance.below(NAMES.len() as i64) as usize];
    PathShare {
        name: name.to_owned(),
        kernel: String::new(),
        class: if name.starts_with("all_") { "communication" } else { "compute" }.to_owned(),
        rank: if at % 3 == 0 { late } else { chance.below(ranks.into()) as u32 },
        ns: (20 - at) * MS / 2 + chance.below(MS / 4),
        count: 1 + chance.below(4) as u64,
    }
}

fn blame(rank: u32, is_late: bool, chance: &mut Chance) -> Blame {
    let caused_ns = if is_late { 800 * MS } else { 0 } + chance.below(20 * MS);
    let inherited_ns = chance.below(5 * MS);
    let reason = |at: usize, kind: &str, name: &str| Reason {
        kind: kind.into(),
        name: name.to_owned(),
        place: if at == 0 { "train.py:120".to_owned() } else { String::new() },
        ns: caused_ns / (at as i64 + 2),
        median_ns: caused_ns / 9,
        because_of_rank: None,
    };
    let reasons =
        [("longer_kernels", "aten::mm"), ("host", "load batch"), ("more_kernels", "aten::add"), ("copies", "Memcpy HtoD")];
    Blame {
        rank,
        lateness_ns: caused_ns + inherited_ns,
        caused_ns,
        inherited_ns,
        last: if is_late { 300 } else { 4 },
        of: 400,
        pattern: if is_late { "persistent" } else { "sporadic" }.into(),
        reasons: reasons.into_iter().enumerate().map(|(at, (kind, name))| reason(at, kind, name)).collect(),
        ..Blame::default()
    }
}

fn budget(kind: &str, chance: &mut Chance) -> Budget {
    let (wait_ns, transfer_ns) = (300 * MS + chance.below(MS), 500 * MS + chance.below(MS));
    Budget {
        group: "default_pg".to_owned(),
        kind: kind.into(),
        dtype: "bfloat16".to_owned(),
        elements: Some(1 << 24),
        count: 400,
        exposed_ns: wait_ns + transfer_ns,
        wait_ns,
        transfer_ns,
        transfer_at_best_ns: transfer_ns / 2,
        balance_saves_ns_per_step: 3 * MS,
        network_saves_ns_per_step: 2 * MS,
        ..Budget::default()
    }
}

fn advice(late: u32) -> Advice {
    Advice {
        title: format!("Rank {late} makes the others wait with its own work"),
        worth_ns_per_step: 9 * MS,
        lo_ns: 7 * MS,
        hi_ns: 11 * MS,
        ranks: vec![late],
        evidence: vec!["Its kernels take longer than those of the median rank.".to_owned()],
        check: "rankscope report --table kernels".to_owned(),
        remedy: "See whether its device is throttled.".to_owned(),
        ..Advice::default()
    }
}
