//! A sweep from what is asked for to its document and back.
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use rankscope_sweep::{Asked, Definition, Error, Options, Order, RunState, Sweep, compare_command};

fn definition(variables: &[&str], repeat: u32, order: Order) -> Definition {
    let asked = Asked { variables: variables.iter().map(|text| text.parse().unwrap()).collect(), ..Asked::default() };
    let options = Options { ranks: None, clock: false, hooks: true, collect: Vec::new() };
    let command = ["train", "--lr", "1"].map(str::to_owned).to_vec();
    let definition = Definition::new(command, "/work".to_owned(), &asked, options).unwrap();
    definition.repeated(repeat).unwrap().ordered(order, None)
}

fn planned(variables: &[&str], repeat: u32, order: Order) -> Sweep {
    Sweep::plan(definition(variables, repeat, order), 7, BTreeMap::new())
}

fn paths(sweep: &Sweep) -> Vec<&str> {
    sweep.runs.iter().map(|run| run.path.as_str()).collect()
}

#[test]
fn orders_are_as_they_are_called() {
    let grouped = planned(&["A=4,8"], 2, Order::Grouped);
    assert_eq!(paths(&grouped), ["A-4/rep1", "A-4/rep2", "A-8/rep1", "A-8/rep2"]);
    let given = planned(&["A=4,8"], 2, Order::AsGiven);
    assert_eq!(paths(&given), ["A-4/rep1", "A-8/rep1", "A-4/rep2", "A-8/rep2"]);
    let balanced = planned(&["A=4,8"], 2, Order::Balanced);
    let rounds: Vec<u32> = balanced.runs.iter().map(|run| run.round).collect();
    assert_eq!(rounds, [1, 1, 2, 2]);
    assert_eq!(balanced.runs[0].configuration, balanced.runs[3].configuration, "the second round is the first reversed");
}

proptest! {
    #[test]
    fn what_is_planned_stays_when_more_is_asked_for(n in 1usize..8, first in 1u32..5, more in 0u32..4, order in 0usize..3) {
        let order = [Order::Balanced, Order::AsGiven, Order::Grouped][order];
        let values: Vec<String> = (0..n).map(|value| value.to_string()).collect();
        let variable = format!("A={}", values.join(","));
        let before = planned(&[&variable], first, order);
        let mut after = before.clone();
        after.extend(first + more);
        prop_assert_eq!(&after.runs[..before.runs.len()], &before.runs[..]);
        prop_assert_eq!(after.runs.len(), n * (first + more) as usize);
        let mut all = paths(&after);
        all.sort_unstable();
        all.dedup();
        prop_assert_eq!(all.len(), after.runs.len(), "each run has a directory of its own");
        let read = Sweep::read(&serde_json::to_vec(&after).unwrap()).unwrap();
        prop_assert_eq!(read, after);
    }

    #[test]
    fn no_bytes_make_reading_panic(bytes: Vec<u8>) {
        let _any = Sweep::read(&bytes);
    }
}

#[test]
fn documents_of_others_are_read_with_care() {
    let mut document = serde_json::to_value(planned(&["A=4,8"], 1, Order::Balanced)).unwrap();
    document["later"] = 5.into();
    let read = Sweep::read(document.to_string().as_bytes()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap()["later"], 5, "keys of others are kept");

    let with = |path: &str| {
        let mut edited = document.clone();
        edited["runs"][0]["path"] = path.into();
        Sweep::read(edited.to_string().as_bytes())
    };
    for path in ["/etc", "../x", "A-4/rep9", ""] {
        assert!(matches!(with(path), Err(Error::Damaged { .. })), "{path}");
    }
    document["schema"] = 2.into();
    document["runs"] = "all different".into();
    assert_eq!(Sweep::read(document.to_string().as_bytes()), Err(Error::LaterSchema { schema: 2 }));
    let cut = Sweep::read(b"{\n  \"schema\": 1,").unwrap_err();
    assert!(matches!(cut, Error::Damaged { line: 2, .. }), "{cut}");
}

