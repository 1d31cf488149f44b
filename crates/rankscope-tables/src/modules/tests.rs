use super::*;
use crate::made::Made;

fn told(made: &Made) -> Vec<(Option<String>, u64, u64, i64, i64, i64)> {
    let attribution = Attribution::of(&made.trace);
    let rows = modules(&made.trace, &attribution, &Tied::of(&made.trace, &attribution));
    let told =
        |row: ModuleRow| (row.path, row.depth, row.count, row.forward_kernel_ns, row.backward_kernel_ns, row.subtree_kernel_ns);
    rows.into_iter().map(told).collect()
}

#[test]
fn work_is_of_the_innermost_module_and_backward_of_that_of_the_forward_operator() {
    let mut made = Made::default();
    made.frame("nn.Module: Net_0", 0, 100);
    made.frame("forward", 5, 90);
    made.frame("nn.Module: Linear_3", 10, 40);
    let forward = made.operator("aten::addmm", 12, 30);
    made.numbers(forward, 6, 0);
    made.launch("cudaLaunchKernel", 20, 2, 1);
    made.launch("cudaLaunchKernel", 60, 2, 2);
    let backward = made.operator_on(2, "AddmmBackward0", 200, 50);
    made.numbers(backward, 6, 1);
    made.launch_on(2, "cudaLaunchKernel", 210, 2, 3);
    made.launch("cudaLaunchKernel", 400, 2, 4);
    for (correlation, dur_us) in [(1, 5), (2, 7), (3, 11), (4, 2)] {
        made.kernel("k", 7, 500 + 20 * dur_us, dur_us, correlation);
    }
    let path = |path: &str| Some(path.to_owned());
    let expected = [
        (path("Net_0"), 0, 1, 7_000, 0, 23_000),
        (path("Net_0/Linear_3"), 1, 1, 5_000, 11_000, 16_000),
        (None, 0, 0, 2_000, 0, 2_000),
    ];
    assert_eq!(told(&made), expected);
    let own_ns: i64 = expected.iter().map(|row| row.3 + row.4).sum();
    assert_eq!(own_ns, 25_000, "all device work");
}

#[test]
fn paths_of_operators_are_modules_where_there_are_no_frames() {
    let mut made = Made::default();
    let operator = made.operator("aten::addmm", 12, 30);
    made.text(operator, "Module Hierarchy", "Net.layers.Linear");
    let other = made.operator("aten::relu", 50, 20);
    made.text(other, "Module Hierarchy", "Net.layers");
    made.launch("cudaLaunchKernel", 20, 2, 1);
    made.launch("cudaLaunchKernel", 60, 2, 2);
    made.kernel("k", 7, 500, 5, 1);
    made.kernel("k", 7, 600, 7, 2);
    let path = |path: &str| Some(path.to_owned());
    let expected = [(path("Net.layers"), 1, 1, 7_000, 0, 12_000), (path("Net.layers.Linear"), 2, 1, 5_000, 0, 5_000)];
    assert_eq!(told(&made), expected);
}

#[test]
fn a_trace_without_modules_has_no_such_table() {
    let mut made = Made::default();
    made.launch("cudaLaunchKernel", 20, 2, 1);
    made.kernel("k", 7, 500, 5, 1);
    assert_eq!(told(&made), []);
}
