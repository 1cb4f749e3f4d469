//! Read-modify-writes: every operation on every memory, compared with arithmetic on single words.

use super::*;

/// The result of an operation on the old value, the data and the second operand.
type Model = fn(u64, u64, u64) -> u64;

/// Operations on 32 and 64 bits: the end of the name in FLAT, GLOBAL and MUBUF; the beginning and the end in
/// DS, if it exists there; the model.
const INTEGERS: &[(&str, &str, Model, Model)] = &[
    ("swap_b", "storexchg b", |_, data, _| data, |_, data, _| data),
    (
        "cmpswap_b",
        "cmpstore b",
        |old, d, c| if old == c { d } else { old },
        |old, d, c| if old == c { d } else { old },
    ),
    ("add_u", "add u", |old, d, _| (old + d) & 0xffff_ffff, |old, d, _| old.wrapping_add(d)),
    ("sub_u", "sub u", |old, d, _| old.wrapping_sub(d) & 0xffff_ffff, |old, d, _| old.wrapping_sub(d)),
    (
        "min_i",
        "min i",
        |old, d, _| (old as i32).min(d as i32) as u32 as u64,
        |old, d, _| (old as i64).min(d as i64) as u64,
    ),
    (
        "max_i",
        "max i",
        |old, d, _| (old as i32).max(d as i32) as u32 as u64,
        |old, d, _| (old as i64).max(d as i64) as u64,
    ),
    ("min_u", "min u", |old, d, _| old.min(d), |old, d, _| old.min(d)),
    ("max_u", "max u", |old, d, _| old.max(d), |old, d, _| old.max(d)),
    ("and_b", "and b", |old, d, _| old & d, |old, d, _| old & d),
    ("or_b", "or b", |old, d, _| old | d, |old, d, _| old | d),
    ("xor_b", "xor b", |old, d, _| old ^ d, |old, d, _| old ^ d),
    (
        "inc_u",
        "inc u",
        |old, d, _| if old >= d { 0 } else { old + 1 },
        |old, d, _| if old >= d { 0 } else { old + 1 },
    ),
    (
        "dec_u",
        "dec u",
        |old, d, _| if old == 0 || old > d { d } else { old - 1 },
        |old, d, _| {
            if old == 0 || old > d { d } else { old - 1 }
        },
    ),
    ("", "rsub u", |old, d, _| d.wrapping_sub(old) & 0xffff_ffff, |old, d, _| d.wrapping_sub(old)),
    ("", "mskor b", |old, d, s| old & !d | s, |old, d, s| old & !d | s),
    ("", "cmpst b", |old, c, d| if old == c { d } else { old }, |old, c, d| if old == c { d } else { old }),
];

/// Operations on 32 bits only.
const WORDS: &[(&str, &str, Model)] = &[
    ("csub_u32", "", |old, d, _| old.saturating_sub(d)),
    ("cond_sub_u32", "cond_sub u32", |old, d, _| if old >= d { old - d } else { old }),
    ("", "sub_clamp u32", |old, d, _| old.saturating_sub(d)),
    ("", "wrap b32", |old, d, s| if old >= d { old - d } else { (old + s) & 0xffff_ffff }),
];

fn is_nan32(bits: u64) -> bool {
    bits & 0x7fff_ffff > 0x7f80_0000
}

fn is_nan64(bits: u64) -> bool {
    bits & (u64::MAX >> 1) > 0x7ff0_0000_0000_0000
}

/// The sum of two words as 32-bit floats, with explicit NaN rules.
fn add32(old: u64, data: u64) -> u64 {
    let (a, b) = (f32::from_bits(old as u32), f32::from_bits(data as u32));
    match (is_nan32(old), is_nan32(data)) {
        (true, _) => old | 0x40_0000,
        (_, true) => data | 0x40_0000,
        _ if a.is_infinite() && b == -a => 0xffc0_0000,
        _ => u64::from((a + b).to_bits()),
    }
}

