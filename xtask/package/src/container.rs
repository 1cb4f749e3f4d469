//! A container image in the OCI layout, and a recipe for building one.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use setup::debian::apt::{self, PrivateApt};
use setup::debian::{self, package};

use crate::about::{About, DESCRIPTION, LICENSE, NAME, SYNOPSIS};
use crate::archive::{gzip, tar};
use crate::deb;
use crate::sign::sha256;
use crate::tree::{Entry, Tree};

/// The Debian 12 packages of the image's first layer: the dependencies of C and C++ programs, without a
/// shell.
const BASE: [&str; 6] = ["base-files", "gcc-12-base", "libc6", "libgcc-s1", "libstdc++6", "netbase"];
/// Their left-out files.
const LEFT_OUT: [&str; 3] = ["./usr/share/man/*", "./usr/share/locale/*", "./usr/share/lintian/*"];

const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// The recipe for building the image yourself, on a complete Debian, so that `ferrocm setup` works there.
pub(crate) fn containerfile(about: &About) -> String {
    let file = deb::file_name(about);
    let mut text = format!(
        "# Build it in the folder of {file}: docker build -t {NAME} -f Containerfile .\nFROM docker.io/library/debian:12-slim\n"
    );
    for (key, value) in labels(about) {
        let _ = writeln!(text, "LABEL {key}=\"{value}\"");
    }
    // hadolint requires versions of packages, but a package file already is one version.
    let _ = write!(
        text,
        "RUN --mount=type=bind,source={file},target=/tmp/{file} \\\n    apt-get update \\\n    && apt-get install --yes --no-install-recommends \
         /tmp/{file} \\\n    && rm -rf /var/lib/apt/lists/*\nWORKDIR /work\nENTRYPOINT [\"/usr/bin/{NAME}\"]\nCMD [\"devices\"]\n"
    );
    text
}

fn labels(about: &About) -> [(&'static str, String); 5] {
    [
        ("org.opencontainers.image.title", NAME.to_owned()),
        ("org.opencontainers.image.description", SYNOPSIS.to_owned()),
        ("org.opencontainers.image.version", about.version.clone()),
        ("org.opencontainers.image.source", about.homepage.clone()),
        ("org.opencontainers.image.licenses", LICENSE.to_owned()),
    ]
}

/// The first layer: a few packages of Debian 12, from this machine's mirror, verified with its key.
pub(crate) fn base() -> Result<Tree> {
    let mirrors = debian::mirrors()?;
    let state = apt::temporary_folder()?;
    let main: Vec<&str> = mirrors.main.suites.iter().map(String::as_str).collect();
    let security: Vec<&str> = mirrors.security.suites.iter().map(String::as_str).collect();
    let sources = apt::stanza(&mirrors.main, &main, mirrors.main.check_valid_until)
        + &apt::stanza(&mirrors.security, &security, mirrors.security.check_valid_until);
    let apt = PrivateApt::create(state.path().join("apt"), &sources)?;
    apt.update()?;
    let candidates = apt.candidates(&BASE)?;
    let mut chosen = Vec::new();
    for name in BASE {
        // The first one is apt's preference.
        let candidate = candidates.iter().find(|one| one.name == name);
        chosen.push(candidate.with_context(|| format!("the mirror has no package {name}"))?.clone());
    }
    let files = apt.files(&chosen)?;
    apt.download(&files, &|_| ())?;
    let folder = tempfile::tempdir().context("a temporary folder")?;
    for file in &files {
        package::unpack_without(file, &apt.downloads(), folder.path(), &LEFT_OUT)?;
    }
    let mut tree = Tree::default();
    let entries = std::fs::read_dir(folder.path()).context("the unpacked packages")?;
    for entry in entries {
        let entry = entry.context("the unpacked packages")?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = entry.path();
        match std::fs::read_link(&path) {
            Ok(to) => tree.add(name, Entry::Link(to.to_string_lossy().into_owned()))?,
            Err(_) => tree.add_folder(&name, &path)?,
        }
    }
    Ok(tree)
}

/// The image with these layers, the lowest first, as the files of an OCI layout.
pub(crate) fn image(layers: &[Tree], about: &About) -> Result<Tree> {
    let mut layout = Tree::default();
    layout.add("oci-layout", Entry::data(json(&json!({ "imageLayoutVersion": "1.0.0" }))?))?;
    let mut blob = |media: &str, bytes: Vec<u8>| -> Result<Value> {
        let digest = sha256(&bytes);
        let descriptor =
            json!({ "mediaType": media, "digest": format!("sha256:{digest}"), "size": bytes.len() });
        layout.add(format!("blobs/sha256/{digest}"), Entry::data(bytes))?;
        Ok(descriptor)
    };
    let (mut descriptors, mut ids) = (Vec::new(), Vec::new());
    for layer in layers {
        let archive = tar(layer, "", about.seconds)?;
        ids.push(format!("sha256:{}", sha256(&archive)));
        descriptors.push(blob(LAYER, gzip(&archive, 0)?)?);
    }
    let created = about.subject().rfc3339()?;
    let labels: serde_json::Map<String, Value> =
        labels(about).into_iter().map(|(key, value)| (key.to_owned(), Value::String(value))).collect();
    let history: Vec<Value> =
        layers.iter().map(|_| json!({ "created": created, "created_by": format!("{NAME} xtask") })).collect();
    let config = json!({
        "created": created,
        "architecture": "amd64",
        "os": "linux",
        "config": {
            "Entrypoint": [format!("/usr/bin/{NAME}")],
            "Cmd": ["devices"],
            "WorkingDir": "/work",
            "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
            "Labels": labels,
        },
        "rootfs": { "type": "layers", "diff_ids": ids },
        "history": history,
    });
    let config = blob(CONFIG, json(&config)?)?;
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": config,
        "layers": descriptors,
        "annotations": { "org.opencontainers.image.description": DESCRIPTION[0] },
    });
    let mut manifest = blob(MANIFEST, json(&manifest)?)?;
    manifest["platform"] = json!({ "architecture": "amd64", "os": "linux" });
    manifest["annotations"] = json!({ "org.opencontainers.image.ref.name": about.version });
    let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": [manifest] });
    layout.add("index.json", Entry::data(json(&index)?))?;
    Ok(layout)
}

