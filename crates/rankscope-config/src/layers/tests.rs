use std::time::Duration;

use super::*;
use crate::{ClockSettings, Kind, PortMode, Topology, template};

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn resolved(file: Option<(&str, &str)>, environment: &[(&str, &str)], flags: &[(&str, &str)]) -> Settings {
    let file = file.map(|(name, text)| ConfigFile { name, text: Ok(text) });
    resolve(&Sources { file, environment: &pairs(environment), flags: &pairs(flags) })
}

fn said(settings: &Settings) -> Vec<String> {
    settings.complaints.iter().map(Complaint::to_string).collect()
}

fn shown(settings: &Settings, key: Key) -> (String, String) {
    let resolved = settings.of(key);
    let value = resolved.value.as_ref().map(|value| key.setting().shown(value)).unwrap_or_default();
    (value, resolved.origin.to_string())
}

/// A value that is no setting's default.
fn other_value(setting: &Setting) -> String {
    match setting.kind {
        Kind::Switch => (setting.default == Some("false")).to_string(),
        Kind::Integer { max, .. } => max.to_string(),
        Kind::Duration { unit, max_ns, .. } => (max_ns / unit.nanos()).to_string(),
        Kind::Text | Kind::Secret | Kind::List => "eth7".to_owned(),
        Kind::Edges => "0-1".to_owned(),
        Kind::Rendezvous => "etcd://h:1".to_owned(),
        Kind::Choice(words) => words[words.len() - 1].0.to_owned(),
    }
}

#[test]
fn nothing_said_is_the_defaults_and_no_complaint() {
    let settings = resolved(None, &[], &[]);
    assert_eq!(said(&settings), [""; 0]);
    let clock = ClockSettings::of(&settings);
    assert_eq!(clock.probe_cadence, Duration::from_micros(800));
    assert_eq!(clock.probe_window, Duration::from_secs(4));
    assert_eq!(clock.packet_spacing, Duration::from_micros(5));
    assert_eq!((clock.enabled, clock.topology, clock.port_mode), (false, Topology::Random, PortMode::Single));
    assert_eq!((clock.rank, clock.rendezvous, clock.control_port), (None, None, 36_000));
    assert!(settings.iter().all(|(_, resolved)| resolved.origin == Origin::Default));
}

#[test]
fn every_name_reaches_its_setting() {
    for setting in SETTINGS {
        let text = other_value(setting);
        let value = parse(&setting.kind, &text);
        assert!(value.is_some(), "{} = {text}", setting.name);
        for variable in variables(setting).chain(setting.borrowed.iter().map(|name| (*name).to_owned())) {
            let settings = resolved(None, &[(&variable, &text)], &[]);
            let is = settings.of(setting.key);
            assert_eq!((&is.value, &is.origin), (&value, &Origin::Variable(variable.clone())), "{variable}");
        }
        for name in file_names(setting).flat_map(|name| [name.to_owned(), name.replace('-', "_")]) {
            for settings in [
                resolved(Some(("a.toml", &format!("{name} = {text:?}"))), &[], &[]),
                resolved(Some(("a.toml", &format!("[{}]\n{name} = {text:?}", setting.section))), &[], &[]),
                resolved(Some(("a.json", &format!("{{{name:?}: {text:?}}}"))), &[], &[]),
                resolved(Some(("a", &format!("{{{:?}: {{{name:?}: {text:?}}}}}", setting.section))), &[], &[]),
                resolved(None, &[], &[(&name, &text)]),
            ] {
                assert_eq!(settings.of(setting.key).value, value, "{name}");
                assert!(!settings.complaints.iter().any(|c| !matches!(c, Complaint::Together(_))), "{:?}", said(&settings));
            }
        }
    }
}

