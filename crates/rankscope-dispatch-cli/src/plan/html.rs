//! A plan as the page's document: translates, and asks the exchanges who sends what to whom.

use rankscope_dispatch::{Batch, Direction, Error, Exchange, Rows, Shard, Traffic};
use rankscope_document::{DispatchDocument, DispatchRank, DispatchedDocument, Note, NoteLevel};
use rankscope_plan_files::planned::Answer;
use rankscope_report::bytes;

/// What is drawn of `plan`, of which `answer` has the figures; limits only where the planner keeps them.
pub(super) fn document(title: &str, plan: &Batch, rows: &Rows, answer: &Answer) -> Result<DispatchDocument, Error> {
    let (traffic, promises) = (traffic(plan, rows)?, answer.planner.keeps_limits());
    let mean_work = answer.loads.iter().sum::<u64>() as f64 / f64::from(answer.world_size);
    Ok(DispatchDocument {
        schema: 1,
        rankscope_version: env!("CARGO_PKG_VERSION").to_owned(),
        title: title.to_owned(),
        planner: answer.planner.as_str().to_owned(),
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

/// What a layer's forward pass sends: queries, keys and values out, outputs back.
fn traffic(plan: &Batch, rows: &Rows) -> Result<Traffic, Error> {
    let sends = |direction| Ok::<_, Error>(Exchange::new(plan, rows, direction)?.traffic());
    let (out, back) = (sends(Direction::Forward)?, sends(Direction::Output)?);
    Ok(Traffic::new(plan.world_size(), out.pairs().iter().chain(back.pairs()).copied()))
}

fn findings(answer: &Answer) -> Vec<Note> {
    let finding = |text| Note { level: NoteLevel::Finding, text };
    let balance = format!(
        "The heaviest rank computes {:.3} times the mean; without a plan it would be {:.3} times.",
        answer.max_over_mean, answer.max_over_mean_before
    );
    let moved = format!(
        "In every layer {} go forward between ranks, {} of it because documents lie on several ranks to begin with.",
        bytes(answer.bytes),
        bytes(answer.layout_bytes)
    );
    let bound = answer.gap.filter(|_| answer.lower_bound_bytes > 0).map(|gap| {
        let least = bytes(answer.lower_bound_bytes);
        format!(
            "With documents laid out as they are, any plan with these limits moves at least {least}: this one is at most {:.1} % \
             above the best there can be.",
            gap * 100.0
        )
    });
    [Some(balance), Some(moved), bound].into_iter().flatten().map(finding).collect()
}

fn ranks(plan: &Batch, traffic: &Traffic, answer: &Answer) -> Vec<DispatchRank> {
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

fn documents(plan: &Batch) -> Vec<DispatchedDocument> {
    let tokens = |shards: &[Shard]| shards.iter().map(|shard| u64::from(shard.tokens)).sum();
    let mut documents: Vec<DispatchedDocument> = (0..)
        .zip(plan.documents())
        .map(|(document, shards)| DispatchedDocument {
            document,
            tokens: tokens(shards),
            shards: shards.iter().map(|shard| (shard.linear.0, shard.attention.0, u64::from(shard.tokens))).collect(),
        })
        .collect();
    documents.sort_by_key(|document| std::cmp::Reverse(document.tokens));
    documents
}