fn add64(old: u64, data: u64) -> u64 {
    let (a, b) = (f64::from_bits(old), f64::from_bits(data));
    match (is_nan64(old), is_nan64(data)) {
        (true, _) => old | 1 << 51,
        (_, true) => data | 1 << 51,
        _ if a.is_infinite() && b == -a => 0xfff8_0000_0000_0000,
        _ => (a + b).to_bits(),
    }
}

/// Flushes a float if it is subnormal and `flushes` is set.
fn flushed(bits: u64, width: u32, flushes: bool) -> u64 {
    let (exponent, sign) =
        if width == 32 { (0x7f80_0000, 1 << 31) } else { (0x7ff0_0000_0000_0000, 1 << 63) };
    if flushes && bits & exponent == 0 { bits & sign } else { bits }
}

/// A key that orders floats like the comparison in gfx12's minimum and maximum.
fn order(bits: u64, width: u32) -> i64 {
    let sign = bits >> (width - 1) & 1 != 0;
    let rest = (bits & (u64::MAX >> (65 - width))) as i64;
    if sign { -1 - rest } else { rest }
}

/// Minimum and maximum of gfx12: a NaN loses against a number.
fn number(old: u64, data: u64, width: u32, low: bool) -> u64 {
    let nan: fn(u64) -> bool = if width == 32 { is_nan32 } else { is_nan64 };
    match (nan(old), nan(data)) {
        (true, true) => data | if width == 32 { 1 << 22 } else { 1 << 51 },
        (true, false) => data,
        (false, true) => old,
        _ if (order(data, width) < order(old, width)) == low => data,
        _ => old,
    }
}

/// Minimum and maximum before gfx12, as in AMD's documents of CDNA 4 and RDNA 3. The result is the first
/// signalling NaN, made quiet. Otherwise, it is the lesser (greater) value in an order with quiet NaNs after
/// (before) all numbers, and -0 before +0. If subnormal numbers are flushed, they are compared as zeros but
/// selected unchanged.
fn selected(old: u64, data: u64, width: u32, low: bool, flushes: bool) -> u64 {
    let nan: fn(u64) -> bool = if width == 32 { is_nan32 } else { is_nan64 };
    let quiet = if width == 32 { 1 << 22 } else { 1 << 51 };
    for value in [old, data] {
        if nan(value) && value & quiet == 0 {
            return value | quiet;
        }
    }
    let key = |bits: u64| match (nan(bits), low) {
        (true, true) => i64::MAX,
        (true, false) => i64::MIN,
        _ => order(flushed(bits, width, flushes), width),
    };
    let takes = if low { key(data) < key(old) } else { key(data) > key(old) };
    if takes { data } else { old }
}

/// Whether both are the same float.
fn same(a: u64, b: u64, width: u32) -> bool {
    if width == 32 {
        f32::from_bits(a as u32) == f32::from_bits(b as u32)
    } else {
        f64::from_bits(a) == f64::from_bits(b)
    }
}

fn halves(old: u64, data: u64, add: fn(u32, u32) -> u32, exponent: u32, seen: Seen) -> u64 {
    let flush = |bits: u32, on: bool| if on && bits & exponent == 0 { bits & 0x8000 } else { bits };
    let part = |shift: u32| {
        let half = |bits: u64| flush((bits >> shift) as u32 & 0xffff, seen.sources);
        u64::from(flush(add(half(old), half(data)), seen.results)) << shift
    };
    part(0) | part(16)
}

fn add_f16(a: u32, b: u32) -> u32 {
    let value = |bits| half::f16::from_bits(bits as u16);
    match (a & 0x7fff > 0x7c00, b & 0x7fff > 0x7c00) {
        (true, _) => a | 0x200,
        (_, true) => b | 0x200,
        _ if value(a).is_infinite() && value(b).is_infinite() && a != b => 0xfe00,
        // The sum of two halves is exact in f64.
        _ => u32::from(half::f16::from_f64(value(a).to_f64() + value(b).to_f64()).to_bits()),
    }
}

