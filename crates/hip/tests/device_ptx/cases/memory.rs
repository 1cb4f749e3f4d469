//! Memory, fences, hints, and barriers.

use super::{Case, Compare, Form, Kind, Ty, Values, each, warps};
use crate::number::{self, Rounding};

pub(super) fn case(form: &Form<'_>) -> Option<Case> {
    match form.first {
        "ld" | "ldu" => load(form),
        "st" => store(form),
        "atom" | "red" => atomic(form),
        "cp" => copy(form),
        "mbarrier" => mbarrier(form),
        "bar" | "barrier" => barrier(form),
        _ => without_effect(form),
    }
}

/// The number of elements of an access.
fn count(form: &Form<'_>) -> usize {
    form.parts.iter().find_map(|part| part.strip_prefix('v')?.parse().ok()).unwrap_or(1)
}

/// Whether an access is of shared memory.
fn is_shared(form: &Form<'_>) -> bool {
    form.parts.iter().any(|part| matches!(*part, "shared" | "shared::cta" | "shared::cluster"))
}

/// The operands in the thread's own part of shared memory, and the operand with its address.
fn in_shared(words: usize) -> String {
    format!(
        "__shared__ alignas(32) unsigned long long all[64][{words}]; unsigned long long *s = all[threadIdx.x]; \
         for (int i = 0; i < {words}; i++) s[i] = a[i]; "
    )
}

fn address(shared: bool, pointer: &str) -> String {
    if shared {
        format!("\"r\"((unsigned)__cvta_generic_to_shared({pointer}))")
    } else {
        format!("\"l\"({pointer})")
    }
}

/// The bytes of words.
fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn load(form: &Form<'_>) -> Option<Case> {
    let (count, shared) = (count(form), is_shared(form));
    let prelude = if shared { in_shared(4) + "__syncthreads(); " } else { String::new() };
    let from = if shared { "s" } else { "a" };
    let hint = if form.has("L2::cache_hint") { (", %P", ", \"l\"(0ull)") } else { ("", "") };
    if form.has("b128") {
        let text = format!(
            "{{ .reg .b128 q; {} q, [%2]{}; mov.b128 {{%0, %1}}, q; }}",
            form.name,
            hint.0.replace("%P", "%3")
        );
        return Some(Case {
            body: format!(
                "{prelude}unsigned long long x, y; asm volatile(\"{text}\" : \"=l\"(x), \"=l\"(y) : {}{} : \"memory\"); o[0] = x; o[1] = y; ",
                address(shared, from),
                hint.1
            ),
            operands: vec![Values::Whole(64); 4],
            results: vec![Compare::Bits; 2],
            model: each(|o| o[..2].to_vec()),
        });
    }
    let ty = *form.types().first()?;
    let registers: Vec<String> = (0..count).map(|i| format!("%{i}")).collect();
    let list = if count == 1 { "%0".to_owned() } else { format!("{{{}}}", registers.join(", ")) };
    let text =
        format!("{} {list}, [%{count}]{};", form.name, hint.0.replace("%P", &format!("%{}", count + 1)));
    let mut body = prelude;
    let kind = match ty.letter() {
        'h' => "unsigned short",
        'r' => "unsigned",
        'l' => "unsigned long long",
        'f' => "float",
        _ => "double",
    };
    body += &format!("{kind} r[{count}]; ");
    let outputs: Vec<String> = (0..count).map(|i| format!("\"={}\"(r[{i}])", ty.letter())).collect();
    body += &format!(
        "asm volatile(\"{text}\" : {} : {}{} : \"memory\"); ",
        outputs.join(", "),
        address(shared, from),
        hint.1
    );
    let bits = match ty.letter() {
        'f' => "__builtin_bit_cast(unsigned, r[i])",
        'd' => "__builtin_bit_cast(unsigned long long, r[i])",
        _ => "r[i]",
    };
    body += &format!("for (int i = 0; i < {count}; i++) o[i] = {bits}; ");
    let size = ty.bits as usize / 8;
    Some(Case {
        body,
        operands: vec![Values::Whole(64); 4],
        results: vec![Compare::Bits; count],
        model: each(move |o| {
            let all = bytes(o);
            let of = |i: usize| {
                let mut word = [0; 8];
                word[..size].copy_from_slice(&all[i * size..(i + 1) * size]);
                let word = u64::from_le_bytes(word);
                // A byte is extended to the register's 16 bits.
                if size == 1 { ty.read(word) as u64 & 0xffff } else { word }
            };
            (0..count).map(of).collect()
        }),
    })
}

