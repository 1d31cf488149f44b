//! The properties of a sparse plan against the batch it was made for.

use super::tiling::Arrivals;
use super::{Findings, Property, Violation};
use crate::plan::{Counts, LogicalPlan, TaskOrder};
use crate::{Batch, Shard};

/// Everything about `plan` that is not as `batch` asks for, tasks being in `order`. Empty for a plan that is right.
#[must_use]
pub fn check(batch: &Batch, order: TaskOrder, plan: &LogicalPlan) -> Vec<Violation> {
    let mut findings = Findings::default();
    let facts = Facts::new(batch, order);
    facts.shapes(plan, &mut findings);
    if !findings.found.is_empty() {
        // The other checks index columns by each other.
        return findings.found;
    }
    facts.sends(plan, &mut findings);
    facts.returns(plan, &mut findings);
    facts.counts(&plan.query_counts, "query_counts", &facts.queries_between(), &mut findings);
    facts.counts(&plan.key_value_counts, "key_value_counts", &facts.keys_between(), &mut findings);
    findings.found
}

/// The batch, seen from both layouts.
struct Facts<'a> {
    shards: &'a [Shard],
    ranks: usize,
    /// First and last but one shard of each shard's document.
    documents: Vec<(usize, usize)>,
    /// Tokens of its rank before each shard, and of its document.
    starts: Vec<i64>,
    contexts: Vec<i64>,
    held: Vec<i64>,
    /// Shards of each rank by slot, and by task.
    slots: Vec<Vec<usize>>,
    tasks: Vec<Vec<usize>>,
}

impl<'a> Facts<'a> {
    fn new(batch: &'a Batch, order: TaskOrder) -> Self {
        let (shards, ranks) = (batch.shards(), batch.world_size() as usize);
        let mut facts = Self {
            shards,
            ranks,
            documents: Vec::with_capacity(shards.len()),
            starts: Vec::with_capacity(shards.len()),
            contexts: Vec::with_capacity(shards.len()),
            held: vec![0; ranks],
            slots: vec![Vec::new(); ranks],
            tasks: vec![Vec::new(); ranks],
        };
        for document in batch.documents() {
            let (first, mut context) = (facts.documents.len(), 0);
            for shard in document {
                let (at, linear) = (facts.documents.len(), shard.linear.0 as usize);
                facts.documents.push((first, first + document.len()));
                facts.starts.push(facts.held[linear]);
                facts.contexts.push(context);
                facts.slots[linear].push(at);
                facts.held[linear] += i64::from(shard.tokens);
                context += i64::from(shard.tokens);
            }
        }
        let by_slot = facts.slots.concat();
        let in_order = (0..shards.len()).map(|at| if order == TaskOrder::Slots { by_slot[at] } else { at });
        for at in in_order {
            facts.tasks[shards[at].attention.0 as usize].push(at);
        }
        facts
    }

    fn tokens(&self, shard: usize) -> i64 {
        i64::from(self.shards[shard].tokens)
    }

    /// Copies of a shard's keys: one for each query from its own to the last of its document.
    fn copies(&self, shard: usize) -> usize {
        self.documents[shard].1 - shard
    }

    /// Shards whose keys a query needs.
    fn needed(&self, shard: usize) -> usize {
        shard + 1 - self.documents[shard].0
    }

