//! `rankscope config`: the effective settings with the origin of each, and what is wrong with their sources.

use anyhow::Result;
use clap::Subcommand;
use rankscope_cli::ExitCode;
use rankscope_cli::output::{self, Format, Lines};
use rankscope_cli::settings::{SettingsArgs, settings};
use rankscope_config::{Settings, document, template};
use rankscope_report::columns;
use serde_json::json;

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
        from: SettingsArgs,
        /// What to print
        #[arg(long, value_enum, default_value_t = Format::Table)]
        format: Format,
    },
    /// Print only what is wrong; exit code 3 if anything is
    Check {
        #[command(flatten)]
        from: SettingsArgs,
        /// What to print
        #[arg(long, value_enum, default_value_t = Format::Table)]
        format: Format,
    },
    /// Print a configuration file that shows every setting at its default
    Template,
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
