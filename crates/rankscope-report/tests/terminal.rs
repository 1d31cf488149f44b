//! The terminal summary, as a person would see it.

mod common;

use rankscope_document::{
    Advice, Blame, BlameGroup, BlameGroupKind, BlameGroupReason, Budget, CriticalPath, Document, LatePattern, PathShare,
};
use rankscope_report::{Style, terminal};
use unicode_width::UnicodeWidthStr;

fn plain(document: &Document, width: usize) -> String {
    terminal(document, Style { color: false, width })
}

#[test]
fn eight_gpus_with_a_straggler() {
    insta::assert_snapshot!(plain(&common::eight_gpus(), 80));
}

#[test]
fn eight_gpus_on_a_wide_terminal() {
    insta::assert_snapshot!(plain(&common::eight_gpus(), 120));
}

#[test]
fn four_ranks_on_cpu() {
    insta::assert_snapshot!(plain(&common::four_on_cpu(), 80));
}

#[test]
fn one_rank_of_eight() {
    insta::assert_snapshot!(plain(&common::one_of_eight(), 80));
}

#[test]
fn hundreds_of_ranks_show_the_worst_and_the_best() {
    insta::assert_snapshot!(plain(&common::job(512, 2, 40), 80));
}

#[test]
fn nothing_at_all_still_says_what_it_is() {
    insta::assert_snapshot!(plain(&Document::default(), 80));
}

/// Eight GPUs, whose steps have critical paths.
fn with_paths() -> Document {
    let share = |name: &str, class: &str, rank, ns, count| PathShare {
        name: name.to_owned(),
        class: class.to_owned(),
        rank,
        ns,
        count,
        ..PathShare::default()
    };
    let path = |step: i64| CriticalPath {
        step: Some(step),
        rank: 5,
        length_ns: 20 * common::MS + step,
        by_class: [("compute", 15 * common::MS + step), ("device_gap", 0), ("host", 5 * common::MS)]
            .map(|(of, ns)| (of.to_owned(), ns))
            .into(),
        by_rank: [(0, 4 * common::MS), (5, 16 * common::MS + step)].into(),
        top: vec![share("aten::mm", "compute", 5, 12 * common::MS, 96), share(common::HOSTILE, "host", 0, 3 * common::MS, 7)],
        ..CriticalPath::default()
    };
    Document { critical_path: (3..=5).map(path).collect(), ..common::eight_gpus() }
}

#[test]
fn the_critical_path_is_that_of_a_typical_step() {
    let text = plain(&with_paths(), 80);
    let block: Vec<&str> =
        text.split("\n\n").find(|block| block.starts_with("CRITICAL PATH")).unwrap().lines().take(5).collect();
    let expected = [
        "CRITICAL PATH  step 4, of median length among 3 steps: 20.0 ms",
        "  compute 75.0 %, host 25.0 %",
        "  rank 5 80.0 %, rank 0 20.0 %",
        "  longest on it                 class    rank     time   share  pieces",
        "  aten::mm                      compute     5  12.0 ms  60.0 %      96",
    ];
    assert_eq!(block, expected);
}

#[test]
fn lines_fit_the_width() {
    for width in [72, 80, 100, 120, 200] {
        for document in [
            common::eight_gpus(),
            with_paths(),
            common::four_on_cpu(),
            common::one_of_eight(),
            common::two_nodes(),
            common::job(3000, 1, 8),
            with_wide_names(),
        ] {
            for line in plain(&document, width).lines() {
                assert!(line.width() <= width, "{width} columns: {line}");
            }
        }
    }
}

