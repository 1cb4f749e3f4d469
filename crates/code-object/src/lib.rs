//! Reads AMDGPU code objects: ELF, kernel metadata, kernel descriptors and target ids.
#![warn(missing_docs)]
