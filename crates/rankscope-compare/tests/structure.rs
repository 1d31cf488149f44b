//! What is told of the structure of two sides: orders, strides, values, modules, and runs of one side that differ.

use rankscope_compare::{Run, Settings, Side, compare};
use rankscope_document::{
    Document, KernelSummary, LaunchOrder, ModuleKernel, ModuleSummary, OperatorArguments, Rank, Step, StructureChanges,
    StructureKind, Tables, Time,
};

/// Iterations of every run here.
const STEPS: i64 = 4;

fn argument(operator: &str, strides: &str, values: &str, count: u64) -> OperatorArguments {
    OperatorArguments {
        name: operator.to_owned(),
        category: "other".to_owned(),
        input_dims: Some("[[8, 4]]".to_owned()),
        input_strides: Some(strides.to_owned()),
        concrete_inputs: Some(values.to_owned()),
        count,
        direct_kernel_ns: 1_000 * count.cast_signed(),
        ..OperatorArguments::default()
    }
}

fn kernel(operator: &str, name: &str, count: u64) -> KernelSummary {
    KernelSummary {
        parent_op: Some(operator.to_owned()),
        category: "other".to_owned(),
        name: name.to_owned(),
        stream: "7".to_owned(),
        count,
        sum_ns: 1_000 * count.cast_signed(),
        mean_ns: 1_000.0,
        min_ns: 1_000,
        max_ns: 1_000,
    }
}

/// Digests that equal names in one order, and in any, have in common.
fn order(parent: Option<&str>, names: &[&str], count: u64) -> LaunchOrder {
    let mut sorted = names.to_vec();
    sorted.sort_unstable();
    LaunchOrder {
        parent: parent.map(str::to_owned),
        names: names.iter().take(64).map(|name| (*name).to_owned()).collect(),
        length: names.len() as u64,
        order: names.join(","),
        set: sorted.join(","),
        count,
    }
}

/// One operator with one kernel, in every iteration.
fn tables() -> Tables {
    Tables {
        ops_unique_args: Some(vec![argument("aten::mm", "[[4, 1]]", "[\"\"]", 4)]),
        kernel_summary: Some(vec![kernel("aten::mm", "gemm", 4)]),
        ..Tables::default()
    }
}

fn run(tables: Tables) -> Run {
    let step = |step| Step { step, window_ns: [0, 0], time_ns: Time { total: 1_000, ..Time::default() } };
    let rank = Rank { steps: (0..STEPS).map(step).collect(), tables: Some(tables), ..Rank::default() };
    Run::new("run", Document { ranks: vec![rank], ..Document::default() })
}

fn structure(base: Vec<Tables>, test: Vec<Tables>) -> StructureChanges {
    let side = |label: &str, runs: Vec<Tables>| Side::new(label, runs.into_iter().map(run).collect());
    compare(&[side("base", base), side("test", test)], &Settings::default()).first.structure
}

fn ordered(orders: &[LaunchOrder]) -> Tables {
    Tables { launch_order: Some(orders.to_vec()), ..tables() }
}

#[test]
fn another_order_of_the_same_launches_is_told_where_it_begins() {
    let base = ordered(&[order(Some("block"), &["a", "b", "c", "d", "e", "f"], 4), order(None, &["block", "opt"], 4)]);
    let test = ordered(&[order(Some("block"), &["a", "b", "d", "c", "e", "f"], 4), order(None, &["block", "opt"], 4)]);
    let found = structure(vec![base.clone()], vec![test]);
    assert_eq!(found.reordered.len(), 1, "{found:?}");
    let change = &found.reordered[0];
    assert_eq!((change.parent.as_deref(), change.at, change.length), (Some("block"), Some(3), 6));
    assert_eq!((change.base.as_str(), change.test.as_str()), ("… → b → c → d → e → f", "… → b → d → c → e → f"));
    assert_eq!(structure(vec![base.clone()], vec![base]), StructureChanges::default());
}

#[test]
fn other_launches_and_orders_that_a_side_mixes_itself_are_no_other_order() {
    let one = |names: &[&str]| ordered(&[order(Some("block"), names, 4)]);
    assert!(structure(vec![one(&["a", "b"])], vec![one(&["b", "c"])]).reordered.is_empty());
    let mixed = ordered(&[order(Some("block"), &["a", "b"], 2), order(Some("block"), &["b", "a"], 2)]);
    assert!(structure(vec![one(&["a", "b"])], vec![mixed]).reordered.is_empty());
    // Two runs of the base launch in two orders: so may the test.
    assert!(structure(vec![one(&["a", "b"]), one(&["b", "a"])], vec![one(&["b", "a"])]).reordered.is_empty());
}

#[test]
fn an_order_that_differs_beyond_the_names_that_are_kept_is_told_without_a_place() {
    let names: Vec<String> = (0..100).map(|at| format!("k{at}")).collect();
    let mut of_base: Vec<&str> = names.iter().map(String::as_str).collect();
    let base = ordered(&[order(None, &of_base, 4)]);
    of_base.swap(80, 90);
    let found = structure(vec![base], vec![ordered(&[order(None, &of_base, 4)])]);
    assert_eq!((found.reordered.len(), found.reordered[0].at, found.reordered[0].length), (1, None, 100));
}

