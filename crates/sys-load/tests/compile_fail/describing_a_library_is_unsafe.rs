//! Safe code loads what the call describes, so its author vouches for it with a word to search for.
mod table {
    pub struct Table;
}

sys_load::table_api! {
    builder;
    library: "any library",
    variable: "ANY",
    names: &["libm.so.6"],
    required: c"cos",
    stack: Rocm,
    versioning: sys_load::Versioning::FileName { otherwise: None },
    unsupported: "returns nothing",
}

fn main() {}
