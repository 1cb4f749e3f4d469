//! Any text as the record of a run and as a history: what can be read is compared, reported and judged
//! without a panic, and a written history can be read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runs::compare::{Options, compare};
use runs::history::{Entry, judge, parse};
use runs::{Record, report};

fuzz_target!(|text: &str| {
    let earlier = parse(text).unwrap_or_default();
    for entry in &earlier {
        let again = parse(&entry.line()).expect("an entry");
        assert_eq!((again.len(), &again[0].key), (1, &entry.key));
        judge(entry, &earlier, 0.05);
    }
    let Ok(record) = Record::read(text.as_bytes()) else { return };
    let records = [("a".to_owned(), record), ("b".to_owned(), Record::default())];
    let comparison = compare(&records, &Options { resamples: 20, ..Options::default() }).expect("compares");
    let page = report::Page::of(&comparison);
    assert!(!report::html(&comparison, &page).expect("draws").contains("<script"));
    assert!(report::terminal(&comparison).chars().all(|c| c == '\n' || !c.is_control()));
    let _ = (report::markdown(&comparison, &page), report::csv(&comparison));
    for run in &comparison.runs {
        let entry = Entry::of(run, None, "", None);
        assert_eq!(parse(&entry.line()).expect("an entry").len(), 1);
        judge(&entry, &earlier, 0.05);
    }
});
