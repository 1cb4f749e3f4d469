//! Names of types, from their debug information.

use crate::ir::{self, Nodes, elements, field, kind, reference};

/// The depth limit for following types: deeper than any program, and an end for cycles.
const DEEPEST: usize = 32;

/// A parameter's type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Type {
    /// The name as in the source; `None` if it cannot be determined.
    pub(super) name: Option<String>,
    /// The pointee: whether it is `const` and `volatile`. `None` if this is not a pointer.
    pub(super) pointee: Option<Qualifiers>,
    /// `__restrict__`.
    pub(super) restrict: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Qualifiers {
    pub(super) constant: bool,
    pub(super) volatile: bool,
}

/// Prefixes of HIP's vectors by the type of their elements: `HIP_vector_type<unsigned int, 2U>` is `uint2`.
const VECTORS: &[(&str, &str)] = &[
    ("char", "char"),
    ("unsigned char", "uchar"),
    ("short", "short"),
    ("unsigned short", "ushort"),
    ("int", "int"),
    ("unsigned int", "uint"),
    ("long", "long"),
    ("unsigned long", "ulong"),
    ("long long", "longlong"),
    ("unsigned long long", "ulonglong"),
    ("float", "float"),
    ("double", "double"),
];

pub(super) struct Types<'a>(pub(super) &'a Nodes<'a>);

