use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::answers::Asked;
use super::{Attempt, NotFound, Origin, Toolchain, Version, cache_root, entries, parts, probe};

/// First clang that reads the HIP headers that `ferrocm setup` installs.
const OLDEST_CLANG: u32 = 22;
/// First clang that writes code object version 5. ROCm's clang is used with ROCm's headers.
const OLDEST_ROCM_CLANG: u32 = 16;

/// Where to look for a toolchain. [`Search::from_env`] reads the environment.
#[derive(Clone, Debug)]
pub struct Search {
    /// The only clang to use.
    pub clang: Option<PathBuf>,
    /// The only folder with `include/hip` to use.
    pub hip_path: Option<PathBuf>,
    /// Where ROCm may be installed, best first.
    pub rocm: Vec<PathBuf>,
    /// Folders of programs.
    pub path: Vec<PathBuf>,
    /// Where distributions install software (`/usr`).
    pub system: Vec<PathBuf>,
    /// The prefix that `ferrocm setup` creates; its files are in `usr` below it.
    pub prefix: Option<PathBuf>,
    /// Options for every call of clang.
    pub clang_args: Vec<OsString>,
    /// The command that installs a toolchain, for messages. Without one, they name `ferrocm setup` and where
    /// to get it.
    pub setup: Option<String>,
}

/// A compiler to ask.
pub(super) struct Candidate {
    pub(super) origin: Origin,
    pub(super) clang: PathBuf,
    pub(super) library_path: Vec<PathBuf>,
    pub(super) oldest: u32,
}

/// The parts found for a compiler.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) clang: Option<probe::Clang>,
    pub(super) hip: Option<(PathBuf, Version)>,
    pub(super) device_libs: Option<PathBuf>,
    /// Options and folder.
    pub(super) cxx_headers: Option<(Vec<OsString>, PathBuf)>,
}

impl Parts {
    /// The toolchain, if no part is missing.
    fn complete(self, candidate: &Candidate, search: &Search) -> Option<Toolchain> {
        match self {
            Self {
                clang: Some(probe::Clang { version, version_text, linker: Some(linker), .. }),
                hip: Some((hip_path, hip_version)),
                device_libs: Some(device_libs),
                cxx_headers: Some((cxx_args, cxx_headers)),
            } => Some(Toolchain {
                origin: candidate.origin.clone(),
                clang: candidate.clang.clone(),
                version,
                version_text,
                linker,
                hip_path,
                hip_version,
                device_libs,
                cxx_headers,
                hipify: search.hipify(),
                library_path: candidate.library_path.clone(),
                args: search.clang_args.iter().cloned().chain(cxx_args).collect(),
            }),
            _ => None,
        }
    }
}

impl Search {
    /// The search that the environment describes: see the [module](super).
    #[must_use]
    pub fn from_env() -> Self {
        let path_of = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let mut rocm: Vec<PathBuf> =
            ["ROCM_PATH", "HIP_PATH"].into_iter().filter_map(path_of).chain(["/opt/rocm".into()]).collect();
        let named =
            |path: &PathBuf| path.file_name().is_some_and(|n| n.as_encoded_bytes().starts_with(b"rocm-"));
        // Names sort like numbers as long as major versions have one digit.
        rocm.extend(entries(Path::new("/opt")).into_iter().rev().filter(named));
        let mut seen = Vec::new();
        rocm.retain(|path| {
            let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
            let new = !seen.contains(&real);
            seen.push(real);
            new
        });
        Self {
            clang: variables::CLANG.path(),
            hip_path: variables::HIP_PATH.path(),
            rocm,
            path: std::env::var_os("PATH").map(|p| std::env::split_paths(&p).collect()).unwrap_or_default(),
            system: vec!["/usr".into(), "/usr/local".into()],
            prefix: cache_root().map(|root| root.join("toolchain/current")),
            clang_args: Vec::new(),
            // The text is only printed, so an unreadable one is ignored.
            setup: variables::SETUP.text().ok().flatten(),
        }
    }

    /// Advice for a missing toolchain.
    #[must_use]
    pub fn remedy(&self) -> String {
        let setup = match &self.setup {
            Some(command) => format!("run `{command}`"),
            None => "run `ferrocm setup` (`cargo install ferrocm` provides it)".to_owned(),
        };
        match (&self.clang, &self.hip_path) {
            (None, None) => format!(
                "{setup}, or install ROCm, or set FERROCM_CLANG to a clang {OLDEST_CLANG} or later and FERROCM_HIP_PATH to a \
                 folder with include/hip"
            ),
            // If a variable names something, nothing else is used, whatever is installed.
            (Some(_), None) => format!("correct FERROCM_CLANG, or unset it and {setup}"),
            (None, Some(_)) => format!("correct FERROCM_HIP_PATH, or unset it and {setup}"),
            (Some(_), Some(_)) => {
                format!("correct FERROCM_CLANG and FERROCM_HIP_PATH, or unset them and {setup}")
            }
        }
    }

