//! What operators achieved: in public traces as TraceLens has it, but where its models are known to be wrong.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Cursor;
use std::path::Path;

use rankscope_formats::{ArgsPolicy, ReadOptions, read};
use rankscope_tables::{Dtype, Model, NoFigures, Param, PerformanceRow, RankTables, Work, gemm};
use rankscope_testkit::{Need, given};
use rankscope_trace::Trace;
use serde_json::Value;

const TRACES: [&str; 4] = ["a100_nccl_data", "b200_eager", "h100_qwen1.5", "mi300x_resnet_act_checkpoint"];

fn tables(corpus: &Path, name: &str) -> RankTables {
    let options = ReadOptions::default().with_args(ArgsPolicy::All);
    let file = File::open(corpus.join(format!("traces/kineto/{name}.json.gz"))).expect("the trace is there");
    RankTables::of(&read(file, &options).expect("it is a trace").remove(0).trace.expect("and can be read"))
}

/// A table that TraceLens wrote, by the names of its columns.
fn csv(path: &Path) -> Vec<BTreeMap<String, String>> {
    let reader = csv::Reader::from_path(path).expect("the table is there");
    reader.into_deserialize().map(|row| row.expect("it is a row")).collect()
}

/// A list as the file writes it and as Python does, in one form.
fn plain(list: &str) -> String {
    let list: String = list.chars().filter(|c| !(c.is_whitespace() || matches!(c, '"' | '\''))).collect();
    list.replace(['(', '['], "[").replace([')', ']'], "]").replace(",]", "]")
}

fn number(row: &BTreeMap<String, String>, column: &str) -> f64 {
    row[column].parse().unwrap_or_else(|_| panic!("{column} in {row:?}"))
}

fn is_row(own: &PerformanceRow, row: &BTreeMap<String, String>) -> bool {
    let own = &own.operator;
    let lists = [
        (&own.dims, "Input Dims"),
        (&own.types, "Input type"),
        (&own.strides, "Input Strides"),
        (&own.concrete, "Concrete Inputs"),
    ];
    let is_list = |(list, column): (&Option<String>, &str)| plain(list.as_deref().unwrap_or("")) == plain(&row[column]);
    own.name == row["name"] && lists.into_iter().all(is_list)
}

/// What TraceLens says of operators, by what is said here. Its models differ in this:
///
/// * A copy computes something: an operation for each element.
/// * A reduction has one result, whatever remains.
/// * Gradients of a convolution count that `output_mask` leaves out.
/// * Of a batch's normalisation the gradient moves four values a channel, all of the type of the scale. It moves five: scale, mean,
///   deviation, and the gradients of scale and shift; mean and deviation have 32 bits.
fn theirs(own: &PerformanceRow, work: Work) -> (u64, u64) {
    let operator = &own.operator;
    let json = |list: &Option<String>| -> Vec<Value> {
        serde_json::from_str(list.as_deref().expect("it is recorded")).expect("it is a list")
    };
    let dims = json(&operator.dims);
    let elements = |at: usize| -> u64 {
        let lengths = dims[at].as_array().expect("it is a tensor");
        lengths.iter().map(|length| length.as_u64().expect("of whole lengths")).product()
    };
    let bytes = |at: usize| {
        let types = json(&operator.types);
        types[at].as_str().and_then(Dtype::of).expect("its type is known").bytes()
    };
    let flops = work.flops.expect("it is known");
    match (own.model.expect("it has a model"), operator.name.as_str()) {
        (Model::Unary, "aten::copy_") => (elements(0), work.bytes),
        (Model::Reduce, _) => (flops, (elements(0) + 1) * bytes(0)),
        (Model::ConvBwd, _)
            if operator.concrete.as_deref().is_some_and(|list| plain(list).ends_with("[False,True,False]]")) =>
        {
            (2 * flops, 2 * work.bytes)
        }
        (Model::NormBwd, _) => (flops, work.bytes - elements(2) * (3 * bytes(2) + 2 * bytes(5)) + 4 * elements(2) * bytes(2)),
        _ => (flops, work.bytes),
    }
}

