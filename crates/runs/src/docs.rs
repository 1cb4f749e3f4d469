//! `docs/use/bench-compare.md` lists the rows of the tables of this crate. `FERROCM_BLESS=1` rewrites its
//! lists.

use std::fmt::Write as _;
use std::path::Path;

use crate::compare::{assumptions, figures};
use crate::peaks::{PEAKS, Type};
use crate::{compare, flops};

fn peaks() -> String {
    let mut out = String::from("| GPU | target | units | cores | GB | GB/s | W |");
    for kind in Type::ALL {
        let _ = write!(out, " {kind} |");
    }
    out.push_str(" document |\n|---|---|");
    out.push_str(&"---:|".repeat(5 + Type::ALL.len()));
    out.push_str("---|\n");
    for row in PEAKS {
        let _ = write!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} |",
            row.product,
            row.architecture,
            row.compute_units,
            row.cores,
            row.memory_gb,
            row.bandwidth_gb_s,
            row.tdp_watts
        );
        for kind in Type::ALL {
            let _ = write!(out, " {} |", row.tflops(kind).map_or(String::new(), |tflops| tflops.to_string()));
        }
        let _ = writeln!(out, " {} |", row.source);
    }
    out
}

fn models() -> String {
    let mut out = String::from(
        "| `--model` | parameters | operations of a token, 2048 tokens | 8192 tokens |\n|---|---:|---:|---:|\n",
    );
    for name in flops::names() {
        let shape = flops::known(name).expect("known");
        let giga = |length| shape.per_token(length, flops::Mask::Causal).training() / 1e9;
        let parameters = shape.parameters() as f64 / 1e9;
        let _ = writeln!(out, "| `{name}` | {parameters:.3} G | {:.2} G | {:.2} G |", giga(2048), giga(8192));
    }
    out
}

fn defaults() -> String {
    let mut out = String::from("| default | value | source |\n|---|---:|---|\n");
    for row in PEAKS {
        if let Some(price) = assumptions::price(row.product) {
            let _ =
                writeln!(out, "| price of {} | {:.2} USD/h | {} |", row.product, price.value, price.source);
        }
    }
    let (pue, carbon) = (assumptions::pue(), assumptions::carbon());
    let _ = writeln!(out, "| PUE | {} | {} |", pue.value, pue.source);
    let _ = writeln!(out, "| carbon | {} g CO₂e/kWh | {} |", carbon.value, carbon.source);
    out
}

fn all_figures() -> String {
    let mut out = String::from(
        "| key | figure | unit in reports | better | judged by `--against` |\n|---|---|---|---|---|\n",
    );
    for figure in figures::FIGURES {
        let better = match figure.better {
            figures::Better::Higher => "higher",
            figures::Better::Lower => "lower",
            figures::Better::Neither => "",
        };
        let judged = if figure.judged { "yes" } else { "" };
        let _ =
            writeln!(out, "| `{}` | {} | {} | {better} | {judged} |", figure.key, figure.label, figure.unit);
    }
    out
}

#[test]
fn the_page_lists_what_the_tables_have() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/use/bench-compare.md");
    let mut page = std::fs::read_to_string(&file).expect("the page");
    let bless = std::env::var_os("FERROCM_BLESS").is_some();
    for (name, text) in
        [("figures", all_figures()), ("defaults", defaults()), ("peaks", peaks()), ("models", models())]
    {
        let (start, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
        let from = page.find(&start).unwrap_or_else(|| panic!("{start}")) + start.len();
        let to = page.find(&end).unwrap_or_else(|| panic!("{end}"));
        if bless {
            page.replace_range(from..to, &text);
        }
        assert!(bless || page[from..to] == text, "{name}: FERROCM_BLESS=1 writes it");
    }
    // What the prose says about rules whose numbers are in the code.
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "at least one step is left out",
        "2000 resamples",
        "more than 2048 steps",
        "at most the last 20",
        "five or more earlier values",
    ] {
        assert!(words.contains(part), "{part}");
    }
    let numbers = (compare::Options::default().resamples, compare::interval::MOST, crate::history::MOST);
    assert_eq!(numbers, (2000, 2048, 20));
    if bless {
        std::fs::write(&file, page).expect("write");
    }
}
