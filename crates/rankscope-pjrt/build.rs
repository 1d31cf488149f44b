//! Keeps the library in memory once it is loaded: jaxlib keeps the table for as long as the process lives, and a thread of ours must not
//! find its code gone.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
