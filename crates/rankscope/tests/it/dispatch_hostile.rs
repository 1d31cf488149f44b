//! Bad input for every verb of `dispatch`: no panic, no half-written file, one line that names the file, and an exit code that
//! tells wrong usage (2) from failures (1) and from a check that says no (3).

use std::fs;
use std::path::Path;

use crate::process::command;
use tempfile::TempDir;

/// Arguments with blanks between them, the exit code, and what standard error says.
type Case = (&'static str, i32, &'static str);

const PLAN: &str = r#"{"schema":1,"kind":"rankscope_dispatch_plan","world_size":3,
    "rows":{"hidden_q":12,"hidden_kv":8,"lse":1,"element_bytes":2},
    "documents":[[[0,0,5],[1,2,4],[1,0,6]],[[2,2,7]]]}"#;

const FILES: &[(&str, &str)] = &[
    ("empty", ""),
    ("none.json", "[]"),
    ("object.json", "{}"),
    ("one.json", "[1000]"),
    ("zeros.json", "[0, 0, 0]"),
    ("docs.json", "[4096, 1024, 512, 8192, 128, 333]"),
    ("text.json", r#"["5"]"#),
    ("fraction.json", "[1.5]"),
    ("negative.json", "[-3]"),
    ("float.json", "[1e18]"),
    ("huge.json", "[1000000000000000000]"),
    ("many.json", "[4294967295, 4294967295, 4294967295]"),
    ("cumulative.json", "[0, 1000, 1500]"),
    ("nested.json", "[[[1]]]"),
    ("mixed.json", "[[1], 2]"),
    ("marked.json", "\u{feff}[128, 256]"),
    ("lines", "5\n-3\n"),
    ("plan.json", PLAN),
    ("far.json", r#"{"world_size":3,"documents":[[[0,9,5]]]}"#),
    ("below.json", r#"{"world_size":3,"documents":[[[0,-1,5]]]}"#),
    ("short.json", r#"{"world_size":3,"documents":[[[0,1]]]}"#),
    ("cut.json", r#"{"world_size":3,"documents":[[[0,1"#),
    ("nobody.json", r#"{"world_size":0,"documents":[]}"#),
    ("crowd.json", r#"{"world_size":4000000000,"documents":[]}"#),
    ("long.json", r#"{"world_size":3,"documents":[[[0,1,4294967295]]]}"#),
    ("sum.json", r#"{"world_size":2,"documents":[[[0,1,4294967295]],[[0,1,4294967295]]]}"#),
    ("longer.json", r#"{"world_size":2,"documents":[[[0,1,4000000000],[0,0,4000000000]]]}"#),
    ("wide.json", r#"{"world_size":1,"rows":{"hidden_q":4294967295,"hidden_kv":1,"element_bytes":2},"documents":[]}"#),
    ("new.json", r#"{"schema":9,"documents":[]}"#),
    ("changed.json", r#"{"plan_hash":"00","world_size":1,"documents":[]}"#),
    ("times.json", r#"{"queries":[256,128],"contexts":[128,256],"milliseconds":[[1,1],[1,1]]}"#),
    ("kind.json", r#"{"kind":"nothing"}"#),
    ("mode.json", r#"{"kind":"gen_seq_lens","world_size":1,"num_seqs":1,"total_len":5,"seed":0,"mode":"x"}"#),
    ("away.json", r#"{"kind":"compute_metadata","seq_len":[[1]],"dispatch":[[5]]}"#),
    ("ragged.json", r#"{"kind":"compute_metadata","seq_len":[[1],[2,3]],"dispatch":[[0],[0]]}"#),
    (
        "packed.json",
        r#"{"kind":"compute_metadata","seq_len":{"shape":[4000000000,4000000000],"zlib_b64_i32le":"eJwDAAAAAAE="}}"#,
    ),
    (
        "wrong.json",
        r#"{"kind":"compute_metadata",
        "fwd":{"dst_rank":[[0]],"dst_offset":[[9]],"seq_len":[[4]],"num_recv_tokens":[[4,4]],"num_seqs":[1],"num_total_recv_tokens":[4]},
        "rev":{"dst_rank":[[0]],"dst_offset":[[0]],"seq_len":[[4]],"num_recv_tokens":[[4,4]],"num_seqs":[1],"num_total_recv_tokens":[4]}}"#,
    ),
];

const DOCUMENTS: &[Case] = &[
    ("plan none.json --ranks 4", 0, ""),
    ("plan one.json --ranks 1", 0, ""),
    ("plan zeros.json --ranks 4", 0, ""),
    ("plan marked.json --ranks 4", 0, ""),
    ("plan one.json --ranks 3000", 0, ""),
    ("plan docs.json --ranks 4 --eps 1e300", 0, ""),
    ("plan docs.json --ranks 4 --weights 0,0,0,1", 0, ""),
    ("plan docs.json --ranks 4 --hidden-q 0", 2, "--hidden-q"),
    ("plan docs.json --ranks 4 --hidden-kv 0", 2, "--hidden-kv"),
    ("plan cumulative.json --ranks 4", 1, "cumulative.json: starts with 0 and only grows"),
    ("plan empty --ranks 4", 1, "empty: no document"),
    ("plan object.json --ranks 4", 1, "object.json: no documents: expected a list"),
    ("plan text.json --ranks 4", 1, "text.json: the list[0]: \"5\" is not a length"),
    ("plan fraction.json --ranks 4", 1, "1.5 is not a length"),
    ("plan negative.json --ranks 4", 1, "-3 is not a length"),
    ("plan float.json --ranks 4", 1, "is not a length"),
    ("plan huge.json --ranks 4", 1, "tokens are more than 4294967295"),
    ("plan many.json --ranks 4", 1, "many.json: the cells of all ranks do not fit"),
    ("plan nested.json --ranks 4", 1, "the list[0][0]"),
    ("plan mixed.json --ranks 4", 1, "the list[0]"),
    ("plan lines --ranks 4", 1, "line 2: `-3` is not a length"),
    ("plan deep.json --ranks 4", 1, "recursion limit"),
    ("plan plan.json --ranks 4", 1, "a plan already"),
    ("plan folder --ranks 4", 1, "folder: a directory"),
    ("plan missing --ranks 4", 1, "missing: No such file"),
    ("plan docs.json", 1, "give --ranks"),
    ("plan docs.json --ranks 4 --tokens-per-rank 1", 1, "does not fit"),
    ("plan docs.json --ranks 4 --weights 1,1", 1, "2 for 4 ranks"),
    ("plan docs.json --ranks 4 --weights 0,0,0,0", 1, "no rank may have work"),
    ("plan docs.json --ranks 4 --weights 1,1,1,NaN", 1, "rank 3 has NaN"),
    ("plan docs.json --ranks 4 --cap-send-bytes 0", 1, "caps on bytes"),
    ("plan docs.json --ranks 4 --time-table times.json", 1, "times.json: a table of times"),
    ("plan docs.json --ranks 4 --out folder", 1, "directory"),
    ("plan docs.json --ranks 4 --out full", 1, "full: No space left"),
    ("plan docs.json --ranks 4 --html docs.json/page.html", 1, "docs.json"),
    ("plan docs.json --ranks 0", 2, "--ranks"),
    ("plan docs.json --ranks 4294967295", 2, "--ranks"),
    ("plan docs.json --ranks 4 --eps -1", 2, "zero or more"),
    ("plan docs.json --ranks 4 --eps NaN", 2, "zero or more"),
    ("plan docs.json --ranks 4 --planner greedy --tolerance -1", 2, "zero or more"),
    ("plan docs.json --ranks 4 --hidden-q 4294967295", 2, "--hidden-q"),
    ("plan docs.json --ranks 4 --element-bytes 0", 2, "--element-bytes"),
    ("plan", 2, "<DOCS>"),
    ("", 2, "Usage"),
];

/// Put to every verb that takes a plan.
const PLANS: &[(&str, &str)] = &[
    ("empty", "not a plan"),
    ("none.json", "not a plan"),
    ("object.json", "this is no plan"),
    ("docs.json", "not a plan"),
    ("far.json", "document 0, shard 0: rank 9 is not one of 0 to 2"),
    ("below.json", "-1"),
    ("short.json", "invalid length 2"),
    ("cut.json", "line 1 column"),
    ("deep.json", "not a plan"),
    ("nobody.json", "at least one rank"),
    ("crowd.json", "at most"),
    ("longer.json", "document 0 has 8000000000 tokens; the most are 4294967295"),
    ("wide.json", "rows: 4294967295"),
    ("new.json", "schema 9"),
    ("changed.json", "plan_hash"),
    ("folder", "a directory"),
    ("missing.json", "No such file"),
    ("flipped.rkd", "hash"),
    ("truncated.rkd", "hash"),
    ("stub.rkd", "cut off"),
];

const VERBS: &[&str] = &["check", "simulate", "simulate --events", "predict", "run --repeat 1", "export --as nccl"];

const OTHERS: &[Case] = &[
    ("check plan.json", 0, ""),
    ("check wrong.json", 3, ""),
    ("check kind.json", 1, "no kind is called nothing"),
    ("check mode.json", 1, "no answer to check"),
    ("check away.json", 1, "no answer to check"),
    ("check sum.json", 1, "sum.json: "),
    ("check plan.json --trace missing", 1, "missing: there is no such file"),
    ("check plan.json --others", 2, "--trace"),
    ("simulate long.json", 1, "--memory allows 4.00 GiB"),
    ("run long.json", 1, "--memory allows 32.0 GiB"),
    ("simulate plan.json --dtype x", 2, "--dtype"),
    ("simulate long.json --events", 1, "long.json: "),
    ("simulate plan.json --events --layers 0", 2, "--layers"),
    ("simulate plan.json --events --microbatches 4294967295", 2, "--microbatches"),
    ("simulate plan.json --events --memory-rate -1", 1, "must be greater than zero"),
    ("simulate plan.json --events --timeline x.txt", 1, "x.txt: unknown suffix"),
    ("predict plan.json --network nowhere", 1, "neither a file nor a network"),
    ("predict plan.json --calibrate empty", 1, "--benchmark-ranks"),
    ("calibrate", 2, "<FILE>"),
    ("run plan.json --mode nccl", 1, "--mode nccl needs --backend cuda; the backend threads only has put"),
    ("export plan.json", 2, "--as"),
    ("export plan.json --as nccl --rank 3", 1, "ranks 0 to 2"),
    ("export plan.json --as alltoallv --unit 0", 2, "1 and 16"),
    ("export plan.json --as binary", 1, "name a file with -o"),
    ("export plan.json --as binary -o full", 1, "full: No space left"),
    ("metadata kind.json", 1, "no kind is called nothing"),
    ("metadata object.json", 1, "no `kind`"),
    ("metadata docs.json", 1, "a case is an object"),
    ("metadata cut.json", 1, "not JSON"),
    ("metadata deep.json", 1, "recursion limit"),
    ("metadata mode.json", 1, "must be \"documented\" or \"valid\""),
    ("metadata away.json", 1, "destination 5"),
    ("metadata ragged.json", 1, "a row of 2 where the first has 1"),
    ("metadata packed.json", 1, "too large"),
];

fn run(folder: &Path, arguments: &str) -> (Option<i32>, String) {
    let mut command = command(&["dispatch"]);
    command.args(arguments.split_whitespace()).current_dir(folder);
    let output = command.output().expect("the binary runs");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// A folder with all the files, and a device that takes nothing.
fn folder() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    for (name, text) in FILES {
        fs::write(path(name), text).expect("written");
    }
    fs::write(path("deep.json"), format!("{}{}", "[".repeat(3000), "]".repeat(3000))).expect("written");
    fs::create_dir(path("folder")).expect("made");
    // Through a link: whoever replaces what it finds loses the link only.
    std::os::unix::fs::symlink("/dev/full", path("full")).expect("linked");
    let (code, said) = run(folder.path(), "export plan.json --as binary -o plan.rkd");
    assert_eq!(code, Some(0), "{said}");
    let bytes = fs::read(path("plan.rkd")).expect("it was written");
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2] ^= 1;
    for (name, bytes) in
        [("flipped.rkd", &flipped[..]), ("truncated.rkd", &bytes[..bytes.len() - 1]), ("stub.rkd", &bytes[..8])]
    {
        fs::write(path(name), bytes).expect("written");
    }
    folder
}

fn names(folder: &Path) -> Vec<std::ffi::OsString> {
    let mut names: Vec<_> = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").file_name()).collect();
    names.sort();
    names
}

/// Runs every case and says what all of them got wrong; nothing may have been written.
fn judge<'a>(cases: impl Iterator<Item = (String, i32, &'a str)>) {
    let folder = folder();
    let before = names(folder.path());
    let mut wrong = String::new();
    for (arguments, expected, words) in cases {
        let (code, said) = run(folder.path(), &arguments);
        let is_paragraph = code != Some(1) || (said.starts_with("rankscope: ") && said.trim_end().lines().count() == 1);
        if code != Some(expected) || !said.contains(words) || !is_paragraph {
            wrong += &format!("{arguments}\n  code {code:?}, not {expected}; `{words}` in: {said}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert_eq!(names(folder.path()), before, "something was written");
    assert!(folder.path().join("full").is_symlink(), "the device was replaced");
}

#[test]
fn documents() {
    judge(DOCUMENTS.iter().map(|(arguments, code, words)| ((*arguments).to_owned(), *code, *words)));
}

#[test]
fn plans_for_every_verb() {
    judge(VERBS.iter().flat_map(|verb| {
        PLANS.iter().map(move |(file, words)| {
            let (name, options) = verb.split_once(' ').unwrap_or((verb, ""));
            (format!("{name} {file} {options}"), 1, *words)
        })
    }));
}

#[test]
fn everything_else() {
    judge(OTHERS.iter().map(|(arguments, code, words)| ((*arguments).to_owned(), *code, *words)));
}
