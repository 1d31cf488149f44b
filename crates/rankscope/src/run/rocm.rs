//! What a job is told so that ROCm loads our tool: a variable, no change to the job. Tools that the user chose are loaded beside it.

use std::path::Path;

use rankscope_run::same_file;

use super::library;

/// The tool's file, which lies beside the binary.
const FILE: &str = "librankscope_rocprofiler.so";
/// Where ROCm looks for the files of tools, with colons between them.
pub(super) const TOOLS: &str = "ROCP_TOOL_LIBRARIES";

/// What the job is told, where the binary is `program` and the user said `chosen` for tools, and a line for the user where there is
/// something to say.
pub(super) fn told(program: &Path, chosen: Option<&str>) -> (Option<(String, String)>, Option<String>) {
    let tool = match library(program, FILE, "rankscope-rocprofiler") {
        Ok(tool) => tool,
        Err(why) => {
            return (None, Some(format!("work of AMD's GPUs is recorded only of sessions that begin before HIP: {why}")));
        }
    };
    let ours = tool.to_string_lossy().into_owned();
    let chosen: Vec<&str> = chosen.unwrap_or_default().split(':').filter(|file| !file.is_empty()).collect();
    if chosen.iter().any(|file| same_file(Path::new(file), &tool)) {
        return (None, None);
    }
    let all = chosen.into_iter().chain([ours.as_str()]).collect::<Vec<_>>().join(":");
    (Some((TOOLS.to_owned(), all)), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_that_were_chosen_are_loaded_beside_ours() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("rankscope");
        let (variable, line) = told(&program, None);
        assert!(variable.is_none() && line.is_some_and(|line| line.contains(FILE)));
        let tool = folder.path().join(FILE);
        std::fs::write(&tool, "").unwrap();
        let tool = tool.to_str().unwrap();
        let said = |chosen| told(&program, chosen).0.map(|(name, files)| format!("{name}={files}"));
        assert_eq!(said(None), Some(format!("ROCP_TOOL_LIBRARIES={tool}")));
        assert_eq!(said(Some("/a/tool.so:")), Some(format!("ROCP_TOOL_LIBRARIES=/a/tool.so:{tool}")));
        assert_eq!(said(Some(&format!("/a/tool.so:{tool}"))), None, "it is named already");
    }
}
