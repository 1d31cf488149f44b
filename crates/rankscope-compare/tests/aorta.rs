//! aorta's own comparison of two configurations, cell by cell.
//!
//! Its workbooks of each configuration go in, and what it made of the two is what must come out. So the arithmetic is compared and not
//! two ways of reading traces; those are compared by the tests of reports.

use std::path::{Path, PathBuf};

use calamine::{Data, Reader, Xlsx, open_workbook};
use rankscope_compare::beside::{CollectiveFigures, SideFigures, TimeFigures, side_by_side};
use rankscope_document::{Beside, Convention, SideBySide};
use rankscope_testkit::{Need, skip};

const BASE: &str = "56cu_256threads";
const TEST: &str = "37cu_384threads";

fn folder() -> Option<PathBuf> {
    let folder = Path::new(&std::env::var_os("RANKSCOPE_CORPUS")?).join("expected/aorta_56cu_vs_37cu");
    folder.is_dir().then_some(folder)
}

/// A sheet as rows of cells by their headers.
struct Sheet {
    headers: Vec<String>,
    rows: Vec<Vec<Data>>,
}

impl Sheet {
    fn open(path: &Path, name: &str) -> Self {
        let mut book: Xlsx<_> = open_workbook(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let range = book.worksheet_range(name).expect("a sheet");
        let mut rows = range.rows().map(<[Data]>::to_vec);
        let headers = rows.next().expect("headers").iter().map(ToString::to_string).collect();
        Self { headers, rows: rows.collect() }
    }

    fn cell(&self, row: usize, header: &str) -> &Data {
        let at = self.headers.iter().position(|known| known == header).unwrap_or_else(|| panic!("no {header}"));
        &self.rows[row][at]
    }

    fn text(&self, row: usize, header: &str) -> String {
        self.cell(row, header).to_string()
    }

    fn number(&self, row: usize, header: &str) -> f64 {
        let cell = self.cell(row, header);
        match cell {
            Data::Int(number) => *number as f64,
            Data::Float(number) => *number,
            other => panic!("{header} of row {row}: {other:?}"),
        }
    }
}

/// Bytes of its gigabytes.
const GIB: f64 = 1.073_741_824;

fn figures(folder: &Path, label: &str) -> SideFigures {
    let times = Sheet::open(&folder.join("gpu_timeline_summary_mean.xlsx"), "All_Ranks_Combined");
    let groups = Sheet::open(&folder.join("collective_all_ranks.xlsx"), "nccl_summary_implicit_sync");
    let time = |row| TimeFigures {
        rank: times.number(row, "rank") as u32,
        name: times.text(row, "type"),
        ns: times.number(row, "time ms") * 1e6,
        percent: Some(times.number(row, "percent")),
    };
    let group = |row| CollectiveFigures {
        name: groups.text(row, "Collective name"),
        dtype: groups.text(row, "dtype"),
        in_elements: Some(groups.number(row, "In msg nelems") as u64),
        process_group: groups.text(row, "Process Group Name"),
        latency_ns: Some(groups.number(row, "comm_latency_mean") * 1e3),
        algbw_gbps: Some(groups.number(row, "algo bw (GB/s)_mean") * GIB),
        busbw_gbps: Some(groups.number(row, "bus bw (GB/s)_mean") * GIB),
        total_ns: Some(groups.number(row, "Total comm latency (ms)") * 1e6),
        count: groups.number(row, "count"),
        ..CollectiveFigures::default()
    };
    SideFigures {
        label: label.to_owned(),
        times: (0..times.rows.len()).map(time).collect(),
        collectives: (0..groups.rows.len()).map(group).collect(),
        rank_collectives: Vec::new(),
    }
}

fn compared() -> Option<(PathBuf, SideBySide)> {
    let Some(folder) = folder() else {
        skip(Need::Corpus, "RANKSCOPE_CORPUS has no expected/aorta_56cu_vs_37cu");
        return None;
    };
    let [base, test] = [("56cu", BASE), ("37cu", TEST)].map(|(side, label)| figures(&folder.join(side), label));
    let compared = side_by_side(&base, &test, &Convention::Aorta, &|_| None);
    Some((folder, compared))
}

/// Counts cells that were compared, so that a sheet without rows does not pass.
#[derive(Default)]
struct Cells(usize);

impl Cells {
    fn same(&mut self, sheet: &Sheet, row: usize, header: &str, ours: Option<f64>) {
        let (theirs, ours) = (sheet.number(row, header), ours.unwrap_or(f64::NAN));
        let size = theirs.abs().max(1e-3);
        assert!((ours - theirs).abs() <= 1e-9 * size.max(1.0), "{header} of row {row}: {ours}, aorta {theirs}");
        self.0 += 1;
    }

