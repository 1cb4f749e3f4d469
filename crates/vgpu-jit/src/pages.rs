//! Memory for code, which is never writable and executable at once.

use std::ptr::NonNull;

use crate::Error;
use crate::asm::Finished;

/// Code in executable memory.
#[derive(Debug)]
pub(crate) struct Pages {
    start: NonNull<u8>,
    size: usize,
}

// SAFETY: the memory is not changed after it was made.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl Pages {
    /// Copies code into new pages.
    pub(crate) fn new(finished: &mut Finished) -> Result<Pages, Error> {
        let size = finished.bytes.len().next_multiple_of(4096);
        // SAFETY: new anonymous memory.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(Error::Memory(std::io::Error::last_os_error()));
        }
        let start = NonNull::new(start.cast::<u8>()).ok_or(Error::TooLarge)?;
        let pages = Pages { start, size };
        let literals = start.as_ptr() as u64 + finished.literals as u64;
        let at = finished.literals_at;
        finished.bytes[at..at + 8].copy_from_slice(&literals.to_le_bytes());
        // SAFETY: the memory is new, as large, and writable until the next call.
        unsafe {
            std::ptr::copy_nonoverlapping(finished.bytes.as_ptr(), start.as_ptr(), finished.bytes.len());
            if libc::mprotect(start.as_ptr().cast(), size, libc::PROT_READ | libc::PROT_EXEC) != 0 {
                return Err(Error::Memory(std::io::Error::last_os_error()));
            }
        }
        Ok(pages)
    }

    /// The address of a byte.
    pub(crate) fn address(&self, offset: usize) -> *const u8 {
        self.start.as_ptr().wrapping_add(offset)
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this size; nobody runs code of a value that is dropped.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.size) };
    }
}

#[cfg(test)]
mod tests {
    use iced_x86::{Code, Register};

    use super::*;
    use crate::asm::{Asm, When};
    use crate::host::Host;

    /// Code that returns a number from its literals, over a jump forward and one backward.
    fn finished() -> Finished {
        let mut asm = Asm::new(Host::Avx512);
        let (middle, end) = (asm.label(), asm.label());
        asm.one(Code::Push_r64, Register::R14);
        asm.point_to_literals();
        asm.imm(Code::Mov_r32_imm32, Register::ECX, 2);
        asm.jump(middle);
        let start = asm.label();
        asm.place(start);
        let literal = asm.dword(0x1234);
        asm.load(Code::Mov_r32_rm32, Register::EAX, literal);
        asm.jump(end);
        asm.place(middle);
        asm.imm(Code::Sub_rm64_imm32, Register::RCX, 2);
        asm.jump_if(When::Equal, start);
        asm.imm(Code::Mov_r32_imm32, Register::EAX, 1);
        asm.place(end);
        asm.one(Code::Pop_r64, Register::R14);
        asm.bare(Code::Retnq);
        asm.finish().unwrap()
    }

    #[test]
    fn code_runs_and_cannot_be_written() {
        let mut finished = finished();
        let pages = Pages::new(&mut finished).unwrap();
        let address = pages.address(0);
        if cfg!(target_arch = "x86_64") {
            // SAFETY: the code above has this signature.
            let run: extern "sysv64" fn() -> u64 = unsafe { std::mem::transmute(address) };
            assert_eq!(run(), 0x1234);
        }
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let line = maps.lines().find(|line| {
            let (start, rest) = line.split_once('-').unwrap();
            let end = rest.split(' ').next().unwrap();
            let [start, end] = [start, end].map(|number| u64::from_str_radix(number, 16).unwrap());
            (start..end).contains(&(address as u64))
        });
        assert_eq!(line.unwrap().split(' ').nth(1), Some("r-xp"));
    }

    #[test]
    fn a_jump_to_nowhere_is_an_error() {
        let mut asm = Asm::new(Host::Avx512);
        let label = asm.label();
        asm.jump(label);
        assert!(matches!(asm.finish(), Err(Error::Label)));
    }

    #[test]
    fn an_instruction_that_does_not_exist_is_an_error() {
        let mut asm = Asm::new(Host::Avx512);
        asm.two(Code::Mov_r64_rm64, Register::RAX, Register::ZMM0);
        assert!(matches!(asm.finish(), Err(Error::Encoding(_))));
    }
}
