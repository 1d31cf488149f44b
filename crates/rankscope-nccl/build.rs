//! Keeps the library in memory once it is loaded: NCCL closes its plugin with the last communicator and may open it again, and a
//! thread of ours, or one with something of ours to destroy, must not find its code gone.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
