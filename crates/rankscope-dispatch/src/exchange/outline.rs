//! One document as the exchange sees it: the ranks its shards live on, the ranks that compute its tasks, and how far into the
//! document each of those reaches.
//!
//! Two facts keep everything that follows sparse. What one rank holds of a document is one run of its rows, because ranks list
//! their shards in document order. And what a computing rank needs of it is a prefix, because attention is causal; so of the
//! rows that one rank holds it needs a prefix as well, and a document adds one range of keys to a pair of ranks.

use crate::Shard;

/// Scratch for one document after another.
pub(super) struct Outline {
    /// Ranks the document lives on, in order of first use.
    pub(super) sources: Vec<u32>,
    /// Ranks that compute its tasks, in order of first use.
    pub(super) destinations: Vec<u32>,
    /// Per shard.
    pub(super) places: Vec<Place>,
    /// Maximal runs of shards on one rank.
    pub(super) runs: Vec<Run>,
    /// Tokens of the document that each destination needs.
    pub(super) reach: Vec<u64>,
    /// Tokens on each source.
    pub(super) held: Vec<u64>,
    /// Tokens whose attention each destination computes.
    pub(super) asked: Vec<u64>,
    /// The same by the source of the tokens, destinations outside.
    pub(super) queries: Vec<u64>,
    source_of: Stamps,
    destination_of: Stamps,
}

/// Where a shard lies in its document.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Position in [`Outline::sources`].
    pub(super) source: usize,
    /// Position in [`Outline::destinations`].
    pub(super) destination: usize,
    /// Tokens of the document before it.
    pub(super) start: u64,
    /// Those of them that live on the same rank.
    pub(super) start_on_source: u64,
    /// Those before it whose attention is computed on the same rank.
    pub(super) start_in_tasks: u64,
    /// Those before it of which both is true.
    pub(super) start_in_pair: u64,
    pub(super) tokens: u64,
}

/// Consecutive tokens that live on one rank.
#[derive(Clone, Copy)]
pub(super) struct Run {
    pub(super) source: usize,
    pub(super) start: u64,
    pub(super) start_on_source: u64,
    pub(super) tokens: u64,
}

impl Outline {
    pub(super) fn new(world_size: u32) -> Self {
        Self {
            sources: Vec::new(),
            destinations: Vec::new(),
            places: Vec::new(),
            runs: Vec::new(),
            reach: Vec::new(),
            held: Vec::new(),
            asked: Vec::new(),
            queries: Vec::new(),
            source_of: Stamps::new(world_size),
            destination_of: Stamps::new(world_size),
        }
    }

    /// Takes up the next document.
    pub(super) fn draw(&mut self, document: &[Shard]) {
        self.source_of.next();
        self.destination_of.next();
        self.sources.clear();
        self.destinations.clear();
        self.places.clear();
        self.runs.clear();
        self.reach.clear();
        self.held.clear();
        self.asked.clear();
        let mut start = 0;
        for shard in document {
            let source = self.source_of.index(shard.linear.0, &mut self.sources);
            let destination = self.destination_of.index(shard.attention.0, &mut self.destinations);
            self.held.resize(self.sources.len(), 0);
            self.reach.resize(self.destinations.len(), 0);
            self.asked.resize(self.destinations.len(), 0);
            let (tokens, start_on_source, start_in_tasks) =
                (u64::from(shard.tokens), self.held[source], self.asked[destination]);
            let place = Place { source, destination, start, start_on_source, start_in_tasks, start_in_pair: 0, tokens };
            self.places.push(place);
            match self.runs.last_mut() {
                Some(run) if run.source == source => run.tokens += tokens,
                _ => self.runs.push(Run { source, start, start_on_source, tokens }),
            }
            self.held[source] += tokens;
            self.asked[destination] += tokens;
            start += tokens;
            self.reach[destination] = start;
        }
        self.queries.clear();
        self.queries.resize(self.sources.len() * self.destinations.len(), 0);
        for place in &mut self.places {
            let taken = &mut self.queries[place.destination * self.sources.len() + place.source];
            place.start_in_pair = *taken;
            *taken += place.tokens;
        }
    }

    /// The pieces of `[from, to)` of the document by the rank they live on.
    pub(super) fn pieces(&self, from: u64, to: u64) -> impl Iterator<Item = Run> {
        let first = self.runs.partition_point(|run| run.start + run.tokens <= from);
        self.runs[first..].iter().take_while(move |run| run.start < to).map(move |run| {
            let (start, end) = (run.start.max(from), (run.start + run.tokens).min(to));
            let start_on_source = run.start_on_source + (start - run.start);
            Run { source: run.source, start, start_on_source, tokens: end - start }
        })
    }

    /// Key tokens that a destination needs of each source, in order of sources.
    pub(super) fn contexts(&self, destination: usize, tokens: &mut Vec<u64>) {
        tokens.clear();
        tokens.resize(self.sources.len(), 0);
        for piece in self.pieces(0, self.reach[destination]) {
            tokens[piece.source] = piece.start_on_source + piece.tokens;
        }
    }
}

/// Numbers ranks in order of first use, anew for every document, without clearing anything.
struct Stamps {
    round: u32,
    by_rank: Vec<(u32, u32)>,
}

impl Stamps {
    fn new(world_size: u32) -> Self {
        Self { round: 0, by_rank: vec![(0, 0); world_size as usize] }
    }

    fn next(&mut self) {
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.by_rank.fill((0, 0));
            self.round = 1;
        }
    }

    fn index(&mut self, rank: u32, ranks: &mut Vec<u32>) -> usize {
        let (round, index) = &mut self.by_rank[rank as usize];
        if *round != self.round {
            (*round, *index) = (self.round, ranks.len() as u32);
            ranks.push(rank);
        }
        *index as usize
    }
}
