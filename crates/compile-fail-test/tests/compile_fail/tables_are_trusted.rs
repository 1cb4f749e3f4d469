//! Safe code trusts the results of a table's functions, so using a table is unsafe.
fn open(table: &'static hip::hip_sys::Table) -> hip::Result<hip::Device> {
    hip::Device::of_table(table, 0)
}

fn main() {}
