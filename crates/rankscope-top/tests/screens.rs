//! What is drawn, letter by letter, on a small terminal and on a wide one; and that no size and no key breaks it.
#![expect(clippy::unwrap_used, reason = "a test of what is drawn")]

use proptest::prelude::*;
use rankscope_document::{
    LiveAlarm, LiveCollective, LiveDocument, LiveLast, LiveLink, LiveMeetings, LiveNode, LiveOpen, LiveRank, LiveReplay,
};
use rankscope_top::{Asked, Input, Key, Paint, Top};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

const MS: i64 = 1_000_000;

/// Eight ranks on two hosts, of which rank 5 is late; rank 3 is in a collective to which rank 5 has not come. At a given step.
fn job(step: i64) -> LiveDocument {
    let rank = |rank: u32| {
        let late_ns = if rank == 5 { 11 * MS + step * 100_000 } else { i64::from(rank) * 1_000 - 3_000 };
        let open =
            LiveCollective { group: "dp".to_owned(), seq: 421, op: "all_reduce".to_owned(), bytes: 64 << 20, age_ns: 9 * MS };
        LiveRank {
            rank,
            step: Some(step),
            lateness_ns: Some(late_ns),
            clock_error_ns: Some(23_000 + i64::from(rank)),
            caused_wait_ns: Some(if rank == 5 { 74 * MS } else { 0 }),
            collective_ns: Some(if rank == 5 { 2 * MS } else { 13 * MS }),
            exposed_comm_ns: None,
            node: Some(rank / 4),
            progress_age_ns: MS * i64::from(rank + 1),
            phase: None,
            phase_age_ns: None,
            open: Some(open).filter(|_| rank == 3),
        }
    };
    let met = |op: Option<&str>, wait_ns| LiveMeetings {
        group: "dp".to_owned(),
        op: op.map(str::to_owned),
        members: 8,
        met: 40,
        bytes: op.map(|_| 64 << 20),
        wait_ns: Some(wait_ns),
        transfer_ns: Some(3 * MS),
        last: Some(LiveLast { rank: 5, count: 38 }),
        open: Some(LiveOpen {
            seq: 421,
            op: "all_reduce".to_owned(),
            inside: 7,
            age_ns: 9 * MS,
            missing: vec![5],
            missing_count: 1,
        })
        .filter(|_| op != Some("all_gather")),
    };
    let mut ranks: Vec<LiveRank> = (0..8).map(rank).collect();
    ranks.sort_by_key(|rank| std::cmp::Reverse(rank.lateness_ns));
    LiveDocument {
        schema: 1,
        title: "pretrain-7b".to_owned(),
        world_size: Some(8),
        step: Some(step),
        step_ns: Some(100 * MS + step % 7 * MS),
        compared_steps: 20,
        ranks,
        groups: vec![met(None, 11 * MS)],
        collectives: vec![met(Some("all_reduce"), 11 * MS), met(Some("all_gather"), MS / 2)],
        nodes: (0..2)
            .map(|node| LiveNode {
                node,
                host: format!("gpu-{node:02}"),
                offset_ns: Some(i64::from(node) * 4_300_000),
                clock_error_ns: Some(11_000),
            })
            .collect(),
        links: vec![LiveLink {
            from: 0,
            to: 1,
            rtt_min_ns: Some(41_000),
            offset_ns: Some(4_300_000),
            offset_error_ns: Some(9_000),
            answered: 995,
            lost: 5,
        }],
        alarms: vec![LiveAlarm { rank: Some(5), value_ns: 11 * MS, clock_error_ns: 23_005, ..LiveAlarm::default() }],
        ..LiveDocument::default()
    }
}

/// After ten steps.
fn top() -> Top {
    let mut top = Top::new(Paint { color: false });
    (100..110).for_each(|step| top.take(job(step)));
    top
}

fn drawn(top: &mut Top, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| top.draw(frame)).unwrap();
    let buffer = terminal.backend().buffer().clone();
    let line = |y: u16| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..height).map(line).collect::<Vec<_>>().join("\n")
}

fn typed(top: &mut Top, text: &str) {
    text.chars().for_each(|letter| assert_eq!(top.handle(Input::Key(Key::Char(letter))), Asked::Nothing, "{letter}"));
}