    fn word(&mut self, sheet: &Sheet, row: usize, header: &str, ours: &str) {
        assert_eq!(ours, sheet.text(row, header), "{header} of row {row}");
        self.0 += 1;
    }
}

#[test]
fn every_cell_of_its_comparison_by_rank_is_ours() {
    let Some((folder, ours)) = compared() else { return };
    let mut cells = Cells::default();
    for (book, name) in
        [("gpu_timeline_comparison.xlsx", "Comparison_By_Rank"), ("final_analysis_report.xlsx", "GPU_ByRank_Cmp")]
    {
        let sheet = Sheet::open(&folder.join(book), name);
        assert_eq!(sheet.rows.len(), ours.ranks.len());
        for (row, time) in ours.ranks.iter().enumerate() {
            cells.same(&sheet, row, "rank", time.rank.map(f64::from));
            cells.word(&sheet, row, "type", &time.name);
            cells.word(&sheet, row, "status", time.status.as_str());
            times(&mut cells, &sheet, row, time);
        }
    }
    assert_eq!(cells.0, 2 * 64 * 11);
}

#[test]
fn every_cell_of_its_summary_and_dashboard_is_ours() {
    let Some((folder, ours)) = compared() else { return };
    let mut cells = Cells::default();
    for (book, name) in
        [("gpu_timeline_comparison.xlsx", "Summary_Comparison"), ("final_analysis_report.xlsx", "GPU_Summary_Cmp")]
    {
        let sheet = Sheet::open(&folder.join(book), name);
        assert_eq!(sheet.rows.len(), ours.summary.len());
        for (row, time) in ours.summary.iter().enumerate() {
            cells.word(&sheet, row, "type", &time.name);
            times(&mut cells, &sheet, row, time);
        }
    }
    let dashboard = Sheet::open(&folder.join("final_analysis_report.xlsx"), "Summary_Dashboard");
    let two = |figure: Option<f64>| figure.map(|figure| (figure * 100.0).round() / 100.0);
    for (row, time) in ours.summary.iter().enumerate() {
        cells.word(&dashboard, row, "Metric", &format!("GPU_{}", time.name));
        cells.same(&dashboard, row, BASE, two(time.time.base.map(|ns| ns / 1e6)));
        cells.same(&dashboard, row, TEST, two(time.time.test.map(|ns| ns / 1e6)));
        cells.same(&dashboard, row, "Improvement (%)", two(time.time.percent_change));
        cells.word(&dashboard, row, "Status", time.status.as_str());
    }
    assert_eq!(cells.0, 2 * 8 * 9 + 8 * 5);
}

#[test]
fn every_cell_of_its_comparison_of_collectives_is_ours() {
    let Some((folder, ours)) = compared() else { return };
    let mut cells = Cells::default();
    for (book, name) in
        [("collective_comparison.xlsx", "nccl_implicit_sync_cmp"), ("final_analysis_report.xlsx", "NCCL_ImplicitSyncCmp")]
    {
        let sheet = Sheet::open(&folder.join(book), name);
        assert_eq!(sheet.rows.len(), ours.collectives.len());
        for (row, group) in ours.collectives.iter().enumerate() {
            cells.word(&sheet, row, "Collective name", &group.name);
            cells.word(&sheet, row, "dtype", &group.dtype);
            cells.same(&sheet, row, "In msg nelems", group.in_elements.map(|elements| elements as f64));
            let metrics = [
                ("comm_latency_mean", group.latency, 1e3),
                ("algo bw (GB/s)_mean", group.algbw, 1.0),
                ("bus bw (GB/s)_mean", group.busbw, 1.0),
                ("Total comm latency (ms)", group.total, 1e6),
            ];
            for (metric, figure, scale) in metrics {
                beside(&mut cells, &sheet, row, metric, &figure, scale);
                cells.same(&sheet, row, &format!("percent_change_{metric}"), figure.percent_change);
            }
            beside(&mut cells, &sheet, row, "count", &group.count, 1.0);
        }
    }
    assert_eq!(cells.0, 2 * 2 * 27);
}

fn times(cells: &mut Cells, sheet: &Sheet, row: usize, time: &rankscope_document::TimeBeside) {
    let ms = |ns: Option<f64>| ns.map(|ns| ns / 1e6);
    cells.same(sheet, row, &format!("{BASE}_time_ms"), ms(time.time.base));
    cells.same(sheet, row, &format!("{TEST}_time_ms"), ms(time.time.test));
    cells.same(sheet, row, "diff_time_ms", ms(time.time.diff));
    cells.same(sheet, row, "percent_change", time.time.percent_change);
    cells.same(sheet, row, "ratio", time.time.ratio);
    cells.same(sheet, row, &format!("{BASE}_percent"), time.base_percent);
    cells.same(sheet, row, &format!("{TEST}_percent"), time.test_percent);
    cells.same(sheet, row, "diff_percent", time.diff_percent);
}

fn beside(cells: &mut Cells, sheet: &Sheet, row: usize, metric: &str, figure: &Beside, scale: f64) {
    let scaled = |figure: Option<f64>| figure.map(|figure| figure / scale);
    cells.same(sheet, row, &format!("{BASE}_{metric}"), scaled(figure.base));
    cells.same(sheet, row, &format!("{TEST}_{metric}"), scaled(figure.test));
    cells.same(sheet, row, &format!("diff_{metric}"), scaled(figure.diff));
    cells.same(sheet, row, &format!("ratio_{metric}"), figure.ratio);
}
