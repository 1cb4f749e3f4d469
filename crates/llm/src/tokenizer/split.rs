//! How vocabularies of GPT-2's kind split text before they merge bytes.

/// A way to split text, by the names that GGUF files use for it.
#[derive(Debug)]
pub struct PreTokenizer {
    /// Values of `tokenizer.ggml.pre`.
    pub names: &'static [&'static str],
    /// Applied one after the other, each to the parts that the one before made. Matches and what lies
    /// between them are parts.
    pub patterns: &'static [&'static str],
    /// Whether a part that is a token is not merged from bytes.
    pub whole_tokens: bool,
    /// Whether texts begin with the `bos` token, unless the file says otherwise.
    pub add_bos: bool,
}

const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
/// Llama 3's, with groups of up to three digits.
const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// The same, with single digits.
const QWEN2: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// Words with marks, as Qwen3.5's.
const QWEN35: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const O200K: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// Mistral's.
const TEKKEN: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// The known ways.
const TABLE: [PreTokenizer; 8] = {
    const fn row(
        names: &'static [&'static str],
        patterns: &'static [&'static str],
        whole_tokens: bool,
        add_bos: bool,
    ) -> PreTokenizer {
        PreTokenizer { names, patterns, whole_tokens, add_bos }
    }
    [
        row(&["gpt-2", "phi-2", "mpt", "olmo", "jais", "roberta-bpe", "gigachat"], &[GPT2], false, false),
        row(
            &["smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"],
            &[r"\p{N}", GPT2],
            false,
            false,
        ),
        row(&["llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral"], &[LLAMA3], true, true),
        row(&["dbrx", "smaug-bpe"], &[LLAMA3], false, false),
        row(
            &["qwen2", "stablelm2", "hunyuan", "megrez", "deepseek-r1-qwen", "solar-open"],
            &[QWEN2],
            false,
            false,
        ),
        row(&["qwen35"], &[QWEN35], false, false),
        row(&["gpt-4o", "llama4"], &[O200K], false, false),
        row(&["tekken"], &[TEKKEN], true, true),
    ]
};

/// All known ways to split text.
#[must_use]
pub fn pre_tokenizers() -> &'static [PreTokenizer] {
    static ALL: [PreTokenizer; 8] = TABLE;
    &ALL
}

/// The way of this name.
pub(super) fn named(name: &str) -> Option<&'static PreTokenizer> {
    pre_tokenizers().iter().find(|row| row.names.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_in_one_row() {
        let mut names: Vec<_> = pre_tokenizers().iter().flat_map(|row| row.names).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(named("llama-bpe").is_some_and(|row| row.whole_tokens));
        assert!(named("unheard-of").is_none());
    }
}
