//! Safe code believes what the functions of a table return.
fn open(table: &'static hip::hip_sys::Table) -> hip::Result<hip::Device> {
    hip::Device::of_table(table, 0)
}

fn main() {}
