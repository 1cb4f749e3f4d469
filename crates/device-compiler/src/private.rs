//! Folders and files that only the user can write to.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

use crate::Error;

/// Write permissions of everybody but the owner.
const OTHERS_WRITE: u32 = 0o022;

/// Creates a folder and its missing parents for the user alone, whatever the process's umask.
pub(crate) fn make_folder(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// The required owner of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    user: u32,
    /// The owner of a file that the user creates. It differs from the user on file systems that report the
    /// same owner for every file.
    of_new: u32,
}

impl Owner {
    /// The user of this process, who has just made a file.
    pub(crate) fn of_new(file: &File) -> io::Result<Self> {
        Ok(Self { user: rustix::process::geteuid().as_raw(), of_new: file.metadata()?.uid() })
    }

    /// The superuser can change everything anyway.
    fn is(self, uid: u32) -> bool {
        uid == self.user || uid == self.of_new || uid == 0
    }

    /// Takes write permission of others from a folder of the user. Returns whether they had it, and may have
    /// put something into it.
    pub(crate) fn tighten(self, folder: &Path) -> io::Result<bool> {
        use std::os::unix::fs::PermissionsExt as _;
        let meta = fs::symlink_metadata(folder)?;
        let is_loose = meta.is_dir() && self.is(meta.uid()) && meta.mode() & OTHERS_WRITE != 0;
        if is_loose {
            let mode = meta.mode() & 0o7777 & !OTHERS_WRITE;
            fs::set_permissions(folder, fs::Permissions::from_mode(mode))?;
        }
        Ok(is_loose)
    }

    /// Whether nobody else can have put something into a folder.
    pub(crate) fn check(self, folder: &Path, meta: &Metadata) -> Result<(), Error> {
        let refuse = |reason: String| Err(Error::NotPrivate { folder: folder.to_owned(), reason });
        if !meta.is_dir() {
            return refuse("it is a link or a file".to_owned());
        }
        if !self.is(meta.uid()) {
            return refuse(format!("it belongs to the user {}, and this is {}", meta.uid(), self.user));
        }
        let mode = meta.mode() & 0o7777;
        if mode & OTHERS_WRITE != 0 {
            return refuse(format!(
                "others may write to it (its mode is {mode:04o}); `chmod -R go-w` fixes that"
            ));
        }
        Ok(())
    }

    /// The content of a file that nobody else can have written, and the file; `None` if it is not a regular
    /// file.
    pub(crate) fn read(self, path: &Path) -> Option<(Vec<u8>, File)> {
        // Opening a pipe would block.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let mut file = File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path).ok()?;
        let meta = file.metadata().ok()?;
        if !meta.is_file() || !self.is(meta.uid()) || meta.mode() & OTHERS_WRITE != 0 {
            return None;
        }
        let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).ok()?);
        file.read_to_end(&mut bytes).ok()?;
        Some((bytes, file))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn owner() -> Owner {
        Owner::of_new(&tempfile::tempfile().unwrap()).unwrap()
    }

    #[test]
    fn a_folder_that_others_may_write_to_or_own_is_refused_with_its_mode_or_owner() {
        let folder = tempfile::tempdir().unwrap();
        let says = |owner: Owner, mode: u32| {
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
            owner.check(folder.path(), &fs::metadata(folder.path()).unwrap()).map_err(|e| e.to_string())
        };
        for mode in [0o700, 0o750, 0o755, 0o2755, 0o711] {
            says(owner(), mode).unwrap();
        }
        for mode in [0o775, 0o720, 0o777, 0o1777, 0o702] {
            let error = says(owner(), mode).unwrap_err();
            assert!(error.contains(&format!("{mode:04o}")) && error.contains("chmod"), "{error}");
        }
        let uid = fs::metadata(folder.path()).unwrap().uid();
        let another = Owner { user: uid + 1, of_new: uid + 1 };
        if uid == 0 {
            says(another, 0o755).unwrap();
        } else {
            assert!(says(another, 0o755).unwrap_err().contains(&format!("the user {uid}")));
        }
    }

    #[test]
    fn folders_are_made_for_the_user_alone() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b");
        make_folder(&deep).unwrap();
        make_folder(&deep).unwrap();
        for made in [deep.parent().unwrap(), &deep] {
            assert_eq!(fs::metadata(made).unwrap().mode() & 0o777, 0o700);
        }
    }

    #[test]
    fn a_file_that_others_may_write_a_link_and_a_pipe_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link, pipe) =
            (folder.path().join("file"), folder.path().join("link"), folder.path().join("pipe"));
        fs::write(&file, "text").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let read = |path: &Path, mode: u32| {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            owner().read(path).map(|(bytes, _)| bytes)
        };
        assert_eq!(read(&file, 0o644).as_deref(), Some(&b"text"[..]));
        assert_eq!(read(&file, 0o664), None);
        assert_eq!(read(&file, 0o606), None);
        assert_eq!(read(&link, 0o600), None);
        assert_eq!(read(&pipe, 0o600), None);
    }
}
