//! How the ranks of an attempt ended, and which of them failed first.
//!
//! When one rank fails the others follow: they lose their connection to it, or whoever started them ends them. The one idea is to
//! keep these apart, because only the first tells why the job failed. Order comes from times, never from the numbers of ranks; and
//! where nothing is known of any rank, nothing is said of any.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::manifest::{Attempt, Exit, Manifest};

/// How one rank ended, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RankEnd {
    /// Its number.
    pub rank: u32,
    /// Why it ended.
    #[serde(default)]
    pub how: Ending,
    /// The exit of its process, where that was seen.
    #[serde(default)]
    pub exit: Option<Exit>,
    /// When it failed by its own word, else when its process was seen to have ended; in nanoseconds since 1970.
    #[serde(default)]
    pub ended_unix_ns: Option<i64>,
    /// The number of the last step its profiler counted.
    #[serde(default)]
    pub after_step: Option<i64>,
    /// What it failed with: the kind of error and one line of its text.
    #[serde(default)]
    pub message: Option<String>,
    /// The name of its host.
    #[serde(default)]
    pub host: Option<String>,
}

impl RankEnd {
    /// An end of which no more is known.
    pub fn new(rank: u32, how: Ending) -> Self {
        Self { rank, how, exit: None, ended_unix_ns: None, after_step: None, message: None, host: None }
    }
}

/// Why a rank ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Ending {
    /// It was done.
    Finished,
    /// It failed by itself.
    Failed,
    /// It failed since it lost another rank.
    Consequence,
    /// It was told to end: after another rank failed, or by whoever stopped the job.
    Asked,
    /// By something that this version has no word for.
    #[default]
    #[serde(other)]
    Unknown,
}

/// The rank that failed before all others, and so probably why a job failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FirstFailure {
    /// Its number; none where the command failed and nothing is known of its ranks.
    pub rank: Option<u32>,
    /// The name of its host, where known.
    pub host: Option<String>,
    /// How its process ended, where that was seen.
    pub exit: Option<Exit>,
    /// The number of the last step its profiler counted, where it had one.
    pub after_step: Option<i64>,
    /// The kind of error and one line of its text, where the process told; without control characters.
    pub message: Option<String>,
    /// When, in nanoseconds since 1970.
    pub unix_ns: Option<i64>,
    /// Whether the job has other ranks.
    pub among_others: bool,
}

/// `rank 1 failed first (exit code 1, after step 9, on gpu-7): RuntimeError: out of memory`, without a full stop.
impl fmt::Display for FirstFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rank {
            Some(rank) => write!(f, "rank {rank} failed{}", if self.among_others { " first" } else { "" })?,
            None => f.write_str("the command failed")?,
        }
        let about = [
            self.exit.map(|exit| exit.to_string()),
            self.after_step.map(|step| format!("after step {step}")),
            self.host.as_ref().map(|host| format!("on {host}")),
        ];
        let about: Vec<String> = about.into_iter().flatten().collect();
        if !about.is_empty() {
            write!(f, " ({})", about.join(", "))?;
        }
        self.message.iter().try_for_each(|message| write!(f, ": {message}"))
    }
}

impl Attempt {
    /// Which rank failed first; none where the attempt did not fail, was told to end, or is not over.
    pub(super) fn first_failure(&self, manifest: &Manifest) -> Option<FirstFailure> {
        let exit = self.exit.filter(|exit| !exit.is_success())?;
        let among_others = manifest.world_size.map_or(self.ends.len() > 1, |size| size > 1);
        let Some(end) = first(&self.ends) else {
            let unknown = FirstFailure {
                rank: None,
                host: None,
                exit: Some(exit),
                after_step: None,
                message: None,
                unix_ns: self.ended_unix_ns,
                among_others,
            };
            return self.asked_by_signal.is_none().then_some(unknown);
        };
        let told_host = || manifest.ranks.iter().find(|entry| entry.rank == end.rank)?.host.clone();
        Some(FirstFailure {
            rank: Some(end.rank),
            host: end.host.clone().or_else(told_host).map(|host| one_line(&host)),
            exit: end.exit,
            after_step: end.after_step,
            message: end.message.as_deref().map(one_line),
            unix_ns: end.ended_unix_ns,
            among_others,
        })
    }
}

/// The rank that failed by itself before others did; where all lost others, the one that was the first to.
fn first(ends: &[RankEnd]) -> Option<&RankEnd> {
    let earliest = |how: Ending| {
        let such = ends.iter().filter(move |end| end.how == how);
        such.min_by_key(|end| (end.ended_unix_ns.unwrap_or(i64::MAX), end.rank))
    };
    earliest(Ending::Failed).or_else(|| earliest(Ending::Consequence))
}

/// Tells ranks that lost another from those that failed by themselves, by what they say they failed with.
pub fn settle_ends(ends: &mut [RankEnd]) {
    for end in ends.iter_mut().filter(|end| end.how == Ending::Failed) {
        if end.message.as_deref().is_some_and(tells_of_a_lost_peer) {
            end.how = Ending::Consequence;
        }
    }
    ends.sort_by_key(|end| end.rank);
}

fn tells_of_a_lost_peer(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    LOST_PEER.iter().any(|words| message.contains(words))
}