#[test]
fn a_higher_layer_covers_a_lower_one() {
    let file = Some(("job.toml", "preset = 'low-overhead'\n\n[probe]\nprobe-cadence-us = 1_500\npacket-spacing-us = 60\n"));
    let environment = &[("XLA_PROBE_CADENCE_US", "900"), ("NCCL_SOCKET_IFNAME", "ib0"), ("GLOO_SOCKET_IFNAME", "eth0")];
    let settings = resolved(file, environment, &[("probe-cadence-us", "700")]);
    assert_eq!(said(&settings), [""; 0]);
    for (key, value, origin) in [
        (Key::ProbeCadence, "700 us", "flag"),
        (Key::PacketSpacing, "60 us", "file job.toml line 5"),
        (Key::ProbeWindow, "10 s", "preset low-overhead"),
        (Key::SnapshotPeriod, "200 ms", "preset low-overhead"),
        (Key::Interfaces, "ib0", "environment NCCL_SOCKET_IFNAME"),
        (Key::Preset, "low-overhead", "file job.toml line 1"),
        (Key::TrainLength, "16 probes", "default"),
    ] {
        assert_eq!(shown(&settings, key), (value.to_owned(), origin.to_owned()));
    }
    let settings = resolved(file, environment, &[]);
    assert_eq!(shown(&settings, Key::ProbeCadence), ("900 us".to_owned(), "environment XLA_PROBE_CADENCE_US".to_owned()));
    let settings = resolved(Some(("j.json", "{\"network\": {\"interfaces\": [\"^lo\", \"docker\"]}}")), environment, &[]);
    let expected = ("^lo,docker".to_owned(), "file j.json key network.interfaces".to_owned());
    assert_eq!(shown(&settings, Key::Interfaces), expected, "another program's variable is weaker than our file");
    let settings = resolved(None, &[], &[("port", "1"), ("port", "2")]);
    assert_eq!(shown(&settings, Key::Port).0, "2");
    assert_eq!(said(&settings), [""; 0]);
}

#[test]
fn a_file_of_the_origin_is_understood() {
    let text = r#"{"enabled": true, "probe_cadence_us": 1000, "probe_window_s": 2.5, "packet_spacing_us": 50,
        "snapshot_period_ms": 50, "output_dir": "/tmp/a, b", "interfaces": null}"#;
    let settings = resolved(Some(("prof.json", text)), &[], &[]);
    assert_eq!(said(&settings), [""; 0]);
    let clock = ClockSettings::of(&settings);
    assert!(clock.enabled);
    assert_eq!((clock.probe_window, clock.output_dir.as_str()), (Duration::from_millis(2_500), "/tmp/a, b"));
}

