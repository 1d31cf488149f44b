//! One rank: all that is known of it.

use rankscope_document::{LiveMeetings, LiveRank};
use rankscope_report::{alarm_line, bytes, duration};

use crate::column::{error, figure, part_of_step, time};
use crate::draw::Line;
use crate::ranks::{is_in, phase, verdict};
use crate::state::Top;
use crate::trend::bars;

impl Top {
    pub(crate) fn rank_lines(&self, rank: u32, width: u16) -> Vec<Line> {
        let Some(of) = self.scene.document.ranks.iter().find(|other| other.rank == rank) else {
            return vec![(format!("Rank {rank} does not tell of itself any more."), self.paint.notice())];
        };
        let step_ns = self.scene.document.step_ns;
        let host = self.scene.host(of.node);
        let on = if host.is_empty() { String::new() } else { format!(" on {host}") };
        let mut lines = vec![
            (format!("Rank {rank}{on}, in step {}", figure(of.step)), self.paint.bold()),
            self.fact("late by", format!("{} {}, {}", time(of.lateness_ns), error(of.clock_error_ns), verdict(of))),
            self.fact("caused", format!("{} of waiting by all others together, a step", time(of.caused_wait_ns))),
            self.fact(
                "inside",
                format!("{} of a step in collectives, {}", part_of_step(of.collective_ns, step_ns), time(of.collective_ns)),
            ),
        ];
        if of.exposed_comm_ns.is_some() {
            let said = format!("{} of a step, {}", part_of_step(of.exposed_comm_ns, step_ns), time(of.exposed_comm_ns));
            lines.push(self.fact("exposed", format!("{said}: communication not overlapped by compute")));
        }
        lines.push(self.fact("moved", format!("{} ago", duration(of.progress_age_ns as f64))));
        lines.push(self.fact("is in", inside(of)));
        lines.extend(phase(of).map(|phase| self.fact("phase", phase)));
        lines.extend(self.last_in(rank));
        let trend = bars(self.scene.trends.lateness_ns(rank), usize::from(width).saturating_sub(INDENT));
        lines.push(self.fact("trend", trend));
        lines.extend(self.alarms_of(rank));
        lines
    }

    fn fact(&self, name: &str, said: String) -> Line {
        (format!("  {name:<width$}{said}", width = INDENT - 2), self.paint.plain())
    }

    /// Operations at which it came last most often.
    fn last_in(&self, rank: u32) -> Vec<Line> {
        let is_last = |met: &&LiveMeetings| met.last.is_some_and(|last| last.rank == rank);
        let said = |met: &LiveMeetings| {
            let count = met.last.map_or(0, |last| last.count);
            let op = met.op.as_deref().unwrap_or("all");
            self.fact(
                "last at",
                format!("{op} of {}, {count} of {} times; {} of waiting each", met.group, met.met, time(met.wait_ns)),
            )
        };
        self.scene.document.collectives.iter().filter(is_last).map(said).collect()
    }

    fn alarms_of(&self, rank: u32) -> Vec<Line> {
        let own = self.scene.document.alarms.iter().filter(|alarm| alarm.rank == Some(rank));
        own.map(|alarm| (alarm_line(alarm), self.paint.alarm())).collect()
    }
}

/// Of names and what is said.
const INDENT: usize = 12;

fn inside(rank: &LiveRank) -> String {
    match &rank.open {
        Some(open) => format!("{}, {} a rank", is_in(open), bytes(open.bytes)),
        None => "no collective".to_owned(),
    }
}