fn store(form: &Form<'_>) -> Option<Case> {
    let (count, shared) = (count(form), is_shared(form));
    let hint = if form.has("L2::cache_hint") { (", %P", ", \"l\"(0ull)") } else { ("", "") };
    let mut body = if shared {
        "__shared__ alignas(32) unsigned long long all[64][4]; unsigned long long *s = all[threadIdx.x]; for (int i = 0; i < 4; i++) s[i] = 0; ".to_owned()
    } else {
        String::new()
    };
    let to = if shared { "s" } else { "o" };
    let (size, count) = if form.has("b128") {
        let text = format!(
            "{{ .reg .b128 q; mov.b128 q, {{%0, %1}}; {} [%2], q{}; }}",
            form.name,
            hint.0.replace("%P", "%3")
        );
        body += &format!(
            "asm volatile(\"{text}\" :: \"l\"(a[0]), \"l\"(a[1]), {}{} : \"memory\"); ",
            address(shared, to),
            hint.1
        );
        (16, 1)
    } else {
        let ty = *form.types().first()?;
        let registers: Vec<String> = (0..count).map(|i| format!("%{i}")).collect();
        let list = if count == 1 { "%0".to_owned() } else { format!("{{{}}}", registers.join(", ")) };
        let text =
            format!("{} [%{count}], {list}{};", form.name, hint.0.replace("%P", &format!("%{}", count + 1)));
        let kind = match (ty.bits, ty.letter()) {
            (8, _) => "unsigned char",
            (_, 'h') => "unsigned short",
            (_, 'r') => "unsigned",
            (_, 'l') => "unsigned long long",
            (_, 'f') => "float",
            _ => "double",
        };
        let inputs: Vec<String> =
            (0..count).map(|i| format!("\"{}\"(((const {kind} *)a)[{i}])", ty.letter())).collect();
        body += &format!(
            "asm volatile(\"{text}\" :: {}, {}{} : \"memory\"); ",
            inputs.join(", "),
            address(shared, to),
            hint.1
        );
        (ty.bits as usize / 8, count)
    };
    if shared {
        body += "for (int i = 0; i < 4; i++) o[i] = s[i]; ";
    }
    Some(Case {
        body,
        operands: vec![Values::Whole(64); 4],
        results: vec![Compare::Bits; 4],
        model: each(move |o| {
            let mut all = bytes(o);
            all[size * count..].fill(0);
            all.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect()
        }),
    })
}

/// The sum of two codes of a type, one or two in a word.
fn sum(ty: Ty, a: u64, b: u64) -> u64 {
    match ty.kind {
        Kind::Float(format, count) => (0..count).fold(0, |all, i| {
            let part = |x: u64| format.value(x >> (i * format.bits()) & (u64::MAX >> (64 - format.bits())));
            all | format.code(number::add(part(a), part(b)), Rounding::Nearest) << (i * format.bits())
        }),
        Kind::F64 => (f64::from_bits(a) + f64::from_bits(b)).to_bits(),
        _ => ty.write(ty.read(a) + ty.read(b)),
    }
}

