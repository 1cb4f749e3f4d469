//! Compares packages with the tested ones.

use super::package::ManifestPackage;

/// A package as it was tested: name, version and SHA-256 of its file.
pub type Tested = (&'static str, &'static str, &'static str);

/// One line for each package that differs from the tested one.
pub fn differences(packages: &[ManifestPackage], tested: &[Tested]) -> Vec<String> {
    packages.iter().filter_map(|package| difference(package, tested)).collect()
}

fn difference(package: &ManifestPackage, tested: &[Tested]) -> Option<String> {
    let ManifestPackage { name, version, sha256, .. } = package;
    match tested.iter().find(|(tested, _, _)| tested == name) {
        Some((_, _, hash)) if hash == sha256 => None,
        Some((_, same, _)) if same == version => {
            Some(format!("{name} {version}: same version as tested, but another file"))
        }
        Some((_, other, _)) => Some(format!("{name} {version} (tested: {other})")),
        None => Some(format!("{name} {version} (not part of what was tested)")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_told_apart() {
        let tested = [("a", "1", "00"), ("b", "1", "00")];
        let package = |name: &str, version: &str, sha256: &str| ManifestPackage {
            name: name.to_owned(),
            version: version.to_owned(),
            suite: "s".to_owned(),
            sha256: sha256.to_owned(),
            uri: "u".to_owned(),
        };
        assert_eq!(difference(&package("a", "1", "00"), &tested), None);
        let text = |p: ManifestPackage| difference(&p, &tested).expect("differs");
        assert_eq!(text(package("b", "2", "01")), "b 2 (tested: 1)");
        assert!(text(package("b", "1", "01")).contains("another file"));
        assert!(text(package("c", "1", "00")).contains("not part"));
    }
}
