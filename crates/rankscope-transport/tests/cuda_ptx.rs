//! Every kernel compiles with the compiler of the toolkit, and the machine instructions are those its argument about races
//! names. Needs NVRTC (`pip install nvidia-cuda-nvrtc-cu12`, its folder in LD_LIBRARY_PATH) and no GPU.
#![cfg(feature = "cuda")]
#![expect(clippy::unwrap_used, reason = "tests may panic")]

use rankscope_transport::cuda::{Architecture, Compiled, CudaError, SOURCES, Source, compile};

#[test]
fn every_kernel_compiles_to_ptx_and_says_release_and_acquire_where_it_must() {
    for capability in [80, 90] {
        for source in &SOURCES {
            let Some(Compiled { image, .. }) = compiled(source, Architecture::Virtual(capability)) else { return };
            let ptx = String::from_utf8(image).unwrap();
            assert!(ptx.contains(&format!(".target sm_{capability}")), "{ptx}");
            for kernel in source.kernels {
                assert!(ptx.contains(&format!(".entry {}(", kernel.entry())), "{} lacks {}", source.name, kernel.entry());
            }
            assert_eq!(ptx.matches(".entry ").count(), source.kernels.len(), "{}", source.name);
            assert!(!ptx.contains(".local "), "{}: memory of a thread's own is slow\n{ptx}", source.name);
            for instruction in instructions(source.name) {
                assert!(ptx.contains(instruction), "{}: no {instruction} in\n{ptx}", source.name);
            }
        }
    }
}

#[test]
fn no_kernel_spills_registers_on_a_card() {
    for capability in [80, 90] {
        for source in &SOURCES {
            let Some(Compiled { image, log }) = compiled(source, Architecture::Real(capability)) else { return };
            assert_eq!(image[..4], *b"\x7fELF", "{}", source.name);
            let unspilled = log.matches("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads").count();
            assert_eq!(unspilled, source.kernels.len(), "{} for sm_{capability}: {log}", source.name);
        }
    }
}

/// What the order of memory hangs on, and the widest loads and stores.
fn instructions(file: &str) -> &'static [&'static str] {
    match file {
        "put.cu" => &[
            "st.release.sys.global.u64",
            "atom.acq_rel.gpu.global.inc.u32",
            "fence.acq_rel.sys",
            "ld.v4.u32",
            "st.v4.u32",
            "bar.sync",
        ],
        "wait.cu" => &["ld.acquire.sys.global.u64", "st.release.sys.global.u64", "globaltimer", "nanosleep"],
        "release.cu" => &["st.release.sys.global.u64", "fence.acq_rel.sys"],
        "pack.cu" | "unpack.cu" => &["ld.v4.u32", "st.v4.u32"],
        "sum.cu" => &["add.f32", "add.f64"],
        _ => &[],
    }
}

fn compiled(source: &Source, architecture: Architecture) -> Option<Compiled> {
    match compile(source, architecture) {
        Err(error @ CudaError::NoLibrary { .. }) => {
            rankscope_testkit::skip(rankscope_testkit::Need::Nvrtc, error);
            None
        }
        compiled => Some(compiled.unwrap()),
    }
}
