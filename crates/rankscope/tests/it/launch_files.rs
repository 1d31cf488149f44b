//! The launch files in deploy/, as far as a host without a cluster can check them: shells parse the scripts, every file's
//! `rankscope` command line is one the binary takes, and the parts of the YAML files refer to each other as they must.
#![expect(clippy::unwrap_used, reason = "a test may fail")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(name)
}

fn documents(name: &str) -> Vec<Value> {
    let text = fs::read_to_string(file(name)).unwrap();
    serde_yaml_ng::Deserializer::from_str(&text).map(|document| Value::deserialize(document).unwrap()).collect()
}

fn only<'a>(documents: &'a [Value], kind: &str) -> &'a Value {
    let mut of_kind = documents.iter().filter(|document| document["kind"] == kind);
    let first = of_kind.next().unwrap();
    assert!(of_kind.next().is_none(), "one {kind}");
    first
}

/// The shell text of every launch file.
fn scripts() -> Vec<(&'static str, String)> {
    let kubernetes = documents("kubernetes.yaml");
    let container = &only(&kubernetes, "Job")["spec"]["template"]["spec"]["containers"][0];
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let skypilot = documents("skypilot.yaml").remove(0);
    vec![
        ("torchrun.sh", fs::read_to_string(file("torchrun.sh")).unwrap()),
        ("slurm.sbatch", fs::read_to_string(file("slurm.sbatch")).unwrap()),
        ("kubernetes.yaml", text(&container["command"][2])),
        ("skypilot.yaml setup", text(&skypilot["setup"])),
        ("skypilot.yaml run", text(&skypilot["run"])),
    ]
}

#[test]
fn a_shell_parses_every_script() {
    for (name, script) in scripts() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("script");
        fs::write(&path, script).unwrap();
        let parsed = Command::new("bash").arg("-n").arg(&path).output().unwrap();
        assert!(parsed.status.success(), "{name}: {}", String::from_utf8_lossy(&parsed.stderr));
    }
}

/// The words of the command that starts with `rankscope run`, up to and without the job.
fn own_words(script: &str) -> Vec<String> {
    let joined = script.replace("\\\n", " ");
    let line = joined.lines().find(|line| !line.trim_start().starts_with('#') && line.contains("rankscope run ")).unwrap();
    let command = &line[line.find("rankscope run ").unwrap()..];
    let (own, _) = command.split_once(" -- ").unwrap();
    own.split_whitespace().skip(2).map(|word| word.trim_matches('"').to_owned()).collect()
}

#[cfg(feature = "clock")]
#[test]
fn the_binary_takes_every_command_line() {
    for (name, script) in scripts().into_iter().filter(|(name, _)| !name.ends_with("setup")) {
        let directory = tempfile::tempdir().unwrap();
        let run = directory.path().join("run").display().to_string();
        let own = own_words(&script);
        assert!(own.contains(&"--out".to_owned()), "{name}: every rank's files need a place that is known");
        let words: Vec<&str> = own.iter().map(|word| if word.contains(['$', '/']) { run.as_str() } else { word }).collect();
        let quiet = ["--no-clock", "--no-report"].into_iter().filter(|flag| !words.contains(flag));
        let job = ["--", "sh", "-c", "exit 7"];
        let command: Vec<&str> = ["run"].into_iter().chain(words.iter().copied()).chain(quiet).chain(job).collect();
        let output = crate::common::rankscope(&command);
        assert_eq!(output.status.code(), Some(7), "{name}: {words:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(Path::new(&run).join("run.json").is_file(), "{name}");
    }
}

#[test]
fn the_pods_find_each_other() {
    let documents = documents("kubernetes.yaml");
    let (service, job) = (only(&documents, "Service"), only(&documents, "Job"));
    let spec = &job["spec"];
    let pod = &spec["template"]["spec"];
    let container = &pod["containers"][0];
    assert_eq!((&service["apiVersion"], &job["apiVersion"]), (&"v1".into(), &"batch/v1".into()));
    assert_eq!((&service["spec"]["clusterIP"], &spec["completionMode"]), (&"None".into(), &"Indexed".into()));
    assert_eq!(service["spec"]["publishNotReadyAddresses"], true);
    assert_eq!(service["spec"]["selector"], spec["template"]["metadata"]["labels"]);
    assert_eq!(pod["subdomain"], service["metadata"]["name"]);
    assert_eq!((&pod["restartPolicy"], &spec["backoffLimit"]), (&"Never".into(), &0.into()));
    let env = |name: &str| {
        let entries = container["env"].as_array().unwrap();
        entries.iter().find(|entry| entry["name"] == name).unwrap()["value"].as_str().unwrap().to_owned()
    };
    assert_eq!(spec["completions"], spec["parallelism"]);
    assert_eq!(env("NNODES"), spec["completions"].to_string());
    let first = format!("{}-0.{}", job["metadata"]["name"].as_str().unwrap(), pod["subdomain"].as_str().unwrap());
    assert_eq!(env("MASTER_ADDR"), first);
    let names = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&container["volumeMounts"]), names(&pod["volumes"]));
    let mounts = container["volumeMounts"].as_array().unwrap();
    let out = own_words(container["command"][2].as_str().unwrap())[1].clone();
    assert!(mounts.iter().any(|mount| out.starts_with(mount["mountPath"].as_str().unwrap())), "{out} is on a volume");
}

#[test]
fn the_sky_task_has_what_it_needs() {
    let documents = documents("skypilot.yaml");
    let [task] = documents.as_slice() else { panic!("one task") };
    let known = ["name", "num_nodes", "resources", "workdir", "file_mounts", "secrets", "setup", "run"];
    assert!(task.as_object().unwrap().keys().all(|key| known.contains(&key.as_str())));
    assert!(task["num_nodes"].as_u64().unwrap() > 1);
    assert_eq!(task["secrets"]["RANKSCOPE_KEY"], Value::Null, "given by the user's shell, and by no file");
    assert!(task["secrets"].as_object().unwrap().contains_key("RANKSCOPE_KEY"));
    let run = task["run"].as_str().unwrap();
    for variable in ["SKYPILOT_NODE_IPS", "SKYPILOT_NODE_RANK", "SKYPILOT_NUM_NODES", "SKYPILOT_NUM_GPUS_PER_NODE"] {
        assert!(run.contains(variable), "{variable}");
    }
    let bucket = task["file_mounts"].as_object().unwrap().keys().next().unwrap();
    assert!(run.contains(&format!("{bucket}/$SKYPILOT_TASK_ID")), "what is kept is in the bucket");
}

#[test]
fn slurm_reads_its_lines_before_any_command() {
    let text = fs::read_to_string(file("slurm.sbatch")).unwrap();
    let is_directive = |line: &&str| line.starts_with("#SBATCH ");
    let command = text.lines().position(|line| !line.is_empty() && !line.starts_with('#')).unwrap();
    let directives: Vec<&str> = text.lines().filter(is_directive).collect();
    assert_eq!(directives, text.lines().take(command).filter(is_directive).collect::<Vec<_>>());
    assert!(directives.iter().all(|line| line.starts_with("#SBATCH --") && line.contains('=')));
    for option in ["--nodes=", "--ntasks-per-node=1", "--time="] {
        assert!(directives.iter().any(|line| line.contains(option)), "{option}");
    }
}
