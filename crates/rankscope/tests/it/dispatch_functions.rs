//! Functions that take metadata: tensors of the user moved by them, slices, narrow types, and the original's test.

#![expect(clippy::unwrap_used, reason = "a case that cannot be run is a failure")]

use std::fs;
use std::path::Path;

use crate::process::command;
use serde_json::{Value, json};
use tempfile::TempDir;

fn dispatch(folder: &Path, verb: &str, case: &Value) -> (Option<i32>, String) {
    fs::write(folder.join("case.json"), case.to_string()).unwrap();
    let mut command = command(&["dispatch", verb, "case.json", "--format", "json"]);
    let output = command.current_dir(folder).output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
    (output.status.code(), text)
}

fn answer(folder: &Path, case: &Value) -> Value {
    let (code, text) = dispatch(folder, "metadata", case);
    assert_eq!(code, Some(0), "{text}");
    serde_json::from_str(&text).unwrap()
}

/// As numpy.save writes it.
fn npy(descr: &str, shape: &str, values: &[u8]) -> Vec<u8> {
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    header.push_str(&" ".repeat(127 - 10 - header.len()));
    header.push('\n');
    [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), values].concat()
}

/// The metadata of the original's smallest example: two ranks that swap their first shards.
fn pair(folder: &Path) -> (Value, Value) {
    let answer =
        answer(folder, &json!({"kind": "compute_metadata", "seq_len": [[2, 1], [1, 2]], "dispatch": [[1, 0], [0, 1]]}));
    (answer["fwd"].clone(), answer["rev"].clone())
}

#[test]
fn a_tensor_is_moved_there_and_back_whatever_form_it_has() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let (fwd, rev) = pair(folder);

    let input = json!([[[1, 1.5], [2, 0], [3, 0]], [[4, 0], [5, 0], [6, -1]]]);
    let there = answer(folder, &json!({"kind": "orchestrate_simulate", "metadata": fwd, "input": input}));
    let expected = json!([[[3, 0], [4, 0], [0, 0], [0, 0]], [[1, 1.5], [2, 0], [5, 0], [6, -1]]]);
    assert_eq!(there["output"], expected);
    let back = json!({"kind": "orchestrate_simulate", "metadata": rev, "input": there["output"], "output_tokens": 3});
    assert_eq!(answer(folder, &back)["output"], input);

    let values: Vec<u8> = (1..=12).collect();
    fs::write(folder.join("x.npy"), npy("<i2", "(2, 3)", &values)).unwrap();
    let case = json!({"kind": "orchestrate-simulate", "metadata": fwd, "input": "x.npy", "write_to": "y.npy"});
    let there = answer(folder, &case);
    let moved = [5, 6, 7, 8, 0, 0, 0, 0, 1, 2, 3, 4, 9, 10, 11, 12];
    assert_eq!(fs::read(folder.join("y.npy")).unwrap(), npy("<i2", "(2, 4)", &moved));
    assert_eq!(dispatch(folder, "check", &there).0, Some(0));

    fs::write(folder.join("x.bin"), &values).unwrap();
    let input = json!({"file": "x.bin", "dtype": "bfloat16", "shape": [2, 3, 1]});
    answer(folder, &json!({"kind": "orchestrate_simulate", "metadata": fwd, "input": input, "write_to": "y.bin"}));
    assert_eq!(fs::read(folder.join("y.bin")).unwrap(), moved);

    fs::write(folder.join("y.npy"), npy("<i2", "(2, 4)", &[0; 16])).unwrap();
    let (code, text) = dispatch(folder, "check", &there);
    assert!(code == Some(3) && text.contains("byte 128"), "{text}");
}

#[test]
fn tensors_that_do_not_fit_are_refused_with_the_reason() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let (fwd, _) = pair(folder);
    fs::write(folder.join("short.bin"), [0; 5]).unwrap();
    let of = |input: Value| json!({"kind": "orchestrate_simulate", "metadata": fwd, "input": input, "write_to": "y.bin"});
    for (input, words) in [
        (json!([[1], [2]]), "leave a buffer"),
        (json!([1, 2]), "1 axes"),
        (json!([[[1], [2]]]), "1 ranks, and the metadata 2"),
        (json!([[1, 2], [3]]), "a row of 1"),
        (json!("none.npy"), "none.npy"),
        (json!({"file": "short.bin", "dtype": "bf16", "shape": [2, 3]}), "5 bytes"),
        (json!({"file": "short.bin", "dtype": "f7", "shape": [2, 3]}), "no dtype is called f7"),
        (json!([[[1], [2], [3]], [[4], [5], [6]]]), "`write_to` is for an `input` that is a file"),
    ] {
        let (code, text) = dispatch(folder, "metadata", &of(input.clone()));
        assert!(code == Some(1) && text.contains(words), "{input}: {text}");
    }
    assert!(!folder.join("y.bin").exists());
}