fn add_bf16(a: u32, b: u32) -> u32 {
    let value = |bits: u32| f32::from_bits(bits << 16);
    match (a & 0x7fff > 0x7f80, b & 0x7fff > 0x7f80) {
        (true, _) => a | 0x40,
        (_, true) => b | 0x40,
        _ if value(a).is_infinite() && value(b).is_infinite() && a != b => 0xffc0,
        _ => {
            // Rounded to odd in f64, then to nearest even: correct for any operands.
            let (x, y) = (f64::from(value(a)), f64::from(value(b)));
            let sum = x + y;
            let error = if x.abs() >= y.abs() { y - (sum - x) } else { x - (sum - y) };
            let mut bits = sum.to_bits();
            if sum.is_finite() && error != 0.0 && bits & 1 == 0 {
                let up = (error > 0.0) == (sum > 0.0);
                bits = if up { bits + 1 } else { bits - 1 };
            }
            u32::from(half::bf16::from_f64(f64::from_bits(bits)).to_bits())
        }
    }
}

/// The subnormal numbers that MODE flushes, and where the operation happens.
#[derive(Clone, Copy, Debug)]
struct Seen {
    place: Place,
    sources: bool,
    results: bool,
}

impl Seen {
    fn in_lds(self) -> bool {
        matches!(self.place, Place::Lds | Place::FlatShared)
    }

    fn nothing_flushed(self) -> Seen {
        Seen { sources: false, results: false, ..self }
    }

    /// AMD's documented behaviour of a generation's minimum, maximum and comparison: flushing by MODE in LDS,
    /// and in memory up to gfx11 (`in_memory`); on gfx12, FLAT does not flush in LDS.
    fn compared(self, generation: Generation, in_memory: bool) -> Seen {
        let by_mode = match generation {
            Generation::Gfx12 => self.place == Place::Lds,
            _ => self.in_lds() || in_memory,
        };
        if by_mode { self } else { self.nothing_flushed() }
    }
}

/// Arithmetic on the old value, the data and the second operand.
type Floats = Box<dyn Fn(u64, u64, u64, Seen) -> u64>;

