//! Compiling the kernels with NVRTC, the compiler in a library, which is loaded at run time.
//!
//! For a card that is there the result is its machine code, so that a driver older than the compiler can load it; for a card
//! that is not, PTX, which people and tests can read.

use std::ffi::{CString, c_char};
use std::ptr;

use cudarc::nvrtc::{result, sys};

use super::error::CudaError;
use super::kernels::{HEADERS, Source};
use super::library;

/// What to compile for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// PTX for this compute capability and later ones: 80 is 8.0.
    Virtual(u32),
    /// Machine code for cards of this compute capability.
    Real(u32),
}

/// What came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// PTX as text, or machine code.
    pub image: Vec<u8>,
    /// What the compiler had to say: for machine code, the registers and spills of every entry.
    pub log: String,
}

/// Compiles a file of kernels.
///
/// # Errors
/// [`CudaError::NoLibrary`] without NVRTC, [`CudaError::Compile`] with its log when it refuses.
pub fn compile(source: &Source, architecture: Architecture) -> Result<Compiled, CudaError> {
    library::nvrtc()?;
    let (target, assembler) = match architecture {
        Architecture::Virtual(capability) => (format!("compute_{capability}"), None),
        Architecture::Real(capability) => (format!("sm_{capability}"), Some("--ptxas-options=--verbose")),
    };
    let failed = |log: String| CudaError::Compile { kernel: source.name, architecture: target.clone(), log };
    let program = Program::new(source).map_err(failed)?;
    let options = [&format!("--gpu-architecture={target}"), "--std=c++17"];
    let options: Vec<&str> = options.into_iter().chain(assembler).collect();
    let (outcome, log) = program.compile(&options);
    outcome.map_err(|reason| failed(format!("{reason}\n{log}")))?;
    let image = program.image(architecture).map_err(failed)?;
    Ok(Compiled { image, log })
}

/// A program of NVRTC, destroyed when dropped.
struct Program(sys::nvrtcProgram);

impl Program {
    fn new(source: &Source) -> Result<Self, String> {
        let text = |text: &str| CString::new(text).expect("the sources hold no zero byte");
        let (name, body) = (text(source.name), text(source.text));
        let headers = HEADERS.map(|(name, body)| (text(name), text(body)));
        let names = headers.each_ref().map(|header| header.0.as_ptr());
        let bodies = headers.each_ref().map(|header| header.1.as_ptr());
        let mut program = ptr::null_mut();
        // SAFETY: all strings end with zero and outlive the call, which copies them; the arrays have the given length.
        #[expect(unsafe_code, reason = "the safe binding cannot pass headers")]
        let created = unsafe {
            let count = i32::try_from(HEADERS.len()).expect("a handful");
            sys::nvrtcCreateProgram(&mut program, body.as_ptr(), name.as_ptr(), count, bodies.as_ptr(), names.as_ptr())
        };
        created.result().map(|()| Self(program)).map_err(|error| error.to_string())
    }

    fn compile(&self, options: &[&str]) -> (Result<(), String>, String) {
        // SAFETY: the program was created and not destroyed.
        #[expect(unsafe_code, reason = "the binding leaves the program's lifetime to its caller")]
        let (outcome, log) = unsafe { (result::compile_program(self.0, options), result::get_program_log(self.0)) };
        let log = text_of(&log.unwrap_or_default());
        (outcome.map_err(|error| error.to_string()), log)
    }

    fn image(&self, architecture: Architecture) -> Result<Vec<u8>, String> {
        match architecture {
            // SAFETY: as above, and compiled.
            #[expect(unsafe_code, reason = "the binding leaves the program's lifetime to its caller")]
            Architecture::Virtual(_) => {
                unsafe { result::get_ptx(self.0) }.map(|ptx| text_of(&ptx).into_bytes()).map_err(|error| error.to_string())
            }
            Architecture::Real(_) => self.machine_code().map_err(|error| error.to_string()),
        }
    }

    fn machine_code(&self) -> Result<Vec<u8>, result::NvrtcError> {
        let mut bytes = 0;
        // SAFETY: the program was compiled for a real architecture; the buffer is as long as the first call says.
        #[expect(unsafe_code, reason = "the binding has no safe call for machine code")]
        unsafe {
            sys::nvrtcGetCUBINSize(self.0, &mut bytes).result()?;
            let mut image = vec![0; bytes];
            sys::nvrtcGetCUBIN(self.0, image.as_mut_ptr().cast()).result()?;
            Ok(image)
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: created, and destroyed only here.
        #[expect(unsafe_code, reason = "the binding leaves the program's lifetime to its caller")]
        // A program that cannot be destroyed is leaked: nobody could do anything about it.
        let _ = unsafe { result::destroy_program(self.0) };
    }
}

/// Text that ends with a zero, as the compiler hands it over.
fn text_of(characters: &[c_char]) -> String {
    let bytes: Vec<u8> = characters.iter().map(|&character| character.cast_unsigned()).collect();
    String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned()
}