fn atomic(form: &Form<'_>) -> Option<Case> {
    let (count, shared) = (count(form), is_shared(form));
    let ty = *form.types().first()?;
    let has_result = form.first == "atom";
    let operation = *form.parts.iter().find(|part| {
        matches!(**part, "add" | "min" | "max" | "and" | "or" | "xor" | "exch" | "cas" | "inc" | "dec")
    })?;
    let hint = if form.has("L2::cache_hint") { ", 0" } else { "" };
    if count > 1 {
        return vector(form, ty, count);
    }
    let letter = ty.letter();
    let third = if operation == "cas" { ", %3" } else { "" };
    let text = if has_result {
        format!("{} %0, [%1], %2{third}{hint};", form.name)
    } else {
        format!("{} [%1], %2{hint};", form.name)
    };
    let (prelude, cell, end) = if shared {
        (
            "__shared__ unsigned long long all[64]; unsigned long long *s = all + threadIdx.x; ",
            "s",
            "o[0] = *s; ",
        )
    } else {
        ("", "o", "")
    };
    let kind = match letter {
        'h' => "unsigned short",
        'r' => "unsigned",
        'l' => "unsigned long long",
        'f' => "float",
        _ => "double",
    };
    let shown = match letter {
        'f' => "__builtin_bit_cast(unsigned, r)",
        'd' => "__builtin_bit_cast(unsigned long long, r)",
        _ => "r",
    };
    let inputs: Vec<String> = [1, 2].map(|i| super::argument(letter, i)).to_vec();
    let body = format!(
        "{prelude}{cell}[0] = a[0]; {kind} r = 0; asm volatile(\"{text}\" : \"+{letter}\"(r) : {}, {} : \"memory\"); {end}o[1] = {shown}; ",
        address(shared, cell),
        inputs.join(", ")
    );
    let values = ty.values();
    let compare = ty.compare();
    // Of the cell's word, the operation changes a part.
    let whole = Compare::Bits;
    let operation = operation.to_owned();
    let mut operands = vec![values.clone(), values.clone(), values];
    if operation == "cas" {
        let few = Values::Of(vec![0, 1, ty.mask(), 0x5a5a & ty.mask()]);
        operands = vec![few.clone(), few.clone(), few];
    }
    Some(Case {
        body,
        operands,
        results: vec![
            if ty.bits == 64 || matches!(ty.kind, Kind::Float(..)) { compare } else { whole },
            ty.compare(),
        ],
        model: each(move |o| {
            let [old, b, c] = [0, 1, 2].map(|i| o[i] & ty.mask());
            let [x, y] = [ty.read(old), ty.read(b)];
            let new = match operation.as_str() {
                "add" => sum(ty, old, b),
                "min" => ty.write(x.min(y)),
                "max" => ty.write(x.max(y)),
                "and" => old & b,
                "or" => old | b,
                "xor" => old ^ b,
                "exch" => b,
                "cas" => {
                    if old == b {
                        c
                    } else {
                        old
                    }
                }
                "inc" => {
                    if old >= b {
                        0
                    } else {
                        old + 1
                    }
                }
                _ => {
                    if old == 0 || old > b {
                        b
                    } else {
                        old - 1
                    }
                }
            };
            vec![new, if has_result { old } else { 0 }]
        }),
    })
}

fn vector(form: &Form<'_>, ty: Ty, count: usize) -> Option<Case> {
    let Kind::Float(..) = ty.kind else { return None };
    let letter = ty.letter();
    let kind = match letter {
        'h' => "unsigned short",
        'r' => "unsigned",
        _ => "float",
    };
    let has_result = form.first == "atom";
    let list = |from: usize| {
        let registers: Vec<String> = (from..from + count).map(|i| format!("%{i}")).collect();
        format!("{{{}}}", registers.join(", "))
    };
    let results: Vec<String> =
        if has_result { (0..count).map(|i| format!("\"={letter}\"(r[{i}])")).collect() } else { Vec::new() };
    let first = results.len();
    let text = if has_result {
        format!("{} {}, [%{first}], {};", form.name, list(0), list(first + 1))
    } else {
        format!("{} [%0], {};", form.name, list(1))
    };
    let inputs: Vec<String> =
        (0..count).map(|i| format!("\"{letter}\"(((const {kind} *)(a + 2))[{i}])")).collect();
    let body = format!(
        "o[0] = a[0]; o[1] = a[1]; {kind} r[{count}] = {{}}; asm volatile(\"{text}\" : {} : \"l\"(o), {} : \"memory\"); \
         __builtin_memcpy(o + 2, r, sizeof(r)); ",
        results.join(", "),
        inputs.join(", ")
    );
    let Kind::Float(format, parts) = ty.kind else { return None };
    let in_word = 64 / format.bits();
    let _ = parts;
    let bytes_used = count * ty.bits as usize / 8;
    Some(Case {
        body,
        operands: vec![Values::Numbers(format, in_word); 4],
        results: vec![Compare::Format(format, in_word); 4],
        model: each(move |o| {
            let width = format.bits();
            let mut all = [o[0], o[1], 0, 0];
            for element in 0..bytes_used * 8 / width as usize {
                let (word, at) = (element / in_word as usize, element as u32 % in_word * width);
                let mask = u64::MAX >> (64 - width) << at;
                let part = |x: u64| format.value((x & mask) >> at);
                let new = format.code(number::add(part(o[word]), part(o[word + 2])), Rounding::Nearest);
                all[word] = all[word] & !mask | new << at;
                if has_result {
                    all[word + 2] |= o[word] & mask;
                }
            }
            all.to_vec()
        }),
    })
}

