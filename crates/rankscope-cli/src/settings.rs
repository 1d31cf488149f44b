//! Where settings come from, as options that verbs share, and what they come to over all sources.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Result, bail};
use rankscope_config::{ClockSettings, ConfigFile, Settings, Sources, config_file, resolve};
use rankscope_run::{SideFile, read_side_text};

use crate::output;

/// Where settings come from, besides the environment.
#[derive(Debug, Default, clap::Args)]
pub struct SettingsArgs {
    /// Configuration file, TOML or JSON [default: the file that RANKSCOPE_CONFIG or XLA_DIST_PROF_CONFIG names]
    #[arg(long, value_name = "FILE")]
    config: Option<String>,
    /// A named choice of cadence, window, spacing and snapshot period
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
    /// A setting that overrides all other sources (may be repeated)
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

/// Reads the sources and lays them over each other.
///
/// # Errors
/// An option `--set` that is no pair. What is wrong with a source is a complaint in the settings.
pub fn settings(from: SettingsArgs) -> Result<Settings> {
    let mut flags = Vec::with_capacity(from.set.len() + 1);
    flags.extend(from.preset.map(|name| ("preset".to_owned(), name)));
    for pair in from.set {
        let Some((key, value)) = pair.split_once('=') else {
            bail!("--set {pair}: write a setting as KEY=VALUE, for example probe-window-s=2");
        };
        flags.push((key.trim().to_owned(), value.to_owned()));
    }
    let lossy = |text: OsString| text.to_string_lossy().into_owned();
    let environment: Vec<_> = std::env::vars_os().map(|(name, value)| (lossy(name), lossy(value))).collect();
    let path = from.config.or_else(|| config_file(&environment).map(str::to_owned));
    let text = path.as_ref().map(|path| text_of(path));
    let file = path
        .as_deref()
        .zip(text.as_ref())
        .map(|(name, text)| ConfigFile { name, text: text.as_deref().map_err(String::as_str) });
    Ok(resolve(&Sources { file, environment: &environment, flags: &flags }))
}

/// The settings of an agent; `flags` are those that have an option of their own. What is wrong with them is told, and the agent
/// runs with what is left: it must not fail the job it serves.
///
/// # Errors
/// As [`settings`].
pub fn clock_settings<const N: usize>(mut from: SettingsArgs, flags: [(&str, Option<String>); N]) -> Result<ClockSettings> {
    let given = flags.into_iter().filter_map(|(key, value)| Some(format!("{key}={}", value?)));
    from.set.extend(given);
    let resolved = settings(from)?;
    for complaint in &resolved.complaints {
        output::remark(&format!("rankscope: {complaint}"));
    }
    Ok(ClockSettings::of(&resolved))
}

/// The text of the file, or why there is none, without its name, which the complaint has.
fn text_of(path: &str) -> Result<String, String> {
    read_side_text(Path::new(path), SideFile::Config).map_err(|error| {
        let said = error.to_string();
        said.strip_prefix(path).and_then(|said| said.strip_prefix(": ")).unwrap_or(&said).to_owned()
    })
}