/// Of gloo and sockets, of NCCL and its watchdog, of torch's store, of the service that JAX coordinates its processes with, and
/// of MPI, in small letters.
const LOST_PEER: [&str; 22] = [
    "connection closed by peer",
    "connection reset by peer",
    "connection was likely closed",
    "connection was closed",
    "connection refused",
    "broken pipe",
    "socket closed",
    "read error [",
    "timed out waiting",
    "failed to recv, got 0 bytes",
    "distnetworkerror",
    "diststoreerror",
    "ncclremoteerror",
    "remote process exited",
    "ncclcommabort",
    "communicator was aborted",
    "watchdog caught collective operation timeout",
    "distributed service detected fatal errors",
    "another task died",
    "coordination service",
    "heartbeat timeout",
    "barrier timed out",
];

/// Longer texts are for the log.
const MESSAGE_CHARS: usize = 400;

/// Foreign text on one line, without what would move a terminal's cursor or turn the direction of what follows.
fn one_line(text: &str) -> String {
    let turns = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}');
    let shown = text.chars().filter(|c| !turns(*c)).map(|c| if c.is_control() { ' ' } else { c });
    shown.take(MESSAGE_CHARS).collect()
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => match SIGNALS.iter().find(|(number, _)| number == signal) {
                Some((_, name)) => write!(f, "killed by {name}"),
                None => write!(f, "killed by signal {signal}"),
            },
        }
    }
}

/// What processes usually die of, as Linux numbers it.
const SIGNALS: [(i32, &str); 10] = [
    (1, "SIGHUP"),
    (2, "SIGINT"),
    (3, "SIGQUIT"),
    (4, "SIGILL"),
    (6, "SIGABRT"),
    (7, "SIGBUS"),
    (8, "SIGFPE"),
    (9, "SIGKILL"),
    (11, "SIGSEGV"),
    (15, "SIGTERM"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn end(rank: u32, how: Ending, at: i64, message: &str) -> RankEnd {
        let message = Some(message.to_owned()).filter(|message| !message.is_empty());
        RankEnd { ended_unix_ns: Some(at), message, exit: Some(Exit::Code(1)), ..RankEnd::new(rank, how) }
    }

    fn attempt(ends: Vec<RankEnd>) -> Attempt {
        Attempt { exit: Some(Exit::Code(1)), ends, ..Attempt::default() }
    }

    fn found(attempt: &Attempt) -> Option<FirstFailure> {
        attempt.first_failure(&Manifest { world_size: Some(4), ..Manifest::default() })
    }

    #[test]
    fn who_lost_a_peer_did_not_fail_first_whenever_it_was_seen() {
        let lost = "RuntimeError: [../gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:3811";
        let mut ends = vec![
            end(3, Ending::Failed, 10, lost),
            end(1, Ending::Failed, 30, "ValueError: loss is NaN"),
            end(2, Ending::Failed, 20, lost),
            end(0, Ending::Asked, 5, ""),
        ];
        settle_ends(&mut ends);
        assert_eq!(ends.iter().map(|end| end.rank).collect::<Vec<_>>(), [0, 1, 2, 3]);
        let first = found(&attempt(ends.clone())).unwrap();
        assert_eq!((first.rank, first.message.as_deref()), (Some(1), Some("ValueError: loss is NaN")));
        ends.retain(|end| end.rank != 1);
        assert_eq!(found(&attempt(ends)).unwrap().rank, Some(3), "the first to lose another is the next best");
    }

    #[test]
    fn the_earliest_of_those_that_failed_by_themselves_counts() {
        let ends = vec![end(0, Ending::Failed, 12, ""), end(1, Ending::Failed, 11, ""), RankEnd::new(2, Ending::Failed)];
        assert_eq!(found(&attempt(ends)).unwrap().rank, Some(1));
    }

    #[test]
    fn what_did_not_fail_has_no_first_failure() {
        let fine = Attempt { exit: Some(Exit::Code(0)), ..attempt(vec![end(0, Ending::Failed, 1, "")]) };
        let running = Attempt { exit: None, ..attempt(Vec::new()) };
        let stopped = Attempt { asked_by_signal: Some(15), ..attempt(vec![end(0, Ending::Asked, 1, "")]) };
        assert_eq!([found(&fine), found(&running), found(&stopped)], [None, None, None]);
        assert_eq!(found(&attempt(Vec::new())).unwrap().to_string(), "the command failed (exit code 1)");
    }

    #[test]
    fn a_failure_is_one_sentence() {
        let mut failed = end(1, Ending::Failed, 1, "RuntimeError: CUDA\nerror \u{1b}[31mred\u{202e}");
        (failed.after_step, failed.host) = (Some(9), Some("gpu-7".to_owned()));
        let said = found(&attempt(vec![failed.clone()])).unwrap().to_string();
        assert_eq!(said, "rank 1 failed first (exit code 1, after step 9, on gpu-7): RuntimeError: CUDA error  [31mred");
        let killed = RankEnd { exit: Some(Exit::Signal(9)), ..RankEnd::new(0, Ending::Failed) };
        let alone = Manifest { world_size: Some(1), ..Manifest::default() };
        let said = attempt(vec![killed]).first_failure(&alone).unwrap().to_string();
        assert_eq!(said, "rank 0 failed (killed by SIGKILL)");
    }
}
