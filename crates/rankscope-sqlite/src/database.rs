//! A database, its tables and their columns.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rankscope_formats::{Error, Foreign};
use rankscope_trace::ProblemKind;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

/// A table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) name: String,
    columns: Vec<String>,
    /// Where in the file its first page is.
    pub(crate) offset: u64,
}

impl Table {
    /// Whether it has a column called `name`.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.columns.iter().any(|column| column == name)
    }
}

/// A database that is open for reading.
#[derive(Debug)]
pub(crate) struct Database {
    connection: Connection,
    tables: BTreeMap<String, Table>,
    path: PathBuf,
    bytes: u64,
}

impl Database {
    /// Opens the database at `path`.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let bytes = path.metadata()?.len();
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(uri(path), flags).map_err(|error| damaged(&error))?;
        let tables = tables(&connection).map_err(|error| damaged(&error))?;
        Ok(Self { connection, tables, path: path.to_owned(), bytes })
    }

    /// The tables' names, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.tables.keys().map(String::as_str)
    }

    /// The table called `name`.
    pub(crate) fn table(&self, name: &str) -> Option<&Table> {
        self.tables.get(name)
    }

    /// The length of the file.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What is missing where its writer has not put everything into the file itself.
    pub(crate) fn unread_log(&self) -> Option<ProblemKind> {
        let mut log = self.path.clone().into_os_string();
        log.push("-wal");
        let is_filled = Path::new(&log).metadata().is_ok_and(|log| log.len() > 0);
        is_filled.then_some(ProblemKind::Truncated)
    }

    /// Calls `take` for every row that `sql` selects.
    pub(crate) fn each(&self, sql: &str, mut take: impl FnMut(&Row<'_>)) -> rusqlite::Result<()> {
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            take(&Row(row));
        }
        Ok(())
    }
}

/// A row, by the places of its columns. A value of another type than asked for is none.
pub(crate) struct Row<'r>(&'r rusqlite::Row<'r>);

impl Row<'_> {
    pub(crate) fn integer(&self, at: usize) -> Option<i64> {
        match self.0.get_ref(at) {
            Ok(ValueRef::Integer(value)) => Some(value),
            _ => None,
        }
    }

    /// An id, which the profiler counts without a sign and SQLite keeps with one.
    pub(crate) fn id(&self, at: usize) -> Option<u64> {
        self.integer(at).map(i64::cast_unsigned)
    }

    /// A size, which cannot be below 0.
    pub(crate) fn size(&self, at: usize) -> Option<u64> {
        self.integer(at).and_then(|size| u64::try_from(size).ok())
    }

    /// A text that is not empty.
    pub(crate) fn text(&self, at: usize) -> Option<String> {
        match self.0.get_ref(at) {
            Ok(ValueRef::Text(bytes)) if !bytes.is_empty() => Some(String::from_utf8_lossy(bytes).into_owned()),
            _ => None,
        }
    }
}

/// What SQLite says of a file that it cannot read.
pub(crate) fn damaged(error: &rusqlite::Error) -> Error {
    Error::NotATrace { found: Foreign::DamagedDatabase { reason: error.to_string() } }
}

/// `name` as SQL writes it.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The file as one that nobody changes while it is read.
fn uri(path: &Path) -> String {
    // Two slashes at the beginning would name a host.
    let mut uri = if path.is_absolute() { "file://" } else { "file:" }.to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-~".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri + "?mode=ro&immutable=1"
}

/// The tables that hold rows of their own; views and virtual tables are none.
fn tables(connection: &Connection) -> rusqlite::Result<BTreeMap<String, Table>> {
    let page_bytes: u64 = connection.query_row("PRAGMA page_size", [], |row| row.get::<_, i64>(0))?.unsigned_abs();
    let mut listed = connection.prepare("SELECT name, rootpage FROM sqlite_schema WHERE type = 'table' AND rootpage > 0")?;
    let mut rows = listed.query([])?;
    let mut tables = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let (name, page): (String, i64) = (row.get(0)?, row.get(1)?);
        let mut columns = connection.prepare(&format!("PRAGMA table_info({})", quoted(&name)))?;
        let columns = columns.query_map([], |row| row.get(1))?.collect::<Result<_, _>>()?;
        let offset = page.unsigned_abs().saturating_sub(1).saturating_mul(page_bytes);
        tables.insert(name.clone(), Table { name, columns, offset });
    }
    Ok(tables)
}