#[test]
fn each_view_at_80_columns() {
    let mut top = top();
    for (view, name) in (1..).zip(["ranks", "groups", "collectives", "nodes", "links"]) {
        typed(&mut top, &view.to_string());
        insta::assert_snapshot!(format!("{name}-80"), drawn(&mut top, 80, 24));
    }
}

#[test]
fn each_view_at_140_columns() {
    let mut top = top();
    for (view, name) in (1..).zip(["ranks", "groups", "collectives", "nodes", "links"]) {
        typed(&mut top, &view.to_string());
        insta::assert_snapshot!(format!("{name}-140"), drawn(&mut top, 140, 24));
    }
}

#[test]
fn one_rank_and_the_help() {
    let mut top = top();
    top.handle(Input::Key(Key::Enter));
    insta::assert_snapshot!("rank-80", drawn(&mut top, 80, 24));
    typed(&mut top, "?");
    typed(&mut top, "?");
    insta::assert_snapshot!("help-80", drawn(&mut top, 80, 24));
}

#[test]
fn a_replay_says_that_it_is_one() {
    let mut top = Top::new(Paint { color: false });
    let exposed = |mut document: LiveDocument| {
        document.replay = Some(LiveReplay { place: 10, steps: 36 });
        document.ranks.iter_mut().for_each(|rank| rank.exposed_comm_ns = Some(20 * MS));
        document
    };
    top.take(exposed(job(109)));
    top.note("at the pace of the run".to_owned());
    typed(&mut top, "p");
    let screen = drawn(&mut top, 80, 24);
    assert!(screen.contains("REPLAY of a run that has ended: step 10 of 36, at the pace of the run, paused"), "{screen}");
    assert!(screen.contains("exposed") && screen.contains("19.2 %"), "{screen}");
    for (key, asked) in
        [('.', Asked::Forward), (',', Asked::Back), ('+', Asked::Faster), ('-', Asked::Slower), ('q', Asked::Quit)]
    {
        assert_eq!(top.handle(Input::Key(Key::Char(key))), asked);
    }
}

/// The ranks that are shown, from top to bottom.
fn ranks(top: &mut Top) -> Vec<u32> {
    let screen = drawn(top, 120, 40);
    let heads = screen.lines().position(|line| line.contains("late by")).unwrap();
    let rank = |line: &str| line.get(..7)?.trim().trim_start_matches('!').parse().ok();
    screen.lines().skip(heads + 1).map_while(rank).collect()
}

#[test]
fn rows_are_sorted_turned_round_and_filtered() {
    let mut top = top();
    assert_eq!(ranks(&mut top), [5, 7, 6, 4, 3, 2, 1, 0]);
    typed(&mut top, "r");
    assert_eq!(ranks(&mut top), [0, 1, 2, 3, 4, 6, 7, 5]);
    typed(&mut top, "r<<<");
    assert_eq!(ranks(&mut top), [7, 6, 5, 4, 3, 2, 1, 0]);
    typed(&mut top, "/gpu-01");
    assert_eq!(ranks(&mut top), [7, 6, 5, 4]);
    typed(&mut top, " rank 6");
    top.handle(Input::Key(Key::Enter));
    assert_eq!(ranks(&mut top), [6]);
    top.handle(Input::Key(Key::Escape));
    assert_eq!(ranks(&mut top).len(), 8);
    typed(&mut top, "/nobody");
    assert!(drawn(&mut top, 80, 24).contains("The filter leaves nothing"));
}

#[test]
fn the_selection_stays_with_its_rank_when_others_come_before_it() {
    let mut top = top();
    typed(&mut top, "jjj");
    let selected = |top: &mut Top| {
        let mut shown = top.clone();
        shown.handle(Input::Key(Key::Enter));
        let screen = drawn(&mut shown, 80, 24);
        screen.lines().find_map(|line| line.strip_prefix("Rank ").map(|rest| rest[..1].to_owned())).unwrap()
    };
    assert_eq!(selected(&mut top), "4");
    let mut document = job(110);
    document.ranks.iter_mut().find(|rank| rank.rank == 4).unwrap().lateness_ns = Some(-MS);
    top.take(document);
    assert_eq!(selected(&mut top), "4");
}

