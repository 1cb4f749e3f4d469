//! The bill of materials of everything linked into the packages, in CycloneDX format.

use anyhow::{Context, Result, bail};
use cyclonedx_bom::external_models::date_time::DateTime;
use cyclonedx_bom::external_models::normalized_string::NormalizedString;
use cyclonedx_bom::external_models::spdx::SpdxExpression;
use cyclonedx_bom::external_models::uri::{Purl, Uri};
use cyclonedx_bom::models::bom::{Bom, SpecVersion, UrnUuid};
use cyclonedx_bom::models::component::{Classification, Component, Components};
use cyclonedx_bom::models::dependency::{Dependencies, Dependency};
use cyclonedx_bom::models::external_reference::{
    ExternalReference, ExternalReferenceType, ExternalReferences,
};
use cyclonedx_bom::models::license::{License, LicenseChoice, Licenses};
use cyclonedx_bom::models::metadata::Metadata as BomMetadata;
use cyclonedx_bom::prelude::Validate;
use sha2::{Digest, Sha256};

use crate::about::Subject;
use crate::metadata::{Metadata, Package};

/// The version of the format.
const VERSION: SpecVersion = SpecVersion::V1_5;

/// The name of the bill's file.
pub(crate) fn file_name(subject: &str) -> String {
    format!("{subject}.cdx.json")
}

/// The bill for everything linked into some packages, as JSON. Equal workspaces with the same time give equal
/// texts.
pub(crate) fn sbom(metadata: &Metadata, roots: &[&Package], subject: &Subject) -> Result<Vec<u8>> {
    let linked = metadata.linked(roots)?;
    let root_reference = format!("{}-release", subject.name);
    let kind = Classification::Application;
    let mut root = Component::new(kind, &subject.name, &subject.version, Some(root_reference.clone()));
    root.description = subject.description.as_deref().map(NormalizedString::new);
    root.licenses = subject.license.as_deref().map(license);
    let root_needs = linked.iter().filter(|(package, _)| roots.iter().any(|root| root.id == package.id));
    let mut dependencies = vec![Dependency {
        dependency_ref: root_reference,
        dependencies: root_needs.map(|(package, _)| reference(package)).collect(),
    }];
    let mut components = Vec::new();
    for (package, used) in &linked {
        components.push(component(package).with_context(|| format!("{} {}", package.name, package.version))?);
        let dependencies_of = used.iter().map(|used| reference(used)).collect();
        dependencies.push(Dependency { dependency_ref: reference(package), dependencies: dependencies_of });
    }
    let mut bom = Bom {
        version: 1,
        serial_number: None,
        metadata: Some(BomMetadata {
            timestamp: Some(DateTime::try_from(subject.rfc3339()?).context("the time of the bill")?),
            component: Some(root),
            ..BomMetadata::default()
        }),
        components: Some(Components(components)),
        dependencies: Some(Dependencies(dependencies)),
        spec_version: VERSION,
        ..Bom::default()
    };
    // A serial number derived from the content.
    let hash = Sha256::digest(text(&bom)?);
    bom.serial_number = Some(
        UrnUuid::new(uuid(&hash)).map_err(|error| anyhow::anyhow!("the number of the bill: {error:?}"))?,
    );
    let result = bom.validate_version(VERSION);
    if !result.passed() {
        bail!("the bill of materials is not valid CycloneDX: {result:?}");
    }
    text(&bom)
}

fn text(bom: &Bom) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    bom.clone().output_as_json_v1_5(&mut text).context("the bill of materials")?;
    text.push(b'\n');
    Ok(text)
}

/// A UUID of version 8, which may be derived from anything.
fn uuid(hash: &[u8]) -> String {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash[..16]);
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("urn:uuid:{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

fn component(package: &Package) -> Result<Component> {
    let kind = Classification::Library;
    let mut component = Component::new(kind, &package.name, &package.version, Some(reference(package)));
    component.purl = Some(Purl::new("cargo", &package.name, &package.version).context("its address")?);
    component.description = package.description.as_deref().map(NormalizedString::new);
    component.licenses = package.license.as_deref().map(license);
    let reference = package
        .repository
        .as_deref()
        .map(|at| ExternalReferences(vec![ExternalReference::new(ExternalReferenceType::Vcs, Uri::new(at))]));
    component.external_references = reference;
    Ok(component)
}

/// The reference of a package in entries. Cargo's own id may contain a path of this machine.
fn reference(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version)
}