/// Eight GPUs, where every name and figure is as wide as it gets.
fn with_wide_names() -> Document {
    let wide = |n: usize| format!("{}{}", "前向传播".repeat(n), common::HOSTILE);
    let budget = |ns: i64| Budget {
        group: wide(40),
        kind: "reduce_scatter_tensor_coalesced".into(),
        exposed_ns: ns,
        wait_ns: ns - 123_456,
        transfer_ns: 123_456,
        balance_saves_ns_per_step: ns / 7,
        network_saves_ns_per_step: ns / 11,
        ..Budget::default()
    };
    let mut document = with_paths();
    document.title = wide(90);
    document.budgets = vec![budget(123_456_789_000), budget(999_000)];
    document.critical_path.iter_mut().flat_map(|path| &mut path.top).for_each(|share| share.name = wide(30));
    document.notes[0].text = wide(200);
    for group in &mut document.collectives.groups {
        (group.name, group.dtype) = (wide(9), wide(9));
        (group.count, group.matched) = (1_234_567, 1_234_566);
    }
    document
}

#[test]
fn budgets_stand_beside_their_names_where_there_is_room() {
    let block = |width| {
        let text = plain(&with_wide_names(), width);
        let block = text.split("\n\n").find(|block| block.starts_with("BUDGETS")).unwrap().to_owned();
        block.lines().count()
    };
    assert_eq!((block(80), block(140)), (1 + 1 + 2 * 2, 1 + 1 + 2));
}

#[test]
fn color_adds_escapes_and_nothing_else() {
    let document = common::eight_gpus();
    let colored = terminal(&document, Style { color: true, width: 80 });
    assert!(colored.contains("\x1b["));
    let mut stripped = String::new();
    for (i, piece) in colored.split("\x1b[").enumerate() {
        stripped.push_str(if i == 0 { piece } else { piece.split_once('m').unwrap().1 });
    }
    let trimmed = |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    assert_eq!(trimmed(&stripped), trimmed(&plain(&document, 80)));
}

#[test]
fn names_cannot_steer_the_terminal() {
    let mut document = common::eight_gpus();
    document.title = common::HOSTILE.to_owned();
    document.notes[0].text = common::HOSTILE.to_owned();
    document.collectives.groups[0].name = common::HOSTILE.to_owned();
    document.collectives.groups[0].dtype = "\x1b[2J".to_owned();
    assert!(!plain(&document, 80).contains('\x1b'));
}

#[test]
fn the_heading_of_advice_says_its_order() {
    let advice = |worth_ns_per_step| Advice { worth_ns_per_step, title: "Something".to_owned(), ..Advice::default() };
    let heading = |advice: Vec<Advice>| {
        let text = plain(&Document { advice, ..common::eight_gpus() }, 80);
        text.lines().find(|line| line.starts_with("WHAT WOULD HELP")).unwrap().to_owned()
    };
    assert_eq!(heading(vec![advice(9), advice(5), advice(5)]), "WHAT WOULD HELP  worth most first");
    assert_eq!(heading(vec![advice(5), advice(9)]), "WHAT WOULD HELP  single ranks first, then by worth");
    let seven = heading((1..=7).map(advice).collect());
    assert_eq!(seven, "WHAT WOULD HELP  single ranks first, then by worth; 2 more in report.json");
}

#[test]
fn that_a_rank_is_late_is_said_once() {
    let said = |pattern| {
        let group = BlameGroup {
            kind: BlameGroupKind::Rank,
            number: 5,
            ranks: vec![5],
            because: BlameGroupReason::Late,
            caused_ns: 9,
            pattern,
            sentence: "Rank 5 makes others wait.".to_owned(),
            ..BlameGroup::default()
        };
        let blame = Blame { rank: 5, lateness_ns: 9, caused_ns: 9, last: 3, of: 4, ..Blame::default() };
        plain(&Document { blame: vec![blame], blame_groups: vec![group], ..common::eight_gpus() }, 80)
    };
    // How it recurs is more than how late it was.
    let both = said(LatePattern::Persistent);
    assert!(both.contains("Rank 5 makes others wait.") && both.contains("Rank 5 came last to 3 of 4 collectives"));
    let once = said(LatePattern::Unknown);
    assert!(!once.contains("Rank 5 makes others wait.") && once.contains("Rank 5 came last to 3 of 4 collectives"));
}
