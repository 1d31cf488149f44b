//! The workbook in programs that people open it with: LibreOffice, pandas and openpyxl.

use std::fs;
use std::path::Path;
use std::process::Command;

use rankscope_testkit::{Need, skip};
use rankscope_xlsx::Options;
use serde_json::json;

use crate::read::{bytes, job, operator};

/// A workbook with a chart, links, tables and text that is hard to take.
fn written(folder: &Path) -> String {
    let rows = [operator("aten::mm", 3_000_000), operator("=1+1", 1_000_000), operator("\u{1}\u{b}é", 1)];
    let document = job(2, &json!({"ops_summary": rows}));
    let path = folder.join("report.xlsx");
    fs::write(&path, bytes(&document, Options::default())).expect("written");
    path.display().to_string()
}

#[test]
fn libreoffice_opens_it_and_reads_the_figures() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let (path, home) = (written(folder.path()), folder.path().join("home"));
    let settings = format!("-env:UserInstallation=file://{}", home.display());
    // Every sheet into a file of its own.
    let filter = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false,false,false,-1";
    let run = Command::new("timeout")
        .args(["120", "soffice", "--headless", &settings, "--convert-to", filter, "--outdir"])
        .arg(folder.path())
        .arg(&path)
        .output();
    let Some(done) = run.ok().filter(|done| done.status.code() != Some(127)) else {
        return skip(Need::LibreOffice, "no soffice");
    };
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && !said.to_lowercase().contains("error"), "{said}");
    let csv = |sheet: &str| {
        let path = folder.path().join(format!("report-{sheet}.csv"));
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}; {said}", path.display()))
    };
    let operators = csv("ops_summary");
    assert!(operators.starts_with("rank,name,total_direct_kernel_time_sum,"), "{operators}");
    assert!(operators.contains("\n0,aten::mm,3000,3000,3,3,2,GEMM,") && operators.contains(",=1+1,"), "{operators}");
    assert!(csv("Summary").contains("rankscope report: a job"));
}

#[test]
fn pandas_gets_tracelens_columns_and_numbers() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = written(folder.path());
    let python = std::env::var_os("RANKSCOPE_PANDAS_PYTHON").unwrap_or_else(|| "python3".into());
    if !Command::new(&python).args(["-c", "import pandas, openpyxl"]).output().is_ok_and(|done| done.status.success()) {
        return skip(Need::Pandas, "no Python with pandas and openpyxl; RANKSCOPE_PANDAS_PYTHON may name one");
    }
    let script = "import sys, warnings, pandas\n\
        warnings.simplefilter('ignore')\n\
        book = pandas.read_excel(sys.argv[1], sheet_name=None)\n\
        ops, time = book['ops_summary'], book['gpu_timeline']\n\
        assert list(time.columns) == ['rank', 'type', 'time ms', 'percent'], time.columns\n\
        assert time['time ms'].dtype.kind in 'if' and time[time.type == 'total_time']['time ms'].sum() == 20, time\n\
        assert list(ops.columns[:4]) == ['rank', 'name', 'total_direct_kernel_time_sum', 'total_subtree_kernel_time_sum'], ops.columns\n\
        assert list(ops.name[:2]) == ['aten::mm', '=1+1'], ops.name\n\
        assert ops['total_direct_kernel_time_ms'].sum() == 2 * 4.000001, ops\n\
        print('read', len(book))";
    let done = Command::new(&python).args(["-c", script, &path]).output().expect("runs");
    assert!(done.status.success() && done.stdout.starts_with(b"read "), "{}", String::from_utf8_lossy(&done.stderr));
}
