//! Other names that people search for: CUDA's, according to hipify, and those defined by macros in the
//! headers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use syn::Attribute;

/// Maps our names to their other names.
#[derive(Debug, Default)]
pub(crate) struct Aliases(BTreeMap<String, BTreeSet<String>>);

impl Aliases {
    /// Reads hipify's table of substitutions (`subst("cudaMalloc", "hipMalloc", "memory");`).
    pub(crate) fn from_hipify(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        let mut aliases = Self::default();
        for (cuda, ours) in text.lines().filter_map(substitution) {
            aliases.insert(ours, cuda);
        }
        Ok(aliases)
    }

    fn insert(&mut self, name: &str, alias: &str) {
        if name != alias && is_identifier(alias) {
            self.0.entry(name.to_owned()).or_default().insert(alias.to_owned());
        }
    }

    /// Adds the macros of the headers below `include` that only rename something.
    pub(crate) fn add_macros(&mut self, include: &Path, folder: &str) -> Result<()> {
        let folder = include.join(folder);
        let entries = std::fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))?;
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "h") {
                let text =
                    std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
                for (alias, name) in text.lines().filter_map(renaming_macro) {
                    let cuda: Vec<String> = self.0.get(alias).into_iter().flatten().cloned().collect();
                    self.insert(name, alias);
                    cuda.iter().for_each(|cuda| self.insert(name, cuda));
                }
            }
        }
        Ok(())
    }

    /// The other names of `name`.
    pub(crate) fn of(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.get(name).into_iter().flatten().map(String::as_str)
    }
}

/// Attributes that let rustdoc's search find an item by these names.
pub(crate) fn attributes<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<Attribute> {
    let names: BTreeSet<&str> = names.into_iter().collect();
    names.into_iter().map(|name| syn::parse_quote!(#[doc(alias = #name)])).collect()
}

fn is_identifier(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn substitution(line: &str) -> Option<(&str, &str)> {
    let rest = line.trim().strip_prefix("subst(\"")?;
    let (cuda, rest) = rest.split_once("\", \"")?;
    let (ours, _) = rest.split_once('"')?;
    Some((cuda, ours))
}

/// `a` and `b` of `#define a b`, if both look like names of the library.
fn renaming_macro(line: &str) -> Option<(&str, &str)> {
    let mut words = line.strip_prefix("#define ")?.split_whitespace();
    let (alias, name) = (words.next()?, words.next()?);
    let ours = |word: &str| {
        is_identifier(word) && ["hip", "hsa", "rocblas", "nccl"].iter().any(|start| word.starts_with(start))
    };
    (words.next().is_none() && ours(alias) && ours(name)).then_some((alias, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn substitutions_and_macros_are_read() {
        assert_eq!(
            substitution("    subst(\"cudaMalloc\", \"hipMalloc\", \"memory\");"),
            Some(("cudaMalloc", "hipMalloc"))
        );
        assert_eq!(substitution("sub subst {"), None);
        assert_eq!(
            renaming_macro("#define hipGetDeviceProperties hipGetDevicePropertiesR0600"),
            Some(("hipGetDeviceProperties", "hipGetDevicePropertiesR0600"))
        );
        assert_eq!(renaming_macro("#define hipStreamDefault 0x00"), None);
        assert_eq!(renaming_macro("#define hipFoo(a) hipBar"), None);
    }
}
