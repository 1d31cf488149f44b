//! `rankscope config`: the effective settings with the origin of each, and what is wrong with their sources.

use crate::exit::ExitCode;
use std::path::Path;

use anyhow::{Result, bail};
use clap::Subcommand;
use rankscope_config::{ConfigFile, Settings, Sources, config_file, document, resolve, template};
use rankscope_report::columns;
use rankscope_run::{SideFile, read_side_text};
use serde_json::json;

use crate::output::{self, Format, Lines};

/// Show or check the settings, and where each value comes from.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Print every setting with its value and where that came from
    Show {
        #[command(flatten)]
        from: From,
        /// What to print
        #[arg(long, value_enum, default_value_t = Format::Table)]
        format: Format,
    },
    /// Print only what is wrong; exit code 3 if anything is
    Check {
        #[command(flatten)]
        from: From,
        /// What to print
        #[arg(long, value_enum, default_value_t = Format::Table)]
        format: Format,
    },
    /// Print a configuration file that shows every setting at its default
    Template,
}

/// Where settings come from, besides the environment.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct From {
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

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    match args.verb {
        Verb::Show { from, format } => {
            let settings = settings(from)?;
            let complaints = complaints(&settings);
            output::answer(&match format {
                Format::Json => json!({ "settings": document(&settings), "complaints": complaints }).to_string(),
                Format::Table => format!("{}{}", drawn(&settings), said(&complaints, "\n")),
            })?;
            Ok(ExitCode::SUCCESS)
        }
        Verb::Check { from, format } => {
            let complaints = complaints(&settings(from)?);
            output::answer(&match format {
                Format::Json => json!({ "complaints": complaints }).to_string(),
                Format::Table if complaints.is_empty() => "the settings are valid".to_owned(),
                Format::Table => said(&complaints, ""),
            })?;
            Ok(if complaints.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(3) })
        }
        Verb::Template => {
            output::answer(&template())?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Reads the sources and lays them over each other.
pub(crate) fn settings(from: From) -> Result<Settings> {
    let mut flags = Vec::with_capacity(from.set.len() + 1);
    flags.extend(from.preset.map(|name| ("preset".to_owned(), name)));
    for pair in from.set {
        let Some((key, value)) = pair.split_once('=') else {
            bail!("--set {pair}: write a setting as KEY=VALUE, for example probe-window-s=2");
        };
        flags.push((key.trim().to_owned(), value.to_owned()));
    }
    let lossy = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
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
#[cfg(feature = "clock")]
pub(crate) fn clock_settings<const N: usize>(
    mut from: From,
    flags: [(&str, Option<String>); N],
) -> Result<rankscope_config::ClockSettings> {
    let given = flags.into_iter().filter_map(|(key, value)| Some(format!("{key}={}", value?)));
    from.set.extend(given);
    let resolved = settings(from)?;
    for complaint in &resolved.complaints {
        output::remark(&format!("rankscope: {complaint}"));
    }
    Ok(rankscope_config::ClockSettings::of(&resolved))
}

/// The text of the file, or why there is none, without its name, which the complaint has.
fn text_of(path: &str) -> Result<String, String> {
    read_side_text(Path::new(path), SideFile::Config).map_err(|error| {
        let said = error.to_string();
        said.strip_prefix(path).and_then(|said| said.strip_prefix(": ")).unwrap_or(&said).to_owned()
    })
}

fn complaints(settings: &Settings) -> Vec<String> {
    settings.complaints.iter().map(ToString::to_string).collect()
}

fn said(complaints: &[String], before: &str) -> String {
    if complaints.is_empty() {
        return String::new();
    }
    let mut lines = Lines::default();
    complaints.iter().for_each(|complaint| lines.line(format_args!("{complaint}")));
    format!("{before}{}", lines.into_text())
}

fn drawn(settings: &Settings) -> String {
    let rows = settings.iter().map(|(setting, resolved)| {
        let value = resolved.value.as_ref().map_or_else(|| "not set".to_owned(), |value| setting.shown(value));
        vec![setting.name.to_owned(), value, resolved.origin.to_string()]
    });
    columns(&["setting", "value", "origin"], rows.collect(), output::style())
}
