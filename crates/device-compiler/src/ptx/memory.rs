//! Loads, stores, atomic operations, fences and barriers.

use super::instruction::Operand;
use super::table::{HINTS, type_of};

const SCOPES: &[(&str, &str)] = &[
    ("cta", "__HIP_MEMORY_SCOPE_WORKGROUP"),
    ("cluster", "__HIP_MEMORY_SCOPE_AGENT"),
    ("gpu", "__HIP_MEMORY_SCOPE_AGENT"),
    ("sys", "__HIP_MEMORY_SCOPE_SYSTEM"),
];
const ORDERS: &[(&str, &str)] = &[
    ("relaxed", "__ATOMIC_RELAXED"),
    ("acquire", "__ATOMIC_ACQUIRE"),
    ("release", "__ATOMIC_RELEASE"),
    ("acq_rel", "__ATOMIC_ACQ_REL"),
];

fn look_up(table: &'static [(&str, &str)], part: &str) -> Option<&'static str> {
    table.iter().find(|(name, _)| *name == part).map(|(_, value)| *value)
}

/// Loads and stores.
pub(super) fn access(first: &str, parts: &[&str]) -> Option<String> {
    let base = if first == "st" { "st" } else { "ld" };
    let (mut shared, mut volatile, mut order, mut scope, mut kind) = (false, false, None, None, None);
    for part in parts {
        match *part {
            "shared" => shared = true,
            // What a device's registers need is more than `volatile` gives, but its accesses are the same.
            "volatile" | "mmio" => volatile = true,
            "v2" | "v4" | "v8" => {}
            part if HINTS.contains(&part) => {}
            part => {
                if let Some(found) = look_up(ORDERS, part) {
                    order = Some(found);
                } else if let Some(found) = look_up(SCOPES, part) {
                    scope = Some(found);
                } else {
                    kind = Some(type_of(part)?);
                }
            }
        }
    }
    let kind = kind?;
    if kind.name == "b128" && (volatile || order.is_some()) {
        return None;
    }
    let kind = kind.value;
    Some(match (order, scope) {
        (Some(order), Some(scope)) => {
            let shared = if shared { ", true" } else { "" };
            format!("{base}_ordered<{order}, {scope}, {kind}{shared}>")
        }
        (None, None) => {
            let (volatile, shared) =
                (if volatile { "_volatile" } else { "" }, if shared { "_shared" } else { "" });
            format!("{base}{volatile}{shared}<{kind}>")
        }
        _ => return None,
    })
}

/// Atomic operations, with a result or without.
pub(super) fn atomic(first: &str, parts: &[&str]) -> Option<String> {
    let (mut order, mut scope, mut operation, mut kind) =
        ("__ATOMIC_RELAXED", "__HIP_MEMORY_SCOPE_AGENT", None, None);
    let (mut shared, mut vector) = (false, false);
    for part in parts {
        match *part {
            "global" | "noftz" | "L2::cache_hint" => {}
            "shared" => shared = true,
            "v2" | "v4" | "v8" => vector = true,
            "add" | "min" | "max" | "and" | "or" | "xor" | "exch" | "cas" | "inc" | "dec" => {
                operation = Some(*part);
            }
            part => {
                if let Some(found) = look_up(ORDERS, part) {
                    order = found;
                } else if let Some(found) = look_up(SCOPES, part) {
                    scope = found;
                } else {
                    kind = Some(type_of(part)?);
                }
            }
        }
    }
    let (operation, kind) = (operation?, kind?);
    let (pair, float) = (kind.name.ends_with("x2"), kind.name.contains('f'));
    if kind.name == "b128" || (pair || vector || float) && operation != "add" || vector && shared {
        return None;
    }
    // Only `atom` has a result, which comes first; `red` has separate functions.
    let start = if first == "red" { "red" } else { "atom" };
    let end = if vector {
        "_vector"
    } else if pair {
        "_pair"
    } else if float && kind.bits == "unsigned short" {
        "_half"
    } else {
        ""
    };
    let shared = if shared { ", true" } else { "" };
    Some(format!("{start}_{operation}{end}<{order}, {scope}, {}{shared}>", kind.value))
}

/// Fences. A fence of one direction is one of both.
pub(super) fn fence(parts: &[&str]) -> Option<String> {
    match parts {
        ["proxy", "alias"] | ["proxy", "async"] | ["proxy", "async", "global" | "shared"] => {
            return Some("nothing".into());
        }
        ["mbarrier_init", "release", "cluster"] => {
            return Some("fence<__HIP_MEMORY_SCOPE_WORKGROUP>".into());
        }
        _ => {}
    }
    // Nothing here uses the asynchronous proxy, so what orders it is a plain fence.
    let parts = parts.strip_prefix(&["proxy", "async::generic"]).unwrap_or(parts);
    let (order, scope) = match parts {
        [order, scope] => (order, scope),
        [order, restrict, scope] if restrict.starts_with("sync_restrict::") => (order, scope),
        _ => return None,
    };
    if !matches!(*order, "sc" | "acq_rel" | "acquire" | "release") {
        return None;
    }
    Some(format!("fence<{}>", look_up(SCOPES, scope)?))
}

/// Barriers of a block. With a number of threads, they are the block's only by chance.
pub(super) fn barrier(parts: &[&str], operands: &[Operand]) -> Option<String> {
    let parts: Vec<&str> = parts.iter().copied().filter(|part| !matches!(*part, "cta" | "aligned")).collect();
    Some(
        match (&parts[..], operands.len()) {
            (["sync"], 0 | 1) => "bar_sync",
            (["sync"], 2) => "named_sync",
            (["arrive"], 0 | 2) => "named_arrive",
            (["red", "popc", "u32"], 0 | 3) => "bar_red_popc",
            (["red", "and", "pred"], 0 | 3) => "bar_red_and",
            (["red", "or", "pred"], 0 | 3) => "bar_red_or",
            _ => return None,
        }
        .into(),
    )
}

/// Barriers that are objects in shared memory. Only the program counts, since there are no asynchronous
/// copies.
pub(super) fn mbarrier(parts: &[&str], operands: &[Operand]) -> Option<String> {
    let (operation, rest) = parts.split_first()?;
    let shared = rest.contains(&"shared");
    let mut others = Vec::new();
    for part in rest {
        match *part {
            "shared" | "b64" | "acquire" | "release" | "relaxed" | "cta" | "cluster" => {}
            part => others.push(part),
        }
    }
    let kind = if shared { "true" } else { "false" };
    let function = match (*operation, &others[..]) {
        ("init", []) => "init",
        ("inval", []) => "inval",
        ("arrive", []) => "arrive",
        ("arrive", ["noComplete"]) => "arrive",
        ("arrive", ["expect_tx"]) => "arrive_expect",
        ("arrive_drop", []) => "arrive_drop",
        ("arrive_drop", ["noComplete"]) => "arrive_drop",
        ("expect_tx", []) => "expect",
        ("complete_tx", []) => "complete",
        ("test_wait" | "try_wait", []) => "test",
        ("test_wait" | "try_wait", ["parity"]) => "test_parity",
        ("pending_count", []) => return Some("mbarrier_pending".into()),
        _ => return None,
    };
    // A time limit for waiting is a hint.
    let _ = operands;
    Some(format!("mbarrier_{function}<{kind}>"))
}