    /// Finds the first complete toolchain.
    ///
    /// # Errors
    /// [`NotFound`] with every place that was looked at.
    pub fn find(&self) -> Result<Toolchain, NotFound> {
        let mut attempts = Vec::new();
        for candidate in self.candidates(&mut attempts) {
            // Stored answers count only if they make a complete toolchain: missing parts may have been
            // installed since.
            if let Some(kept) = self.kept(&candidate)
                && let Some(toolchain) =
                    self.parts_of(&candidate, kept, &mut Vec::new()).complete(&candidate, self)
            {
                return Ok(toolchain);
            }
            if let Some(toolchain) = self.parts(&candidate, &mut attempts).complete(&candidate, self) {
                return Ok(toolchain);
            }
        }
        Err(NotFound { what: "device toolchain", attempts, remedy: self.remedy() })
    }

    /// The existing compilers; missing ones go to `attempts`.
    pub(super) fn candidates(&self, attempts: &mut Vec<Attempt>) -> Vec<Candidate> {
        let mut found = Vec::new();
        if let Some(clang) = &self.clang {
            let library_path = self.library_path_for(clang);
            found.push(Candidate { origin: Origin::Explicit, clang: clang.clone(), library_path, oldest: 0 });
            return found;
        }
        for root in &self.rocm {
            let names = ["llvm/bin/clang", "lib/llvm/bin/clang"];
            match names.iter().map(|name| root.join(name)).find(|path| path.is_file()) {
                Some(clang) => found.push(Candidate {
                    origin: Origin::Rocm(root.clone()),
                    clang,
                    library_path: Vec::new(),
                    oldest: OLDEST_ROCM_CLANG,
                }),
                None if root.is_dir() => {
                    attempts.push(missing("clang", root, "no llvm/bin/clang in this folder"))
                }
                None => attempts.push(missing("ROCm", root, "no such folder")),
            }
        }
        let on_path = self.clangs_on_path();
        if on_path.is_empty() {
            let reason = format!("no clang or clang-N (N ≥ {OLDEST_CLANG})");
            attempts.push(Attempt { what: "clang", place: "PATH".into(), reason });
        }
        found.extend(on_path.into_iter().map(|clang| Candidate {
            origin: Origin::System,
            clang,
            library_path: Vec::new(),
            oldest: OLDEST_CLANG,
        }));
        match &self.prefix {
            None => attempts.push(Attempt {
                what: "clang",
                place: "the user's cache".into(),
                reason: "none of FERROCM_CACHE, XDG_CACHE_HOME and HOME is set".into(),
            }),
            Some(prefix) => match self.prefix_clang() {
                Some(clang) => found.push(Candidate {
                    origin: Origin::Prefix(prefix.clone()),
                    library_path: self.library_path_for(&clang),
                    clang,
                    oldest: OLDEST_CLANG,
                }),
                None => attempts.push(missing("clang", prefix, "set-up has installed no clang there")),
            },
        }
        found
    }

    /// The clangs on `PATH`, newest name first, each file once.
    fn clangs_on_path(&self) -> Vec<PathBuf> {
        let mut names: Vec<String> =
            (OLDEST_CLANG..OLDEST_CLANG + 20).rev().map(|n| format!("clang-{n}")).collect();
        names.push("clang".into());
        let mut found: Vec<(PathBuf, PathBuf)> = Vec::new();
        for name in &names {
            for dir in &self.path {
                let path = dir.join(name);
                if !path.is_file() {
                    continue;
                }
                let real = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
                if found.iter().all(|(_, other)| *other != real) {
                    found.push((path, real));
                }
            }
        }
        found.into_iter().map(|(path, _)| path).collect()
    }

    /// The folders `usr/lib/llvm-N` of the prefix, newest first.
    fn prefix_llvm(&self) -> Vec<PathBuf> {
        let Some(prefix) = &self.prefix else { return Vec::new() };
        let version = |path: &PathBuf| path.file_name()?.to_str()?.strip_prefix("llvm-")?.parse::<u32>().ok();
        let mut found: Vec<_> =
            entries(&prefix.join("usr/lib")).into_iter().filter(|path| version(path).is_some()).collect();
        found.sort_by_key(|path| std::cmp::Reverse(version(path)));
        found
    }

    fn prefix_clang(&self) -> Option<PathBuf> {
        let name =
            |llvm: &Path| llvm.file_name()?.to_str()?.strip_prefix("llvm-").map(|n| format!("bin/clang-{n}"));
        let clangs = |llvm: PathBuf| [Some(llvm.join("bin/clang")), name(&llvm).map(|name| llvm.join(name))];
        self.prefix_llvm().into_iter().flat_map(clangs).flatten().find(|clang| clang.is_file())
    }

    /// The prefix's libraries, if `clang` belongs to the prefix.
    fn library_path_for(&self, clang: &Path) -> Vec<PathBuf> {
        let Some(prefix) = self.prefix.as_ref().filter(|prefix| clang.starts_with(prefix)) else {
            return Vec::new();
        };
        let mut path = vec![prefix.join("usr/lib/x86_64-linux-gnu")];
        path.extend(self.prefix_llvm().into_iter().map(|llvm| llvm.join("lib")));
        path
    }