    fn shapes(&self, plan: &LogicalPlan, findings: &mut Findings) {
        let mut expect = |what, index: &[usize], expected: usize, found: usize| {
            findings.expect(Property::Shape, what, index, expected as i64, found as i64);
        };
        let starts = |rows: &[Vec<usize>]| {
            let mut end = 0;
            std::iter::once(0)
                .chain(rows.iter().map(move |row| {
                    end += row.len();
                    end
                }))
                .collect::<Vec<_>>()
        };
        let ends = |sizes: Vec<usize>| {
            let mut end = 0;
            std::iter::once(0)
                .chain(sizes.into_iter().map(move |size| {
                    end += size;
                    end
                }))
                .collect::<Vec<_>>()
        };
        let copies = ends(self.slots.concat().into_iter().map(|shard| self.copies(shard)).collect());
        let runs = ends(self.tasks.concat().into_iter().map(|shard| self.needed(shard)).collect());
        for (what, expected, found) in [
            ("slots", starts(&self.slots), &plan.slots),
            ("tasks", starts(&self.tasks), &plan.tasks),
            ("copies", copies, &plan.copies),
            ("runs", runs, &plan.runs),
        ] {
            expect(what, &[], expected.len(), found.len());
            for (entry, (expected, &found)) in expected.iter().zip(found).enumerate() {
                expect(what, &[entry], *expected, found as usize);
            }
        }
        let (shards, copied) = (self.shards.len(), (0..self.shards.len()).map(|shard| self.copies(shard)).sum());
        expect("world_size", &[], self.ranks, plan.world_size as usize);
        for (what, expected, found) in [
            ("slot_tokens", shards, plan.slot_tokens.len()),
            ("queries.rank", shards, plan.queries.rank.len()),
            ("queries.offset", shards, plan.queries.offset.len()),
            ("key_values.rank", copied, plan.key_values.rank.len()),
            ("key_values.offset", copied, plan.key_values.offset.len()),
            ("query_returns.rank", shards, plan.query_returns.rank.len()),
            ("query_returns.offset", shards, plan.query_returns.offset.len()),
            ("query_returns.tokens", shards, plan.query_returns.tokens.len()),
            ("key_value_returns.rank", copied, plan.key_value_returns.rank.len()),
            ("key_value_returns.offset", copied, plan.key_value_returns.offset.len()),
            ("key_value_returns.tokens", copied, plan.key_value_returns.tokens.len()),
            ("cu_seqlens_q", shards + self.ranks, plan.cu_seqlens_q.len()),
            ("cu_seqlens_kv", shards + self.ranks, plan.cu_seqlens_kv.len()),
            ("query_counts", self.ranks + 1, plan.query_counts.starts.len()),
            ("key_value_counts", self.ranks + 1, plan.key_value_counts.starts.len()),
        ] {
            expect(what, &[], expected, found);
        }
    }

    /// Where tokens go: the right rank, and side by side.
    fn sends(&self, plan: &LogicalPlan, findings: &mut Findings) {
        let (mut queries, mut keys) = (Vec::new(), Vec::new());
        queries.resize_with(self.ranks, Arrivals::default);
        keys.resize_with(self.ranks, Arrivals::default);
        for (rank, slots) in self.slots.iter().enumerate() {
            for (entry, &shard) in slots.iter().enumerate() {
                let slot = plan.slots[rank] as usize + entry;
                let mut expect = |what, expected: i64, found: u32| {
                    findings.expect(Property::Destination, what, &[rank, entry], expected, i64::from(found));
                };
                expect("slot_tokens", self.tokens(shard), plan.slot_tokens[slot]);
                expect("queries.rank", i64::from(self.shards[shard].attention.0), plan.queries.rank[slot]);
                arrive(&mut queries, plan.queries.rank[slot], plan.queries.offset[slot], self.tokens(shard), vec![rank, slot]);
                for (copy, query) in (plan.copies[slot] as usize..).zip(shard..self.documents[shard].1) {
                    expect("key_values.rank", i64::from(self.shards[query].attention.0), plan.key_values.rank[copy]);
                    arrive(
                        &mut keys,
                        plan.key_values.rank[copy],
                        plan.key_values.offset[copy],
                        self.tokens(shard),
                        vec![rank, copy],
                    );
                }
            }
        }
        for (rank, (queries, keys)) in queries.into_iter().zip(keys).enumerate() {
            let last = plan.tasks[rank + 1] as usize + rank;
            queries.check(findings, rank, "queries.offset", i64::from(plan.cu_seqlens_q[last]));
            keys.check(findings, rank, "key_values.offset", i64::from(plan.cu_seqlens_kv[last]));
        }
    }

