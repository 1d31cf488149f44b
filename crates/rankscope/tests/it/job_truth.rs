//! That the binary says what is judged of the same files in process, where the truth about whole jobs is tested.

use crate::common::{report, write_job};
use rankscope_analyze::ClassMode;
use rankscope_formats::{ArgsPolicy, Scope};
use rankscope_job::{Analysed, Cards, Judging, Rules, TableSet, select_rank};
use rankscope_pipeline::{Keep, Mapping, Quiet, Reading, Request, judged};
use rankscope_testkit::{Job, NodeClock, Straggler};
use rankscope_time::Rank;
use serde_json::Value;

/// What a command line asks for.
struct Asked {
    line: &'static [&'static str],
    classes: ClassMode,
    scope: Scope,
    step: Option<i64>,
    rank: Option<Rank>,
}

#[test]
fn the_binary_says_what_the_crates_do() {
    let far = NodeClock { offset_ns: 850_000, drift_ppb: 2_000 };
    let straggler = Some(Straggler { rank: 2, factor: 1.3 });
    let job = Job { steps: 4, gpus_per_node: 2, clocks: vec![NodeClock::default(), far], straggler, ..Job::default() };
    let directory = write_job(&job);
    let plain = Asked { line: &[], classes: ClassMode::Default, scope: Scope::All, step: None, rank: None };
    for asked in [
        Asked { line: &["--classes", "tracelens"], classes: ClassMode::Tracelens, ..plain },
        Asked { line: &["--gpu-only"], scope: Scope::Device, ..plain },
        Asked { line: &["--step", "2", "--rank", "1"], step: Some(2), rank: Some(Rank(1)), ..plain },
        plain,
    ] {
        let rules = Rules::new(asked.classes, Vec::new(), asked.scope == Scope::Device);
        let reading = Reading { args: ArgsPolicy::Analysis, scope: asked.scope };
        let request = Request {
            paths: vec![directory.path().to_owned()],
            clocks: None,
            mapping: Mapping { reading, rules, keep: Keep::Nothing, cards: Cards::default(), tables: TableSet::ALL },
            judging: Judging::default(),
        };
        let job = judged(&request, &Quiet).expect("it can be judged").job;
        let said = report(directory.path(), &[asked.line, &["--no-answers"]].concat());
        let title = said["title"].as_str().expect("a title");
        let mut document = Analysed::of(job, asked.step).expect("that step is there").document(title);
        asked.rank.into_iter().for_each(|rank| select_rank(&mut document, rank).expect("it is there"));
        let expected: Value = serde_json::from_slice(&serde_json::to_vec(&document).expect("JSON")).expect("JSON");
        assert_eq!(said, expected, "{:?}", asked.line);
        assert!(said["verdict"]["late"][0]["rank"] == 2 || asked.step.is_some(), "{said}");
    }
}
