//! The kernels of the GPU backend, run on threads of the processor: repeated exchanges between ranks that hold each other up
//! at random, every byte compared, with and without the thread sanitizer. Beside them the protocol they replace and two that
//! lack a piece, which must be caught: a net that lets those through would prove nothing.
//!
//! A stand-in for hardware (`cuda_threads/memory_on_threads.h` says for what), so it needs no GPU and no CUDA, only a C++
//! compiler; without one the tests say so and pass.
#![expect(clippy::unwrap_used, reason = "tests may panic")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rankscope_testkit::{Need, skip};

#[test]
fn ranks_that_hold_each_other_up_lose_no_signal_and_no_byte() {
    let Some(soak) = build("soak", &[]) else { return };
    for (ranks, exchanges, seed) in [("1", "30", "1"), ("2", "120", "2"), ("3", "80", "3"), ("5", "40", "4")] {
        let output = run(&soak, ["epochs", ranks, exchanges, seed]);
        assert!(output.status.success(), "{ranks} ranks, seed {seed}: {}", text(&output));
        let made = ranks.parse::<u64>().unwrap() * exchanges.parse::<u64>().unwrap();
        assert!(text(&output).contains(&format!("{made} exchanges of a rank")), "{}", text(&output));
    }
}

#[test]
fn signals_that_are_zeroed_and_buffers_nobody_asks_for_are_caught() {
    let Some(soak) = build("soak_broken", &[]) else { return };
    // They stop at the first exchange that goes wrong.
    for protocol in ["zeroed", "unfree"] {
        let output = run(&soak, [protocol, "3", "5000", "1"]);
        assert_eq!(output.status.code(), Some(1), "{protocol}: {}", text(&output));
    }

    // With the barrier it lacks the same code is right, so the barrier is what was missing.
    let output = run(&soak, ["zeroed-in-step", "3", "60", "1"]);
    assert!(output.status.success(), "{}", text(&output));
}

#[test]
fn the_thread_sanitizer_finds_no_race_in_the_kernels_and_the_races_that_are_put_in() {
    let Some(soak) = build("soak_sanitized", &["-fsanitize=thread"]) else { return };
    let output = run(&soak, ["epochs", "3", "30", "5"]);
    if text(&output).contains("unexpected memory mapping") {
        return skip(Need::Sanitizer, "the thread sanitizer cannot run under this kernel's address layout");
    }
    assert!(output.status.success(), "{}", text(&output));
    for protocol in ["relaxed", "zeroed"] {
        // One that goes wrong at once stops before there is a race to be seen.
        let mut said = String::new();
        let is_found = (5..15).any(|seed| {
            said = text(&run(&soak, [protocol, "3", "30", &seed.to_string()]));
            said.contains("data race")
        });
        assert!(is_found, "{protocol}: {said}");
    }
}

fn build(name: &str, options: &[&str]) -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut compiler = Command::new("c++");
    compiler.args(["-std=c++20", "-O1", "-g", "-fno-strict-aliasing", "-Wno-unknown-pragmas", "-pthread"]).args(options);
    compiler.arg("-I").arg(here.join("kernels")).arg("-I").arg(here.join("tests/cuda_threads"));
    compiler.arg("-o").arg(&program).args(["-x", "c++"]).arg(here.join("tests/cuda_threads/soak.cpp"));
    match compiler.output() {
        Ok(output) if output.status.success() => Some(program),
        Ok(output) if text(&output).contains("cannot find") => {
            skip(Need::Sanitizer, format_args!("the compiler has no {options:?} here"));
            None
        }
        Ok(output) => panic!("{}", text(&output)),
        Err(error) => {
            skip(Need::Compiler, format_args!("there is no C++ compiler (c++: {error})"));
            None
        }
    }
}

fn run(soak: &Path, arguments: [&str; 4]) -> Output {
    Command::new(soak).args(arguments).output().unwrap()
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