#[test]
fn each_mistake_is_said_once_with_its_place() {
    for (file, environment, flags, expected) in [
        (
            None,
            &[("XLA_PROBE_CADANCE_US", "800")][..],
            &[][..],
            "environment: XLA_PROBE_CADANCE_US is not a rankscope variable; did you mean XLA_PROBE_CADENCE_US?",
        ),
        (
            None,
            &[("XLA_PROB_WINDOW_S", "4")],
            &[],
            "environment: XLA_PROB_WINDOW_S is not a rankscope variable; did you mean XLA_PROBE_WINDOW_S?",
        ),
        (
            None,
            &[("RANKSCOPE_CONFG", "x")],
            &[],
            "environment: RANKSCOPE_CONFG is not a rankscope variable; did you mean RANKSCOPE_CONFIG?",
        ),
        (None, &[("XLA_PROBE_SOMETHING_ELSE", "4")], &[], "environment: XLA_PROBE_SOMETHING_ELSE is not a rankscope variable"),
        (
            Some(("a.toml", "[probe]\n# a comment\nprobe-windows-s = 4\n")),
            &[],
            &[],
            "file a.toml line 3: probe-windows-s is not a setting; did you mean probe-window-s?",
        ),
        (
            Some(("a.json", "{\"probe\": {\"cadence\": 4}}")),
            &[],
            &[],
            "file a.json key probe.cadence: cadence is not a setting",
        ),
        (
            Some(("a.toml", "[network]\nestimator = 'svm'\n")),
            &[],
            &[],
            "file a.toml line 2: estimator belongs in [estimate] or at the top level; it is not used here",
        ),
        (
            None,
            &[("XLA_PROBE_WINDOW_S", "99")],
            &[],
            "environment XLA_PROBE_WINDOW_S: probe-window-s cannot be \"99\"; it takes 0.5 to 60 s, as a number of s or with a unit (us, ms or s)",
        ),
        (
            Some(("a.toml", "topology = 'star'")),
            &[],
            &[],
            "file a.toml line 1: topology cannot be \"star\"; it takes one of random, ring, directed, loop, explicit",
        ),
        (None, &[], &[("cpu", "-1")], "flag: cpu cannot be \"-1\"; it takes a whole number from 0 to 65535"),
        (None, &[], &[("prot", "1")], "flag: prot is not a setting; did you mean port?"),
        (
            None,
            &[("XLA_PROBE_CADENCE_US", "900"), ("RANKSCOPE_PROBE_CADENCE_US", "1000")],
            &[],
            "probe-cadence-us is 1000 us from environment RANKSCOPE_PROBE_CADENCE_US and 900 us from environment \
             XLA_PROBE_CADENCE_US; the first is used",
        ),
        (
            Some(("a.json", "{\"probe-cadence-us\": 900, \"probe_cadence_us\": 901}")),
            &[],
            &[],
            "probe-cadence-us is 900 us from file a.json key probe-cadence-us and 901 us from file a.json key probe_cadence_us; the first is used",
        ),
        (
            None,
            &[("RANKSCOPE_CONFIG", "a.toml"), ("XLA_DIST_PROF_CONFIG", "b.json")],
            &[],
            "the configuration file is a.toml from environment RANKSCOPE_CONFIG and b.json from environment XLA_DIST_PROF_CONFIG; the first is used",
        ),
        (
            Some(("a.toml", "a = 1\nb = = 2\n")),
            &[],
            &[],
            "file a.toml: line 2: extra `=`, expected nothing; the file is ignored",
        ),
        (Some(("a.json", "[1]")), &[], &[], "file a.json: a configuration is an object; the file is ignored"),
        (
            None,
            &[],
            &[("packet-spacing-us", "500")],
            "packet-spacing-us (flag) must be at most half of probe-cadence-us (default)",
        ),
        (None, &[], &[("topology", "explicit")], "topology (flag) is explicit, which also needs edges"),
        (
            None,
            &[("RANKSCOPE_RANK", "4"), ("RANKSCOPE_WORLD_SIZE", "4")],
            &[],
            "rank (environment RANKSCOPE_RANK) is 4, but num-nodes (environment RANKSCOPE_WORLD_SIZE) is 4 and ranks are numbered from 0",
        ),
    ] {
        assert_eq!(said(&resolved(file, environment, flags)), [expected]);
    }
}

#[test]
fn what_is_not_ours_is_left_alone() {
    let foreign =
        [("XLA_FLAGS", "--x"), ("XLA_ENABLE_PARAM_ALIASING", "1"), ("RANK", "3"), ("RANKSCOPE_PORT", ""), ("HOME", "/")];
    assert_eq!(said(&resolved(None, &foreign, &[])), [""; 0]);
    let of_a_run = [("RANKSCOPE_RUN_DIR", "/runs/a"), ("RANKSCOPE_RAW_DIR", "/runs/a/raw"), ("RANKSCOPE_RUN_ID", "a")];
    assert_eq!(said(&resolved(None, &of_a_run, &[])), [""; 0]);
    let of_plugins = [("RANKSCOPE_PLUGINS", "/lib/a.so"), ("RANKSCOPE_CLOCK_DIR", "clock"), ("RANKSCOPE_AGENT", "rankscope")];
    assert_eq!(said(&resolved(None, &of_plugins, &[])), [""; 0]);
}

