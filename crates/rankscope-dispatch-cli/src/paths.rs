//! What the verbs are given and give by path: plans, documents and networks. `-` is the standard input.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use rankscope_dispatch::network::{PRESETS, Preset};
use rankscope_dispatch::{Assignment, Rows, binary};
use rankscope_plan_files::documents::{self, Documents, DocumentsError};
use rankscope_plan_files::network::{self, Known};
use rankscope_plan_files::plan::{self, Plan};
use rankscope_run::{SideFile, read_side, side_bytes, write_file};

/// Reads a plan.
pub(crate) fn load(path: &Path) -> Result<Plan> {
    parse(path, &bytes(path)?)
}

/// A plan that was read from `path`.
pub(crate) fn parse(path: &Path, bytes: &[u8]) -> Result<Plan> {
    plan::read(bytes).with_context(|| path.display().to_string())
}

/// The file at `path`, or the standard input for `-`.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>> {
    Ok(match path.as_os_str() == "-" {
        true => side_bytes(Path::new("the standard input"), std::io::stdin().lock(), SideFile::Dispatch)?,
        false => read_side(path, SideFile::Dispatch)?,
    })
}

/// Writes a plan, in the compact form if the name ends in `.rkd`.
pub(crate) fn save<'a>(path: &Path, plan: impl Into<Assignment<'a>>, rows: &Rows) -> Result<()> {
    let bytes = match path.extension().is_some_and(|suffix| suffix == "rkd") {
        true => binary::encode(plan, rows),
        false => plan::json(plan, rows).into_bytes(),
    };
    write(path, &bytes)
}

/// Writes `bytes` whole or not at all.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    write_file(path, |file| anyhow::Ok(file.write_all(bytes)?))
}

/// The documents to plan; `case` chooses one of several by number or name.
pub(crate) fn documents(path: &Path, case: Option<&str>) -> Result<Documents> {
    let bytes = bytes(path)?;
    let documents = documents::read(bytes, case).map_err(|error| match error {
        DocumentsError::ManyCases { count } => anyhow!("{count} cases: choose one with --case NUMBER or --case NAME"),
        error => error.into(),
    });
    documents.with_context(|| path.display().to_string())
}

/// The network called `name`: a preset, or a file.
pub(crate) fn network(name: &str) -> Result<Known> {
    if let Some(preset) = Preset::of_name(name) {
        let (name, source) = (name.to_owned(), preset.source.to_owned());
        return Ok(Known { name, source, network: preset.network() });
    }
    let path = Path::new(name);
    if !path.exists() {
        let presets: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        bail!(
            "{name}: neither a file nor a network known by name. The names are {}; `rankscope dispatch calibrate` makes a file",
            presets.join(", ")
        );
    }
    let text = read_side(path, SideFile::Dispatch)?;
    let (network, source) = network::read(&text).with_context(|| name.to_owned())?;
    Ok(Known { name: name.to_owned(), source, network })
}
