use rankscope_document::{Document, Rank, Step, Time};

use super::*;
use crate::{Run, Settings, Side};

fn refused(text: &str) -> String {
    Policy::parse(text).expect_err(text).to_string()
}

#[test]
fn what_is_left_out_has_its_usual_value() {
    let policy = Policy::parse("[[metric]]\nname = \"step_ns\"\n").unwrap();
    assert_eq!(policy.alpha, Alpha(0.05));
    assert_eq!(policy.on_inconclusive, OnInconclusive::Warn);
    assert_eq!(policy.least(&policy.metrics[0]), (1, 0));
    assert_eq!((policy.run_spread(&policy.metrics[0]), &policy.metrics[0].direction), (None, &None));
}

#[test]
fn an_entry_says_more_than_the_policy_around_it() {
    let text = "run_spread = 0.01\nleast_runs = 3\n[[metric]]\nname = \"a\"\nrun_spread = 0.002\nleast_runs = 5\n[[metric]]\nname = \"b\"";
    let policy = Policy::parse(text).unwrap();
    let of = |index: usize| (policy.run_spread(&policy.metrics[index]), policy.least(&policy.metrics[index]).0);
    assert_eq!((of(0), of(1)), ((Some(0.002), 5), (Some(0.01), 3)));
}

#[test]
fn what_means_nothing_is_refused_with_its_line() {
    let entry = |more: &str| format!("[[metric]]\nname = \"step_ns\"\n{more}\n");
    for (text, line, why) in [
        (entry("margn = 0.01"), "line 3, \"margn = 0.01\"", "margn"),
        (entry("margin = -0.01"), "line 3", "at least 0"),
        (entry("margin = nan"), "line 3", "at least 0"),
        (entry("direction = \"up\""), "line 3", "lower, higher, neutral"),
        (entry("scope = \"windows\""), "line 3", "collectives"),
        ("alpha = 0\n".to_owned() + &entry(""), "line 1", "above 0"),
        ("on_inconclusive = \"shrug\"\n".to_owned() + &entry(""), "line 1", "fail, warn, pass"),
        ("[metric\n".to_owned(), "line 1", ""),
        ("[[metric]]\nmargin = 0.01\n".to_owned(), "line 1", "name"),
    ] {
        let said = refused(&text);
        assert!(said.contains(line) && said.contains(why) && !said.contains('\n'), "{text}: {said}");
    }
}

#[test]
fn a_policy_guards_something_and_not_everything() {
    assert!(refused("alpha = 0.05").contains("pass everything"));
    let many: String = (0..11).map(|n| format!("[[metric]]\nname = \"m{n}\"\n")).collect();
    assert!(refused(&many).contains("11 [[metric]] entries"));
}

fn run(name: &str, step_ns: i64) -> Run {
    let time = |number: i64| Time { total: step_ns + number % 3, computation: step_ns / 2 + number % 2, ..Time::default() };
    let step = |number| Step { step: number, window_ns: [number * 1_000, 0], time_ns: time(number) };
    let rank = Rank { steps: (0..40).map(step).collect(), ..Rank::default() };
    Run::new(name, Document { ranks: vec![rank], ..Document::default() })
}

#[test]
fn a_new_policy_is_one_and_guards_what_the_base_has() {
    let hostile = "a\n[[metric]]\nb";
    let one = draft(&Side::new(hostile, vec![run("one", 1_000_000)]), &Settings::default());
    let policy = Policy::parse(&one).unwrap();
    let names: Vec<&str> = policy.metrics.iter().map(|guarded| guarded.name.as_str()).collect();
    assert_eq!(names, ["step_ns", "computation_ns"], "{one}");
    assert_eq!(policy.run_spread, None, "one run does not tell");
    assert_eq!(policy.metrics[0].margin, Some(Share(0.01)));
}

#[test]
fn margins_of_a_new_policy_are_no_narrower_than_runs_differ() {
    let runs = [1_000_000, 1_010_000, 990_000].map(|step_ns| run("run", step_ns)).to_vec();
    let text = draft(&Side::new("base", runs), &Settings::default());
    let policy = Policy::parse(&text).unwrap();
    assert_eq!(policy.run_spread, Some(Share(0.01)), "{text}");
    assert_eq!(policy.metrics[0].margin, Some(Share(0.03)), "{text}");
}