impl Types<'_> {
    /// The type for a reference in a function type's list; `null` is `void`.
    pub(super) fn of(&self, value: &str) -> Type {
        let mut ty = Type::default();
        let Some(mut id) = reference(value) else { return ty };
        // Qualifiers of the parameter itself do not concern callers.
        for _ in 0..DEEPEST {
            let Some(node) = self.0.get(id) else { return ty };
            let restrict = tag(node) == Some("DW_TAG_restrict_type");
            ty.restrict |= restrict;
            if !restrict
                && !matches!(tag(node), Some("DW_TAG_const_type" | "DW_TAG_volatile_type" | "DW_TAG_typedef"))
            {
                break;
            }
            // A structure's only name may be its typedef.
            let Some(base) = base(node).filter(|base| !self.nameless(*base)) else { break };
            id = base;
        }
        ty.name = self.name(id, 0);
        ty.pointee = self.pointee(id, 0);
        ty
    }

    /// The pointee. A structure that contains only a pointer is passed as one.
    fn pointee(&self, id: u32, depth: usize) -> Option<Qualifiers> {
        let node = self.0.get(id).filter(|_| depth < DEEPEST)?;
        match (kind(node)?, tag(node)?) {
            (_, "DW_TAG_pointer_type" | "DW_TAG_reference_type" | "DW_TAG_rvalue_reference_type") => {
                let mut found = Qualifiers::default();
                let mut next = base(node);
                // A typedef may stand for a qualified type.
                while let Some(node) = next.and_then(|id| self.0.get(id)) {
                    match tag(node) {
                        Some("DW_TAG_const_type") => found.constant = true,
                        Some("DW_TAG_volatile_type") => found.volatile = true,
                        Some("DW_TAG_typedef") => {}
                        _ => break,
                    }
                    next = base(node);
                }
                Some(found)
            }
            (_, "DW_TAG_typedef" | "DW_TAG_const_type" | "DW_TAG_volatile_type" | "DW_TAG_restrict_type") => {
                self.pointee(base(node)?, depth + 1)
            }
            ("DICompositeType", "DW_TAG_structure_type" | "DW_TAG_class_type") => {
                let members = elements(self.0.get(reference(field(node, "elements")?)?)?)?;
                let member = |value: &&str| {
                    let node = self.0.get(reference(value)?)?;
                    let of_all =
                        field(node, "flags").is_some_and(|flags| flags.contains("DIFlagStaticMember"));
                    (!of_all && matches!(tag(node), Some("DW_TAG_member" | "DW_TAG_inheritance")))
                        .then_some(node)
                };
                let mut members = members.iter().filter_map(member);
                match (members.next(), members.next()) {
                    (Some(only), None) => self.pointee(base(only)?, depth + 1),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn name(&self, id: u32, depth: usize) -> Option<String> {
        let node = self.0.get(id).filter(|_| depth < DEEPEST)?;
        let of_base = || match base(node) {
            Some(base) => self.name(base, depth + 1),
            // A missing type is `void`.
            None => matches!(field(node, "baseType"), None | Some("null")).then(|| "void".to_owned()),
        };
        match (kind(node)?, tag(node)) {
            // `decltype(nullptr)` has no size and no tag of a basic type.
            ("DIBasicType", None | Some("DW_TAG_base_type")) => own_name(node),
            ("DIDerivedType", Some(tag)) => match tag {
                "DW_TAG_typedef" if base(node).is_some_and(|base| self.nameless(base)) => {
                    self.qualified(node)
                }
                "DW_TAG_typedef" | "DW_TAG_restrict_type" | "DW_TAG_const_type" | "DW_TAG_volatile_type" => {
                    of_base()
                }
                "DW_TAG_pointer_type" => self.pointer_to(node, "*", depth),
                "DW_TAG_reference_type" => self.pointer_to(node, "&", depth),
                "DW_TAG_rvalue_reference_type" => self.pointer_to(node, "&&", depth),
                _ => None,
            },
            ("DICompositeType", Some(tag)) => match tag {
                "DW_TAG_array_type"
                    if field(node, "flags").is_some_and(|flags| flags.contains("DIFlagVector")) =>
                {
                    let (element, counts) = self.array(node, depth)?;
                    let [count] = counts[..] else { return None };
                    Some(format!("{element} __attribute__((ext_vector_type({count})))"))
                }
                "DW_TAG_enumeration_type"
                | "DW_TAG_structure_type"
                | "DW_TAG_class_type"
                | "DW_TAG_union_type" => self.qualified(node),
                _ => None,
            },
            _ => None,
        }
    }

    /// The name of a pointer or reference.
    fn pointer_to(&self, node: &str, sign: &str, depth: usize) -> Option<String> {
        let mut pointee = base(node);
        for _ in 0..DEEPEST {
            let Some(inner) = pointee.and_then(|id| self.0.get(id)) else { break };
            match tag(inner) {
                Some("DW_TAG_const_type" | "DW_TAG_volatile_type" | "DW_TAG_restrict_type") => {
                    pointee = base(inner);
                }
                Some("DW_TAG_typedef") if base(inner).is_some_and(|base| !self.nameless(base)) => {
                    pointee = base(inner);
                }
                Some("DW_TAG_array_type")
                    if field(inner, "flags").is_none_or(|flags| !flags.contains("DIFlagVector")) =>
                {
                    let (element, counts) = self.array(inner, depth)?;
                    let bounds: String = counts.iter().map(|count| format!("[{count}]")).collect();
                    return Some(format!("{element} ({sign}){bounds}"));
                }
                _ => break,
            }
        }
        let Some(pointee) = pointee else { return Some(format!("void{sign}")) };
        let name = self.name(pointee, depth + 1)?;
        // A pointer to a pointer to an array would need another syntax.
        (!name.ends_with(']')).then(|| format!("{name}{sign}"))
    }

    /// The type of an array's elements, and the size of each dimension.
    fn array(&self, node: &str, depth: usize) -> Option<(String, Vec<u64>)> {
        let element = self.name(base(node)?, depth + 1)?;
        let counts = elements(self.0.get(reference(field(node, "elements")?)?)?)?;
        let count = |value: &str| field(self.0.get(reference(value)?)?, "count")?.parse().ok();
        Some((element, counts.into_iter().map(count).collect::<Option<_>>()?))
    }

    /// Whether it is a structure or enumeration without a name of its own.
    fn nameless(&self, id: u32) -> bool {
        let node = self.0.get(id);
        node.is_some_and(|node| {
            kind(node) == Some("DICompositeType")
                && tag(node) != Some("DW_TAG_array_type")
                && field(node, "name").is_none()
        })
    }

    /// The name with the namespaces and classes around it.
    fn qualified(&self, node: &str) -> Option<String> {
        let mut name = own_name(node)?;
        if let Some(vector) = vector(&name) {
            return Some(vector);
        }
        let mut scope = field(node, "scope").and_then(reference);
        for _ in 0..DEEPEST {
            let Some(outer) = scope.and_then(|id| self.0.get(id)) else { break };
            match kind(outer)? {
                "DINamespace" => {
                    let namespace = own_name(outer).unwrap_or_else(|| "(anonymous namespace)".to_owned());
                    name = format!("{namespace}::{name}");
                }
                "DICompositeType" => name = format!("{}::{name}", own_name(outer)?),
                _ => break,
            }
            scope = field(outer, "scope").and_then(reference);
        }
        Some(name)
    }
}

fn vector(name: &str) -> Option<String> {
    let (element, count) = name.strip_prefix("HIP_vector_type<")?.strip_suffix('>')?.rsplit_once(", ")?;
    let (_, prefix) = VECTORS.iter().find(|(name, _)| *name == element)?;
    Some(format!("{prefix}{}", count.trim_end_matches(['U', 'u'])))
}

fn own_name(node: &str) -> Option<String> {
    ir::text(field(node, "name")?).filter(|name| !name.is_empty())
}

fn tag(node: &str) -> Option<&str> {
    field(node, "tag")
}

fn base(node: &str) -> Option<u32> {
    reference(field(node, "baseType")?)
}
