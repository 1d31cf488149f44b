//! Comparisons as workbooks: names, columns, signs and colours, as programs that are not ours read them.

use std::fs;
use std::io::Cursor;
use std::path::Path;
use std::process::Command;

use calamine::Data;
use rankscope_document::*;
use rankscope_testkit::{Need, skip};
use rankscope_xlsx::compare::aorta::{FOR_ALL, Workbook, write_for_all};
use serde_json::json;

use crate::read::{Read, inside, job};

fn figure(base: f64, test: f64) -> Beside {
    let percent_change = Some((test - base) / base * 100.0);
    Beside { base: Some(base), test: Some(test), diff: Some(test - base), percent_change, ratio: Some(test / base) }
}

/// Two ranks of one class, one collective, and one that only the test has.
fn beside(test: &str, convention: Convention) -> SideBySide {
    let time = |rank| TimeBeside {
        rank,
        name: "total_time".to_owned(),
        time: figure(10_000_000.0, 11_000_000.0),
        base_percent: Some(100.0),
        test_percent: Some(100.0),
        diff_percent: Some(0.0),
        status: BesideStatus::Regressed,
    };
    let group = |name: &str, latency: Beside, status| CollectiveBeside {
        name: name.to_owned(),
        dtype: "float".to_owned(),
        in_elements: Some(1024),
        latency,
        status,
        ..CollectiveBeside::default()
    };
    let only_test = Beside { test: Some(7_000.0), ..Beside::default() };
    SideBySide {
        base: "56cu".to_owned(),
        test: test.to_owned(),
        convention,
        ranks: vec![time(Some(0)), time(Some(1))],
        summary: vec![time(None)],
        collectives: vec![
            group("allreduce", figure(4_000.0, 3_000.0), BesideStatus::Improved),
            group("broadcast", only_test, BesideStatus::New),
        ],
        rank_collectives: vec![RankCollectiveBeside {
            rank: Some(1),
            name: "allreduce".to_owned(),
            dtype: "float".to_owned(),
            in_elements: Some(1024),
            mean: figure(5_000.0, 6_000.0),
            ..RankCollectiveBeside::default()
        }],
    }
}

fn document(tests: &[&str]) -> CompareDocument {
    let metric = MetricComparison {
        name: "step_ns".to_owned(),
        base: Some(10_000_000.0),
        test: Some(11_000_000.0),
        shift: Some(1_000_000.0),
        lo: Some(900_000.0),
        ratio: Some(0.1),
        unit: MetricUnit::Nanoseconds,
        over: Over::MaxOfRanks,
        verdict: ChangeVerdict::Regressed,
        margin: 0.01,
        ..MetricComparison::default()
    };
    let part =
        |index: i64| Contribution { name: format!("part {index}"), delta_ns: 100_000 - index, ..Contribution::default() };
    let pair = |test: &&str| Comparison {
        base: "56cu".to_owned(),
        test: (*test).to_owned(),
        metrics: vec![metric.clone()],
        contributions: (0..12).map(part).collect(),
        step_delta_ns: (0..12).map(|index| 100_000 - index).sum(),
        ..Comparison::default()
    };
    let mut pairs = tests.iter().map(pair);
    let place = |label: &str| Place { label: label.to_owned(), step_ns: Some(10e6), ..Place::default() };
    CompareDocument {
        schema: 1,
        sides: std::iter::once(&"56cu")
            .chain(tests)
            .map(|label| ComparedSide { label: (*label).to_owned(), ..Default::default() })
            .collect(),
        first: pairs.next().expect("a test"),
        others: pairs.collect(),
        side_by_side: tests.iter().map(|test| beside(test, Convention::Rankscope)).collect(),
        ranking: (tests.len() > 1).then(|| Ranking {
            places: vec![place("56cu"), place(tests[0])],
            winner: None,
            pairs: vec![PairOfSides::default()],
        }),
        ..CompareDocument::default()
    }
}

fn bytes(document: &CompareDocument) -> Vec<u8> {
    let mut out = Cursor::new(Vec::new());
    rankscope_xlsx::compare::write(document, &mut out).expect("written");
    out.into_inner()
}

fn of_aorta(workbook: Workbook, convention: Convention) -> Vec<u8> {
    let mut document = job(2, &json!({}));
    document.collective_tables = Some(
        serde_json::from_value(json!({"origin_ns": 0, "straggler_summary": []}))
            .unwrap_or_else(|error| panic!("tables: {error}")),
    );
    let mut out = Cursor::new(Vec::new());
    workbook.write(&beside("37cu", convention), [&document, &document], &mut out).expect("written");
    out.into_inner()
}

