//! The answer: which of the ends of the graph is the cause, in words.
//!
//! Where several things are wrong, what explains the others comes first: different calls by one number, then ranks that wait in a
//! circle, then ranks that did not come, and only then those that left nothing.

use rankscope_document::{Confidence, HangDocument, HangKind, HangRoot, HangVerdict, HangWitness};

use crate::differ::{Difference, What, difference};
use crate::graph::{Node, Stand};
use crate::judge::Judge;
use crate::progress::Point;
use crate::told::Scene;
use crate::words;

/// What was found.
struct Found {
    kind: HangKind,
    roots: Vec<HangRoot>,
    confidence: Confidence,
    summary: String,
}

/// The whole answer.
pub(crate) fn document(scene: &Scene<'_>, problems: &[String], title: &str) -> HangDocument {
    let judge = Judge::of(scene);
    let found = judge.found();
    let witnesses = judge.recorded(&found.summary, !found.roots.is_empty());
    let mut problems = problems.to_vec();
    problems.extend(judge.lacks());
    HangDocument {
        schema: 1,
        rankscope_version: env!("CARGO_PKG_VERSION").to_owned(),
        title: title.to_owned(),
        verdict: HangVerdict {
            kind: found.kind,
            roots: found.roots,
            confidence: found.confidence,
            waiting: judge.waiting(),
            witnesses,
            summary: found.summary,
        },
        ranks: scene.ranks.iter().map(|state| words::rank(scene, state)).collect(),
        stacks: Vec::new(),
        problems,
    }
}

