//! Kubernetes: an indexed Job that maps, and a suspended one that merges when somebody resumes it.
//!
//! Which pods are tried again is said by exit codes: never where another try ends the same, always where the node went away, and a few
//! times for each task otherwise. A pod that ran out of memory is one of those (137): tried for ever, it would never end.
//! `backoffLimitPerIndex` wants Kubernetes 1.29, where it is on unless switched off.

use std::fmt;
use std::str::FromStr;

use crate::{FINAL_CODES, RETRIES, Tasks};

/// Where pods run, and what they see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pods {
    /// What both Jobs' names begin with.
    pub name: JobName,
    /// The image, which has the program.
    pub image: String,
    /// The claim of the volume that holds traces and parts.
    pub claim: String,
    /// Where it is mounted.
    pub mount: String,
    /// The most pods at once.
    pub parallelism: u32,
}

/// A name that Kubernetes does not take for a Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameError;

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a Job's name is up to 50 lower-case letters, digits and dashes, and begins and ends with none of the dashes",
        )
    }
}

impl std::error::Error for NameError {}

/// Kubernetes allows 63, of which a pod adds its index and a suffix to.
const NAME_MAX: usize = 50;

/// What the names of both Jobs begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobName(String);

impl FromStr for JobName {
    type Err = NameError;

    fn from_str(name: &str) -> Result<Self, NameError> {
        let is_plain = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        let is_framed = !name.is_empty() && !name.starts_with('-') && !name.ends_with('-') && name.len() <= NAME_MAX;
        if is_plain && is_framed { Ok(Self(name.to_owned())) } else { Err(NameError) }
    }
}

/// The manifest of both Jobs, with the commands that run them in front.
pub fn kubernetes(tasks: &Tasks, pods: &Pods) -> String {
    let Tasks { map_line, merge_line, inputs, shards, .. } = tasks;
    let JobName(name) = &pods.name;
    let map = format!("exec {map_line} --shard \"$((JOB_COMPLETION_INDEX + 1))/{shards}\"");
    let codes = FINAL_CODES.map(|code| code.to_string()).join(", ");
    let parallelism = pods.parallelism.min(*shards);
    format!(
        r#"# Maps {inputs} traces in {shards} pods, and merges when all are done. With this in rankscope.yaml:
#   kubectl apply -f rankscope.yaml
#   kubectl wait --for=condition=complete --timeout=-1s job/{name}-map
#   kubectl patch job/{name}-merge --type=merge -p '{{"spec":{{"suspend":false}}}}'
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}-map
spec:
  completionMode: Indexed
  completions: {shards}
  parallelism: {parallelism}
  backoffLimitPerIndex: {RETRIES}
  podFailurePolicy:
    rules:
    - action: Ignore
      onPodConditions:
      - type: DisruptionTarget
        status: "True"
    - action: FailIndex
      onExitCodes:
        containerName: rankscope
        operator: In
        values: [{codes}]
    - action: Ignore
      onExitCodes:
        containerName: rankscope
        operator: In
        values: [143]
  template:
{map_pod}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}-merge
spec:
  suspend: true
  backoffLimit: {RETRIES}
  template:
{merge_pod}
"#,
        map_pod = pod(pods, &map, tasks.memory_mib()),
        merge_pod = pod(pods, &format!("exec {merge_line}"), tasks.merge_memory_mib()),
    )
}

fn pod(pods: &Pods, command: &str, memory_mib: u64) -> String {
    let [image, claim, mount, command] = [&pods.image, &pods.claim, &pods.mount, command].map(quoted);
    format!(
        r"    spec:
      restartPolicy: Never
      containers:
      - name: rankscope
        image: {image}
        command: [sh, -c, {command}]
        env:
        - name: RAYON_NUM_THREADS
          value: '1'
        resources:
          requests:
            cpu: '1'
            memory: {memory_mib}Mi
          limits:
            memory: {memory_mib}Mi
        volumeMounts:
        - name: shared
          mountPath: {mount}
      volumes:
      - name: shared
        persistentVolumeClaim:
          claimName: {claim}"
    )
}

/// `text` as YAML takes it for text: JSON is part of it.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use serde_yaml_ng::{Deserializer, Value};

    fn jobs(image: &str) -> Vec<Value> {
        let pods = Pods {
            name: "trace-7".parse().unwrap(),
            image: image.to_owned(),
            claim: "claim".to_owned(),
            mount: "/shared".to_owned(),
            parallelism: 1_000,
        };
        let text = kubernetes(&example(), &pods);
        let parsed = |document| serde::Deserialize::deserialize(document).unwrap();
        Deserializer::from_str(&text).map(parsed).collect()
    }

    #[test]
    fn every_index_maps_its_shard() {
        let jobs = jobs("registry:5000/rankscope: \"latest\"");
        let spec = &jobs[0]["spec"];
        assert_eq!((spec["completions"].as_u64(), spec["parallelism"].as_u64()), (Some(64), Some(64)));
        let container = &spec["template"]["spec"]["containers"][0];
        assert_eq!(container["image"], "registry:5000/rankscope: \"latest\"");
        let command = container["command"][2].as_str().unwrap();
        assert_eq!(
            command,
            "exec rankscope map --parts /shared/parts --format json --shard \"$((JOB_COMPLETION_INDEX + 1))/64\""
        );
        assert_eq!(container["resources"]["limits"]["memory"], "513Mi");
        assert_eq!(jobs[1]["spec"]["suspend"], true);
        assert_eq!(jobs.len(), 2);
    }

    #[test]
    fn names_are_those_of_jobs() {
        let named = |name: &str| name.parse().map(|JobName(name)| name);
        assert_eq!(named("run-7"), Ok("run-7".to_owned()));
        for name in ["", "-a", "a-", "A", "a_b", "a b", &"a".repeat(51)] {
            assert_eq!(named(name), Err(NameError), "{name}");
        }
    }
}
