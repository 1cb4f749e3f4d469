//! Checksums and signatures. The key comes from outside; none is ever made here.

use std::fmt::Write as _;
use std::fs;
use std::io::Cursor;
use std::path::Path;

use anyhow::{Context, Result, bail};
use minisign::{PublicKey, SecretKey, SecretKeyBox};
use setup::debian::package::{hex, sha256_of};

use crate::about::Subject;

/// The file with the checksums, for `sha256sum --check`.
pub(crate) const SUMS: &str = "SHA256SUMS";
/// A secret key's text, if no file is named.
const KEY: &str = "FERROCM_SIGNING_KEY";
/// The password of an encrypted key.
const PASSWORD: &str = "FERROCM_SIGNING_PASSWORD";
/// The extension of signatures.
const EXTENSION: &str = "minisig";

/// A key pair.
pub(crate) struct Key {
    secret: SecretKey,
    public: PublicKey,
}

impl Key {
    /// The key in a file, else in the environment; `None` if there is neither.
    ///
    /// # Errors
    /// The file cannot be read, the key is invalid, or the password is missing or wrong.
    pub(crate) fn find(file: Option<&Path>) -> Result<Option<Self>> {
        let text = match file {
            Some(file) => {
                fs::read_to_string(file).with_context(|| format!("cannot read the key {}", file.display()))?
            }
            None => match std::env::var(KEY) {
                Ok(text) if !text.trim().is_empty() => text,
                // The error must not contain the value, which is a secret.
                Err(std::env::VarError::NotUnicode(_)) => anyhow::bail!("{KEY} is not UTF-8"),
                _ => return Ok(None),
            },
        };
        let password = match std::env::var(PASSWORD) {
            Err(std::env::VarError::NotUnicode(_)) => anyhow::bail!("{PASSWORD} is not UTF-8"),
            password => password.ok().filter(|password| !password.is_empty()),
        };
        Self::parse(&text, password).map(Some)
    }

    fn parse(text: &str, password: Option<String>) -> Result<Self> {
        let key = || {
            SecretKeyBox::from_string(text)
                .map_err(|error| anyhow::anyhow!("this is not a minisign secret key: {error}"))
        };
        let secret = match password {
            Some(password) => key()?.into_secret_key(Some(password)),
            // A password prompt would wait for a user.
            None => key()?.into_unencrypted_secret_key(),
        };
        let secret = secret.map_err(|error| {
            anyhow::anyhow!(
                "the secret key cannot be used: {error} (an encrypted one needs its password in {PASSWORD})"
            )
        })?;
        let public = PublicKey::from_secret_key(&secret)
            .map_err(|error| anyhow::anyhow!("the secret key has no public one: {error}"))?;
        Ok(Self { secret, public })
    }

    /// The public key's text, for verification.
    pub(crate) fn public(&self) -> String {
        self.public.to_base64()
    }

    /// Signs bytes along with the comment. Signatures have random parts: two signatures of the same bytes
    /// differ.
    fn sign(&self, bytes: &[u8], name: &str, of: &Subject) -> Result<String> {
        let comment = format!("{} {} {name} timestamp:{}", of.name, of.version, of.seconds);
        let untrusted = format!("signature of {}", of.name);
        let signature = minisign::sign(
            Some(&self.public),
            &self.secret,
            Cursor::new(bytes),
            Some(&comment),
            Some(&untrusted),
        );
        let signature = signature.map_err(|error| anyhow::anyhow!("{name} cannot be signed: {error}"))?;
        Ok(signature.into_string())
    }
}