/// Copies to shared memory, with all bytes and with a part of them.
fn copy(form: &Form<'_>) -> Option<Case> {
    if form.parts.first() != Some(&"async") {
        return None;
    }
    if form.has("mbarrier") {
        return mbarrier(form);
    }
    if !form.has("global") {
        let text =
            if form.has("wait_group") { format!("{} 0;", form.name) } else { format!("{};", form.name) };
        return Some(nothing(&format!("asm volatile(\"{text}\" ::: \"memory\"); ")));
    }
    let sizes: &[u64] = if form.has("ca") { &[4, 8, 16] } else { &[16] };
    let hint = if form.has("L2::cache_hint") { ", 0" } else { "" };
    let mut body =
        "__shared__ alignas(16) unsigned long long all[64][12]; unsigned long long *s = all[threadIdx.x]; for (int i = 0; i < 12; i++) s[i] = 7; ".to_owned();
    for (i, size) in sizes.iter().enumerate() {
        body += &format!(
            "asm volatile(\"{0} [%0], [%1], {size}{hint};\" :: {1}, \"l\"(a) : \"memory\"); ",
            form.name,
            address(true, &format!("s + {}", 2 * i))
        );
        body += &format!(
            "asm volatile(\"{0} [%0], [%1], {size}, %2{hint};\" :: {1}, \"l\"(a), \"r\"((unsigned)a[2] % {2}) : \"memory\"); ",
            form.name,
            address(true, &format!("s + {}", 6 + 2 * i)),
            size + 1
        );
    }
    body += "asm volatile(\"cp.async.commit_group;\"); asm volatile(\"cp.async.wait_group 0;\" ::: \"memory\"); for (int i = 0; i < 12; i++) o[i] = s[i]; ";
    let sizes = sizes.to_vec();
    Some(Case {
        body,
        operands: vec![Values::Whole(64), Values::Whole(64), Values::Whole(32), Values::Whole(32)],
        results: vec![Compare::Bits; 12],
        model: each(move |o| {
            let source = bytes(o);
            let mut all = bytes(&[7; 12]);
            for (i, size) in sizes.iter().enumerate() {
                let size = *size as usize;
                all[16 * i..16 * i + size].copy_from_slice(&source[..size]);
                let have = (o[2] as u32 as usize) % (size + 1);
                let to = &mut all[48 + 16 * i..48 + 16 * i + size];
                to.fill(0);
                to[..have].copy_from_slice(&source[..have]);
            }
            all.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect()
        }),
    })
}

/// A statement that changes nothing here.
fn nothing(code: &str) -> Case {
    Case {
        body: format!("{code}o[0] = a[0]; "),
        operands: vec![Values::Whole(64); 4],
        results: vec![Compare::Bits],
        model: each(|o| vec![o[0]]),
    }
}

fn without_effect(form: &Form<'_>) -> Option<Case> {
    let plain = || Some(nothing(&format!("asm volatile(\"{};\" ::: \"memory\"); ", form.name)));
    let of = |operands: &str, inputs: &str| {
        Some(nothing(&format!("asm volatile(\"{} {operands};\" :: {inputs} : \"memory\"); ", form.name)))
    };
    match form.first {
        "fence" | "membar" | "griddepcontrol" => plain(),
        "prefetch" | "prefetchu" if !form.has("tensormap") => of("[%0]", "\"l\"(a)"),
        "discard" | "applypriority" => of("[%0], 128", "\"l\"(o)"),
        "setmaxnreg" => of("64", "\"n\"(0)"),
        "nanosleep" => of("%0", "\"r\"(20u)"),
        "createpolicy" => {
            let operands = if form.has("range") {
                "[%1], 128, 128"
            } else if form.has("cvt") {
                "%1"
            } else {
                "1.0"
            };
            Some(nothing(&format!(
                "unsigned long long r; asm volatile(\"{} %0, {operands};\" : \"=l\"(r) : \"l\"(a)); ",
                form.name
            )))
        }
        // Whole blocks end, and nobody stops.
        "exit" | "brkpt" | "trap" => {
            let ends = form.first == "exit";
            let text = format!("{{ .reg .pred p; setp.ne.u32 p, %0, 0; @p {}; }}", form.name);
            let condition = if ends { "blockIdx.x % 2" } else { "0u" };
            Some(Case {
                body: format!(
                    "o[0] = 1; asm volatile(\"{text}\" :: \"r\"({condition}) : \"memory\"); o[0] = 1 + blockIdx.x % 2 * {}; ",
                    u32::from(ends)
                ),
                operands: vec![Values::Of(vec![0])],
                results: vec![Compare::Bits],
                model: each(|_| vec![1]),
            })
        }
        "bra" => Some(Case {
            body: format!(
                "unsigned n = 0; asm volatile(\"{{ .reg .pred p; .reg .u32 i; mov.u32 i, %1; AGAIN: add.u32 %0, %0, i; sub.u32 i, i, 1; \
                 setp.ne.u32 p, i, 0; @p {} AGAIN; }}\" : \"+r\"(n) : \"r\"((unsigned)a[0])); o[0] = n; ",
                form.name
            ),
            operands: vec![Values::Of((1..20).collect())],
            results: vec![Compare::Bits],
            model: each(|o| vec![o[0] * (o[0] + 1) / 2]),
        }),
        "mapa" => {
            let wide = form.has("u64");
            let text = format!("{} %0, %1, 0;", form.name);
            let letter = if wide { 'l' } else { 'r' };
            Some(Case {
                body: super::statement(&text, &[letter], &[letter]),
                operands: vec![Values::Whole(if wide { 64 } else { 32 })],
                results: vec![Compare::Bits],
                model: each(|o| vec![o[0]]),
            })
        }
        "getctarank" => {
            let letter = if is_shared(form) { 'r' } else { 'l' };
            Some(Case {
                body: super::statement(&format!("{} %0, %1;", form.name), &['r'], &[letter]),
                operands: vec![Values::Whole(32)],
                results: vec![Compare::Bits],
                model: each(|_| vec![0]),
            })
        }
        _ => None,
    }
}