/// One operation: its names, its width, the generation, and its effect.
struct Case {
    flat: String,
    lds: Option<(String, String)>,
    width: u32,
    generation: Generation,
    model: Floats,
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut case = |flat: String, lds: &str, width: u32, generation, model: Floats| {
        let lds = lds.split_once(' ').map(|(a, b)| (a.to_owned(), b.to_owned()));
        cases.push(Case { flat, lds, width, generation, model });
    };
    for &(flat, lds, narrow, wide) in INTEGERS {
        for (width, model) in [(32, narrow), (64, wide)] {
            let flat = if flat.is_empty() { String::new() } else { format!("{flat}{width}") };
            let lds = if lds.is_empty() { String::new() } else { format!("{lds}{width}") };
            case(flat, &lds, width, Generation::Gfx11, Box::new(move |o, d, s, _| model(o, d, s)));
        }
    }
    for &(flat, lds, model) in WORDS {
        case(flat.to_owned(), lds, 32, Generation::Gfx12, Box::new(move |o, d, s, _| model(o, d, s)));
    }
    for generation in Generation::ALL {
        let gfx12 = generation == Generation::Gfx12;
        // gfx90a's memory flushes subnormal f32. Sums in LDS follow MODE, except for FLAT on gfx12.
        let add = move |o, d, _, seen: Seen| {
            let Seen { sources, results, .. } = match seen.place {
                place if generation == Generation::Gfx9 && !seen.in_lds() => {
                    Seen { place, sources: true, results: true }
                }
                Place::Lds => seen,
                Place::FlatShared if !gfx12 => seen,
                _ => seen.nothing_flushed(),
            };
            flushed(add32(flushed(o, 32, sources), flushed(d, 32, sources)), 32, results)
        };
        case("add_f32".into(), "add f32", 32, generation, Box::new(add));
        case("add_f64".into(), "add f64", 64, generation, Box::new(|o, d, _, _| add64(o, d)));
        let by_mode = move |seen: Seen| {
            if gfx12 && seen.place == Place::Lds { seen } else { seen.nothing_flushed() }
        };
        let model = move |o, d, _, seen| halves(o, d, add_f16, 0x7c00, by_mode(seen));
        case("pk_add_f16".into(), "pk_add f16", 32, generation, Box::new(model));
        let model = move |o, d, _, seen| halves(o, d, add_bf16, 0x7f80, by_mode(seen));
        case("pk_add_bf16".into(), "pk_add bf16", 32, generation, Box::new(model));
        for width in [32, 64] {
            for (name, low) in [("min", true), ("max", false)] {
                let model = move |o, d, _, seen: Seen| {
                    let flushes = seen.compared(generation, width == 32).sources;
                    if gfx12 {
                        number(flushed(o, width, flushes), flushed(d, width, flushes), width, low)
                    } else {
                        selected(o, d, width, low, flushes)
                    }
                };
                let names = (format!("{name}_f{width}"), format!("{name} f{width}"));
                case(names.0, &names.1, width, generation, Box::new(model));
                let names = (format!("{name}_num_f{width}"), format!("{name}_num f{width}"));
                case(names.0, &names.1, width, generation, Box::new(model));
            }
            // A comparison that flushes leaves no subnormal number.
            let swap = move |old, compared, new, seen: Seen| {
                let flushes = seen.compared(generation, true).sources;
                let equal = same(flushed(old, width, flushes), flushed(compared, width, flushes), width);
                flushed(if equal { new } else { old }, width, flushes)
            };
            let names = (format!("cmpswap_f{width}"), format!("cmpstore f{width}"));
            case(names.0, &names.1, width, generation, Box::new(move |o, d, c, seen| swap(o, c, d, seen)));
            case(String::new(), &format!("cmpst f{width}"), width, generation, Box::new(swap));
        }
    }
    cases
}

/// The number of words in each memory.
const WORDS_THERE: usize = 24;

#[test]
fn atomics_do_what_the_documents_say_lane_after_lane() {
    let mut random = Random(11);
    for case in cases() {
        for &place in PLACES {
            let names: Vec<String> = match (place, &case.lds) {
                (Place::Lds, None) => continue,
                (Place::Lds, Some((name, ty))) => {
                    // An exchange without a result would be a store.
                    let plain = (name != "storexchg" && name != "wrap").then(|| format!("ds_{name}_{ty}"));
                    plain.into_iter().chain([format!("ds_{name}_rtn_{ty}")]).collect()
                }
                _ if case.flat.is_empty() => continue,
                _ => vec![format!("{}_atomic_{}", place.prefix(), case.flat)],
            };
            for name in names {
                for lanes in [32usize, 64] {
                    for round in 0..4 {
                        run_case(&case, place, &name, lanes, round, &mut random);
                    }
                }
            }
        }
    }
}

