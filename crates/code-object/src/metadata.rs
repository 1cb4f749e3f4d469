//! The MessagePack document of an `NT_AMDGPU_METADATA` note, key by key. Unknown keys are ignored: newer
//! compilers add some without a new version.

use serde::Deserialize;

use crate::{Access, Arg, ArgKind, Error};

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Metadata {
    #[serde(rename = "amdhsa.target", default)]
    pub(crate) target: Option<String>,
    #[serde(rename = "amdhsa.kernels", default)]
    pub(crate) kernels: Vec<KernelMetadata>,
    #[serde(rename = "amdhsa.printf", default)]
    pub(crate) printf: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct KernelMetadata {
    #[serde(rename = ".name", default)]
    pub(crate) name: Option<String>,
    #[serde(rename = ".symbol", default)]
    pub(crate) symbol: Option<String>,
    #[serde(rename = ".args", default)]
    pub(crate) args: Vec<ArgMetadata>,
    #[serde(rename = ".kernarg_segment_size", default)]
    pub(crate) kernarg_segment_size: Option<u32>,
    #[serde(rename = ".kernarg_segment_align", default)]
    pub(crate) kernarg_segment_align: Option<u32>,
    #[serde(rename = ".group_segment_fixed_size", default)]
    pub(crate) group_segment_fixed_size: Option<u32>,
    #[serde(rename = ".private_segment_fixed_size", default)]
    pub(crate) private_segment_fixed_size: Option<u32>,
    #[serde(rename = ".wavefront_size", default)]
    pub(crate) wavefront_size: Option<u32>,
    #[serde(rename = ".max_flat_workgroup_size", default)]
    pub(crate) max_flat_workgroup_size: Option<u32>,
    #[serde(rename = ".reqd_workgroup_size", default)]
    pub(crate) reqd_workgroup_size: Option<[u32; 3]>,
    #[serde(rename = ".sgpr_count", default)]
    pub(crate) sgpr_count: u32,
    #[serde(rename = ".vgpr_count", default)]
    pub(crate) vgpr_count: u32,
    #[serde(rename = ".agpr_count", default)]
    pub(crate) agpr_count: u32,
    #[serde(rename = ".sgpr_spill_count", default)]
    pub(crate) sgpr_spill_count: u32,
    #[serde(rename = ".vgpr_spill_count", default)]
    pub(crate) vgpr_spill_count: u32,
    #[serde(rename = ".uses_dynamic_stack", default)]
    pub(crate) uses_dynamic_stack: Flag,
    #[serde(rename = ".uniform_work_group_size", default)]
    pub(crate) uniform_work_group_size: Flag,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ArgMetadata {
    #[serde(rename = ".name", default)]
    name: Option<String>,
    #[serde(rename = ".type_name", default)]
    type_name: Option<String>,
    #[serde(rename = ".offset", default)]
    offset: Option<u32>,
    #[serde(rename = ".size", default)]
    size: Option<u32>,
    #[serde(rename = ".value_kind", default)]
    value_kind: Option<String>,
    #[serde(rename = ".address_space", default)]
    address_space: Option<String>,
    #[serde(rename = ".access", default)]
    access: Option<String>,
    /// Narrower than `access`: the compiler inferred it, the source did not declare it.
    #[serde(rename = ".actual_access", default)]
    actual_access: Option<String>,
    #[serde(rename = ".is_const", default)]
    is_const: Flag,
}

/// A boolean that some compilers write as 0 or 1.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Flag {
    Bool(bool),
    Number(u64),
}

impl Default for Flag {
    fn default() -> Self {
        Self::Bool(false)
    }
}

impl From<Flag> for bool {
    fn from(flag: Flag) -> Self {
        match flag {
            Flag::Bool(value) => value,
            Flag::Number(value) => value != 0,
        }
    }
}

impl Metadata {
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Error> {
        rmp_serde::from_slice(bytes).map_err(Error::Metadata)
    }

    /// Adds the content of another note of the same file.
    pub(crate) fn append(&mut self, next: Self) -> Result<(), Error> {
        let Self { target, kernels, printf } = next;
        match (&self.target, target) {
            (Some(first), Some(other)) if *first != other => {
                return Err(Error::MetadataTargets { first: first.clone(), other });
            }
            (None, Some(target)) => self.target = Some(target),
            _ => {}
        }
        self.kernels.extend(kernels);
        self.printf.extend(printf);
        Ok(())
    }
}

impl ArgMetadata {
    /// The argument must lie in a segment of `kernarg_size` bytes.
    pub(crate) fn check(self, kernel: &str, position: usize, kernarg_size: u32) -> Result<Arg, Error> {
        let missing = |field| Error::MissingField { kernel: format!("{kernel}, argument {position}"), field };
        let offset = self.offset.ok_or_else(|| missing(".offset"))?;
        let size = self.size.ok_or_else(|| missing(".size"))?;
        let kind = ArgKind::from_metadata(&self.value_kind.ok_or_else(|| missing(".value_kind"))?);
        if offset.checked_add(size).is_none_or(|end| end > kernarg_size) {
            return Err(Error::BadField {
                kernel: kernel.to_owned(),
                field: format!(".args[{position}]"),
                value: format!("{size} bytes at offset {offset}"),
                reason: format!("the argument segment has {kernarg_size} bytes"),
            });
        }
        Ok(Arg {
            name: self.name,
            type_name: self.type_name,
            offset,
            size,
            kind,
            address_space: self.address_space,
            access: [self.actual_access, self.access]
                .into_iter()
                .flatten()
                .find_map(|access| Access::from_metadata(&access)),
            is_const: self.is_const.into(),
        })
    }
}
