//! A kernel is foreign code, so launching it is unsafe.
use hip::Launch;

fn enqueue(launch: Launch<'_>) -> hip::Result<()> {
    launch.enqueue()
}

fn main() {}