fn run_case(case: &Case, place: Place, name: &str, lanes: usize, round: usize, random: &mut Random) {
    // Some operations do not exist in all encodings.
    let Some(&operation) = Op::ALL.iter().find(|op| op.name() == name) else { return };
    let mut bench = Bench::new(lanes);
    let base = bench.memory.allocate(4096, 1, MemoryKind::Coarse, None).unwrap();
    let bytes = case.width as usize / 8;
    let offsets: Vec<u32> = (0..lanes)
        .map(|lane| match round {
            0 => (lane % WORDS_THERE) as u32,
            1 => 3,
            _ => random.next() % WORDS_THERE as u32,
        })
        .map(|word| word * bytes as u32)
        .collect();
    let mask = if round == 3 { u64::from(random.next()) << 32 | u64::from(random.next()) } else { u64::MAX };
    let mask = mask & (u64::MAX >> (64 - lanes));
    bench.exec(mask);
    // MODE controls subnormal numbers of 32 bits and of the other widths, for sources and results.
    bench.wave.mode = [0xf0, 0, 0x10, 0x20, 0x40, 0x80, 0x50, 0xa0][random.next() as usize % 8];
    let allowed = bench.wave.mode >> if name.ends_with("f32") { 4 } else { 6 };
    let seen = Seen { place, sources: allowed & 1 == 0, results: allowed & 2 == 0 };
    let [address, scalar] = aim(&mut bench, place, base, &offsets);
    let private = place.is_private();
    let word = |bench: &Bench, lane: usize, index: usize| -> u64 {
        (0..bytes).fold(0, |value, i| {
            // SAFETY: all places hold that many words.
            let byte = unsafe { byte(bench, place, base, lane, index * bytes + i).read() };
            value | u64::from(byte) << (8 * i)
        })
    };
    let mut memory = vec![[0u64; WORDS_THERE]; if private { lanes } else { 1 }];
    for (lane, words) in memory.iter_mut().enumerate() {
        for (index, value) in words.iter_mut().enumerate() {
            *value = u64::from(random.bits());
            if bytes == 8 {
                *value |= u64::from(random.bits()) << 32;
            }
            for i in 0..bytes {
                // SAFETY: as above.
                unsafe {
                    byte(&bench, place, base, lane, index * bytes + i).write((*value >> (8 * i)) as u8)
                };
            }
        }
    }
    for lane in 0..lanes {
        for register in 8..14 {
            // For comparisons, the value often equals the content of memory.
            let at = &memory[if private { lane } else { 0 }][offsets[lane] as usize / bytes];
            let value = if random.next().is_multiple_of(2) {
                random.bits()
            } else {
                (at >> (32 * (register % 2))) as u32
            };
            bench.set(register, lane, value);
        }
        bench.set(20, lane, 77);
        bench.set(21, lane, 78);
    }
    let dwords = bytes / 4;
    let second = if place == Place::Lds { 12 } else { 8 + dwords };
    let source3 = if place == Place::Lds { Operand::Vgpr(12) } else { Operand::Int(0) };
    let returns = if place == Place::Lds { name.contains("_rtn_") } else { round.is_multiple_of(2) };
    let dst = if returns { Operand::Vgpr(20) } else { Operand::None };
    let source3 = if matches!(place, Place::Lds | Place::Buffer) { source3 } else { Operand::None };
    let mut inst = inst(operation, dst, [address, Operand::Vgpr(8), scalar, source3], 0);
    inst.mem.offen = true;
    let text = format!("{name} {:?} round {round} {seen:?}", case.generation);
    let flow = bench.run_on(case.generation, &inst, Level::Baseline);
    assert_eq!(flow, Flow::Next, "{text} {:?}", bench.wave.fault);
    let pair = |bench: &Bench, register: usize, lane: usize| {
        let high = if dwords == 2 { bench.get(register + 1, lane) } else { 0 };
        u64::from(bench.get(register, lane)) | u64::from(high) << 32
    };
    for lane in 0..lanes {
        if mask >> lane & 1 == 0 || !returns {
            assert_eq!(pair(&bench, 20, lane), if dwords == 2 { 78 << 32 | 77 } else { 77 }, "{text}");
        }
        if mask >> lane & 1 == 0 {
            continue;
        }
        let value = &mut memory[if private { lane } else { 0 }][offsets[lane] as usize / bytes];
        if returns {
            assert_eq!(pair(&bench, 20, lane), *value, "{text} lane {lane}");
        }
        *value = (case.model)(*value, pair(&bench, 8, lane), pair(&bench, second, lane), seen);
    }
    for (lane, words) in memory.iter().enumerate() {
        for (index, value) in words.iter().enumerate() {
            let found = word(&bench, lane, index);
            assert_eq!(found, *value, "{text} lane {lane} word {index}: {found:#x} {value:#x}");
        }
    }
}