/// An SPDX expression, or another licence name.
fn license(text: &str) -> Licenses {
    Licenses(vec![match SpdxExpression::parse_lax(text.to_owned()) {
        Ok(expression) => LicenseChoice::Expression(expression),
        Err(_) => LicenseChoice::License(License::named_license(text)),
    }])
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use test_skip::{Lack, skip};

    use super::*;
    use crate::about::{example, workspace};

    /// Checks against the schema in CycloneDX's own Python library.
    const JUDGE: &str = "\
import sys
try:
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator
    import jsonschema
except ImportError as error:
    print(error)
    sys.exit(77)
found = JsonStrictValidator(SchemaVersion.V1_5).validate_str(open(sys.argv[1]).read())
print(found)
sys.exit(found is not None)
";

    #[test]
    fn the_bill_is_as_the_schema_says_and_names_no_folder() {
        let metadata = Metadata::of(workspace()).expect("metadata");
        let bill = || sbom(&metadata, &metadata.released().expect("packages"), &example().subject());
        let (bill, again) = (bill().expect("bill"), bill().expect("again"));
        assert_eq!(bill, again);
        let text = String::from_utf8(bill).expect("UTF-8");
        assert!(!text.contains(&*workspace().to_string_lossy()), "a folder of this machine");
        let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let components = json["components"].as_array().expect("components");
        let executor =
            components.iter().find(|one| one["name"] == "ferrocm-vgpu-exec").expect("the executor");
        let version = executor["version"].as_str().expect("a version");
        assert_eq!(executor["purl"], format!("pkg:cargo/ferrocm-vgpu-exec@{version}"));
        assert!(components.len() > 40, "{}", components.len());
        judge(&json);
    }

    #[test]
    fn a_component_s_bill_has_what_its_crates_are_linked_with_and_nothing_for_tests() {
        let folder = tempfile::tempdir().expect("folder");
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            std::fs::write(path, text).expect("write");
        };
        let package = |name: &str, license: &str, more: &str| {
            write(&format!("{name}/src/lib.rs"), "");
            let text = format!(
                "[package]\nname = \"{name}\"\nversion = \"0.2.0\"\nedition = \"2024\"\nlicense = \"{license}\"\n{more}"
            );
            write(&format!("{name}/Cargo.toml"), &text);
        };
        write(
            "Cargo.toml",
            "[workspace]\nmembers = [\"a\", \"b\"]\nexclude = [\"c\", \"d\"]\nresolver = \"3\"\n",
        );
        package(
            "a",
            "MIT",
            "[dependencies]\nc = { path = \"../c\" }\n[dev-dependencies]\nd = { path = \"../d\" }\n",
        );
        package("b", "Our own", "");
        package("c", "MIT/Apache-2.0", "");
        package("d", "MIT", "");
        let locked = crate::about::cargo()
            .args(["generate-lockfile", "--offline"])
            .current_dir(folder.path())
            .output();
        let locked = locked.expect("cargo");
        assert!(locked.status.success(), "{}", String::from_utf8_lossy(&locked.stderr));
        let metadata = Metadata::of_component(folder.path()).expect("metadata");
        let subject =
            Subject { name: "both".into(), description: None, license: None, ..example().subject() };
        let bill = sbom(&metadata, &metadata.members(), &subject).expect("bill");
        let json: serde_json::Value = serde_json::from_slice(&bill).expect("JSON");
        let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
        let components = json["components"].as_array().expect("components");
        let found: Vec<_> = components.iter().filter_map(|one| text(&one["name"])).collect();
        assert_eq!(found, ["a", "b", "c"]);
        assert_eq!(components[1]["licenses"][0]["license"]["name"], "Our own");
        assert_eq!(json["metadata"]["component"]["name"], "both");
        assert_eq!(
            json["dependencies"][0]["dependsOn"],
            serde_json::json!(["pkg:cargo/a@0.2.0", "pkg:cargo/b@0.2.0"])
        );
        judge(&json);
    }

    /// Every reference of a bill resolves, none appears twice, and the bill matches the schema.
    fn judge(json: &serde_json::Value) {
        let components = json["components"].as_array().expect("components");
        let names: Vec<&str> =
            components.iter().map(|one| one["bom-ref"].as_str().expect("a name")).collect();
        let mut unique = names.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), names.len());
        for dependency in json["dependencies"].as_array().expect("dependencies") {
            for to in dependency["dependsOn"].as_array().into_iter().flatten() {
                assert!(names.contains(&to.as_str().expect("a name")), "{to}");
            }
        }
        let folder = tempfile::tempdir().expect("folder");
        let file = folder.path().join("bill.json");
        std::fs::write(&file, json.to_string()).expect("write");
        match Command::new("python3").args(["-c", JUDGE]).arg(&file).output() {
            Ok(done) => {
                let said = String::from_utf8_lossy(&done.stdout);
                println!("{said}");
                // The script's exit code if the library cannot be imported.
                if done.status.code() == Some(77) {
                    return skip(Lack::Judge, said);
                }
                assert!(done.status.success(), "{said}{}", String::from_utf8_lossy(&done.stderr));
            }
            Err(_) => skip(Lack::Judge, "no Python on this machine"),
        }
    }
}
