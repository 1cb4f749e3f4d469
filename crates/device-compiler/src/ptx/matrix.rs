//! Matrices in fragments: products, and their loads and stores.

use super::table::type_of;

/// Loads and stores of 8 × 8 matrices of 16 bits.
pub(super) fn memory(first: &str, parts: &[&str]) -> Option<String> {
    let (mut shape, mut count, mut kind, mut transposed) = (false, false, false, false);
    for part in parts {
        match *part {
            "sync" | "aligned" | "shared" => {}
            "m8n8" => shape = true,
            "x1" | "x2" | "x4" => count = true,
            "b16" => kind = true,
            "trans" => transposed = true,
            _ => return None,
        }
    }
    (shape && count && kind).then(|| format!("{first}<{transposed}>"))
}

/// Products. The function has the rows and the words of K per lane; the types of both operands matter if they
/// are narrower than halves.
pub(super) fn product(parts: &[&str]) -> Option<String> {
    let mut shape = None;
    let (mut types, mut layouts, mut saturated, mut popc) = (Vec::new(), Vec::new(), false, None);
    let (mut kind, mut nearest) = (false, false);
    for part in parts {
        match *part {
            "sync" | "aligned" => {}
            "row" | "col" => layouts.push(*part == "row"),
            "rn" => nearest = true,
            "satfinite" => saturated = true,
            "kind::f8f6f4" => kind = true,
            "xor" | "and" => popc = Some(*part),
            "popc" if popc.is_some() => {}
            part if part.starts_with('m') && part.contains('n') => shape = Some(part),
            part => types.push(type_of(part)?.name),
        }
    }
    let shape = shape?;
    let [d, a, b, c] = types[..] else { return None };
    if nearest && types != ["f64"; 4] {
        return None;
    }
    let [of_a, of_b] = layouts[..] else { return None };
    if let ("m8n8k4", "f16", "f16", "f16" | "f32") = (shape, a, b, d)
        && d == c
        && !saturated
        && popc.is_none()
        && !kind
    {
        return Some(format!("mma_quads_{d}<{of_a}, {of_b}>"));
    }
    if !of_a || of_b {
        return None;
    }
    let value = |name| type_of(name).map(|ty| ty.value);
    let plain = |function: &str, element: &str, sum: &str| {
        (!saturated && popc.is_none() && !kind).then(|| format!("{function}<{element}, {sum}>"))
    };
    match (shape, a, b, d, c) {
        ("m16n8k8", "f16" | "bf16", _, "f32", "f32") if a == b => plain("mma_16_1", value(a)?, "float"),
        ("m16n8k16", "f16" | "bf16", _, "f32", "f32") if a == b => plain("mma_16_2", value(a)?, "float"),
        ("m16n8k8", "f16", "f16", "f16", "f16") => plain("mma_16_1_f16", value(a)?, "float"),
        ("m16n8k16", "f16", "f16", "f16", "f16") => plain("mma_16_2_f16", value(a)?, "float"),
        ("m16n8k4", "tf32", "tf32", "f32", "f32") => plain("mma_16_1", "float", "float"),
        ("m16n8k8", "tf32", "tf32", "f32", "f32") => plain("mma_16_2", "float", "float"),
        ("m8n8k4", "f64", "f64", "f64", "f64") => plain("mma_8_1", "double", "double"),
        ("m16n8k4", "f64", "f64", "f64", "f64") => plain("mma_16_1", "double", "double"),
        ("m16n8k8", "f64", "f64", "f64", "f64") => plain("mma_16_2", "double", "double"),
        ("m16n8k16", "f64", "f64", "f64", "f64") => plain("mma_16_4", "double", "double"),
        (_, "b1", "b1", "s32", "s32") if !saturated && !kind => {
            let function = match shape {
                "m8n8k128" => "mma_8_1",
                "m16n8k128" => "mma_16_1",
                "m16n8k256" => "mma_16_2",
                _ => return None,
            };
            Some(format!("{function}<::__cuda_ptx::bits_{}, int>", popc?))
        }
        _ if popc.is_none() => narrow(shape, [d, a, b, c], kind, saturated),
        _ => None,
    }
}

fn narrow(shape: &str, [d, a, b, c]: [&str; 4], f8f6f4: bool, saturated: bool) -> Option<String> {
    let kind = |name| match name {
        "s8" | "u8" => Some((1, "int", "s32")),
        "s4" | "u4" => Some((0, "int", "s32")),
        "e4m3" | "e5m2" => Some((2, "float", "f32")),
        // Each in a byte of its own.
        "e2m1" | "e2m3" | "e3m2" if f8f6f4 => Some((2, "float", "f32")),
        _ => None,
    };
    let (of_a, of_b) = (kind(a)?, kind(b)?);
    // Sums of products of eight bits or less may be halves.
    let halves = of_a.0 == 2 && d == "f16";
    let sum = if halves { "f16" } else { of_a.2 };
    if of_a != of_b || d != sum || c != sum || f8f6f4 && of_a.0 != 2 || saturated && of_a.0 == 2 {
        return None;
    }
    let function = match (shape, of_a.0) {
        ("m8n8k16", 1) | ("m8n8k32", 0) => "mma_8_1",
        ("m16n8k16", 1) | ("m16n8k32", 0) => "mma_16_1",
        ("m16n8k16", 2) if !f8f6f4 => "mma_16_1",
        ("m16n8k32", 1 | 2) | ("m16n8k64", 0) => "mma_16_2",
        _ => return None,
    };
    let (a, b) = (type_of(a)?.value, type_of(b)?.value);
    let end = match (saturated, halves) {
        (true, _) => "_saturated",
        (_, true) => "_f16",
        _ => "",
    };
    Some(format!("{function}{end}<::__cuda_ptx::both<{a}, {b}>, {}>", of_a.1))
}