#[test]
fn aortas_sheets_and_columns_have_their_names() {
    let mut book = Read::bytes(of_aorta(Workbook::TimelineComparison, Convention::Aorta));
    let raw = ["Summary", "All_Ranks_Combined", "Per_Rank_Time_ms", "Per_Rank_Percent"];
    assert_eq!(book.names(), [&raw[..], &["Comparison_By_Rank", "Summary_Comparison"]].concat());
    let by_rank = [
        "rank",
        "type",
        "56cu_time_ms",
        "37cu_time_ms",
        "diff_time_ms",
        "percent_change",
        "status",
        "ratio",
        "56cu_percent",
        "37cu_percent",
        "diff_percent",
        "sign",
    ];
    assert_eq!(book.headers("Comparison_By_Rank"), by_rank);
    let summary: Vec<&str> = by_rank.iter().copied().filter(|header| !["rank", "status"].contains(header)).collect();
    assert_eq!(book.headers("Summary_Comparison"), summary, "aorta has no status there");
    assert_eq!(book.headers("Summary"), ["type", "time ms", "percent", "num_ranks", "source"]);
    assert_eq!(book.column("Summary", "time ms"), [10.0, 11.0].map(Data::Float), "the base, then the test");
    assert_eq!(book.column("All_Ranks_Combined", "source")[2], Data::String("37cu".to_owned()));
    let times = book.sheet("Per_Rank_Time_ms");
    assert_eq!(times.get_value((0, 2)), Some(&Data::Float(1.0)), "ranks head columns as numbers");
    assert_eq!(times.get_value((2, 3)), Some(&Data::String("37cu".to_owned())));
    let mut report = Read::bytes(of_aorta(Workbook::Report, Convention::Aorta));
    assert_eq!(report.names()[0], "Summary_Dashboard");
    assert_eq!(report.headers("Summary_Dashboard")[..5], ["Metric", "56cu", "37cu", "Improvement (%)", "Status"]);
    assert!(
        ["GPU_ByRank_Cmp", "GPU_Summary_Cmp", "NCCL_ImplicitSyncCmp", "NCCL_LongCmp"]
            .iter()
            .all(|name| report.names().contains(&(*name).to_owned()))
    );
    assert_eq!(report.column("NCCL_LongCmp", "diff_dur_mean"), [Data::Float(1.0)], "which aorta leaves empty");
}

#[test]
fn every_sheet_with_differences_says_what_its_signs_are() {
    for (convention, said) in [
        (Convention::Rankscope, "test - base; > 0: more in the test"),
        (Convention::Aorta, "percent_change > 0: test is better"),
    ] {
        for (workbook, sheets) in [
            (Workbook::TimelineComparison, &["Comparison_By_Rank", "Summary_Comparison"][..]),
            (Workbook::CollectiveComparison, &["nccl_implicit_sync_cmp", "nccl_long_cmp"][..]),
            (
                Workbook::Report,
                &["Summary_Dashboard", "GPU_ByRank_Cmp", "GPU_Summary_Cmp", "NCCL_ImplicitSyncCmp", "NCCL_LongCmp"][..],
            ),
        ] {
            let mut book = Read::bytes(of_aorta(workbook, convention.clone()));
            for sheet in sheets {
                assert_eq!(book.column(sheet, "sign")[0], Data::String(said.to_owned()), "{sheet}");
            }
        }
    }
}

#[test]
fn what_one_side_lacks_has_a_row_and_no_percentage() {
    let mut book = Read::bytes(of_aorta(Workbook::CollectiveComparison, Convention::Rankscope));
    assert_eq!(book.column("nccl_implicit_sync_cmp", "status"), ["improved", "new"].map(|word| Data::String(word.to_owned())));
    assert_eq!(book.column("nccl_implicit_sync_cmp", "percent_change_comm_latency_mean"), [Data::Float(-25.0), Data::Empty]);
    assert_eq!(book.column("nccl_implicit_sync_cmp", "37cu_comm_latency_mean"), [3.0, 7.0].map(Data::Float));
}

#[test]
fn one_workbook_begins_with_the_answer_and_draws_a_waterfall() {
    let document = document(&["37cu"]);
    let mut book = Read::bytes(bytes(&document));
    assert_eq!(book.names(), ["Summary", "metrics", "contributions", "ranks", "collectives", "definitions"]);
    let summary = book.text("Summary");
    assert!(summary.contains("37cu beside 56cu: regressed: a step takes 1.00 ms (10.0 %) longer"), "{summary}");
    assert!(summary.contains("positive time takes longer") && summary.contains("2 more"), "{summary}");
    let chart = inside(bytes(&document), "xl/charts/chart1.xml");
    assert!(chart.contains("grouping val=\"stacked\"") && chart.contains("takes longer"), "{chart}");
    assert_eq!(book.column("metrics", "change"), [Data::Float(1.0)]);
    assert_eq!(book.column("metrics", "to"), [Data::Empty], "nothing bounds it there");
    assert_eq!(bytes(&document), bytes(&document), "the same bytes");
}