#[test]
fn strides_and_values_of_equal_shapes_are_told_and_values_that_change_every_step_are_not() {
    let of = |rows: Vec<OperatorArguments>| Tables { ops_unique_args: Some(rows), ..tables() };
    let base = || of(vec![argument("aten::mm", "[[4, 1]]", "[\"\"]", 4)]);
    let found = structure(vec![base()], vec![of(vec![argument("aten::mm", "[[1, 8]]", "[\"\"]", 4)])]);
    assert_eq!(found.swapped.len(), 1, "{found:?}");
    assert_eq!((&found.swapped[0].kind, found.swapped[0].name.as_str()), (&StructureKind::Strides, "[[4,1]]"));
    assert_eq!(found.swapped[0].within.as_deref(), Some("aten::mm(8x4)"));
    let found = structure(vec![base()], vec![of(vec![argument("aten::mm", "[[4, 1]]", "[\"0.5\"]", 4)])]);
    assert_eq!((&found.swapped[0].kind, found.swapped[0].replaced_by.as_deref()), (&StructureKind::Values, Some("[\"0.5\"]")));
    // A rate that falls from step to step.
    let falling =
        |from: u32| of((0..4).map(|step| argument("aten::mm", "[[4, 1]]", &format!("[{}]", from + step), 1)).collect());
    assert_eq!(structure(vec![falling(1)], vec![falling(7)]), StructureChanges::default());
    // One side recorded none.
    let without = of(vec![OperatorArguments { input_strides: None, concrete_inputs: None, ..argument("aten::mm", "", "", 4) }]);
    assert_eq!(structure(vec![base()], vec![without]), StructureChanges::default());
}

#[test]
fn kernels_are_compared_within_their_modules() {
    let of = |first: &str, second: &str| {
        let row = |path: &str, name: &str| ModuleKernel {
            path: Some(path.to_owned()),
            parent_op: Some("aten::mm".to_owned()),
            name: name.to_owned(),
            count: 4,
            sum_ns: 4_000,
        };
        let module = |path: &str| ModuleSummary {
            path: Some(path.to_owned()),
            name: None,
            depth: 1,
            count: 4,
            forward_kernel_ns: 4_000,
            backward_kernel_ns: 0,
            subtree_kernel_ns: 4_000,
        };
        Tables {
            kernel_summary: Some(vec![kernel("aten::mm", "gemm_a", 4), kernel("aten::mm", "gemm_b", 4)]),
            modules: Some(vec![module("Net/A"), module("Net/B")]),
            module_kernels: Some(vec![row("Net/A", first), row("Net/B", second)]),
            ..tables()
        }
    };
    // The same kernels as often, in each other's module: by operator alone nothing changed.
    let found = structure(vec![of("gemm_a", "gemm_b")], vec![of("gemm_b", "gemm_a")]);
    let mut told: Vec<_> = found.swapped.iter().map(|change| (change.name.as_str(), change.modules.join(" "))).collect();
    told.sort();
    assert_eq!(told, [("gemm_a", "Net/A".to_owned()), ("gemm_b", "Net/B".to_owned())]);
    // One change in two modules is one row.
    let found = structure(vec![of("gemm_a", "gemm_a")], vec![of("gemm_b", "gemm_b")]);
    assert_eq!((found.swapped.len(), found.swapped[0].modules.len(), found.swapped[0].base_count), (1, 2, 8));
}

#[test]
fn what_all_runs_of_a_side_agree_on_is_compared_and_the_rest_is_said() {
    let with = |operator: &str| Tables {
        ops_unique_args: Some(vec![argument("aten::mm", "[[4, 1]]", "[]", 4), argument(operator, "[[4, 1]]", "[]", 4)]),
        kernel_summary: Some(vec![kernel("aten::mm", "gemm", 4), kernel(operator, "own", 4)]),
        ..Tables::default()
    };
    let without = || Tables { ops_unique_args: Some(vec![argument("aten::mm", "[[4, 1]]", "[]", 4)]), ..tables() };
    // One of three runs of the base has an operator that the test has, too.
    let found = structure(vec![without(), without(), with("aten::probe")], vec![with("aten::probe"), with("aten::probe")]);
    assert!(found.new.is_empty() && found.gone.is_empty(), "{found:?}");
    let varying: Vec<_> =
        found.varying.iter().map(|one| (one.side.as_str(), one.name.as_str(), one.runs, one.least, one.most)).collect();
    assert_eq!(varying, [("base", "aten::probe", 1, 0, 4)]);
    // All runs of the test have one that none of the base has.
    let found = structure(vec![without(), without(), without()], vec![with("aten::new"), with("aten::new"), with("aten::new")]);
    assert_eq!((found.new.len(), found.varying.len()), (1, 0), "{found:?}");
}

#[test]
fn thousands_of_changes_are_counted_and_a_thousand_listed() {
    let many = |name: &str| Tables {
        kernel_summary: Some((0..1_500).map(|at| kernel(&format!("op{at}"), &format!("{name}_{at}"), 4 + at)).collect()),
        ..Tables::default()
    };
    let found = structure(vec![many("alpha")], vec![many("beta")]);
    assert_eq!((found.swapped.len(), found.left_out), (1_000, 500));
}
