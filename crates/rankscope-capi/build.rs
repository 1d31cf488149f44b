//! Gives the shared library the name it is installed by, so that programs that link it ask for that.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // The number is that of RANKSCOPE_ABI_VERSION.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,librankscope.so.1");
}