/// The neighbour's value, through shared memory, after what makes the block wait.
fn exchange(code: &str) -> Case {
    Case {
        body: format!(
            "__shared__ unsigned long long all[64]; all[threadIdx.x] = a[0]; {code} o[0] = all[(threadIdx.x + 33) % 64]; "
        ),
        operands: vec![Values::Whole(64)],
        results: vec![Compare::Bits],
        model: Box::new(|threads| (0..threads.len()).map(|i| vec![threads[(i + 33) % 64][0]]).collect()),
    }
}

fn barrier(form: &Form<'_>) -> Option<Case> {
    if form.has("warp") {
        return Some(Case {
            body: format!(
                "__shared__ unsigned all[64]; all[threadIdx.x] = (unsigned)a[0]; asm volatile(\"{} 0xffffffff;\" ::: \"memory\"); o[0] = all[threadIdx.x ^ 5]; ",
                form.name
            ),
            operands: vec![Values::Whole(32)],
            results: vec![Compare::Bits],
            model: warps(|warp| (0..32).map(|i| vec![warp[i ^ 5][0]]).collect()),
        });
    }
    let plain = |text: &str| format!("asm volatile(\"{text}\" ::: \"memory\"); ");
    if form.has("cluster") {
        let code = if form.has("wait") {
            plain("barrier.cluster.arrive.aligned;") + &plain(&format!("{};", form.name))
        } else {
            plain(&format!("{};", form.name)) + &plain("barrier.cluster.wait.aligned;")
        };
        return Some(exchange(&code));
    }
    if form.has("sync") {
        let name = form.name;
        return Some(exchange(
            &(plain(&format!("{name} 0;"))
                + &plain(&format!("{name} 3, 64;"))
                + &plain(&format!("{name} 3, 64;"))),
        ));
    }
    if form.has("arrive") {
        // Every thread arrives, and waits with others; twice as many are expected.
        let sync = form.name.replace("arrive", "sync");
        return Some(exchange(
            &(plain(&format!("{} 2, 128;", form.name)) + &plain(&format!("{sync} 2, 128;"))),
        ));
    }
    if form.has("red") {
        let (popc, and) = (form.has("popc"), form.has("and"));
        let text = if popc {
            format!("{{ .reg .pred p; setp.ne.u32 p, %1, 0; {} %0, 0, p; }}", form.name)
        } else {
            format!(
                "{{ .reg .pred p, q; setp.ne.u32 p, %1, 0; {} q, 0, p; selp.u32 %0, 1, 0, q; }}",
                form.name
            )
        };
        return Some(Case {
            body: super::statement(&text, &['r'], &['r']),
            operands: vec![Values::Of(vec![0, 1, 1, 1, 1, 1, 1, 1])],
            results: vec![Compare::Bits],
            model: Box::new(move |threads| {
                let holds = threads.iter().filter(|o| o[0] != 0).count();
                let result = if popc {
                    holds
                } else {
                    usize::from(if and { holds == threads.len() } else { holds > 0 })
                };
                vec![vec![result as u64]; threads.len()]
            }),
        });
    }
    None
}