#[test]
fn arrays_may_be_files_of_numpy() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    fs::write(folder.join("lengths.npy"), npy("<i4", "(2, 2)", &[2, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0])).unwrap();
    fs::write(folder.join("ranks.npy"), npy("|i1", "(2, 2)", &[1, 0, 0, 1])).unwrap();
    let given = answer(folder, &json!({"kind": "compute_metadata", "seq_len": "lengths.npy", "dispatch": "ranks.npy"}));
    assert_eq!(given["fwd"], pair(folder).0);
    assert_eq!(dispatch(folder, "check", &given).0, Some(0));
}

#[test]
fn a_slice_has_the_slots_in_use_and_narrow_types_what_fits() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let lengths = json!({"kind": "compute_metadata", "seq_len": [[2, 0], [1, 2]], "dispatch": [[1, -1], [0, 1]]});
    let mut fwd = answer(folder, &lengths)["fwd"].clone();
    let slice = answer(folder, &json!({"kind": "get_slice", "metadata": fwd, "rank": 0}));
    assert_eq!(slice["slice"]["dst_rank"], json!([1]));
    assert_eq!(slice["slice"]["num_recv_tokens"], json!([0, 1, 1]));
    let (code, text) = dispatch(folder, "metadata", &json!({"kind": "get_slice", "metadata": fwd, "rank": 2}));
    assert!(code == Some(1) && text.contains("of 2 ranks"), "{text}");

    let narrow = answer(folder, &json!({"kind": "normalize_dtype", "metadata": fwd}));
    assert_eq!(narrow["normalized"]["dst_rank"], json!({"dtype": "i32", "values": [[1, -1], [0, 1]]}));
    fwd["dst_offset"][0][0] = json!(1_i64 << 32);
    let (code, text) = dispatch(folder, "metadata", &json!({"kind": "normalize_dtype", "metadata": fwd}));
    assert!(code == Some(1) && text.contains("dst_offset, entry 0: 4294967296 does not fit"), "{text}");
}

#[test]
fn the_original_s_test_passes_and_fails_where_metadata_are_wrong() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let case = json!({"kind": "test_qkv_dispatch", "world_size": 2, "num_seqs": 2, "max_seq_shard": 2, "num_tokens": 32,
        "hidden_size": 3, "seed": 1});
    let passed = answer(folder, &case);
    assert_eq!(passed["passed"], true, "{passed}");

    let mut inputs = passed["inputs"].clone();
    (inputs["kind"], inputs["total_seq_len"], inputs["max_cp_degree"]) = (json!("create_qkv_dispatch"), json!(32), json!(2));
    let whole = answer(folder, &inputs);
    for (array, step) in [("fwd_q", 0), ("rev_kv", 1)] {
        let mut wrong = case.clone();
        wrong[array] = whole[array].clone();
        let offset = &mut wrong[array]["dst_offset"][0];
        let entry = if offset[0].is_array() { &mut offset[0][0] } else { &mut offset[0] };
        *entry = json!(entry.as_i64().unwrap() + 1);
        let (code, text) = dispatch(folder, "metadata", &wrong);
        let said: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((code, &said["passed"]), (Some(3), &json!(false)), "{text}");
        assert!(said["steps"][step]["where"].as_str().unwrap().contains("rank "), "{text}");
    }
}

#[test]
fn the_examples_are_answered_and_the_broken_ones_are_noticed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/dispatch/cases");
    let temporary = TempDir::new().unwrap();
    let mut broken = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let case: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let is_broken = path.file_name().unwrap().to_str().unwrap().starts_with("broken");
        broken += usize::from(is_broken);
        let (case, code) = if is_broken { (case, 3) } else { (answer(temporary.path(), &case), 0) };
        let (found, text) = dispatch(temporary.path(), "check", &case);
        assert_eq!(found, Some(code), "{}: {text}", path.display());
    }
    assert!(broken > 0);
}
