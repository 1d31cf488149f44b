//! The live page: one small file a rank that says where it is now, written in place by the rank and read by whoever looks.
//!
//! Nothing of it has to be completed for it to be read, so it tells as much of a process that was killed. What changes together lies
//! twice, each with a checksum: the writer fills the older one and then says that it is the newer. So there is always a whole
//! one, and a reader waits for nobody. Arrivals at collectives lie in a ring behind, each with its number. All words are little endian.
//! A page that is damaged, forged or of another version is refused with the reason. Words of a state that a program does not know are
//! passed over, and those that an earlier one did not write are zeros, which say that nothing is known: so programs that are older or newer than
//! the rank read one another's pages. Opening files is not done here.
//!
//! | words | what |
//! |---|---|
//! | 0 to 7 | magic, version and length, process and rank, start of the process, boot of the node (2), attempt, checksum of these |
//! | 8 | how often the page was written; its lowest bit says which of the two states is the newer |
//! | 16 to 47, 48 to 79 | the two states |
//! | 80 to 239 | 16 groups: length of the name and members, then the name in 9 words |
//! | 256 to 2047 | 256 arrivals of 7 words |

mod phase;

use thiserror::Error;

pub use phase::{PageMark, PagePhase, phase_limit_ns};

/// Length of a page.
pub const PAGE_BYTES: usize = 8 * PAGE_WORDS;
/// The same in words.
pub const PAGE_WORDS: usize = 2048;
/// What a page begins with.
const PAGE_MAGIC: u64 = u64::from_le_bytes(*b"RSLIVEPG");
/// Version of the layout.
const PAGE_VERSION: u32 = 1;
/// Where it says how often it was written.
pub const PAGE_COUNT_AT: usize = 8;
/// Where the states are, and how long each is.
pub const PAGE_STATES_AT: [usize; 2] = [16, 48];
/// Words of a state.
pub const PAGE_STATE_WORDS: usize = 32;
/// Where groups are, their number and their words.
pub const PAGE_GROUPS_AT: usize = 80;
/// Groups of a page.
pub const PAGE_GROUPS: usize = 16;
/// Words of a group.
pub const PAGE_GROUP_WORDS: usize = 10;
/// Where arrivals are.
pub const PAGE_ARRIVALS_AT: usize = 256;
/// Arrivals that a page keeps.
pub const PAGE_ARRIVALS: usize = 256;
/// Words of an arrival.
pub const PAGE_ARRIVAL_WORDS: usize = 7;
/// Bytes of a group's name.
pub const PAGE_NAME_BYTES: usize = 8 * (PAGE_GROUP_WORDS - 1);
/// The oldest arrivals may be overwritten while they are read.
const OVERTAKEN: u64 = 8;

/// What the file of a rank's page is called, in `live` of the run directory.
pub fn page_name(rank: u32) -> String {
    format!("rank-{rank}.page")
}

/// Whose page a file of that name is.
pub fn rank_of_page(name: &str) -> Option<u32> {
    name.strip_prefix("rank-")?.strip_suffix(".page")?.parse().ok()
}

/// Why a page is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PageRefused {
    /// It is no page.
    #[error("this is no live page")]
    NotAPage,
    /// It is cut.
    #[error("the page is cut: {bytes} bytes are there")]
    Cut {
        /// Bytes that are there.
        bytes: usize,
    },
    /// It has another layout.
    #[error("the page has version {version}, and this program reads version {PAGE_VERSION}")]
    Version {
        /// Which.
        version: u32,
    },
    /// Its head is not what was written.
    #[error("the head of the page is damaged")]
    Head,
    /// Neither of its states is what was written.
    #[error("the state of the page is damaged")]
    State,
}

/// What kind of collective an arrival is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum PageOp {
    /// Any other.
    Other = 0,
    /// Sums over all.
    AllReduce = 1,
    /// Everybody's for all.
    AllGather = 2,
    /// Sums, a piece for each.
    ReduceScatter = 3,
    /// One's for all.
    Broadcast = 4,
    /// A piece from each for each.
    AllToAll = 5,
    /// Nothing but meeting.
    Barrier = 6,
}