#[test]
fn a_click_selects_and_opens_rows_sorts_by_heads_and_changes_views() {
    let mut top = top();
    let screen = drawn(&mut top, 120, 40);
    let at = |what: &str| {
        let (row, line) = screen.lines().enumerate().find(|(_, line)| line.contains(what)).unwrap();
        Input::Click { column: line[..line.find(what).unwrap()].chars().count() as u16 + 1, row: row as u16 }
    };
    let (rank_7, caused, nodes) = (at("    7 "), at("caused"), at("4 Nodes"));
    top.handle(rank_7);
    top.handle(rank_7);
    assert!(drawn(&mut top, 120, 40).contains("Rank 7 on gpu-01"));
    top.handle(Input::Key(Key::Escape));
    drawn(&mut top, 120, 40);
    top.handle(caused);
    assert!(drawn(&mut top, 120, 40).contains("caused▼"));
    top.handle(caused);
    assert!(drawn(&mut top, 120, 40).contains("caused▲"));
    top.handle(nodes);
    assert!(drawn(&mut top, 120, 40).contains("clock ahead"));
}

#[test]
fn of_thousands_of_ranks_those_around_the_selection_are_in_sight() {
    let mut top = Top::new(Paint { color: false });
    let rank = |rank| LiveRank { rank, lateness_ns: Some(-i64::from(rank)), ..LiveRank::default() };
    top.take(LiveDocument { ranks: (0..4_096).map(rank).collect(), ..LiveDocument::default() });
    assert_eq!(ranks(&mut top)[..3], [0, 1, 2]);
    top.handle(Input::Key(Key::End));
    assert_eq!(ranks(&mut top).last(), Some(&4_095));
    top.handle(Input::Key(Key::PageUp));
    assert!(ranks(&mut top).contains(&4_095), "a page up from the end is still in sight");
    top.handle(Input::WheelDown);
    top.handle(Input::Key(Key::Home));
    assert_eq!(ranks(&mut top)[0], 0);
}

#[test]
fn names_of_a_job_steer_no_terminal() {
    let mut document = job(1);
    document.title = "a\u{1b}]0;b\u{7}\u{202e}".to_owned();
    document.groups[0].group = "\u{1b}[2J".to_owned();
    let mut top = Top::new(Paint { color: false });
    top.take(document);
    for view in ["1", "2"] {
        typed(&mut top, view);
        let screen = drawn(&mut top, 80, 24);
        assert!(!screen.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{screen:?}");
    }
}

#[test]
fn the_phase_that_a_rank_marks_is_what_it_is_in_and_training_goes_without_saying() {
    let mut document = job(7);
    let ranks = document.ranks.iter_mut().filter(|rank| rank.rank == 3 || rank.rank == 5);
    ranks.for_each(|rank| (rank.phase, rank.phase_age_ns) = (Some("checkpoint".to_owned()), Some(12_000 * MS)));
    document.ranks.iter_mut().filter(|rank| rank.rank == 1).for_each(|rank| rank.phase = Some("training".to_owned()));
    let mut top = Top::new(Paint { color: false });
    top.take(document);
    let screen = drawn(&mut top, 160, 30);
    assert!(screen.contains("9.00 ms in all_reduce 421 of dp; 12.0 s in checkpoint"), "{screen}");
    assert_eq!((screen.matches("12.0 s in checkpoint").count(), screen.matches("in training").count()), (2, 0), "{screen}");
}

fn any_input() -> impl Strategy<Value = Input> {
    let keys =
        [Key::Up, Key::Down, Key::PageUp, Key::PageDown, Key::Home, Key::End, Key::Tab, Key::BackTab, Key::Enter, Key::Escape];
    prop_oneof![
        proptest::sample::select(keys.to_vec()).prop_map(Input::Key),
        "[ -~]".prop_map(|text| Input::Key(Key::Char(text.chars().next().unwrap()))),
        Just(Input::Key(Key::Backspace)),
        (0_u16..200, 0_u16..60).prop_map(|(column, row)| Input::Click { column, row }),
        Just(Input::WheelUp),
        Just(Input::WheelDown),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_size_and_no_input_breaks_it(
        steps in proptest::collection::vec((any_input(), 0_u16..150, 0_u16..50, 0_i64..3), 0..30),
    ) {
        let mut top = Top::new(Paint { color: true });
        for (input, width, height, looks) in steps {
            (0..looks).for_each(|step| top.take(job(step)));
            drawn(&mut top, width, height);
            top.handle(input);
        }
        drawn(&mut top, 80, 24);
    }
}