#[test]
fn another_sweep_is_refused_with_what_differs() {
    let there = planned(&["A=4,8"], 3, Order::Balanced);
    let same = || definition(&["A=4,8"], 3, Order::Balanced);
    let said = |definition: &Definition| there.check(definition).unwrap_err().to_string();
    assert_eq!(there.check(&same()), Ok(()));
    assert_eq!(there.check(&definition(&["A=4,8"], 5, Order::Balanced)), Ok(()), "more repetitions are no difference");
    assert_eq!(there.check(&same().ordered(Order::Balanced, Some(7))), Ok(()));
    assert!(said(&definition(&["A=4,8"], 2, Order::Balanced)).contains("--repeat there is 3, and here 2"));
    assert!(said(&definition(&["A=4,16"], 3, Order::Balanced)).contains("configuration 2 there is `A=8`, and here `A=16`"));
    assert!(said(&definition(&["A=4,8", "B=1"], 3, Order::Balanced)).contains("1 there is `A=4`, and here `A=4,B=1`"));
    assert!(
        said(&definition(&["A=4"], 3, Order::Balanced)).contains("the list of configurations there is A=4, A=8, and here A=4")
    );
    assert!(said(&definition(&["A=4,8"], 3, Order::Grouped)).contains("--order there is balanced, and here grouped"));
    assert!(said(&same().ordered(Order::Balanced, Some(8))).contains("--seed there is 7, and here 8"));
    let mut other = same();
    other.command.push("2".to_owned());
    other.options.ranks = Some(2);
    let both = said(&other);
    assert!(
        both.contains("the command there is `train --lr 1`, and here `train --lr 1 2`; -n there is not given, and here 2"),
        "{both}"
    );
    assert!(there.check_directory("/work").is_ok() && there.check_directory("/tmp").is_err());
}

#[test]
fn an_environment_that_no_configuration_sees_may_change() {
    let seen = |name: &str, value: &str| BTreeMap::from([(name.to_owned(), value.to_owned())]);
    let there = Sweep::plan(definition(&["A=4,8"], 1, Order::Balanced), 7, seen("NCCL_DEBUG", "WARN"));
    assert_eq!(there.check_environment(&seen("NCCL_DEBUG", "WARN")), Ok(()));
    let mut more = seen("NCCL_DEBUG", "WARN");
    more.insert("A".to_owned(), "1".to_owned());
    assert_eq!(there.check_environment(&more), Ok(()), "every configuration sets A");
    let said = there.check_environment(&BTreeMap::new()).unwrap_err().to_string();
    assert!(said.contains("NCCL_DEBUG in the environment there is `WARN`, and here not set"), "{said}");
}

#[test]
fn what_succeeded_is_compared() {
    let mut sweep = planned(&["A=4,8,16"], 2, Order::AsGiven);
    let command = |sweep: &Sweep| {
        let words = compare_command(sweep, Path::new("/s"))?;
        Some(words.into_iter().map(|word| word.into_string().unwrap()).collect::<Vec<_>>().join(" "))
    };
    assert_eq!(command(&sweep), None);
    sweep.runs[1].state = RunState::Succeeded;
    sweep.runs[0].state = RunState::Failed;
    assert_eq!(command(&sweep), None, "one configuration compares with nothing");
    sweep.runs[5].state = RunState::Succeeded;
    assert_eq!(command(&sweep).as_deref(), Some("rankscope compare /s/A-8 /s/A-16"));
    let summed: Vec<_> = sweep.summed().iter().map(|one| (one.succeeded, one.failed.len(), one.left)).collect();
    assert_eq!(summed, [(0, 1, 1), (1, 0, 1), (1, 0, 1)]);
    assert!(!sweep.is_complete());
}

#[test]
fn a_run_that_begins_again_keeps_what_it_was() {
    let mut run = planned(&["A=4"], 1, Order::AsGiven).runs.remove(0);
    run.begin_again(None);
    assert!(run.earlier.is_empty(), "it never began");
    (run.state, run.exit_code) = (RunState::Failed, Some(3));
    run.begin_again(Some(Sweep::set_aside_path(&run, 1)));
    assert_eq!((run.state, run.exit_code), (RunState::Planned, None));
    assert_eq!((run.earlier[0].path.as_deref(), run.earlier[0].exit_code), (Some("set-aside/A-4/rep1-1"), Some(3)));
    run.state = RunState::Running;
    run.begin_again(None);
    assert_eq!(run.earlier[1].state, RunState::Interrupted, "its sweep was killed");
}

#[test]
fn the_same_command_finds_the_same_directory() {
    let name = |definition: Definition| definition.name();
    let same = name(definition(&["A=4,8"], 3, Order::Balanced));
    assert_eq!(same, name(definition(&["A=4,8"], 5, Order::Balanced)), "more repetitions belong to it");
    assert!(same.starts_with("train-") && same.len() == 14, "{same}");
    assert_ne!(same, name(definition(&["A=4,16"], 3, Order::Balanced)));
    assert_ne!(same, name(definition(&["A=4,8"], 3, Order::Balanced).ordered(Order::Balanced, Some(7))));
}

#[test]
fn too_many_runs_are_a_slip() {
    let error = definition(&["A=1,2,3"], 1, Order::Balanced).repeated(4_000).unwrap_err();
    assert!(error.to_string().starts_with("3 configurations, 4000 times each, are more than 10000 runs"), "{error}");
}