impl PageOp {
    /// All of them, by their numbers.
    pub const ALL: [Self; 7] =
        [Self::Other, Self::AllReduce, Self::AllGather, Self::ReduceScatter, Self::Broadcast, Self::AllToAll, Self::Barrier];

    /// Its name, as torch has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Other => "collective",
            Self::AllReduce => "all_reduce",
            Self::AllGather => "all_gather",
            Self::ReduceScatter => "reduce_scatter",
            Self::Broadcast => "broadcast",
            Self::AllToAll => "all_to_all",
            Self::Barrier => "barrier",
        }
    }

    /// The one of that name.
    pub fn named(name: &str) -> Self {
        Self::ALL.into_iter().find(|op| op.name() == name).unwrap_or(Self::Other)
    }
}

/// Who wrote a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageHead {
    /// The rank.
    pub rank: u32,
    /// Its process.
    pub pid: u32,
    /// When the process began, in the kernel's ticks: a number that another process of that id does not have.
    pub process_start: u64,
    /// Which start of which machine this is.
    pub boot: [u64; 2],
}

/// What a rank says about itself. Instants are of its node's raw monotonic clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageState {
    /// Grows with everything it does.
    pub progress: u64,
    /// When it did the last of it.
    pub progress_ns: i64,
    /// The step it is in; negative before the first.
    pub step: i64,
    /// When that began.
    pub step_began_ns: i64,
    /// How long the one before took; zero where there was none.
    pub step_took_ns: i64,
    /// The raw monotonic clock and, at the same moment, the wall clock.
    pub anchor: [i64; 2],
    /// Arrivals so far.
    pub arrivals: u64,
    /// Groups so far.
    pub groups: u64,
    /// The phase that its program marks.
    pub mark: PageMark,
}

/// A group of ranks that meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageGroup {
    /// Its name.
    pub name: String,
    /// How many ranks are in it.
    pub members: u32,
}

/// When a rank came to a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageArrival {
    /// Which group met, by its place among the page's.
    pub group: usize,
    /// What it did.
    pub op: PageOp,
    /// Its number in the group.
    pub sequence: u64,
    /// What it moved.
    pub bytes: u64,
    /// When the rank came.
    pub arrived_ns: i64,
    /// When it left; zero while it is in it.
    pub left_ns: i64,
    /// The step it belongs to.
    pub step: i64,
}

/// A page that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LivePage {
    /// Who wrote it.
    pub head: PageHead,
    /// Where it is.
    pub state: PageState,
    /// Groups it met with.
    pub groups: Vec<PageGroup>,
    /// Its last arrivals, oldest first.
    pub arrivals: Vec<PageArrival>,
}

impl PageHead {
    /// Whether it was written since the start of the machine that its kernel calls `boot_id`.
    pub fn is_of_boot(&self, boot_id: &str) -> bool {
        let digits = boot_id.chars().filter(char::is_ascii_hexdigit);
        digits.eq(format!("{:016x}{:016x}", self.boot[0], self.boot[1]).chars())
    }

    /// The first eight words.
    pub fn words(&self) -> [u64; 8] {
        let length = (PAGE_BYTES as u64) << 32 | u64::from(PAGE_VERSION);
        let whose = u64::from(self.rank) << 32 | u64::from(self.pid);
        let mut words = [PAGE_MAGIC, length, whose, self.process_start, self.boot[0], self.boot[1], 0, 0];
        words[7] = checksum(&words[..7]);
        words
    }
}

impl PageState {
    /// An instant of the raw monotonic clock as one of the wall clock, by the node's own clocks, in nanoseconds since the epoch.
    pub const fn wall_ns(&self, raw_ns: i64) -> i64 {
        raw_ns.saturating_sub(self.anchor[0]).saturating_add(self.anchor[1])
    }