#[test]
fn aliases_that_agree_are_no_mistake() {
    let both = [("XLA_PROBE_WINDOW_S", "4.0"), ("RANKSCOPE_PROBE_WINDOW_S", "4000ms")];
    assert_eq!(said(&resolved(None, &both, &[])), [""; 0]);
}

#[test]
fn a_bad_value_leaves_the_layer_below() {
    let settings = resolved(Some(("a.toml", "probe-window-s = 8")), &[("XLA_PROBE_WINDOW_S", "soon")], &[]);
    assert_eq!(shown(&settings, Key::ProbeWindow), ("8 s".to_owned(), "file a.toml line 1".to_owned()));
    assert_eq!(settings.complaints.len(), 1);
}

#[test]
fn a_file_that_cannot_be_read_is_a_complaint_and_no_more() {
    let file = Some(ConfigFile { name: "gone.toml", text: Err("no such file") });
    let settings = resolve(&Sources { file, ..Sources::default() });
    assert_eq!(said(&settings), ["file gone.toml: no such file; the file is ignored"]);
    assert_eq!(ClockSettings::of(&settings).probe_window, Duration::from_secs(4));
}

#[test]
fn no_complaint_tells_the_secret() {
    let settings = resolved(Some(("a.toml", "key = 'hunter2'")), &[("RANKSCOPE_KEY", "  ")], &[]);
    let both = resolved(Some(("a.json", "{\"key\": \"hunter2\", \"port\": \"x\"}")), &[("RANKSCOPE_KEY", "hunter3")], &[]);
    let text = format!("{settings:?} {both:?} {:?} {:?}", said(&settings), said(&both));
    assert!(!text.contains("hunter"), "{text}");
}

#[test]
fn a_key_given_twice_is_a_complaint() {
    let settings = resolved(None, &[("RANKSCOPE_KEY", "hunter2"), ("RANKSCOPE_KEY_FILE", "/job/key")], &[]);
    assert_eq!(
        said(&settings),
        ["key (environment RANKSCOPE_KEY) and key-file (environment RANKSCOPE_KEY_FILE) are both set; the first is used"]
    );
    assert!(!ClockSettings::of(&settings).insecure, "nobody goes without a key unless told to");
}

#[test]
fn the_file_is_named_by_ours_before_the_origins() {
    let environment = pairs(&[("XLA_DIST_PROF_CONFIG", "b.json"), ("RANKSCOPE_CONFIG", "")]);
    assert_eq!(config_file(&environment), Some("b.json"));
    assert_eq!(config_file(&pairs(&[("RANKSCOPE_CONFIG", "a"), ("XLA_DIST_PROF_CONFIG", "b")])), Some("a"));
}

#[test]
fn rendezvous_and_edges_are_typed() {
    let flags = [("rendezvous", "dir:///shared/x"), ("topology", "explicit"), ("edges", "0-1,1-0")];
    let clock = ClockSettings::of(&resolved(None, &[], &flags));
    assert_eq!(clock.rendezvous, Some("dir:///shared/x".to_owned()));
    assert_eq!(clock.topology, Topology::Explicit(vec![(0, 1), (1, 0)]));
}

#[test]
fn the_template_is_a_file_that_says_the_defaults() {
    let template = template();
    assert_eq!(said(&resolved(Some(("t.toml", &template)), &[], &[])), [""; 0]);
    for setting in SETTINGS.iter().filter(|setting| setting.default.is_some()) {
        let said: String = template
            .lines()
            .filter(|line| line.starts_with(&format!("# {} = ", setting.name)))
            .map(|line| &line[2..])
            .collect();
        let settings = resolved(Some(("t.toml", &said)), &[], &[]);
        assert_eq!(settings.of(setting.key).value, parse(&setting.kind, setting.default.unwrap()), "{said}");
        assert!(matches!(settings.of(setting.key).origin, Origin::Line { .. }), "{}", setting.name);
    }
}
