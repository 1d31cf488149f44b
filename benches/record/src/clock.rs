//! The machine's tick counter, read as cheaply as it can be: the floor under every recorder.

/// The counter, now.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn ticks() -> u64 {
    // SAFETY: reads a register; every x86-64 processor has it.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// The counter, now.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub fn ticks() -> u64 {
    let ticks: u64;
    // SAFETY: reads a register that Linux leaves open to programs.
    unsafe { std::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
    ticks
}
