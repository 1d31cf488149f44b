//! `rankscope dispatch run` as a user meets it.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fmt::Write;
use std::process::Output;

use crate::process::fed;
use serde_json::Value;

fn run(plan: &str, args: &[&str]) -> Output {
    fed(&[&["dispatch", "run", "-"], args].concat(), plan).output().unwrap()
}

/// A document across all ranks, computed in turn, and one that rank 0 keeps; rows small, with a tail and log-sum-exp.
fn plan(ranks: u32) -> String {
    let mut shards = String::new();
    for rank in 0..ranks {
        let comma = if rank == 0 { "" } else { "," };
        write!(shards, "{comma}[{rank},{},5]", (rank * 3 + 1) % ranks).unwrap();
    }
    let rows = r#"{"hidden_q":20,"hidden_kv":8,"lse":2,"element_bytes":2}"#;
    let kind = r#""schema":1,"kind":"rankscope_dispatch_plan""#;
    format!(r#"{{{kind},"world_size":{ranks},"rows":{rows},"documents":[[{shards}],[[0,0,7]]]}}"#)
}

#[test]
fn threads_deliver_every_byte_however_many_they_are() {
    for ranks in [1, 2, 8, 64] {
        let output = run(&plan(ranks), &["--format", "json", "--repeat", "2"]);
        assert!(output.status.success(), "{ranks} ranks: {}", String::from_utf8_lossy(&output.stderr));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let head = (&report["backend"], &report["mode"], &report["ranks"], &report["dtype"], &report["identical"]);
        let expected = ["threads".into(), "put".into(), ranks.into(), "bf16".into(), true.into()];
        assert_eq!(head, (&expected[0], &expected[1], &expected[2], &expected[3], &expected[4]));
        let names: Vec<&Value> = report["exchanges"].as_array().unwrap().iter().map(|row| &row["exchange"]).collect();
        assert_eq!(names, ["forward", "output", "output-gradient", "backward"]);
        let first = &report["exchanges"][0];
        // Padded query rows of 48 bytes; keys and values of 16 each. Rank 0 keeps 7 tokens and what it computes of its own.
        assert!(first["remote_bytes"].as_u64().unwrap() + first["kept_bytes"].as_u64().unwrap() >= 12 * 48 + 12 * 32);
        assert_eq!(first["remote_bytes"] == 0, ranks == 1);
    }
}

#[test]
fn the_table_says_that_every_byte_is_right() {
    let output = run(&plan(4), &["--dtype", "f32", "--hidden-q", "4"]);
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.starts_with("4 ranks as threads, by put, f32, every exchange 3 times\n"), "{table}");
    assert!(table.ends_with("every byte is what the simulator says\n"), "{table}");
}

#[test]
fn a_backend_that_is_not_there_says_how_to_get_it() {
    for (args, said) in [
        (&["--mode", "nccl"][..], "--mode nccl needs --backend cuda; the backend threads only has put"),
        (
            &["--backend", "mpi", "--mode", "nccl"],
            "--mode nccl needs --backend cuda; the backend mpi only has alltoallv and put",
        ),
        (&["--repeat", "0"], "0 is not in 1.."),
        (&["--dtype", "f8"], "one of f64, f32"),
        #[cfg(not(feature = "mpi"))]
        (&["--backend", "mpi"], "--features mpi"),
        #[cfg(not(feature = "cuda"))]
        (&["--backend", "cuda"], "--features cuda"),
    ] {
        let output = run(&plan(2), args);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && error.contains(said), "{args:?}: {error}");
    }
}
