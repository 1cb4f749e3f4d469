//! `docs/generated/processors.md` lists what the table has.

use std::fmt::Write as _;
use std::path::Path;

use code_object::{PROCESSORS, Processor};

/// The processors that the virtual GPU can be.
fn executed() -> String {
    let mut text = "| processor | generation | instructions of | generic processor | default of builds | lanes of a wave | registers of a lane, in waves of 64 and of 32 | LDS in KiB | products |\n\
                    |---|---|---|---|---|---:|---:|---:|---|\n"
        .to_owned();
    for row in PROCESSORS.iter().filter(|row| row.instructions.is_some()) {
        let limits = row.limits.expect("a processor that is executed has limits");
        let [wide, narrow] = limits.unit.vgpr_file;
        let registers = if limits.wave_size == 64 { wide.to_string() } else { format!("{wide}, {narrow}") };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {registers} | {} | {} |",
            row.name,
            row.architecture.name(),
            row.instructions.unwrap_or_default(),
            row.generic.unwrap_or_default(),
            if row.is_default { "yes" } else { "" },
            limits.wave_size,
            limits.unit.lds >> 10,
            row.products.join(", "),
        );
    }
    text
}

/// The other processors, and the generic ones.
fn known() -> String {
    let names = |filter: &dyn Fn(&Processor) -> bool| {
        PROCESSORS.iter().filter(|row| filter(row)).map(|row| row.name).collect::<Vec<_>>().join(", ")
    };
    let is_generic = |row: &Processor| row.name.ends_with("-generic");
    format!(
        "Not executed: {}.\n\nGeneric: {}.\n",
        names(&|row| row.instructions.is_none() && !is_generic(row)),
        names(&is_generic)
    )
}

#[test]
fn the_page_has_what_the_table_has() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/generated/processors.md");
    let Ok(mut page) = std::fs::read_to_string(&file) else { return };
    let bless = std::env::var_os("FERROCM_BLESS").is_some();
    for (name, text) in [("executed", executed()), ("known", known())] {
        let (start, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
        let from = page.find(&start).unwrap_or_else(|| panic!("{start}")) + start.len();
        let to = page.find(&end).unwrap_or_else(|| panic!("{end}"));
        assert!(bless || page[from..to] == text, "{name}: FERROCM_BLESS=1 writes it");
        page.replace_range(from..to, &text);
    }
    if bless {
        std::fs::write(file, page).expect("the page can be written");
    }
}
