//! The fuzz targets' properties on a stable toolchain.

mod any_input;

use proptest::prelude::*;

/// Texts similar to valid ones: parts in any order, some of them damaged.
fn near(parts: &'static [&'static str]) -> impl Strategy<Value = String> {
    let part = prop_oneof![8 => prop::sample::select(parts).prop_map(str::to_owned), 1 => "(?s).{0,6}"];
    prop::collection::vec(part, 0..24).prop_map(|parts| parts.concat())
}

/// A text with a part replaced.
fn damaged(text: &'static str) -> impl Strategy<Value = String> {
    let with = prop_oneof![
        Just(String::new()),
        "(?s).{0,4}",
        prop::sample::select(&["0", "-1", "1e309", "nan", "\"", "'", "]", "\n", "4000000000", "*", ".."][..])
            .prop_map(str::to_owned),
    ];
    (0..=text.len(), 0..12_usize, with).prop_map(|(at, length, with)| {
        let mut bytes = text.as_bytes().to_vec();
        bytes.splice(at..(at + length).min(text.len()), with.into_bytes());
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

const JUNIT: &str = "<?xml version=\"1.0\"?>\n<testsuites name=\"a\"><testsuite name=\"b\"><testcase name=\"c\" classname=\"d\" time=\"0.25\">\
<failure message=\"e\">e\nf</failure><system-out>g&lt;</system-out><system-err><![CDATA[h]]></system-err></testcase>\
<testcase name=\"i\"><skipped message=\"j\"/></testcase></testsuite></testsuites>";

const REPORT: &[&str] = &[
    "libamdhip64: error: ",
    "write of 4 bytes at 0x10 is outside every allocation\n",
    "  0 bytes after the end of 1000 bytes\n",
    "  kernel      scale (gfx1100)\n",
    "  kernel      x (y) (gfx90a)\r\n",
    "  source      scale.cu:7:5 in scale\n",
    "              inlined at a.cu:1:2 in b\n",
    "  pc          0x5440 <inlined+0x40>\n",
    "  instruction global_store_b32 v0, v1, s[0:1]\n",
    "  workgroup   2,0,0 wave 1 lane 5 (work-item 37,0,0)\n",
    "\n",
];

const SARIF: &str = "{\"version\":\"2.1.0\",\"runs\":[{\"results\":[{\"ruleId\":\"a\",\"level\":\"error\",\"message\":{\"text\":\"b | <c>\\r\\n]\"},\
\"locations\":[{\"physicalLocation\":{\"artifactLocation\":{\"uri\":\"file:///d%20e%2.cu\"},\"region\":{\"startLine\":7,\"startColumn\":3}}}]},\
{\"message\":{}}]}]}";

const DESCRIPTION: &str = include_str!("../../../ci/fleet.toml");

const SETTINGS: &str = "sources = \"src\"\ninclude = [\"a\"]\nchecks = \"bounds,races\"\ntest-timeout = 3\n[hipify]\nstrict = true\n\
[[disabled]]\ntest = \"a*b**c\"\nreason = \"d\"\n[[expected-failure]]\ntest = \"*\"\ntargets = [\"gfx942\"]\ndevices = [\"gpu\"]\nreason = \"e\"\n";

proptest! {
    #[test]
    fn any_junit_is_refused_or_written_again(text in prop_oneof![damaged(JUNIT), "(?s).{0,80}"]) {
        any_input::junit(&text);
    }

    #[test]
    fn reports_are_parts_of_any_text(text in near(REPORT)) {
        any_input::fault_reports(&text);
    }

    #[test]
    fn any_sarif_is_refused_or_told_line_by_line(text in damaged(SARIF)) {
        any_input::sarif(&text);
    }

    #[test]
    fn any_description_is_refused_or_gives_plain_files(text in damaged(DESCRIPTION)) {
        any_input::description(&text);
    }

    #[test]
    fn any_settings_are_refused_or_answer(text in damaged(SETTINGS)) {
        any_input::settings(&text);
    }
}

#[test]
fn what_is_damaged_here_is_read_when_it_is_whole() {
    assert_eq!(fleet::junit::Suite::parse(JUNIT).expect("JUnit").cases.len(), 2);
    assert_eq!(fleet::faults::find(&REPORT[..10].concat()).len(), 1);
    assert_eq!(fleet::findings::parse(SARIF).expect("SARIF").len(), 2);
    fleet::Description::parse(DESCRIPTION).expect("a description");
    fleet::Settings::parse(SETTINGS).expect("settings");
}