/// Operators of TraceLens' table that have no figures here, besides copies from or to the host: what Triton fused is not told by shapes, and a quotient is that of the
/// operator which launched its kernel, one further in.
const NOT_HERE: [&str; 2] = ["triton_poi_fused_add_bitwise_and_bitwise_not_bitwise_or_ge_lt_mul_sub_0", "aten::div"];

#[test]
fn models_say_what_those_of_tracelens_say() {
    let Some(corpus) = given(Need::Corpus) else { return };
    let mut compared = 0;
    for name in TRACES {
        let own = tables(&corpus, name);
        let rows = csv(&corpus.join("expected/tracelens").join(name).join("unified_perf_summary.csv"));
        let modelled = |row: &&BTreeMap<String, String>| !row["GFLOPS"].is_empty() && !row["Input Dims"].is_empty();
        for row in rows.iter().filter(modelled) {
            let same: Vec<&PerformanceRow> = own.performance.iter().filter(|own| is_row(own, row)).collect();
            let Some((found, work)) =
                same.iter().find_map(|found| Some((*found, found.work.filter(|work| work.flops.is_some())?)))
            else {
                let is_copy = same.iter().any(|found| found.leaves_device);
                assert!(is_copy || NOT_HERE.contains(&row["name"].as_str()), "{name}: {row:?}");
                continue;
            };
            let (flops, bytes) = theirs(found, work);
            assert_eq!(flops, (number(row, "GFLOPS") * 1e9).round() as u64, "{name}: {found:?}");
            // It does not know how long a bool is.
            if let Ok(megabytes) = row["Data Moved (MB)"].parse::<f64>() {
                assert_eq!(bytes, (megabytes * 1_048_576.0).round() as u64, "{name}: {found:?}");
            }
            compared += 1;
        }
    }
    assert_eq!(compared, 153);
}

#[test]
fn products_of_matrices_are_those_of_tracelens() {
    let Some(corpus) = given(Need::Corpus) else { return };
    for name in &TRACES[1..] {
        let own = gemm(&tables(&corpus, name).performance);
        let mut expected: BTreeMap<(String, [u64; 4]), (f64, f64)> = BTreeMap::new();
        for row in csv(&corpus.join("expected/tracelens").join(name).join("GEMM.csv")) {
            let size = ["M", "N", "K", "B"].map(|length| number(&row, &format!("param: {length}")) as u64);
            let sums = expected.entry((row["name"].clone(), size)).or_default();
            *sums = (sums.0 + number(&row, "name_count"), sums.1 + 1e3 * number(&row, "Kernel Time (µs)_sum"));
        }
        assert_eq!(own.len(), expected.len(), "{name}");
        for row in own {
            let size = [row.product.m, row.product.n, row.product.k, row.product.batch];
            let (count, kernel_ns) = expected[&(row.name.clone(), size)];
            assert_eq!(row.time.count as f64, count, "{name}: {row:?}");
            assert!((row.time.sum_ns as f64 - kernel_ns).abs() <= 1.0 + 1e-4 * kernel_ns, "{name}: {row:?}, {kernel_ns}");
        }
    }
}

/// The sheets of TraceLens that have parameters.
const SHEETS: [&str; 9] = [
    "GEMM",
    "CONV_fwd",
    "CONV_bwd",
    "SDPA_fwd",
    "Normalization",
    "UnaryElementwise",
    "BinaryElementwise",
    "Reduce_fwd",
    "Reduce_bwd",
];

/// Parameters that mean something else there: the gradient of a convolution has the lengths of the bias where others say whether there
/// is one, a reduction always one result whose type is not known, and of three gradients that are asked for the last is given.
const OTHERWISE: [&str; 4] = ["param: bias", "param: num_output_elems", "param: dtype_in_out", "param: output_mask"];

