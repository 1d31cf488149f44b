//! `cargo xtask header`: `rankscope.h`, written from what the library exports.
//!
//! Declarations and their comments are the library's own; what C inlines is `header/inline.h` beside it. The header is kept in the
//! repository, so that a program can be built without a Rust toolchain, and CI holds it against the source.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use cbindgen::{Builder, Config, DocumentationStyle, EnumConfig, ExportConfig, ItemType, Language, RenameRule, Style};

use crate::cargo;

/// Options of `cargo xtask header`.
#[derive(clap::Args, Default)]
pub(crate) struct Args {
    /// Write the header instead of comparing.
    #[arg(long)]
    write: bool,
}

/// Writes the header, or says that it is not what the source makes of it.
pub(crate) fn run(args: &Args) -> Result<()> {
    let path = crate_folder().join("include/rankscope.h");
    let header = made()?;
    if args.write {
        fs::write(&path, header).with_context(|| format!("failed to write {}", path.display()))?;
        println!("{} is written", path.display());
        return Ok(());
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    if found != header {
        bail!("{} is not what the library exports: run `cargo xtask header --write`", path.display());
    }
    println!("{} is current", path.display());
    Ok(())
}

/// Where the library is.
pub(crate) fn crate_folder() -> PathBuf {
    cargo::root().join("crates/rankscope-capi")
}

/// Types of C that C functions take, and the numbers they take by name.
const NAMES: &[(&str, &str)] = &[
    ("Arg", "rankscope_arg"),
    ("Value", "rankscope_value"),
    ("Type", "rankscope_type"),
    ("Site", "rankscope_site"),
    ("OpenSpan", "rankscope_span"),
    ("Memory", "rankscope_memory"),
    ("Options", "rankscope_session_options"),
    ("SessionReport", "rankscope_session_report"),
    ("PlanRequest", "rankscope_plan_request"),
    ("PlanShard", "rankscope_plan_shard"),
    ("PlanTask", "rankscope_plan_task"),
    ("Pass", "rankscope_pass"),
    ("Plan", "rankscope_plan"),
    ("Layout", "rankscope_layout"),
    ("Stats", "rankscope_stats"),
    ("Status", "rankscope_status"),
    ("Category", "rankscope_category"),
    ("Scope", "rankscope_scope"),
    ("FlowStage", "rankscope_flow_stage"),
    ("Phase", "rankscope_phase"),
    ("ABI_VERSION", "RANKSCOPE_ABI_VERSION"),
    ("PLUGIN_ABI_VERSION", "RANKSCOPE_PLUGIN_ABI_VERSION"),
    ("Plugin", "rankscope_plugin"),
    ("PluginEntry", "rankscope_plugin_entry_function"),
    ("Host", "rankscope_plugin_host"),
    ("SessionAbout", "rankscope_plugin_session_about"),
    ("Emit", "rankscope_emit"),
    ("DeviceInfo", "rankscope_device_info"),
    ("ResourceInfo", "rankscope_resource_info"),
    ("Activity", "rankscope_activity"),
    ("Tie", "rankscope_tie"),
    ("TieKind", "rankscope_tie_kind"),
    ("ProblemSeverity", "rankscope_problem_severity"),
];

fn made() -> Result<String> {
    let folder = crate_folder();
    let read = |name: &str| {
        let path = folder.join("header").join(name);
        fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))
    };
    let mut sources: Vec<PathBuf> = fs::read_dir(folder.join("src"))?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    sources.push(cargo::root().join("crates/rankscope-record/src/plugins/foreign/abi.rs"));
    sources.sort();
    let config = Config {
        language: Language::C,
        cpp_compat: true,
        style: Style::Both,
        include_guard: Some("RANKSCOPE_H".to_owned()),
        sys_includes: ["stddef.h", "stdint.h"].map(str::to_owned).to_vec(),
        no_includes: true,
        header: Some(read("opening.h")?),
        after_includes: Some(read("types.h")?),
        trailer: Some(read("inline.h")?),
        usize_is_size_t: true,
        documentation_style: DocumentationStyle::C99,
        line_length: 128,
        tab_width: 4,
        export: ExportConfig {
            rename: NAMES.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect(),
            include: [
                "Type",
                "Category",
                "Scope",
                "FlowStage",
                "Phase",
                "Layout",
                "Pass",
                "TieKind",
                "ProblemSeverity",
                "PluginEntry",
            ]
            .map(str::to_owned)
            .to_vec(),
            exclude: vec!["rankscope_state".to_owned()],
            item_types: vec![
                ItemType::Constants,
                ItemType::Enums,
                ItemType::Structs,
                ItemType::Unions,
                ItemType::Typedefs,
                ItemType::OpaqueItems,
                ItemType::Functions,
            ],
            ..ExportConfig::default()
        },
        enumeration: EnumConfig { rename_variants: RenameRule::QualifiedScreamingSnakeCase, ..EnumConfig::default() },
        ..Config::default()
    };
    let builder = sources.into_iter().fold(Builder::new().with_config(config), Builder::with_src);
    let bindings = builder.generate().context("the library's source has something that C cannot have")?;
    let mut header = Vec::new();
    bindings.write(&mut header);
    Ok(tidied(&String::from_utf8(header)?))
}

/// What Rust says of safety is said once in the header, and spaces at the ends of lines are nobody's.
fn tidied(header: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut in_safety = false;
    for line in header.lines().map(str::trim_end) {
        let text = line.trim_start();
        in_safety = (in_safety || text == "// # Safety" || text == "* # Safety")
            && (text.starts_with("//") || (text.starts_with('*') && text != "*/"));
        if in_safety {
            continue;
        }
        if !text.starts_with("//") && kept.last().is_some_and(|last| last.trim() == "//") {
            kept.pop();
        }
        kept.push(line);
    }
    kept.join("\n").trim_end().to_owned() + "\n"
}
