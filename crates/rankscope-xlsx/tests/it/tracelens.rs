//! TraceLens' comparison of two of its reports, cell by cell, and the layout of ours.

use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use calamine::Data;
use rankscope_testkit::{Need, skip};
use rankscope_xlsx::compare::tracelens::{Table, joined, write};
use serde_json::json;

use crate::read::{Read, job, operator};

/// A CSV without quoted fields, as rows of cells.
fn csv(path: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

fn table(path: &Path, name: &'static str, key: &'static str) -> Table {
    let mut lines = csv(path).into_iter();
    let headers = lines.next().expect("headers");
    let numbers = |cells: &[String]| cells.iter().map(|cell| cell.parse().ok()).collect();
    Table {
        name,
        key,
        metrics: headers[1..].to_vec(),
        rows: lines.map(|cells| (cells[0].clone(), numbers(&cells[1..]))).collect(),
    }
}

fn folder() -> Option<PathBuf> {
    let folder = Path::new(&std::env::var_os("RANKSCOPE_CORPUS")?).join("expected/compare_256_vs_512");
    folder.is_dir().then_some(folder)
}

#[test]
fn every_cell_of_its_comparison_is_ours() {
    let Some(folder) = folder() else {
        return skip(Need::Corpus, "RANKSCOPE_CORPUS has no expected/compare_256_vs_512");
    };
    let mut cells = 0;
    for (name, key, rows) in [("gpu_timeline", "type", 8), ("ops_summary", "name", 38)] {
        let file = format!("{name}.csv");
        let [base, variant] = ["256thread", "512thread"].map(|run| table(&folder.join(run).join(&file), name, key));
        let ours = joined(&base, &variant, ["256thread", "512thread"]);
        let theirs = csv(&folder.join("reference/compare_28ch_rank0_across_threads_csvs").join(&file));
        assert_eq!(theirs.len(), rows + 1);
        for line in &theirs[1..] {
            let all = [&ours.intersect, &ours.only_baseline, &ours.only_variant];
            let (_, values) =
                all.into_iter().flatten().find(|(name, _)| *name == line[0]).unwrap_or_else(|| panic!("{}", line[0]));
            for (header, cell) in theirs[0].iter().zip(line).skip(1) {
                let at = ours.headers.iter().position(|known| known == header).unwrap_or_else(|| panic!("no {header}"));
                let theirs: Option<f64> = cell.parse().ok();
                let is_same = match (values[at], theirs) {
                    (Some(ours), Some(theirs)) => (ours - theirs).abs() <= 1e-9 * theirs.abs().max(1.0),
                    (ours, theirs) => ours == theirs,
                };
                assert!(is_same, "{name}: {header} of {}: {:?}, TraceLens {cell}", line[0], values[at]);
                cells += 1;
            }
        }
    }
    assert!(cells > 400, "{cells}");
}

#[test]
fn what_one_run_lacks_is_on_a_sheet_of_its_own() {
    let base = job(1, &json!({"ops_summary": [operator("aten::mm", 3_000_000), operator("aten::add", 1_000_000)]}));
    let variant = job(1, &json!({"ops_summary": [operator("aten::mm", 2_000_000), operator("aten::mul", 1_000_000)]}));
    let mut out = Cursor::new(Vec::new());
    write([&base, &variant], 0, ["a", "b"], &mut out).expect("written");
    let mut book = Read::bytes(out.into_inner());
    assert_eq!(
        book.names(),
        ["gpu_timeline_intersect", "ops_summary_intersect", "ops_summary_only_baseline", "ops_summary_only_variant"]
    );
    assert_eq!(
        book.column("ops_summary_intersect", "total_direct_kernel_time_ms__b_diff"),
        [Data::Float(-1.0)],
        "negative is faster"
    );
    assert_eq!(book.column("ops_summary_only_baseline", "name"), [Data::String("aten::add".to_owned())]);
    assert_eq!(book.column("ops_summary_only_variant", "b::total_direct_kernel_time_ms"), [Data::Float(1.0)]);
}
