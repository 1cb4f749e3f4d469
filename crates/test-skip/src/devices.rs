//! Device tests that do not run on every device. `xtask` has the table of them; archives of tests carry it.

/// Where a test does not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Where {
    /// On NVIDIA's GPUs.
    Nvidia,
    /// On GPUs that are not virtual.
    Hardware,
    /// In programs that contain no virtual GPU.
    WithoutVirtual,
}

impl Where {
    /// All of them.
    pub const ALL: [Where; 3] = [Where::Nvidia, Where::Hardware, Where::WithoutVirtual];

    /// Its name in archives.
    pub fn name(self) -> &'static str {
        match self {
            Where::Nvidia => "nvidia",
            Where::Hardware => "hardware",
            Where::WithoutVirtual => "without virtual",
        }
    }

    /// The place of this name.
    pub fn of_name(name: &str) -> Option<Where> {
        Where::ALL.into_iter().find(|place| place.name() == name)
    }
}

/// Tests that do not run somewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exception<'a> {
    /// The package.
    pub package: &'a str,
    /// The test's name; or the beginning of the names of several, up to and including `::`.
    pub test: &'a str,
    /// Where they do not run.
    pub at: Where,
    /// Why.
    pub reason: &'a str,
}

impl Exception<'_> {
    /// Whether the row holds on a device, by its URI, in programs with or without a virtual GPU.
    pub fn holds(&self, device: &str, has_virtual: bool) -> bool {
        match self.at {
            Where::Nvidia => device.starts_with("cuda"),
            Where::Hardware => !device.starts_with("vgpu"),
            Where::WithoutVirtual => !has_virtual,
        }
    }

    /// Whether the row is about a test.
    pub fn is_about(&self, package: &str, test: &str) -> bool {
        let fits = if self.test.ends_with("::") { test.starts_with(self.test) } else { test == self.test };
        self.package == package && fits
    }

    /// cargo-nextest's expression for the row's tests.
    pub fn filter(&self) -> String {
        let Self { package, test, .. } = self;
        match test.strip_suffix("::") {
            Some(module) => format!("(package(={package}) & binary(/^device/) & test(/^{module}::/))"),
            None => format!("(package(={package}) & binary(/^device/) & test(={test}))"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_about_a_test_or_a_module() {
        let row = |test| Exception { package: "p", test, at: Where::Nvidia, reason: "" };
        assert!(row("a::").is_about("p", "a::b") && !row("a::").is_about("p", "ab::c"));
        assert!(row("a::b").is_about("p", "a::b") && !row("a::b").is_about("p", "a::b_c"));
        assert!(!row("a::").is_about("q", "a::b"));
        assert_eq!(row("a::").filter(), "(package(=p) & binary(/^device/) & test(/^a::/))");
        assert_eq!(row("a::b").filter(), "(package(=p) & binary(/^device/) & test(=a::b))");
    }

    #[test]
    fn a_row_holds_where_it_says() {
        let row = |at| Exception { package: "p", test: "a", at, reason: "" };
        let holds = |at| {
            ["cuda:0", "amdgpu:0", "vgpu:gfx1100"].map(|device| [true, false].map(|has| row(at).holds(device, has)))
        };
        assert_eq!(holds(Where::Nvidia), [[true; 2], [false; 2], [false; 2]]);
        assert_eq!(holds(Where::Hardware), [[true; 2], [true; 2], [false; 2]]);
        assert_eq!(holds(Where::WithoutVirtual), [[false, true]; 3]);
        for place in Where::ALL {
            assert_eq!(Where::of_name(place.name()), Some(place));
        }
        assert_eq!(Where::of_name("none"), None);
    }
}
