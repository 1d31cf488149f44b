//! What pages say together and what is known beside them, as a document. Pages of ranks that live and pages made of recordings end here.

use rankscope_document::{
    LiveAlarm, LiveCollective, LiveDocument, LiveLast, LiveLink, LiveMeetings, LiveNode, LiveOpen, LiveRank, LiveReplay,
};
use rankscope_live::{By, Compared, Found, Met, Open, Seen};
use rankscope_recording::PagePhase;

/// Ranks that are listed where they are missing in a collective.
const MISSING_MAX: usize = 16;

/// What is known of a job beside its pages.
#[derive(Clone, Debug, Default)]
pub(super) struct Beside {
    pub(super) title: String,
    pub(super) world_size: Option<u32>,
    /// Which node each rank is on.
    pub(super) node_of: std::collections::BTreeMap<u32, u32>,
    pub(super) nodes: Vec<LiveNode>,
    pub(super) links: Vec<LiveLink>,
    pub(super) problems: Vec<String>,
    pub(super) replay: Option<LiveReplay>,
}

impl Beside {
    /// The document of a look at `seen`, which was compared, at `now_ns`.
    pub(super) fn document(self, seen: &[Seen], compared: &Compared<'_>, now_ns: i64, alarms: Vec<LiveAlarm>) -> LiveDocument {
        let look = compared.look();
        let node = |seen: &Seen| self.node_of.get(&seen.page.head.rank).copied();
        let mut ranks: Vec<LiveRank> =
            seen.iter().zip(&look.ranks).map(|(seen, found)| rank(seen, found, node(seen), now_ns)).collect();
        ranks.sort_by_key(|rank| (std::cmp::Reverse(rank.lateness_ns), rank.rank));
        let states = || seen.iter().map(|seen| seen.page.state);
        let mut took: Vec<i64> = states().map(|state| state.step_took_ns).filter(|ns| *ns > 0).collect();
        took.sort_unstable();
        let met = |by| compared.met(by).into_iter().map(|met| meetings(met, now_ns)).collect();
        LiveDocument {
            schema: 1,
            rankscope_version: env!("CARGO_PKG_VERSION").to_owned(),
            title: self.title,
            replay: self.replay,
            time_ns: now_ns,
            world_size: self.world_size,
            step: states().map(|state| state.step).max().filter(|step| *step >= 0),
            step_ns: took.get(took.len() / 2).copied(),
            compared_steps: look.steps,
            ranks,
            groups: met(By::Group),
            collectives: met(By::Operation),
            nodes: self.nodes,
            links: self.links,
            alarms,
            problems: self.problems,
        }
    }
}

fn rank(seen: &Seen, found: &Found, node: Option<u32>, now_ns: i64) -> LiveRank {
    let page = &seen.page;
    let age_ns = |raw_ns: i64| age_ns(page.state.wall_ns(raw_ns), now_ns);
    let mark = Some(page.state.mark).filter(|mark| mark.phase != PagePhase::Unmarked);
    LiveRank {
        rank: page.head.rank,
        step: Some(page.state.step).filter(|step| *step >= 0),
        lateness_ns: found.lateness_ns,
        clock_error_ns: found.clock_error_ns,
        caused_wait_ns: found.caused_wait_ns,
        collective_ns: found.collective_ns,
        exposed_comm_ns: None,
        node,
        progress_age_ns: age_ns(page.state.progress_ns),
        phase: mark.map(|mark| mark.phase.name().to_owned()),
        phase_age_ns: mark.map(|mark| age_ns(mark.began_ns)),
        open: page.open().map(|open| LiveCollective {
            group: page.groups[open.group].name.clone(),
            seq: open.sequence,
            op: open.op.name().to_owned(),
            bytes: open.bytes,
            age_ns: age_ns(open.arrived_ns),
        }),
    }
}

fn age_ns(wall_ns: i64, now_ns: i64) -> i64 {
    now_ns.saturating_sub(wall_ns).max(0)
}

fn meetings(met: Met, now_ns: i64) -> LiveMeetings {
    LiveMeetings {
        group: met.group,
        op: met.op.map(|op| op.name().to_owned()),
        members: met.members,
        met: met.met,
        bytes: met.bytes,
        wait_ns: met.wait_ns,
        transfer_ns: met.transfer_ns,
        last: met.last.map(|(rank, count)| LiveLast { rank, count }),
        open: met.open.map(|open| self::open(open, now_ns)),
    }
}

fn open(open: Open, now_ns: i64) -> LiveOpen {
    LiveOpen {
        seq: open.sequence,
        op: open.op.name().to_owned(),
        inside: open.inside,
        age_ns: age_ns(open.since_wall_ns, now_ns),
        missing_count: open.missing.len() as u32,
        missing: open.missing.into_iter().take(MISSING_MAX).collect(),
    }
}
