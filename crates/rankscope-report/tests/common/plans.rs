//! Plans as the planner would make them.

use rankscope_document::{DispatchDocument, DispatchRank, DispatchedDocument, Note, NoteLevel};

/// A plan of `world` ranks and `documents` documents: every third document's second half is computed by another rank.
pub(crate) fn plan(world: u32, documents: u64) -> DispatchDocument {
    let length = |document: u64| 131_072 / (document % 97 + 1);
    let strip = |document: u64| {
        let home = (document % u64::from(world)) as u32;
        let away = (home * 7 + 3) % world;
        let (half, rest) = (length(document) / 2, length(document) - length(document) / 2);
        let shards = if document.is_multiple_of(3) {
            vec![(home, home, half), (home, away, rest)]
        } else {
            vec![(home, home, half + rest)]
        };
        DispatchedDocument { document, tokens: length(document), shards, heads: Vec::new() }
    };
    let rank = |rank: u32| DispatchRank {
        rank,
        tokens: 65_536,
        work_before: 50.0 + f64::from(rank * 37 % 101) * 2.0,
        work_after: 145.0 + f64::from(rank % 7),
        sent_bytes: u64::from(rank) * 1_000_000,
        received_bytes: u64::from(world - rank) * 900_000,
    };
    let pairs = (0..world).flat_map(|from| (0..world).map(move |to| (from, to, u64::from(from * 31 + to * 17) % 97 * 10_000)));
    let mut strips: Vec<_> = (0..documents).map(strip).collect();
    strips.sort_by_key(|strip| std::cmp::Reverse(strip.tokens));
    DispatchDocument {
        schema: 1,
        rankscope_version: "0.1.0".to_owned(),
        title: "docs </script> .json".to_owned(),
        planner: "bounded".to_owned(),
        eps: Some(0.05),
        mean_work: 148.0,
        most_work: Some(148.0 * 1.05),
        tokens: strips.iter().map(|strip| strip.tokens).sum(),
        document_count: documents,
        moved_bytes: 123_456_789,
        notes: vec![Note { level: NoteLevel::Finding, text: "The heaviest rank does 1.02 times the mean.".to_owned() }],
        ranks: (0..world).map(rank).collect(),
        pairs: pairs.filter(|pair| pair.0 != pair.1 && pair.2 > 0).collect(),
        documents: strips,
        ..DispatchDocument::default()
    }
}
