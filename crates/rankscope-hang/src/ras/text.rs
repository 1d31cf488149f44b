//! The answer as text, which is for people: the table of groups, and sections about what is wrong.
//!
//! It lists only ranks that differ. Of communicators without a fault nothing is kept but that they are there.

use std::collections::BTreeMap;

use super::{Absent, Communicator, Member, Process, RasAnswer, RasError, Silence};

/// The last heading of a whole answer.
const LAST: &str = "Warnings";

pub(super) fn read(text: &str) -> Result<RasAnswer, RasError> {
    let first = text.lines().next().unwrap_or_default();
    if first.starts_with("ERROR") || first == "BUSY" || first.starts_with("BUSY") {
        return Err(RasError::Refused { reply: first.chars().take(200).collect() });
    }
    if !text.contains("version") || !text.contains("ommunicator") {
        return Err(RasError::Other);
    }
    if !text.lines().any(|line| line.trim() == LAST) {
        return Err(RasError::Cut { bytes: text.len() });
    }
    let mut reader = Reader::default();
    text.lines().for_each(|line| reader.line(line.trim()));
    Ok(reader.end())
}

/// What a section is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    None,
    Groups,
    /// Processes that are given up.
    Dead,
    /// Processes that do not answer.
    Silent,
    /// A communicator, by its place, whose ranks differ or are missing.
    Of(usize),
}

struct Reader {
    section: Section,
    /// Ranks a communicator of a group has.
    sizes: BTreeMap<u32, usize>,
    names: Vec<String>,
    communicators: Vec<Communicator>,
    dead: Vec<Process>,
    silent: Vec<Process>,
    /// The most that ranks of the section have launched, what those that are listed now have, and who was listed with what.
    most: u64,
    now: u64,
    listed: Vec<(Member, u64)>,
}

impl Default for Reader {
    fn default() -> Self {
        let (sizes, names, communicators, dead, silent, listed) = Default::default();
        Self { section: Section::None, sizes, names, communicators, dead, silent, most: 0, now: 0, listed }
    }
}

impl Reader {
    fn line(&mut self, line: &str) {
        let is_heading = line.starts_with('#') || matches!(line, "DEAD" | "INCOMPLETE" | "Errors" | LAST);
        if is_heading {
            self.close();
        }
        if line.starts_with("Group ") {
            self.section = Section::Groups;
        } else if line == "DEAD" {
            self.section = Section::Dead;
        } else if line == "INCOMPLETE" {
            self.section = Section::Silent;
        } else if let Some(name) = line.strip_prefix('#').and_then(|rest| rest.split_whitespace().next()) {
            self.begin(name);
        } else if line == LAST || line == "Errors" || line.starts_with("TIMEOUT") {
            self.section = Section::None;
        } else {
            self.fact(line);
        }
    }

    /// The section of communicator `name`, `0-0`.
    fn begin(&mut self, name: &str) {
        if self.section == Section::Groups && !name.contains('-') {
            // The second line of the table's head.
            return;
        }
        let place = self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            let group = name.split('-').next().and_then(|group| group.parse().ok());
            let size = group.and_then(|group: u32| self.sizes.get(&group).copied());
            self.names.push(name.to_owned());
            self.communicators.push(Communicator { size, ..Communicator::default() });
            self.names.len() - 1
        });
        self.section = Section::Of(place);
    }

    /// Ends a section: only now is known who of it is behind.
    fn close(&mut self) {
        let listed = std::mem::take(&mut self.listed);
        if let Section::Of(place) = self.section {
            let most = self.most;
            let members = listed.into_iter().map(|(member, launched)| Member { is_behind: launched < most, ..member });
            self.communicators[place].members.extend(members);
        }
        (self.most, self.now) = (0, 0);
    }

    fn fact(&mut self, line: &str) {
        match self.section {
            Section::Groups => {
                let mut columns = line.split_whitespace();
                let (group, size) = (columns.next(), columns.nth(3));
                if let (Some(Ok(group)), Some(Ok(size))) = (group.map(str::parse), size.map(str::parse)) {
                    self.sizes.insert(group, size);
                }
            }
            Section::Dead => self.dead.extend(process(line)),
            Section::Silent => self.silent.extend(process(line)),
            Section::Of(place) => self.rank(place, line),
            Section::None => {}
        }
    }

    fn rank(&mut self, place: usize, line: &str) {
        if let Some((_, ranks)) = line.split_once(':').filter(|(head, _)| head.starts_with("The missing rank")) {
            let ranks = ranks.split(|letter: char| !letter.is_ascii_digit()).filter_map(|rank| rank.parse().ok());
            self.communicators[place].absent.extend(ranks.map(|rank| Absent { rank, ..Absent::default() }));
            return;
        }
        let launched = line.split_once("up to operation ").and_then(|(_, rest)| rest.split_whitespace().next()?.parse().ok());
        if let Some(launched) = launched {
            self.now = launched;
            self.most = self.most.max(launched);
        } else if line.contains("not launched any") {
            self.now = 0;
        }
        let rank = line.strip_prefix("Rank ").and_then(|rest| rest.split_whitespace().next()?.parse().ok());
        if let (Some(rank), Some(process)) = (rank, process(line)) {
            self.listed.push((Member { rank, process, is_behind: false, is_counted: true }, self.now));
        }
    }

    /// Whose silence it is, is told of processes, and ranks that are missing are told of communicators: they are the same where all are.
    fn end(mut self) -> RasAnswer {
        self.close();
        let silence = match (self.dead.is_empty(), self.silent.is_empty()) {
            (false, true) => Silence::Dead,
            (true, false) => Silence::Unresponsive,
            _ => Silence::Unsaid,
        };
        let processes = self.dead.iter().chain(&self.silent).count();
        for communicator in &mut self.communicators {
            let is_all = communicator.absent.len() <= processes;
            communicator.absent.iter_mut().filter(|_| is_all).for_each(|absent| absent.silence = silence);
        }
        RasAnswer { communicators: self.communicators, dead: self.dead }
    }
}

/// `... process 483072 on node 172.16.64.210 ...`.
fn process(line: &str) -> Option<Process> {
    let at = line.find("rocess ")? + "rocess ".len();
    let mut words = line[at..].split_whitespace();
    let pid = words.next()?.parse().ok()?;
    let host = words.nth(2)?.into();
    Some(Process { host, pid })
}
