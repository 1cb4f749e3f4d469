//! The list of files that a compilation read, as clang writes it in make's syntax.

use std::path::PathBuf;

/// The prerequisites in the order of the file, without repetitions.
#[must_use]
pub fn parse(text: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = Vec::new();
    let body = text.split_once(": ").map_or(text, |(_, body)| body);
    let mut word = String::new();
    let mut chars = body.chars().peekable();
    let finish = |word: &mut String, files: &mut Vec<PathBuf>| {
        let path = PathBuf::from(std::mem::take(word));
        if !path.as_os_str().is_empty() && !files.contains(&path) {
            files.push(path);
        }
    };
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            // A line continuation.
            ('\\', Some('\n')) => {
                chars.next();
                finish(&mut word, &mut files);
            }
            ('\\', Some(&next @ (' ' | '#' | '\\'))) => {
                chars.next();
                word.push(next);
            }
            ('$', Some('$')) => {
                chars.next();
                word.push('$');
            }
            (' ' | '\n' | '\r' | '\t', _) => finish(&mut word, &mut files),
            _ => word.push(c),
        }
    }
    finish(&mut word, &mut files);
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_special_characters_are_unescaped() {
        let text = "x: /a/b.cu \\\n  /a/with\\ space.h /a/c$$d.h \\\n  /a/e\\#f.h /a/b.cu\n";
        let expected: Vec<PathBuf> =
            ["/a/b.cu", "/a/with space.h", "/a/c$d.h", "/a/e#f.h"].map(PathBuf::from).into();
        assert_eq!(parse(text), expected);
        assert!(parse("").is_empty());
    }
}
