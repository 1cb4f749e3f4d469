//! Properties of the rewriting of inline PTX, on sources composed of relevant pieces and on arbitrary bytes.

mod any_ptx;

use proptest::prelude::*;

/// Pieces of sources, some of which open what others close.
const PIECES: &[&str] = &[
    "asm",
    "asm volatile(\"",
    "__asm__ __volatile__ (",
    "asm(\"exit;\");",
    "asm(R\"(exit;)\"",
    "\"add.u32 %0, %1, %2;\"",
    " : \"=r\"(a)",
    " : \"r\"(b), \"r\"(c[1])",
    "\"+l\"(x)",
    "\"n\"(3)",
    "::: \"memory\"",
    "::",
    ":",
    "\"",
    "\\n",
    "\\t",
    "\\\n",
    "\n",
    "\r\n",
    "(",
    ")",
    ");",
    ";",
    ",",
    "{",
    "}",
    "[",
    "]",
    "%",
    "%%",
    "%0",
    "%9",
    "%%tid.x",
    "%%laneid",
    ".reg .b32 t<2>",
    ".reg .pred p",
    "@p ",
    "@!p ",
    "setp.ne.b32 p, %0, 0",
    "mov.b32 ",
    "ld.global.v2.f32 {%0, %1}, [%2+8]",
    "wgmma.fence.sync.aligned",
    "cp.async.bulk",
    "$L__1: bra $L__1",
    "0f3F800000",
    "0xffffffffffffffff",
    "99999999999999999999",
    "1e400",
    "-",
    "!",
    "<4096>",
    "_",
    "|",
    "//",
    "/*",
    "*/",
    "R\"x(",
    ")x\"",
    "#define M(a) \\\n",
    "#define M(a) asm(#a \" %0;\" : \"+r\"(a))\n",
    "#define M asm(\"exit;\" :: \"r\"(M(b)))\n",
    "#define M(b) M M(b) b\n",
    "#define N(a) M(a)\n",
    "M (\n b)",
    "#define N N N\n",
    "#undef M\n",
    "M(exit)",
    "M(",
    "N",
    "#a",
    " ## ",
    "M(a)",
    "\n#if X\n",
    "\n#else\n",
    "\n#endif\n",
    "PTR(",
    "[x] ",
    "%%=:",
    "bra ",
    "vadd.u32.u32.u32 ",
    "%1.b2",
    "\n#",
    " ",
    "\u{e4}",
    "\0",
];

/// A source that prints as text.
struct Source(Vec<u8>);

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0.escape_ascii())
    }
}

fn source() -> impl Strategy<Value = Source> {
    let piece = (0..PIECES.len()).prop_map(|number| PIECES[number].as_bytes().to_vec());
    let any = prop_oneof![30 => piece, 1 => proptest::collection::vec(any::<u8>(), 0..4)];
    proptest::collection::vec(any, 0..30).prop_map(|pieces| Source(pieces.concat()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn lines_stay_and_a_second_rewriting_changes_nothing(source in source()) {
        any_ptx::run(&source.0);
        any_ptx::run_as_template(&source.0);
    }

    #[test]
    fn any_bytes_are_rewritten_or_stay(source in proptest::collection::vec(any::<u8>(), 0..200)) {
        any_ptx::run(&source);
        any_ptx::run_as_template(&source);
    }
}

#[test]
fn many_brackets_take_no_long_time() {
    for piece in ["asm(", "asm(\"exit;\" : ", "{", "asm(\"{", "\"r\"(", "asm(\"exit;\" :: \"r\"(", "/*"] {
        any_ptx::run(piece.repeat(3000).as_bytes());
        any_ptx::run_as_template(piece.repeat(3000).as_bytes());
    }
}
