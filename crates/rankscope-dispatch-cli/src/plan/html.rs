//! A plan as the page's document: translates, and asks the exchanges who sends what to whom.

use rankscope_dispatch::{Assignment, Error, Rows, Shard, Traffic};
use rankscope_document::{DispatchDocument, DispatchRank, DispatchedDocument, DispatchedHeads, Note, NoteLevel};
use rankscope_plan_files::planned::Answer;
use rankscope_report::bytes;

/// What is drawn of `plan`, of which `answer` has the figures; limits only where the planner keeps them.
pub(super) fn document(title: &str, plan: &Assignment<'_>, rows: &Rows, answer: &Answer) -> Result<DispatchDocument, Error> {
    let (traffic, promises) = (traffic(plan, rows, answer)?, answer.planner.keeps_limits());
    let mean_work = answer.loads.iter().sum::<u64>() as f64 / f64::from(answer.world_size);
    Ok(DispatchDocument {
        schema: 1,
        rankscope_version: env!("CARGO_PKG_VERSION").to_owned(),
        title: title.to_owned(),
        planner: answer.planner.as_str().to_owned(),
        pass: answer.pass.as_str().to_owned(),
        head_groups: answer.head_groups,
        eps: (promises && answer.max_over_mean <= 1.0 + answer.eps).then_some(answer.eps),
        mean_work,
        most_work: answer.limits.iter().max().filter(|_| promises).map(|&limit| limit as f64),
        tokens: answer.tokens,
        document_count: answer.documents as u64,
        moved_bytes: answer.bytes,
        notes: findings(answer),
        ranks: ranks(plan, &traffic, answer),
        pairs: traffic.pairs().iter().filter(|pair| pair.0 != pair.1).map(|&(from, to, sent)| (from.0, to.0, sent)).collect(),
        documents: documents(plan),
    })
}

/// What the pass sends: all that it needs out, what it makes back.
fn traffic(plan: &Assignment<'_>, rows: &Rows, answer: &Answer) -> Result<Traffic, Error> {
    let [out, back] =
        answer.pass.exchanges().map(|direction| plan.exchange(rows, direction).map(|exchange| exchange.traffic()));
    Ok(Traffic::new(plan.world_size(), out?.pairs().iter().chain(back?.pairs()).copied()))
}

fn findings(answer: &Answer) -> Vec<Note> {
    let finding = |text| Note { level: NoteLevel::Finding, text };
    let balance = format!(
        "The heaviest rank computes {:.3} times the mean; without a plan it would be {:.3} times.",
        answer.max_over_mean, answer.max_over_mean_before
    );
    let moved = format!("In the {} pass of every layer {} go between ranks", answer.pass.as_str(), bytes(answer.bytes));
    let lies = bytes(answer.layout_bytes);
    let moved = match answer.layout_bytes <= answer.bytes {
        true => format!("{moved}, {lies} of it because documents lie on several ranks to begin with."),
        false => format!("{moved}; {lies} would if every rank computed the attention of the tokens it holds."),
    };
    let bound = answer.gap.filter(|_| answer.lower_bound_bytes > 0).map(|gap| {
        let least = bytes(answer.lower_bound_bytes);
        format!(
            "With documents laid out as they are, any plan with these limits moves at least {least}: this one is at most {:.1} % \
             above the best there can be.",
            gap * 100.0
        )
    });
    let split = answer.split_kv.as_ref().map(|split| {
        let share = split.saved as f64 / answer.bytes.max(1) as f64 * 100.0;
        format!(
            "This page shows every task with its whole context. With keys and values split between ranks {} move, {share:.1} % less, in \
             {} tasks.",
            bytes(split.bytes),
            split.tasks.len()
        )
    });
    [Some(balance), Some(moved), bound, split].into_iter().flatten().map(finding).collect()
}

fn ranks(plan: &Assignment<'_>, traffic: &Traffic, answer: &Answer) -> Vec<DispatchRank> {
    let mut ranks: Vec<DispatchRank> = (0..)
        .zip(plan.linear_tokens())
        .zip(answer.loads_before.iter().zip(&answer.loads))
        .map(|((rank, tokens), (&before, &after))| DispatchRank {
            rank,
            tokens,
            work_before: before as f64,
            work_after: after as f64,
            ..DispatchRank::default()
        })
        .collect();
    for &(from, to, sent) in traffic.pairs().iter().filter(|pair| pair.0 != pair.1) {
        ranks[from.0 as usize].sent_bytes += sent;
        ranks[to.0 as usize].received_bytes += sent;
    }
    ranks
}

/// Each once, however many groups of heads there are.
fn documents(plan: &Assignment<'_>) -> Vec<DispatchedDocument> {
    let (layout, groups) = (plan.layout(), plan.head_groups().get());
    let each = layout.len() / groups as usize;
    let document = |place: usize| {
        let of_group = |group: u32| pieces(layout.document(group as usize * each + place));
        let shards = layout.document(place);
        DispatchedDocument {
            document: place as u64,
            tokens: shards.iter().map(|shard| u64::from(shard.tokens)).sum(),
            shards: if groups == 1 { pieces(shards) } else { Vec::new() },
            heads: if groups == 1 { Vec::new() } else { alike((0..groups).map(of_group)) },
        }
    };
    let mut documents: Vec<DispatchedDocument> = (0..each).map(document).collect();
    documents.sort_by_key(|document| std::cmp::Reverse(document.tokens));
    documents
}

fn pieces(shards: &[Shard]) -> Vec<(u32, u32, u64)> {
    shards.iter().map(|shard| (shard.linear.0, shard.attention.0, u64::from(shard.tokens))).collect()
}

/// Groups that are computed alike, in the order of the first of them.
fn alike(groups: impl Iterator<Item = Vec<(u32, u32, u64)>>) -> Vec<DispatchedHeads> {
    let mut heads: Vec<DispatchedHeads> = Vec::new();
    for (group, shards) in (0..).zip(groups) {
        match heads.iter_mut().find(|heads| heads.shards == shards) {
            Some(known) => known.groups.push(group),
            None => heads.push(DispatchedHeads { groups: vec![group], shards }),
        }
    }
    heads
}