    /// A state as words, for the time `count` that a page is written.
    pub fn words(&self, count: u64) -> [u64; 32] {
        let mut words = [0; PAGE_STATE_WORDS];
        let [phase, phase_began, phases_before, phase_longest] = self.mark.words();
        let of_state = [
            count,
            self.progress,
            self.progress_ns as u64,
            self.step as u64,
            self.step_began_ns as u64,
            self.step_took_ns as u64,
            self.anchor[0] as u64,
            self.anchor[1] as u64,
            self.arrivals,
            self.groups,
            phase,
            phase_began,
            phases_before,
            phase_longest,
        ];
        words[..of_state.len()].copy_from_slice(&of_state);
        words[PAGE_STATE_WORDS - 1] = checksum(&words[..PAGE_STATE_WORDS - 1]);
        words
    }

    fn of(words: &[u64]) -> Option<(u64, Self)> {
        let (sum, rest) = words.split_last()?;
        let (state, behind) = rest.split_first_chunk()?;
        let [count, progress, progress_ns, step, began, took, raw, wall, arrivals, groups] = *state;
        let state = Self {
            progress,
            progress_ns: progress_ns as i64,
            step: step as i64,
            step_began_ns: began as i64,
            step_took_ns: took as i64,
            anchor: [raw as i64, wall as i64],
            arrivals,
            groups,
            mark: PageMark::of(*behind.first_chunk()?),
        };
        (checksum(rest) == *sum).then_some((count, state))
    }
}

impl PageArrival {
    /// An arrival as words, for its number among all.
    pub fn words(&self, number: u64) -> [u64; PAGE_ARRIVAL_WORDS] {
        let what = (self.group as u64) << 16 | u64::from(self.op as u16);
        let (arrived, left) = (self.arrived_ns as u64, self.left_ns as u64);
        [number + 1, what, self.sequence, self.bytes, arrived, left, self.step as u64]
    }
}

impl LivePage {
    /// Reads a page of these bytes. `later` are those of a second reading, of the same length: what was overwritten between both is
    /// left out.
    ///
    /// # Errors
    /// [`PageRefused`] says why it cannot be one.
    pub fn read(bytes: &[u8], later: &[u8]) -> Result<Self, PageRefused> {
        let words = words_of(bytes)?;
        let head = head_of(&words)?;
        let state = newest(&words)?;
        let groups = (0..state.groups.min(PAGE_GROUPS as u64) as usize).map(|at| group_of(&words, at)).collect::<Vec<_>>();
        let last = newest(&words_of(later)?)?.arrivals;
        let first = last.saturating_add(OVERTAKEN).saturating_sub(PAGE_ARRIVALS as u64);
        let kept = first.max(state.arrivals.saturating_sub(PAGE_ARRIVALS as u64))..state.arrivals;
        let arrivals = kept.filter_map(|number| arrival_of(&words, number, groups.len())).collect();
        Ok(Self { head, state, groups, arrivals })
    }

    /// The collective it is in, if it is in one.
    pub fn open(&self) -> Option<&PageArrival> {
        self.arrivals.last().filter(|arrival| arrival.left_ns == 0)
    }
}

fn words_of(bytes: &[u8]) -> Result<Vec<u64>, PageRefused> {
    let words: Vec<u64> = bytes.as_chunks().0.iter().take(PAGE_WORDS).map(|word| u64::from_le_bytes(*word)).collect();
    if words.first().is_none_or(|magic| *magic != PAGE_MAGIC) {
        return Err(PageRefused::NotAPage);
    }
    let version = words.get(1).map_or(0, |word| *word as u32);
    if version != PAGE_VERSION {
        return Err(PageRefused::Version { version });
    }
    if words.len() < PAGE_WORDS { Err(PageRefused::Cut { bytes: bytes.len() }) } else { Ok(words) }
}