/// A parameter as Python prints it.
fn python(param: &Param) -> String {
    match param {
        Param::Flag(true) => "True".to_owned(),
        Param::Flag(false) => "False".to_owned(),
        Param::Whole(number) => number.to_string(),
        Param::Real(number) => format!("{number:?}"),
        Param::Text(text) => format!("'{text}'"),
        Param::List(values) => format!("({})", values.iter().map(python).collect::<Vec<_>>().join(", ")),
        _ => "None".to_owned(),
    }
}

#[test]
fn parameters_are_those_of_tracelens() {
    let Some(corpus) = given(Need::Corpus) else { return };
    let mut compared = 0;
    // The first has no shapes, of which TraceLens makes parameters, too.
    for name in &TRACES[1..] {
        let own = tables(&corpus, name);
        for sheet in SHEETS {
            let path = corpus.join("expected/tracelens").join(name).join(format!("{sheet}.csv"));
            // It also has operators that launched nothing.
            let launched = |row: &BTreeMap<String, String>| number(row, "Kernel Time (µs)_sum") > 0.0;
            for row in if path.exists() { csv(&path) } else { Vec::new() }.into_iter().filter(launched) {
                let theirs: BTreeMap<&str, &str> = row
                    .iter()
                    .filter(|(column, value)| column.starts_with("param: ") && !value.is_empty())
                    .filter(|(column, _)| !OTHERWISE.contains(&column.as_str()))
                    .map(|(column, value)| (&column["param: ".len()..], value.as_str()))
                    .collect();
                let is_same = |own: &PerformanceRow| {
                    let params: BTreeMap<&str, String> =
                        own.params.iter().map(|(name, value)| (name.as_ref(), plain(&python(value)))).collect();
                    let is_one = |(name, value): (&&str, &&str)| params.get(name).is_some_and(|own| *own == plain(value));
                    own.operator.name == row["name"] && theirs.iter().all(is_one)
                };
                let is_known = own.performance.iter().any(is_same);
                // Copies from the host have no model here; what is within `batch_norm` is its work, there it counts twice.
                let is_left_out = ["aten::copy_", "aten::native_batch_norm"].contains(&row["name"].as_str());
                let is_left_out = is_left_out || NOT_HERE.contains(&row["name"].as_str());
                assert!(is_known || is_left_out, "{name}: {sheet}: {} {theirs:?}", row["name"]);
                compared += usize::from(is_known);
            }
        }
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn every_operator_is_in_the_table_and_none_is_faster_than_the_sum_of_its_parts() {
    let Some(corpus) = given(Need::Corpus) else { return };
    for name in TRACES {
        let own = tables(&corpus, name);
        let direct_ns: i64 = own.operators.iter().map(|row| row.direct_kernel_ns).sum();
        let of_rows_ns: i64 = own.performance.iter().map(|row| row.operator.time.spread.sum_ns).sum();
        // Work of several operators within one may overlap, and then counts once.
        assert!(of_rows_ns <= direct_ns && of_rows_ns > direct_ns / 100 * 95, "{name}: {of_rows_ns} of {direct_ns}");
        let unmodelled = own.operators.iter().find(|row| Model::of(&row.name).is_none());
        let row = unmodelled.and_then(|row| own.performance.iter().find(|own| own.operator.name == row.name));
        assert!(row.is_some_and(|row| row.model.is_none() && row.work.is_none()), "{name}");
    }
}

#[test]
fn what_can_be_saved_comes_first_where_the_card_is_known() {
    let Some(corpus) = given(Need::Corpus) else { return };
    let cards = TRACES.map(|name| {
        let own = tables(&corpus, name);
        if let Some(card) = &own.card {
            let saved: Vec<Option<i64>> = own.performance.iter().map(|row| row.saved_ns(card)).collect();
            assert!(saved.is_sorted_by(|a, b| a >= b) && saved[0].is_some(), "{name}");
            // No product of matrices beats its card.
            for row in gemm(&own.performance) {
                let share = row.work.roofline(row.time, card).and_then(|least| least.share(row.time));
                assert!(share.is_none_or(|share| share > 0.0 && share < 1.0), "{name}: {row:?} {share:?}");
            }
        }
        own.card.map(|card| card.name)
    });
    // The first is an A100 that no data sheet is of.
    assert_eq!(cards.each_ref().map(Option::as_deref), [None, Some("B200"), Some("H100 SXM"), Some("MI300X")]);
}

/// A trace of an H100 in which each operator of `operators` (name, arguments, and the names of the operators within it, outermost
/// first) launches one piece of work of 10 us with the name and category that follow.
fn trace(operators: &[(&str, &str, &[&str], &str, &str)]) -> Trace {
    let mut events = Vec::new();
    for ((name, args, within, work, category), at) in operators.iter().zip(0..) {
        let start = at * 100;
        let operator = |name: &str, start: i32, dur: i32, args: &str| {
            format!(r#"{{"ph":"X","cat":"cpu_op","name":"{name}","pid":1,"tid":1,"ts":{start},"dur":{dur},"args":{{{args}}}}}"#)
        };
        events.push(operator(name, start, 90, args));
        events.extend(within.iter().zip(1..).map(|(name, depth)| operator(name, start + depth, 90 - 2 * depth, "")));
        let launch = start + 40;
        events.push(format!(
            r#"{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunch","pid":1,"tid":1,"ts":{launch},"dur":1,"args":{{"correlation":{at}7}}}}"#
        ));
        events.push(format!(
            r#"{{"ph":"X","cat":"{category}","name":"{work}","pid":0,"tid":7,"ts":{launch},"dur":10,"args":{{"device":0,"stream":7,"correlation":{at}7}}}}"#
        ));
    }
    let devices = r#"[{"id":0,"name":"NVIDIA H100 80GB HBM3"}]"#;
    let json = format!(r#"{{"deviceProperties":{devices},"traceEvents":[{}]}}"#, events.join(","));
    let options = ReadOptions::default().with_args(ArgsPolicy::All);
    read(Cursor::new(json), &options).expect("it is a trace").remove(0).trace.expect("and can be read")
}

const COPY: &str = r#""Input Dims":[[1000],[1000],[]],"Input type":["float","float","Scalar"]"#;

#[test]
fn a_copy_from_the_host_is_not_held_against_the_memory_of_the_device() {
    let trace = trace(&[
        ("aten::copy_", COPY, &[], "Memcpy DtoD (Device -> Device)", "gpu_memcpy"),
        ("aten::copy_", COPY, &[], "Memcpy HtoD (Pinned -> Device)", "gpu_memcpy"),
    ]);
    let mut own = RankTables::of(&trace);
    let of = |own: &RankTables| -> Vec<(u64, bool, Option<u64>)> {
        own.performance
            .iter()
            .map(|row| (row.operator.time.spread.count, row.leaves_device, row.work.map(|work| work.bytes)))
            .collect()
    };
    assert_eq!(of(&own), [(1, false, Some(8_000)), (1, true, None)]);
    // A later export has the same two, and they stay two.
    own.join(RankTables::of(&trace));
    assert_eq!(of(&own), [(2, false, Some(8_000)), (2, true, None)]);
    assert_eq!(own.card.map(|card| card.name), Some("H100 SXM".to_owned()));
}

#[test]
fn lists_have_the_type_that_their_kernels_name() {
    let lists = r#""Input Dims":[[[4,4],[4]],[[4,4],[4]],[]],"Input type":["TensorList","TensorList","Scalar"]"#;
    let kernel = |dtype: &str| {
        format!("void multi_tensor_apply_kernel<TensorListMetadata<2>, BinaryOpListAlphaFunctor<{dtype}, 2, 2, 0>>(int)")
    };
    let (float, half) = (kernel("float"), kernel("c10::Half"));
    let trace = trace(&[
        ("aten::_foreach_add_", lists, &[], &float, "kernel"),
        ("aten::_foreach_add_", lists, &[], &half, "kernel"),
        ("aten::_foreach_add_", lists, &[], "void another_kernel(int)", "kernel"),
    ]);
    let mut own = RankTables::of(&trace);
    own.join(RankTables::of(&trace));
    let mut bytes: Vec<_> =
        own.performance.iter().map(|row| (row.work.map(|work| work.bytes), row.operator.time.spread.count)).collect();
    bytes.sort_unstable();
    assert_eq!(bytes, [(None, 2), (Some(3 * 40), 2), (Some(3 * 80), 2)]);
}

#[test]
fn who_has_no_figures_says_why() {
    let mm = |dims: &str, types: &str| format!(r#""Input Dims":{dims},"Input type":{types}"#);
    let float = r#"["float","float"]"#;
    let unknown = mm("[[2,3],[3,4]]", r#"["float","c10::Float4_e2m1fn_x2"]"#);
    let unfit = mm("[[2,3],[4,4]]", float);
    let huge = mm("[[4294967296,4294967296],[4294967296,4294967296]]", float);
    let words = mm(r#"["oops",[3,4]]"#, float);
    let broken = mm(r#""[[2,3],[3""#, float);
    let dots = mm(r#""[[2,3],[3,...]]""#, float);
    let python = mm("[[2,3],[3,4]]", r#""['float','float']""#);
    let text = mm(r#""[[2,3],[3,4]]""#, float);
    let cut = mm("[[],[],[]]", r#"["TensorList","TensorList","Scalar"]"#);
    let rows = [
        ("aten::mm", unknown.as_str(), Some(NoFigures::UnknownType)),
        ("aten::mm", &unfit, Some(NoFigures::Unfit)),
        ("aten::mm", &huge, Some(NoFigures::Unfit)),
        ("aten::mm", &words, Some(NoFigures::Unfit)),
        ("aten::mm", &broken, Some(NoFigures::Cut)),
        ("aten::mm", &dots, Some(NoFigures::Cut)),
        ("aten::mm", &python, Some(NoFigures::Unfit)),
        ("aten::mm", &text, None),
        ("aten::mm", "", Some(NoFigures::NotRecorded)),
        ("aten::_foreach_add_", &cut, Some(NoFigures::Cut)),
        ("my::operator", &text, Some(NoFigures::NoModel)),
    ];
    for (name, args, why) in rows {
        let own = RankTables::of(&trace(&[(name, args, &[], "kernel", "kernel")]));
        assert_eq!(own.performance[0].why_none, why, "{name} {args}");
        assert_eq!(own.performance[0].work.is_none(), why.is_some(), "{name} {args}");
        assert_eq!(own.performance[0].operator.time.spread.sum_ns, 10_000, "its time is there in any case");
    }
}

#[test]
fn work_is_that_of_the_product_around_it_and_not_of_linear() {
    let product = r#""Input Dims":[[2,3],[3,4]],"Input type":["float","float"]"#;
    let trace = trace(&[
        ("aten::mm", product, &["aten::copy_"], "elementwise_kernel", "kernel"),
        ("aten::linear", product, &["aten::matmul", "aten::mm"], "gemm", "kernel"),
        ("aten::add_", "", &["aten::copy_"], "elementwise_kernel", "kernel"),
    ]);
    let mut names: Vec<_> =
        RankTables::of(&trace).performance.into_iter().map(|row| (row.operator.name, row.work.is_some())).collect();
    names.sort();
    assert_eq!(names, [("aten::copy_".into(), false), ("aten::mm".into(), false), ("aten::mm".into(), true)]);
}
