//! A kernel is foreign code.
use hip::Launch;

fn enqueue(launch: Launch<'_>) -> hip::Result<()> {
    launch.enqueue()
}

fn main() {}
