use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
#[error("no cache folder")]
pub(crate) struct CacheError;

pub(crate) enum Found {
    Complete { description: String, from_prefix: bool },
    CompilerOnly { clang: PathBuf, description: String, missing: String, cpp_headers_missing: bool },
    Nothing { reason: String },
}
pub(crate) fn find() -> Found {
    Found::Nothing { reason: "todo".into() }
}
pub(crate) fn cache_folder() -> Result<PathBuf, CacheError> {
    Ok(std::env::var_os("FERROCM_CACHE").map(PathBuf::from).unwrap_or("/tmp/xt/cache".into()))
}
