//! A profiler's range ends on the thread that it began on.
fn main() {
    let range = hip::roctx::range("here");
    std::thread::spawn(move || drop(range));
}