    /// Finds a compiler's parts; missing ones go to `attempts`.
    pub(super) fn parts(&self, candidate: &Candidate, attempts: &mut Vec<Attempt>) -> Parts {
        let Candidate { origin, clang, library_path, .. } = candidate;
        match probe::probe(clang, library_path, &self.clang_args) {
            Ok(info) => {
                if let (Origin::Prefix(prefix), Some(asked)) = (origin, self.asked(candidate)) {
                    asked.keep(prefix, &info);
                }
                self.parts_of(candidate, info, attempts)
            }
            Err(reason) => {
                attempts.push(missing("clang", clang, &reason));
                Parts::default()
            }
        }
    }

    fn asked(&self, candidate: &Candidate) -> Option<Asked> {
        Asked::new(&candidate.clang, &candidate.library_path, &self.clang_args)
    }

    /// The stored answers of the prefix's compiler.
    fn kept(&self, candidate: &Candidate) -> Option<probe::Clang> {
        match &candidate.origin {
            Origin::Prefix(prefix) => self.asked(candidate)?.kept(prefix),
            _ => None,
        }
    }

    /// The same for a compiler that has been asked.
    fn parts_of(&self, candidate: &Candidate, info: probe::Clang, attempts: &mut Vec<Attempt>) -> Parts {
        let Candidate { origin, clang, oldest, .. } = candidate;
        let mut found = Parts::default();
        if info.version.major < *oldest {
            let reason = format!("version {}, {oldest} or later is needed", info.version);
            attempts.push(missing("clang", clang, &reason));
            return found;
        }
        if info.linker.is_none() {
            attempts.push(missing("lld", clang, "this clang finds no lld beside it"));
        }
        for root in self.hip_roots(origin) {
            let suits = parts::hip_headers(&root)
                .and_then(|version| parts::headers_suit(info.version, version).map(|()| version));
            match suits {
                Ok(version) => {
                    found.hip = Some((root, version));
                    break;
                }
                Err(reason) => attempts.push(missing("HIP headers", &root, &reason)),
            }
        }
        for folder in self.device_lib_folders(origin, &info.resource_dir) {
            match parts::device_libs(&folder) {
                Ok(()) => {
                    found.device_libs = Some(folder);
                    break;
                }
                Err(reason) => attempts.push(missing("device libraries", &folder, &reason)),
            }
        }
        match parts::cxx_headers(&info.include_dirs, self.prefix.as_deref().unwrap_or(Path::new(""))) {
            Ok(headers) => found.cxx_headers = Some(headers),
            Err(reason) => attempts.push(missing("C++ headers", clang, &reason)),
        }
        found.clang = Some(info);
        found
    }

    /// Where the HIP headers for a compiler of this origin may be, best first.
    pub(super) fn hip_roots(&self, origin: &Origin) -> Vec<PathBuf> {
        if let Some(hip_path) = &self.hip_path {
            return vec![hip_path.clone()];
        }
        let prefix = self.prefix.iter().map(|prefix| prefix.join("usr"));
        match origin {
            Origin::Rocm(root) => vec![root.clone()],
            Origin::Prefix(_) => prefix.chain(self.rocm.clone()).chain(self.system.clone()).collect(),
            _ => self.rocm.clone().into_iter().chain(self.system.clone()).chain(prefix).collect(),
        }
    }

    /// Where the device libraries for a compiler of this origin may be, best first.
    pub(super) fn device_lib_folders(&self, origin: &Origin, resource_dir: &Path) -> Vec<PathBuf> {
        let mut found = vec![resource_dir.join("amdgcn/bitcode")];
        if let Origin::Rocm(root) = origin {
            found.insert(0, root.join("amdgcn/bitcode"));
            return found;
        }
        found.extend(self.rocm.iter().map(|root| root.join("amdgcn/bitcode")));
        found.extend(self.system.iter().map(|root| root.join("lib/x86_64-linux-gnu/amdgcn/bitcode")));
        for llvm in self.prefix_llvm() {
            found.extend(
                entries(&llvm.join("lib/clang")).into_iter().rev().map(|dir| dir.join("amdgcn/bitcode")),
            );
        }
        found
    }

    /// hipify-perl: in ROCm, on `PATH` or in the prefix.
    pub(super) fn hipify(&self) -> Option<PathBuf> {
        let bin = |root: &PathBuf| root.join("bin");
        let prefix = self.prefix.as_ref().map(|prefix| prefix.join("usr/bin"));
        (self.rocm.iter().map(bin).chain(self.path.iter().cloned()).chain(prefix))
            .map(|dir| dir.join("hipify-perl"))
            .find(|path| path.is_file())
    }
}

fn missing(what: &'static str, place: &Path, reason: &str) -> Attempt {
    Attempt { what, place: place.display().to_string(), reason: reason.to_owned() }
}
