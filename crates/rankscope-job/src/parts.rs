//! [`Parts`]: what mappers found in the files of a job, in any order, until it is judged.
//!
//! A set by place among the inputs: joining is associative and commutative, and joining the same twice changes nothing. Sums are not taken here,
//! as matching pairs each rank with the fullest one and clocks are bounded over all pairs; whatever sees two ranks is
//! [`judge`](crate::judge)'s.

use std::collections::BTreeMap;

use crate::{Cards, Part, Rules};

/// Where a trace stands among the inputs: files in the order in which they were named or found, and traces in the order in which
/// their archive holds them. What says nothing of its rank is numbered by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Number of the file.
    pub file: u32,
    /// Number of the trace in it.
    pub member: u32,
}

/// A file that gave no part, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unread {
    /// The file, as a label.
    pub file: String,
    /// What is wrong with it.
    pub why: WhyUnread,
    /// Whether nobody named it: a folder may hold other files beside the traces.
    pub found_in_folder: bool,
    /// Whether its run keeps it aside.
    pub earlier: bool,
}

/// Why a file gave no part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhyUnread {
    /// It is no trace, but this.
    NotATrace(String),
    /// It cannot be read, for this reason.
    Broken(String),
}

impl Unread {
    /// The file called `file`, which was named by the user and is not kept aside.
    pub fn new(file: String, why: WhyUnread) -> Self {
        Self { file, why, found_in_folder: false, earlier: false }
    }

    /// Whether it may be something else than a trace, which nobody asked for.
    pub fn may_be_something_else(&self) -> bool {
        self.found_in_folder && matches!(self.why, WhyUnread::NotATrace(_))
    }

    /// What is wrong with it, as a sentence without its end.
    pub(crate) fn reason(&self) -> String {
        match &self.why {
            WhyUnread::NotATrace(found) => {
                format!("not a trace that this build can read: {}", found.trim_end_matches('.'))
            }
            WhyUnread::Broken(reason) => reason.trim_end_matches('.').to_owned(),
        }
    }
}

/// How a file is told to be passed over.
impl std::fmt::Display for Unread {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.why {
            WhyUnread::NotATrace(found) => {
                write!(to, "{}, which is not a trace: {}", self.file, found.trim_end_matches('.'))
            }
            WhyUnread::Broken(reason) => write!(to, "{}: {reason}", self.file),
        }
    }
}

/// Two sets of parts that do not belong together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Conflict {
    /// They were made by different rules.
    #[error(
        "the parts were made with different options or by different versions of rankscope; map all traces again with the same"
    )]
    Rules,
    /// Both read this file, and what they found differs.
    #[error("two parts of {file} differ: the file changed between the two; map it again")]
    Twice {
        /// The file.
        file: String,
    },
}

/// Parts of one job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parts {
    rules: Option<Rules>,
    parts: BTreeMap<Place, Part>,
    unread: BTreeMap<Place, Unread>,
    attempts: Vec<String>,
}

impl Parts {
    /// None yet, to be made by `rules`.
    pub fn new(rules: Rules) -> Self {
        Self { rules: Some(rules), ..Self::default() }
    }

    /// Takes the cards of their tables from `cards`: rooflines follow from what a part has and the card it is drawn with.
    pub fn use_cards(&mut self, cards: &Cards) {
        self.parts.values_mut().filter_map(|part| part.tables.as_mut()).for_each(|tables| tables.use_cards(cards));
    }

    /// What they were made by, once any is there.
    pub fn rules(&self) -> Option<&Rules> {
        self.rules.as_ref()
    }

    /// Adds the part of the trace at `place`.
    ///
    /// # Errors
    /// [`Conflict::Twice`] where another part of it is there, or where it could not be read before.
    pub fn add(&mut self, place: Place, mut part: Part) -> Result<(), Conflict> {
        part.exports.iter_mut().for_each(|export| export.place = place);
        if self.unread.contains_key(&place) || self.parts.get(&place).is_some_and(|known| *known != part) {
            return Err(Conflict::Twice { file: part.about.file });
        }
        if !self.parts.contains_key(&place) {
            self.share_groups(place, &mut part);
            self.parts.insert(place, part);
        }
        Ok(())
    }

    /// Lets `part` share the lists of ranks of its groups with its neighbours: in large jobs they are longer than all else.
    fn share_groups(&self, place: Place, part: &mut Part) {
        let neighbours = self.parts.range(..place).next_back().into_iter().chain(self.parts.range(place..).next());
        for other in neighbours.flat_map(|(_, neighbour)| &neighbour.collectives.groups) {
            part.collectives.groups.iter_mut().for_each(|group| group.share(other));
        }
    }

    /// The part of the trace at `place`, to add to what it has.
    pub fn get_mut(&mut self, place: Place) -> Option<&mut Part> {
        self.parts.get_mut(&place)
    }

    /// Notes that what is at `place` gave none.
    ///
    /// # Errors
    /// [`Conflict::Twice`] where it gave one before, or could not be read for another reason.
    pub fn add_unread(&mut self, place: Place, unread: Unread) -> Result<(), Conflict> {
        if self.parts.contains_key(&place) || self.unread.get(&place).is_some_and(|known| *known != unread) {
            return Err(Conflict::Twice { file: unread.file });
        }
        self.unread.entry(place).or_insert(unread);
        Ok(())
    }

    /// Notes the folder of an attempt that was read because the ones after it left nothing.
    pub fn add_attempt(&mut self, folder: String) {
        if let Err(at) = self.attempts.binary_search(&folder) {
            self.attempts.insert(at, folder);
        }
    }

    /// Both together.
    ///
    /// # Errors
    /// [`Conflict`] where they do not belong together.
    pub fn join(mut self, other: Self) -> Result<Self, Conflict> {
        if let (Some(own), Some(theirs)) = (&self.rules, &other.rules)
            && own != theirs
        {
            return Err(Conflict::Rules);
        }
        self.rules = self.rules.or(other.rules);
        other.parts.into_iter().try_for_each(|(place, part)| self.add(place, part))?;
        other.unread.into_iter().try_for_each(|(place, unread)| self.add_unread(place, unread))?;
        other.attempts.into_iter().for_each(|folder| self.add_attempt(folder));
        Ok(self)
    }

    /// How many traces and files there are, read or not.
    pub fn len(&self) -> usize {
        self.parts.len() + self.unread.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The parts, in the order of the inputs.
    pub fn iter(&self) -> impl Iterator<Item = (Place, &Part)> {
        self.parts.iter().map(|(place, part)| (*place, part))
    }

    /// What gave none, likewise.
    pub fn unread(&self) -> impl Iterator<Item = (Place, &Unread)> {
        self.unread.iter().map(|(place, unread)| (*place, unread))
    }

    /// Folders of attempts that were read because the ones after them left nothing.
    pub fn attempts(&self) -> &[String] {
        &self.attempts
    }

    pub(crate) fn into_inner(self) -> (Vec<Part>, Vec<Unread>, Vec<String>) {
        (self.parts.into_values().collect(), self.unread.into_values().collect(), self.attempts)
    }
}
