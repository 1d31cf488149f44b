//! Documents for tests, and workbooks read back.

use std::io::Cursor;

use calamine::{Data, Range, Reader, Xlsx};
use rankscope_document::{Document, Rank, Tables};
use rankscope_xlsx::Options;
use serde_json::{Value, json};

/// A job of so many ranks, each with `tables`.
pub(crate) fn job(ranks: u32, tables: &Value) -> Document {
    let time = json!({"computation": 5_000_000, "exposed_comm": 2_000_000, "exposed_memcpy": 1_000_000, "busy": 8_000_000,
        "idle": 2_000_000, "total": 10_000_000, "total_comm": 3_000_000, "total_memcpy": 1_500_000});
    let rank = |rank| Rank {
        rank,
        time_ns: serde_json::from_value(time.clone()).expect("times"),
        tables: Some(self::tables(tables)),
        ..Rank::default()
    };
    Document {
        title: "a job".to_owned(),
        world_size: Some(ranks),
        device_activity: true,
        ranks: (0..ranks).map(rank).collect(),
        ..Document::default()
    }
}

/// Tables of which only `some` are there.
fn tables(some: &Value) -> Tables {
    let mut all = json!({"kernel_ns": 0, "unattributed_kernel_ns": 0});
    for (key, value) in some.as_object().expect("tables by name") {
        all[key] = value.clone();
    }
    serde_json::from_value(all).expect("tables")
}

pub(crate) fn operator(name: &str, direct_kernel_ns: i64) -> Value {
    json!({"name": name, "category": "GEMM", "count": 2, "direct_kernel_ns": direct_kernel_ns, "subtree_kernel_ns": direct_kernel_ns,
        "kernel_sum_ns": direct_kernel_ns})
}

/// The bytes of a workbook of `document`.
pub(crate) fn bytes(document: &Document, options: Options) -> Vec<u8> {
    let mut out = Cursor::new(Vec::new());
    rankscope_xlsx::write(document, options, &mut out).expect("written");
    out.into_inner()
}

/// The file `name` inside a workbook.
pub(crate) fn inside(bytes: Vec<u8>, name: &str) -> String {
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).expect("an archive");
    let file = archive.by_name(name).unwrap_or_else(|error| panic!("{name}: {error}"));
    std::io::read_to_string(file).expect("text")
}

/// A workbook that was read back.
pub(crate) struct Read(Xlsx<Cursor<Vec<u8>>>);

impl Read {
    pub(crate) fn of(document: &Document) -> Self {
        Self::with(document, Options::default())
    }

    pub(crate) fn with(document: &Document, options: Options) -> Self {
        Self::bytes(bytes(document, options))
    }

    pub(crate) fn bytes(bytes: Vec<u8>) -> Self {
        Self(Xlsx::new(Cursor::new(bytes)).expect("a workbook"))
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.0.sheet_names()
    }

    /// The cells of a sheet.
    pub(crate) fn sheet(&mut self, name: &str) -> Range<Data> {
        self.0.worksheet_range(name).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The headers of a sheet.
    pub(crate) fn headers(&mut self, name: &str) -> Vec<String> {
        self.sheet(name).rows().next().expect("headers").iter().map(ToString::to_string).collect()
    }

    /// The cells under a header.
    pub(crate) fn column(&mut self, name: &str, header: &str) -> Vec<Data> {
        let at = self.headers(name).iter().position(|known| known == header).unwrap_or_else(|| panic!("no {header} in {name}"));
        self.sheet(name).rows().skip(1).map(|row| row[at].clone()).collect()
    }

    /// All text of a sheet, a line a row.
    pub(crate) fn text(&mut self, name: &str) -> String {
        let sheet = self.sheet(name);
        let line = |row: &[Data]| row.iter().map(ToString::to_string).collect::<Vec<_>>().join("\t");
        sheet.rows().map(line).collect::<Vec<_>>().join("\n")
    }
}

impl Read {
    /// How many formulas a sheet has.
    pub(crate) fn formulas(&mut self, name: &str) -> usize {
        let formulas = self.0.worksheet_formula(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        formulas.used_cells().filter(|(_, _, formula)| !formula.is_empty()).count()
    }
}
