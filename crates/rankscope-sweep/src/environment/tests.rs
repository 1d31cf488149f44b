use super::*;
use crate::configuration::configurations;
use crate::definition::Asked;

fn swept_over(texts: &[&str], base: bool) -> Vec<Configuration> {
    let variables = texts.iter().map(|text| text.parse().unwrap()).collect();
    configurations(&Asked { base, variables, ..Asked::default() }, false).unwrap()
}

fn said(
    configurations: &[Configuration],
    command: &[&str],
    scripts: &[(&str, &str)],
    environment: &[(&str, &str)],
) -> Vec<String> {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
    let scripts: Vec<_> = scripts.iter().map(own).collect();
    let environment = environment.iter().map(own).collect();
    let seen = Seen { command: &command, scripts: &scripts, environment: &environment };
    warnings(configurations, seen).iter().map(ToString::to_string).collect()
}

#[test]
fn nothing_is_said_of_a_plain_sweep() {
    let over = swept_over(&["NCCL_ALGO=Ring,Tree"], true);
    assert_eq!(
        said(&over, &["torchrun", "train.py", "--lr=1"], &[("run.sh", "# NCCL_ALGO=Ring\n")], &[("HOME", "/root")]),
        [""; 0]
    );
    assert_eq!(said(&over, &["train", "--NCCL_ALGO=x", "MY_NCCL_ALGO=y", "NCCL_ALGO==z"], &[], &[]), [""; 0]);
}

#[test]
fn a_value_that_was_there_is_named_with_who_runs_with_it() {
    let over = swept_over(&["NCCL_ALGO=Ring,Tree"], true);
    let said = said(&over, &["train"], &[], &[("NCCL_ALGO", "CollnetDirect")]);
    assert_eq!(said, ["NCCL_ALGO is `CollnetDirect` in your environment, and so it is in base; the others override it"]);
    let all = swept_over(&["NCCL_ALGO=Ring,Tree"], false);
    assert!(self::said(&all, &["train"], &[], &[("NCCL_ALGO", "x")])[0].ends_with("every configuration overrides it"));
}

#[test]
fn a_command_that_sets_the_variable_is_named() {
    let over = swept_over(&["NCCL_ALGO=Ring,Tree"], false);
    let commands: [&[&str]; 7] = [
        &["env", "NCCL_ALGO=Ring", "train"],
        &["sh", "-c", "export NCCL_ALGO=Ring; train"],
        &["sh", "-c", "NCCL_ALGO=Ring train"],
        &["mpirun", "-x", "NCCL_ALGO=Ring", "train"],
        &["srun", "--export=ALL,NCCL_ALGO=Ring", "train"],
        &["mpiexec", "-genv", "NCCL_ALGO", "Ring", "train"],
        &["env", "-u", "NCCL_ALGO", "train"],
    ];
    for command in commands {
        let said = said(&over, command, &[], &[]);
        assert!(said.len() == 1 && said[0].contains("seems to set NCCL_ALGO itself"), "{command:?}: {said:?}");
    }
    let scripts = [("run.sh", "set -e\n  export NCCL_ALGO=\"Ring\"\nexec train")];
    assert_eq!(
        said(&over, &["bash", "run.sh"], &scripts, &[]),
        ["the script run.sh seems to set NCCL_ALGO itself, so ranks may not see the value of the sweep"]
    );
    let fallback = [("run.sh", "export NCCL_ALGO=${NCCL_ALGO:-Ring}\n: ${NCCL_ALGO:=Ring}\nNCCL_ALGO=$NCCL_ALGO train")];
    assert_eq!(said(&over, &["bash", "run.sh"], &fallback, &[]), [""; 0], "what falls back on the sweep's value keeps it");
}

#[test]
fn a_launcher_that_passes_nothing_on_is_named() {
    let over = swept_over(&["NCCL_ALGO=Ring,Tree"], false);
    let keeps: [(&[&str], &str); 6] = [
        (&["srun", "--export=NONE", "train"], "srun passes on only `NONE`"),
        (&["srun", "--export", "HOME,PATH", "train"], "srun passes on only `HOME,PATH`"),
        (&["mpirun", "-H", "a,b", "train"], "add `-x NCCL_ALGO`"),
        (&["docker", "run", "image", "train"], "add `-e NCCL_ALGO`"),
        (&["env", "-i", "train"], "empty environment"),
        (&["ssh", "host", "train"], "another environment"),
    ];
    for (command, expected) in keeps {
        let said = said(&over, command, &[], &[]);
        assert!(said.len() == 1 && said[0].contains(expected), "{command:?}: {said:?}");
    }
    let passes: [&[&str]; 6] = [
        &["srun", "train"],
        &["srun", "--export=ALL", "train"],
        &["srun", "--export=NCCL_ALGO", "train"],
        &["mpirun", "-np", "2", "train"],
        &["mpirun", "-H", "a,b", "-x", "NCCL_ALGO", "train"],
        &["docker", "run", "-e", "NCCL_ALGO", "image"],
    ];
    for command in passes {
        assert_eq!(said(&over, command, &[], &[]), [""; 0], "{command:?}");
    }
    let said = said(&over, &["srun", "train"], &[], &[("SLURM_EXPORT_ENV", "NONE")]);
    assert!(said.len() == 1 && said[0].contains("srun passes on only `NONE`"), "{said:?}");
}

#[test]
fn what_distorts_is_named_wherever_it_comes_from() {
    let over = swept_over(&["A=1,2"], false);
    let here =
        said(&over, &["train"], &[], &[("AMD_SERIALIZE_KERNEL", "3"), ("NCCL_DEBUG", "WARN"), ("CUDA_LAUNCH_BLOCKING", "0")]);
    assert_eq!(here.len(), 1, "{here:?}");
    assert!(here[0].starts_with("AMD_SERIALIZE_KERNEL is `3` (from your environment): device work is serialised"), "{here:?}");
    let asked = said(&swept_over(&["HIP_LAUNCH_BLOCKING=0,1"], false), &["train"], &[], &[]);
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!(asked[0].contains("set in HIP_LAUNCH_BLOCKING=1"), "{asked:?}");
    let command = said(&over, &["env", "NCCL_DEBUG=INFO", "train"], &[], &[]);
    assert!(command.len() == 1 && command[0].contains("set by the command (`NCCL_DEBUG=INFO`)"), "{command:?}");
}

#[test]
fn the_environment_is_watched_where_it_matters() {
    let names = watched(&swept_over(&["A=1,2", "NCCL_DEBUG=INFO,WARN"], false));
    assert!(names.contains(&"A".to_owned()) && names.contains(&"HIP_LAUNCH_BLOCKING".to_owned()));
    assert_eq!(names.iter().filter(|name| *name == "NCCL_DEBUG").count(), 1);
}