/// A barrier in shared memory that every thread passes twice, with the form in its place.
fn mbarrier(form: &Form<'_>) -> Option<Case> {
    let name = form.name;
    let generic = !is_shared(form);
    let place = if generic { "\"l\"(&bar)" } else { "\"r\"((unsigned)__cvta_generic_to_shared(&bar))" };
    let shared = "\"r\"((unsigned)__cvta_generic_to_shared(&bar))";
    let mut init = "asm volatile(\"mbarrier.init.shared::cta.b64 [%0], 64;\" :: S : \"memory\"); ".to_owned();
    let mut arrive =
        "asm volatile(\"mbarrier.arrive.shared::cta.b64 %0, [%1];\" : \"=l\"(state) : S : \"memory\"); "
            .to_owned();
    let mut wait = "asm volatile(\"{ .reg .pred p; AGAIN: mbarrier.try_wait.shared::cta.b64 p, [%0], %1; @p bra DONE; bra AGAIN; DONE: }\" :: S, \"l\"(state) : \"memory\"); ".to_owned();
    let mut before = String::new();
    let mut after = String::new();
    if form.first == "cp" {
        // The copies are complete: it arrives (`noinc`), or changes nothing.
        let extra = format!("asm volatile(\"{name} [%0];\" :: P : \"memory\"); ");
        if form.has("noinc") {
            init = init.replace("], 64;", "], 128;");
            arrive = extra + &arrive;
        } else {
            before = extra;
        }
    } else {
        match *form.parts.first()? {
            "init" => init = format!("asm volatile(\"{name} [%0], 64;\" :: P : \"memory\"); "),
            "inval" => {
                after = format!(
                    "__syncthreads(); if (threadIdx.x == 0) asm volatile(\"{name} [%0];\" :: P : \"memory\"); "
                )
            }
            "arrive" | "arrive_drop" if form.has("expect_tx") => {
                arrive = format!(
                    "asm volatile(\"{name} %0, [%1], 16;\" : \"=l\"(state) : P : \"memory\"); if (threadIdx.x % 2) asm volatile(\"mbarrier.complete_tx.shared::cluster.relaxed.cluster.b64 [%0], 32;\" :: S : \"memory\"); "
                );
            }
            "arrive" | "arrive_drop" => {
                let count = if form.has("noComplete") { ", 1" } else { "" };
                if form.has("noComplete") {
                    init = init.replace("], 64;", "], 128;");
                    arrive = format!(
                        "unsigned long long other; asm volatile(\"{name} %0, [%1]{count};\" : \"=l\"(other) : P : \"memory\"); "
                    ) + &arrive;
                } else {
                    arrive = format!(
                        "asm volatile(\"{name} %0, [%1]{count};\" : \"=l\"(state) : P : \"memory\"); "
                    );
                }
            }
            "expect_tx" => {
                before = format!(
                    "asm volatile(\"{name} [%0], 8;\" :: P : \"memory\"); asm volatile(\"mbarrier.complete_tx.shared::cluster.relaxed.cluster.b64 [%0], 8;\" :: S : \"memory\"); "
                )
            }
            "complete_tx" => {
                before = format!(
                    "asm volatile(\"mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 8;\" :: S : \"memory\"); asm volatile(\"{name} [%0], 8;\" :: P : \"memory\"); "
                )
            }
            "test_wait" | "try_wait" => {
                let state = if form.has("parity") { "\"r\"(0u)" } else { "\"l\"(state)" };
                wait = format!(
                    "asm volatile(\"{{ .reg .pred p; AGAIN: {name} p, [%0], %1; @!p bra AGAIN; }}\" :: P, {state} : \"memory\"); "
                );
            }
            "pending_count" => {
                after = format!(
                    "unsigned n; asm volatile(\"{name} %0, %1;\" : \"=r\"(n) : \"l\"(state)); if (n < 1 || n > 64) o[0] = n; "
                )
            }
            _ => return None,
        }
    }
    let all = format!("if (threadIdx.x == 0) {{ {init}}} __syncthreads(); {before}{arrive}{wait}")
        .replace(":: P", &format!(":: {place}"))
        .replace(": P", &format!(": {place}"))
        .replace(":: S", &format!(":: {shared}"))
        .replace(": S", &format!(": {shared}"));
    let mut case = exchange(&format!("__shared__ unsigned long long bar; unsigned long long state; {all}"));
    case.body += &after.replace(":: P", &format!(":: {place}"));
    Some(case)
}