    /// Where tokens come from: every task's own shard, and the keys of its document up to its end.
    fn returns(&self, plan: &LogicalPlan, findings: &mut Findings) {
        let place = self.places();
        for (rank, tasks) in self.tasks.iter().enumerate() {
            let (mut queries, mut keys) = (0, 0);
            for (entry, &shard) in tasks.iter().enumerate() {
                let task = plan.tasks[rank] as usize + entry;
                let back = &plan.query_returns;
                let mut expect = |property, what, expected: i64, found: u32| {
                    findings.expect(property, what, &[rank, entry], expected, i64::from(found));
                };
                expect(Property::Bijection, "query_returns.rank", i64::from(self.shards[shard].linear.0), back.rank[task]);
                expect(Property::Bijection, "query_returns.offset", self.starts[shard], back.offset[task]);
                expect(Property::Bijection, "query_returns.tokens", self.tokens(shard), back.tokens[task]);
                expect(Property::Bijection, "queries.offset", queries, plan.queries.offset[place[shard]]);
                expect(Property::Lengths, "cu_seqlens_q", queries, plan.cu_seqlens_q[task + rank]);
                expect(Property::Lengths, "cu_seqlens_kv", keys, plan.cu_seqlens_kv[task + rank]);
                queries += self.tokens(shard);

                let back = &plan.key_value_returns;
                for (at, key) in (plan.runs[task] as usize..).zip(self.documents[shard].0..=shard) {
                    let home = self.shards[key].linear.0 as usize;
                    let plane = (shard - key) as i64 * self.held[home];
                    expect(Property::Causality, "key_value_returns.rank", home as i64, back.rank[at]);
                    expect(Property::Causality, "key_value_returns.tokens", self.tokens(key), back.tokens[at]);
                    expect(Property::Planes, "key_value_returns.offset", plane + self.starts[key], back.offset[at]);
                    let copy = plan.copies[place[key]] as usize + shard - key;
                    expect(Property::Causality, "key_values.offset", keys + self.contexts[key], plan.key_values.offset[copy]);
                }
                keys += self.contexts[shard] + self.tokens(shard);
            }
            let last = plan.tasks[rank + 1] as usize + rank;
            findings.expect(
                Property::Lengths,
                "cu_seqlens_q",
                &[rank, tasks.len()],
                queries,
                i64::from(plan.cu_seqlens_q[last]),
            );
            findings.expect(
                Property::Lengths,
                "cu_seqlens_kv",
                &[rank, tasks.len()],
                keys,
                i64::from(plan.cu_seqlens_kv[last]),
            );
        }
    }

    /// Position of each shard among all slots.
    fn places(&self) -> Vec<usize> {
        let mut places = vec![0; self.shards.len()];
        for (slot, shard) in self.slots.iter().flatten().enumerate() {
            places[*shard] = slot;
        }
        places
    }

    fn queries_between(&self) -> Vec<(usize, usize, i64)> {
        let pair = |(at, shard): (usize, &Shard)| (shard.attention.0 as usize, shard.linear.0 as usize, self.tokens(at));
        self.shards.iter().enumerate().map(pair).collect()
    }

    fn keys_between(&self) -> Vec<(usize, usize, i64)> {
        let pairs = (0..self.shards.len()).flat_map(|key| {
            let needed_at = self.shards[key..self.documents[key].1].iter();
            needed_at.map(move |query| (query.attention.0 as usize, self.shards[key].linear.0 as usize, self.tokens(key)))
        });
        pairs.collect()
    }

    /// Receiver, sender and tokens of every pair, against the counts.
    fn counts(&self, counts: &Counts, what: &'static str, moved: &[(usize, usize, i64)], findings: &mut Findings) {
        let mut rows: Vec<Vec<(usize, i64)>> = vec![Vec::new(); self.ranks];
        for &(to, from, tokens) in moved.iter().filter(|moved| moved.2 > 0) {
            rows[to].push((from, tokens));
        }
        for (rank, mut row) in rows.into_iter().enumerate() {
            row.sort_unstable();
            row.dedup_by(|next, kept| {
                next.0 == kept.0 && {
                    kept.1 += next.1;
                    true
                }
            });
            let ends = counts.starts[rank] as usize..counts.starts[rank + 1] as usize;
            let Some(found) = counts.entries.get(ends) else {
                findings.expect(Property::Shape, what, &[rank], row.len() as i64, -1);
                continue;
            };
            findings.expect(Property::Conservation, what, &[rank], row.len() as i64, found.len() as i64);
            for (&(peer, tokens), &(found_peer, found)) in row.iter().zip(found) {
                findings.expect(Property::Conservation, what, &[rank, peer], peer as i64, i64::from(found_peer));
                findings.expect(Property::Conservation, what, &[rank, peer], tokens, i64::from(found));
            }
        }
    }
}

/// A piece arrives, if there is such a rank; that there is not has been noted by then.
fn arrive(arrivals: &mut [Arrivals], rank: u32, offset: u32, tokens: i64, entry: Vec<usize>) {
    if let Some(arrivals) = arrivals.get_mut(rank as usize) {
        arrivals.add(i64::from(offset), tokens, entry);
    }
}