#[test]
fn of_several_tests_every_side_has_its_column_and_no_winner_is_named_without_evidence() {
    let document = document(&["37cu", "32cu"]);
    let mut out = Cursor::new(Vec::new());
    write_for_all(&document, &mut out).expect("written");
    assert_eq!(FOR_ALL, "final_analysis_report_for_all.xlsx");
    let mut book = Read::bytes(out.into_inner());
    assert_eq!(book.names(), ["Summary", "Per_Rank_Time_ms", "NCCL_Summary", "Ranking", "Pairs"]);
    assert_eq!(
        book.headers("Summary"),
        [
            "type",
            "56cu_time_ms",
            "37cu_time_ms",
            "32cu_time_ms",
            "37cu_percentage_change_time_ms",
            "32cu_percentage_change_time_ms",
            "37cu_status",
            "32cu_status"
        ]
    );
    assert_eq!(book.column("Summary", "32cu_percentage_change_time_ms"), [Data::Float(10.0)]);
    assert_eq!(book.column("Ranking", "winner")[0], Data::String("not certain to be the fastest".to_owned()));
}

#[test]
fn colours_go_by_the_word_of_the_verdict() {
    let styles = inside(of_aorta(Workbook::Report, Convention::Rankscope), "xl/styles.xml");
    assert!(styles.contains("FFF9DCB0"), "regressed: {styles}");
    let sheets = of_aorta(Workbook::Report, Convention::Rankscope);
    assert!(!inside(sheets, "xl/worksheets/sheet1.xml").contains("colorScale"), "no scale by the extremes of a column");
}

#[test]
fn libreoffice_opens_them_and_reads_the_figures() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let at = |name: &str| folder.path().join(name);
    fs::write(at("report.xlsx"), of_aorta(Workbook::Report, Convention::Rankscope)).expect("written");
    fs::write(at("one.xlsx"), bytes(&document(&["37cu"]))).expect("written");
    let settings = format!("-env:UserInstallation=file://{}", at("home").display());
    // Every sheet into a file of its own.
    let filter = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false,false,false,-1";
    let run = Command::new("timeout")
        .args(["120", "soffice", "--headless", &settings, "--convert-to", filter, "--outdir"])
        .arg(folder.path())
        .args([at("report.xlsx"), at("one.xlsx")])
        .output();
    let Some(done) = run.ok().filter(|done| done.status.code() != Some(127)) else {
        return skip(Need::LibreOffice, "no soffice");
    };
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && !said.to_lowercase().contains("error"), "{said}");
    let csv = |path: &Path| fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}; {said}", path.display()));
    assert!(csv(&at("report-Summary_Dashboard.csv")).contains("GPU_total_time,10,11,10,regressed,ms"));
    assert!(csv(&at("one-contributions.csv")).contains("part 0"));
}

#[test]
fn pandas_reads_aortas_columns() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().join("report.xlsx");
    fs::write(&path, of_aorta(Workbook::Report, Convention::Aorta)).expect("written");
    let python = std::env::var_os("RANKSCOPE_PANDAS_PYTHON").unwrap_or_else(|| "python3".into());
    if !Command::new(&python).args(["-c", "import pandas, openpyxl"]).output().is_ok_and(|done| done.status.success()) {
        return skip(Need::Pandas, "no Python with pandas and openpyxl; RANKSCOPE_PANDAS_PYTHON may name one");
    }
    let script = "import sys, warnings, pandas, openpyxl\n\
        warnings.simplefilter('ignore')\n\
        book = pandas.read_excel(sys.argv[1], sheet_name=None)\n\
        ranks = book['GPU_ByRank_Cmp']\n\
        assert ranks['diff_time_ms'].sum() == 2 and list(ranks['rank']) == [0, 1], ranks\n\
        sheets = openpyxl.load_workbook(sys.argv[1])\n\
        first = sheets.worksheets[0]\n\
        assert first.title == 'Summary_Dashboard' and len(first._charts) == 2 and list(first.tables), first.title\n\
        assert first.freeze_panes == 'A2' and first['A1'].comment.text.startswith('aorta'), first.freeze_panes\n\
        print('read', len(book))";
    let done = Command::new(&python).args(["-c", script]).arg(&path).output().expect("runs");
    assert!(done.status.success() && done.stdout.starts_with(b"read "), "{}", String::from_utf8_lossy(&done.stderr));
}