fn json(value: &Value) -> Result<Vec<u8>> {
    serde_json::to_vec(value).context("JSON in memory")
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use test_skip::{Lack, skip};

    use super::*;
    use crate::about::example;

    #[test]
    fn an_image_leads_from_its_index_to_its_files() {
        let mut layer = Tree::default();
        layer.add("usr/bin/ferrocm", Entry::program("program")).expect("added");
        let image = image(&[Tree::default(), layer], &example()).expect("image");
        let read = |path: &str| image.get(path).expect(path).bytes().to_vec();
        let blob = |descriptor: &Value| {
            let digest =
                descriptor["digest"].as_str().expect("a digest").strip_prefix("sha256:").expect("sha256");
            let bytes = read(&format!("blobs/sha256/{digest}"));
            assert_eq!(descriptor["size"], bytes.len());
            assert_eq!(sha256(&bytes), digest);
            bytes
        };
        let index: Value = serde_json::from_slice(&read("index.json")).expect("JSON");
        let manifest: Value = serde_json::from_slice(&blob(&index["manifests"][0])).expect("JSON");
        let config: Value = serde_json::from_slice(&blob(&manifest["config"])).expect("JSON");
        assert_eq!(config["config"]["Entrypoint"][0], "/usr/bin/ferrocm");
        assert_eq!(config["rootfs"]["diff_ids"].as_array().expect("layers").len(), 2);
        blob(&manifest["layers"][1]);

        // Checked by a foreign tool, if available.
        let folder = tempfile::tempdir().expect("folder");
        for (path, entry) in image.iter() {
            let file = folder.path().join("image").join(path);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("folder");
            std::fs::write(file, entry.bytes()).expect("write");
        }
        let unpack = Command::new("umoci")
            .args(["unpack", "--rootless", "--image", "image:1.2.3", "bundle"])
            .current_dir(folder.path())
            .output();
        match unpack {
            Ok(done) => {
                assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
                let program = folder.path().join("bundle/rootfs/usr/bin/ferrocm");
                assert_eq!(std::fs::read_to_string(program).expect("the program"), "program");
            }
            Err(_) => skip(Lack::Judge, "no umoci on this machine"),
        }
    }

    #[test]
    fn the_recipe_installs_the_package_of_its_release() {
        let text = containerfile(&example());
        assert!(
            text.contains("/tmp/ferrocm_1.2.3-1_amd64.deb")
                && text.contains("\nENTRYPOINT [\"/usr/bin/ferrocm\"]\n")
        );
        let folder = tempfile::tempdir().expect("folder");
        let file = folder.path().join("Containerfile");
        std::fs::write(&file, text).expect("write");
        match Command::new("hadolint").arg(&file).output() {
            Ok(done) => assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout)),
            Err(_) => skip(Lack::Judge, "no hadolint on this machine"),
        }
    }
}