fn head_of(words: &[u64]) -> Result<PageHead, PageRefused> {
    let head =
        PageHead { rank: (words[2] >> 32) as u32, pid: words[2] as u32, process_start: words[3], boot: [words[4], words[5]] };
    if words[..8] == head.words() { Ok(head) } else { Err(PageRefused::Head) }
}

/// Which of the two states in these words of a page is the newer one that is whole.
pub fn newest_state(words: &[u64]) -> Option<usize> {
    let count = |at: usize| words.get(at..at + PAGE_STATE_WORDS).and_then(PageState::of).map(|(count, _)| count);
    let counts = PAGE_STATES_AT.map(|at| count(at).filter(|count| *count > 0));
    (0..counts.len()).filter(|which| counts[*which].is_some()).max_by_key(|which| counts[*which])
}

/// What the last word of a state says of those before it.
pub fn state_checksum(words: &[u64]) -> u64 {
    checksum(words)
}

/// The newer of the two states that is whole.
fn newest(words: &[u64]) -> Result<PageState, PageRefused> {
    let states = PAGE_STATES_AT.map(|at| PageState::of(&words[at..at + PAGE_STATE_WORDS]));
    let newest = states.into_iter().flatten().max_by_key(|(count, _)| *count);
    newest.filter(|(count, _)| *count > 0).map(|(_, state)| state).ok_or(PageRefused::State)
}

fn group_of(words: &[u64], at: usize) -> PageGroup {
    let at = PAGE_GROUPS_AT + at * PAGE_GROUP_WORDS;
    let name: Vec<u8> = words[at + 1..at + PAGE_GROUP_WORDS].iter().flat_map(|word| word.to_le_bytes()).collect();
    let length = (words[at] as u32 as usize).min(PAGE_NAME_BYTES);
    PageGroup { name: String::from_utf8_lossy(&name[..length]).into_owned(), members: (words[at] >> 32) as u32 }
}

/// The arrival of that number, if it is still there and of a group that is known.
fn arrival_of(words: &[u64], number: u64, groups: usize) -> Option<PageArrival> {
    let at = PAGE_ARRIVALS_AT + (number % PAGE_ARRIVALS as u64) as usize * PAGE_ARRIVAL_WORDS;
    let [own, what, sequence, bytes, arrived, left, step] = *words[at..].first_chunk()?;
    let (group, op) = ((what >> 16) as usize, what as u16);
    let op = PageOp::ALL.get(usize::from(op)).copied()?;
    let (arrived_ns, left_ns) = (arrived as i64, left as i64);
    let is_it = own == number + 1 && group < groups && (left_ns == 0 || left_ns >= arrived_ns);
    is_it.then_some(PageArrival { group, op, sequence, bytes, arrived_ns, left_ns, step: step as i64 })
}