impl Judge<'_> {
    /// What it all rests on as a witness, where there is any.
    fn recorded(&self, summary: &str, names: bool) -> Vec<HangWitness> {
        let of =
            |says: &str| HangWitness { source: self.scene.form.source(), agrees: names.then_some(true), says: says.to_owned() };
        (self.known() > 0).then(|| of(summary)).into_iter().collect()
    }

    fn found(&self) -> Found {
        if self.scene.ranks.is_empty() {
            return unclear("There is no dump of a flight recorder.");
        }
        if self.known() == 0 {
            return unclear(&format!("There is no {}.", self.scene.form.telling()));
        }
        let found = self.mismatch().or_else(|| self.deadlock()).or_else(|| self.missing()).or_else(|| self.dead());
        found.or_else(|| self.library()).unwrap_or_else(|| self.healthy())
    }

    /// Ranks that called different things by one number.
    fn mismatch(&self) -> Option<Found> {
        let differences = self.graph.awaited.keys().filter_map(|point| match *point {
            Point::Collective { group, sequence } => Some((group, sequence, difference(self.scene, group, sequence)?)),
            Point::Message { .. } => None,
        });
        let (group, sequence, difference) = differences.min_by_key(|(group, sequence, _)| (*sequence, *group))?;
        let place = words::numbered(self.scene, group, sequence);
        let roots = difference.roots();
        let root = |rank: &u32| HangRoot {
            rank: *rank,
            why: differs(&difference, *rank),
            group: Some(self.scene.groups[group.0].name.clone()),
            seq: Some(sequence),
        };
        let told: Vec<String> =
            difference.sides.iter().map(|(called, ranks)| format!("{} {called}", words::called(ranks))).collect();
        let confidence = match difference.majority() {
            Some((_, ranks)) if ranks.len() > 2 && self.unknown() == 0 => Confidence::High,
            Some(_) => Confidence::Medium,
            None => Confidence::Low,
        };
        let undecided =
            if difference.majority().is_none() { " Neither is the majority, so any of them may be wrong." } else { "" };
        Some(Found {
            kind: HangKind::Mismatch,
            roots: roots.iter().map(root).collect(),
            confidence,
            summary: format!("{place} is not the same on all ranks: {}.{undecided}", told.join("; ")),
        })
    }

    /// Ranks that wait for each other in a circle.
    fn deadlock(&self) -> Option<Found> {
        let circle = self.ends.iter().find(|end| end.len() > 1)?;
        let places: Vec<usize> =
            circle.iter().filter_map(|node| if let Node::Rank(place) = node { Some(*place) } else { None }).collect();
        let has_called = |place: &usize| {
            let others = circle.iter().filter_map(|node| if let Node::Point(point) = node { Some(*point) } else { None });
            others.into_iter().any(|point| match point {
                Point::Collective { group, sequence } => self.scene.stand(*place, group, sequence) == Stand::Behind,
                Point::Message { .. } => false,
            })
        };
        // Calls that were only queued may still run side by side.
        let confidence = if places.iter().any(has_called) { Confidence::Medium } else { Confidence::High };
        let root = |place: &usize| {
            let state = &self.scene.ranks[*place];
            let (group, seq) = state.stuck_in().map_or((None, None), |point| self.named(point));
            HangRoot { rank: state.rank, why: words::order(self.scene, state), group, seq }
        };
        let message = circle.iter().find_map(|node| match node {
            Node::Point(point @ Point::Message { own, other, .. }) => Some((*point, [*own, *other])),
            _ => None,
        });
        let is_to_blame = |place: &&usize| message.is_none_or(|(_, ends)| ends.contains(&self.scene.ranks[**place].rank));
        let roots: Vec<HangRoot> = places.iter().filter(is_to_blame).map(root).collect();
        let told: Vec<String> = roots.iter().take(4).map(|root| format!("rank {} is {}", root.rank, root.why)).collect();
        let more = if roots.len() > 4 { format!("; and {} more", roots.len() - 4) } else { String::new() };
        let ranks = words::ranks(&roots.iter().map(|root| root.rank).collect::<Vec<_>>());
        let (kind, why) = match message {
            Some(_) => (HangKind::P2p, "One of them sends or takes a message that the other does not know of."),
            None => (HangKind::Deadlock, "They make their calls in different orders."),
        };
        let summary = format!("{ranks} wait for each other: {}{more}. {why}", told.join("; "));
        Some(Found { kind, roots, confidence, summary })
    }

    /// Ranks that are in no call and that others wait for.
    fn missing(&self) -> Option<Found> {
        let alone = self.alone(|place| self.is_known(place));
        let in_collective =
            |place: &usize| self.graph.awaited_in(*place).any(|point| matches!(point, Point::Collective { .. }));
        let (collective, messages): (Vec<usize>, Vec<usize>) = alone.into_iter().partition(in_collective);
        let (kind, places) = if collective.is_empty() { (HangKind::P2p, messages) } else { (HangKind::Missing, collective) };
        let first = *places.first()?;
        if let Some(guess) = self.guess(&places) {
            return Some(guess);
        }
        let roots: Vec<HangRoot> = places.iter().map(|place| self.absent(*place)).collect();
        let waiters = self.waiters(&places);
        let confidence = match self.unknown() {
            0 if waiters > 1 || self.scene.ranks.len() <= 2 => Confidence::High,
            unknown if unknown * 4 > self.scene.ranks.len() => Confidence::Low,
            _ => Confidence::Medium,
        };
        let ranks: Vec<u32> = roots.iter().map(|root| root.rank).collect();
        let awaited = self.graph.awaited_in(first).next().map(|point| words::point(self.scene, point)).unwrap_or_default();
        let summary = format!(
            "{} {} in no call, and {} {} for {}: {awaited}. {}",
            words::ranks(&ranks),
            if ranks.len() == 1 { "is" } else { "are" },
            words::number_of_ranks(waiters),
            if waiters == 1 { "waits" } else { "wait" },
            if ranks.len() == 1 { "it" } else { "them" },
            words::last_of(self.scene, &self.scene.ranks[first]),
        );
        Some(Found { kind, roots, confidence, summary })
    }

    /// Ranks that left nothing and that others wait for.
    fn dead(&self) -> Option<Found> {
        let places = self.alone(|place| !self.is_known(place));
        if places.is_empty() {
            return None;
        }
        let ranks: Vec<u32> = places.iter().map(|place| self.scene.ranks[*place].rank).collect();
        if places.iter().any(|place| self.scene.ranks[*place].is_stale) {
            return Some(unclear(&format!(
                "{} would be needed to tell: the dump there is of another time than all others, perhaps of an attempt before this one.",
                words::ranks(&ranks)
            )));
        }
        if self.unknown() * 2 >= self.scene.ranks.len() {
            return Some(unclear(&format!(
                "{} of {} ranks left no {one}, and the others wait for them. Gather the {one}s of all ranks.",
                self.unknown(),
                self.scene.ranks.len(),
                one = self.scene.form.one()
            )));
        }
        if let Some(guess) = self.guess(&places) {
            return Some(guess);
        }
        let roots: Vec<HangRoot> = places
            .iter()
            .map(|place| HangRoot {
                why: format!("left no {}, and is waited for", self.scene.form.one()),
                ..self.absent(*place)
            })
            .collect();
        let summary = format!(
            "{} left no {}, and all others that {} needed are waiting: {}",
            words::ranks(&ranks),
            self.scene.form.one(),
            if ranks.len() == 1 { "it" } else { "they" },
            self.scene.form.of_silent(),
        );
        let confidence = if places.len() * 4 <= self.scene.ranks.len() { Confidence::Medium } else { Confidence::Low };
        Some(Found { kind: HangKind::Dead, roots, confidence, summary })
    }

    /// Where several ranks could be the one that others wait for in a group whose ranks are not recorded, none of them is named.
    fn guess(&self, places: &[usize]) -> Option<Found> {
        let is_of_nothing =
            |place: &usize| self.graph.awaited_in(*place).all(|point| !self.scene.groups[point.group().0].is_listed);
        let ranks: Vec<u32> =
            places.iter().filter(|place| is_of_nothing(place)).map(|place| self.scene.ranks[*place].rank).collect();
        (ranks.len() > 1).then(|| {
            unclear(&format!(
                "{} may be waited for, and which of them is not recorded: gloo does not say which ranks a group has. Gather the dumps of all ranks.",
                words::ranks(&ranks)
            ))
        })
    }

    /// All are in it, and nobody differs.
    fn library(&self) -> Option<Found> {
        let point = self.ends.iter().find_map(|end| match end[..] {
            [Node::Point(point)] => Some(point),
            _ => None,
        })?;
        let confidence = if self.unknown() == 0 { Confidence::Medium } else { Confidence::Low };
        let summary = format!(
            "Every rank that {} needs has called it alike, and it has not ended: the library or the network is stuck{}",
            words::point(self.scene, point),
            self.scene.form.unless_it_runs()
        );
        Some(Found { kind: HangKind::Library, roots: Vec::new(), confidence, summary })
    }

    fn healthy(&self) -> Found {
        let is_gloo = self.dumps().any(|dump| dump.is_gloo);
        let (confidence, but) = match (self.unknown(), is_gloo) {
            (_, true) => (
                Confidence::Medium,
                " Gloo's recorder leaves no word of messages: a job that waits in send or recv looks like this, too.",
            ),
            (0, false) => (Confidence::High, ""),
            _ => (Confidence::Medium, ""),
        };
        Found {
            kind: HangKind::Healthy,
            roots: Vec::new(),
            confidence,
            summary: format!("No rank is in an unfinished call that its recorder tells of.{but}"),
        }
    }
}

fn unclear(why: &str) -> Found {
    Found { kind: HangKind::Unclear, roots: Vec::new(), confidence: Confidence::Low, summary: why.to_owned() }
}

/// How `rank` differs.
fn differs(difference: &Difference, rank: u32) -> String {
    let what = match difference.what {
        What::Operation => "calls",
        What::Size => "puts in",
        What::Type => "puts in values of type",
    };
    let called = difference.called(rank);
    match difference.majority() {
        Some((others, ranks)) => format!("{what} {called}, where {} others have {others}", ranks.len()),
        None => format!("{what} {called}"),
    }
}
