//! The text that names a logical device.

use std::str::FromStr;

/// A member of a logical device.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Member {
    /// By number, in HSA's order.
    Ordinal(usize),
    /// By UUID, in upper or lower case.
    Uuid(String),
}

/// What a device URI selects: `amdgpu`, `amdgpu:1`, `amdgpu://0,1` or `amdgpu://GPU-0e12865a3bf5b7ab`.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub enum Selection {
    /// The first GPU, and all that go with it.
    #[default]
    All,
    /// These, at least one.
    Members(Vec<Member>),
}

/// Why a text is not a selection.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{text:?} names no AMD GPU: {problem}")]
pub struct BadSelection {
    /// The text.
    pub text: String,
    /// What is wrong, and what would be right.
    pub problem: String,
}

impl FromStr for Selection {
    type Err = BadSelection;

    fn from_str(text: &str) -> Result<Self, BadSelection> {
        let bad = |problem: String| BadSelection { text: text.to_owned(), problem };
        let Some(rest) = text.strip_prefix("amdgpu") else {
            return Err(bad("it begins with `amdgpu`".to_owned()));
        };
        if rest.is_empty() {
            return Ok(Self::All);
        }
        let ordinal = |part: &str| {
            let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| part.parse().ok()).flatten().map(Member::Ordinal)
        };
        if let Some(list) = rest.strip_prefix("://") {
            let member = |part: &str| {
                let is_uuid = part.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("GPU-"));
                if is_uuid && part.len() > 4 {
                    return Ok(Member::Uuid(part.to_owned()));
                }
                ordinal(part).ok_or_else(|| {
                    bad(format!("{part:?} is neither a number nor a UUID, such as GPU-0e12865a3bf5b7ab"))
                })
            };
            return list.split(',').map(member).collect::<Result<_, _>>().map(Self::Members);
        }
        match rest.strip_prefix(':').map(ordinal) {
            Some(Some(member)) => Ok(Self::Members(vec![member])),
            _ => Err(bad("after `amdgpu` follows nothing, `:` and a number, or `://` and a list".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_selection_says_what_would_be_right() {
        let problem = |text: &str| text.parse::<Selection>().unwrap_err().to_string();
        assert_eq!(problem("cuda:0"), "\"cuda:0\" names no AMD GPU: it begins with `amdgpu`");
        for text in [
            "amdgpus",
            "amdgpu:",
            "amdgpu:-1",
            "amdgpu:+1",
            "amdgpu:x",
            "amdgpu:99999999999999999999",
            "amdgpu/0",
        ] {
            assert!(problem(text).ends_with("`:` and a number, or `://` and a list"), "{}", problem(text));
        }
        for text in
            ["amdgpu://", "amdgpu://0,", "amdgpu://GPU-", "amdgpu://GPU", "amdgpu://é,1", "amdgpu://0 "]
        {
            assert!(problem(text).contains("is neither a number nor a UUID"), "{}", problem(text));
        }
        assert_eq!("amdgpu".parse(), Ok(Selection::All));
    }
}