/// Fowler, Noll and Vo's, by words: a page is written with it several times a step, and it has to find what was torn, not what was
/// contrived.
fn checksum(words: &[u64]) -> u64 {
    let mix = |sum: u64, word: &u64| (sum ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29);
    words.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn page(arrivals: u64) -> Vec<u8> {
        let mut words = vec![0; PAGE_WORDS];
        words[..8].copy_from_slice(&PageHead { rank: 3, pid: 7, process_start: 9, boot: [1, 2] }.words());
        let state = PageState { progress: 5, progress_ns: 70, step: 4, arrivals, groups: 1, ..PageState::default() };
        words[16..48].copy_from_slice(&state.words(2));
        words[48..80].copy_from_slice(&PageState { progress: 4, ..state }.words(1));
        words[PAGE_GROUPS_AT] = 2 | 4 << 32;
        words[PAGE_GROUPS_AT + 1] = u64::from_le_bytes(*b"dp\0\0\0\0\0\0");
        for number in arrivals.saturating_sub(PAGE_ARRIVALS as u64)..arrivals {
            let at = PAGE_ARRIVALS_AT + (number % PAGE_ARRIVALS as u64) as usize * PAGE_ARRIVAL_WORDS;
            let arrived_ns = number as i64 * 10 + 1;
            let left_ns = if number + 1 == arrivals { 0 } else { arrived_ns + 5 };
            let arrival =
                PageArrival { group: 0, op: PageOp::Barrier, sequence: number, bytes: 0, arrived_ns, left_ns, step: 4 };
            words[at..at + PAGE_ARRIVAL_WORDS].copy_from_slice(&arrival.words(number));
        }
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn the_newer_state_counts_and_the_last_arrival_is_open() {
        let bytes = page(3);
        let read = LivePage::read(&bytes, &bytes).unwrap();
        assert_eq!(
            (read.head.rank, read.state.progress, read.groups[0].name.as_str(), read.groups[0].members),
            (3, 5, "dp", 4)
        );
        assert_eq!((read.arrivals.len(), read.open().map(|open| open.sequence)), (3, Some(2)));
    }

    #[test]
    fn a_phase_is_read_as_it_was_marked_and_a_page_of_an_earlier_program_has_none() {
        let mark = PageMark { phase: PagePhase::Checkpoint, began_ns: 60, before: 4, longest_ns: 9 };
        let marked = PageState { progress: 5, arrivals: 3, mark, ..PageState::default() };
        assert_eq!(PageState::of(&marked.words(2)), Some((2, marked)));
        // Words 0 to 9 are those of programs without phases.
        let mut earlier = marked.words(2);
        earlier[10..31].fill(0);
        earlier[31] = checksum(&earlier[..31]);
        assert_eq!(PageState::of(&earlier), Some((2, PageState { mark: PageMark::default(), ..marked })));
        // And a later program's are passed over.
        let mut later = marked.words(2);
        (later[10], later[20]) = (77, 1);
        later[31] = checksum(&later[..31]);
        let unmarked = PageMark { phase: PagePhase::Unmarked, ..mark };
        assert_eq!(PageState::of(&later), Some((2, PageState { mark: unmarked, ..marked })));
    }

    #[test]
    fn a_state_that_was_being_written_gives_way_to_the_one_before() {
        let mut bytes = page(3);
        bytes[16 * 8 + 9] ^= 1;
        assert_eq!(LivePage::read(&bytes, &bytes).unwrap().state.progress, 4);
        bytes[48 * 8 + 9] ^= 1;
        assert_eq!(LivePage::read(&bytes, &bytes), Err(PageRefused::State));
    }

    #[test]
    fn arrivals_that_were_overwritten_meanwhile_are_left_out() {
        let (bytes, later) = (page(1_000), page(1_100));
        let read = LivePage::read(&bytes, &later).unwrap();
        assert_eq!(read.arrivals.first().map(|arrival| arrival.sequence), Some(1_100 + OVERTAKEN - PAGE_ARRIVALS as u64));
        assert_eq!(read.arrivals.last().map(|arrival| arrival.sequence), Some(999));
    }

    #[test]
    fn what_is_no_page_is_refused_with_the_reason() {
        let bytes = page(3);
        let refused = |bytes: &[u8]| LivePage::read(bytes, bytes).unwrap_err();
        assert_eq!(refused(b""), PageRefused::NotAPage);
        assert_eq!(refused(&bytes[..800]), PageRefused::Cut { bytes: 800 });
        let changed = |at: usize| {
            let mut bytes = bytes.clone();
            bytes[at] ^= 2;
            refused(&bytes)
        };
        assert_eq!(
            (changed(0), changed(8), changed(20)),
            (PageRefused::NotAPage, PageRefused::Version { version: 3 }, PageRefused::Head)
        );
    }

    proptest! {
        #[test]
        fn no_bytes_whatever_break_the_reader(
            changes in proptest::collection::vec((0..PAGE_BYTES, any::<u8>()), 0..64), cut in 0..=PAGE_BYTES,
        ) {
            let mut bytes = page(300);
            for (at, byte) in changes {
                bytes[at] = byte;
            }
            let _ = LivePage::read(&bytes[..cut], &bytes);
            let _ = LivePage::read(&bytes, &bytes[..cut]);
        }
    }
}