/// Writes the checksums of all files in a folder and below, and signs that list and every file directly in
/// the folder.
pub(crate) fn seal(folder: &Path, key: Option<&Key>, of: &Subject) -> Result<()> {
    let mut paths = Vec::new();
    files(folder, String::new(), &mut paths)?;
    let is_own = |path: &String| *path == SUMS || path.ends_with(&format!(".{EXTENSION}"));
    for path in paths.iter().filter(|path| is_own(path)) {
        // Remove earlier files.
        let path = folder.join(path);
        fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
    }
    paths.retain(|path| !is_own(path));
    if paths.is_empty() {
        bail!("there is nothing in {}", folder.display());
    }
    paths.sort();
    let mut sums = String::new();
    for path in &paths {
        let file = folder.join(path);
        let hash = sha256_of(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let _ = writeln!(sums, "{hash}  {path}");
    }
    write(&folder.join(SUMS), &sums)?;
    let Some(key) = key else {
        println!("not signed: no key was given, by --key or {KEY}");
        return Ok(());
    };
    let signed = paths.iter().map(String::as_str).filter(|path| !path.contains('/')).chain([SUMS]);
    for path in signed {
        let file = folder.join(path);
        let bytes = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        write(&folder.join(format!("{path}.{EXTENSION}")), &key.sign(&bytes, path, of)?)?;
    }
    println!("signed; `minisign -V -P {} -m FILE` verifies", key.public());
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn files(folder: &Path, at: String, found: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry.with_context(|| format!("cannot read {}", folder.display()))?;
        let name = entry.file_name();
        let name =
            name.to_str().with_context(|| format!("{} is not named in UTF-8", entry.path().display()))?;
        match entry.path().is_dir() {
            true => files(&entry.path(), format!("{at}{name}/"), found)?,
            false => found.push(format!("{at}{name}")),
        }
    }
    Ok(())
}

/// SHA-256 of bytes, in hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest;
    hex(&sha2::Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use minisign::KeyPair;
    use test_skip::{Lack, skip};

    use super::*;
    use crate::about::example;

    #[test]
    fn what_is_sealed_is_verified_by_other_peoples_tools() {
        let pair = KeyPair::generate_unencrypted_keypair().expect("a key of this test alone");
        let text = pair.sk.to_box(None).expect("a key's text").into_string();
        let key = Key::parse(&text, None).expect("the key");
        let folder = tempfile::tempdir().expect("folder");
        std::fs::create_dir(folder.path().join("sub")).expect("folder");
        std::fs::write(folder.path().join("a.txt"), "a").expect("write");
        std::fs::write(folder.path().join("sub/b.txt"), "b").expect("write");
        seal(folder.path(), Some(&key), &example().subject()).expect("sealed");
        // Earlier signatures are replaced and not listed.
        seal(folder.path(), Some(&key), &example().subject()).expect("sealed again");
        let sums = std::fs::read_to_string(folder.path().join(SUMS)).expect("checksums");
        assert_eq!(sums.lines().count(), 2, "{sums}");
        let check = || {
            let mut command = Command::new("sha256sum");
            command.args(["--check", "--strict", "--quiet", SUMS]).current_dir(folder.path());
            command.output().expect("sha256sum").status.success()
        };
        assert!(check());
        let verify = |name: &str| {
            let mut command = Command::new("minisign");
            command.args(["-V", "-q", "-P", &key.public(), "-m", name]).current_dir(folder.path());
            command.output().ok().map(|done| done.status.success())
        };
        match verify("a.txt") {
            Some(verified) => assert!(verified && verify(SUMS) == Some(true)),
            None => skip(Lack::Judge, "no minisign on this machine"),
        }
        std::fs::write(folder.path().join("a.txt"), "A").expect("write");
        assert!(!check());
        assert_ne!(verify("a.txt"), Some(true));
        // Without a key, earlier signatures are removed.
        seal(folder.path(), None, &example().subject()).expect("sealed");
        assert!(check() && !folder.path().join("a.txt.minisig").exists());
    }

    #[test]
    fn an_encrypted_key_needs_its_password() {
        assert!(Key::parse("no key", None).is_err());
        let pair =
            KeyPair::generate_encrypted_keypair(Some("secret".to_owned())).expect("a key of this test alone");
        // `to_box` writes it encrypted.
        let text = pair.sk.to_box(None).expect("a key's text").into_string();
        let Err(error) = Key::parse(&text, None) else { panic!("no password was given") };
        assert!(error.to_string().contains(PASSWORD), "{error}");
        assert!(Key::parse(&text, Some("wrong".to_owned())).is_err());
        assert!(Key::parse(&text, Some("secret".to_owned())).is_ok());
    }
}
