//! Converts the Doxygen comments of C headers to Markdown that rustdoc shows but never runs.

/// Rewrites one Doxygen comment as Markdown.
pub(crate) fn to_markdown(comment: &str) -> String {
    let mut lines = Vec::new();
    let mut fenced = false;
    for raw in comment.lines() {
        // An indentation of four spaces would be a doctest; some comments keep asterisks at the left edge.
        let line = raw.trim().trim_start_matches('<').trim_start();
        let line = line.strip_prefix("* ").map_or(line, str::trim_start);
        if line.starts_with("@code") || line.starts_with("\\code") {
            lines.push("```text".to_owned());
            fenced = true;
        } else if line.starts_with("@endcode") || line.starts_with("\\endcode") {
            lines.push("```".to_owned());
            fenced = false;
        } else if fenced {
            lines.push(line.to_owned());
        } else if is_structural(line) {
            continue;
        } else {
            lines.push(paragraph_start(line));
        }
    }
    if fenced {
        lines.push("```".to_owned());
    }
    while lines.first().is_some_and(|line| line.is_empty()) {
        lines.remove(0);
    }
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    lines.dedup_by(|a, b| a.is_empty() && b.is_empty());
    lines.join("\n")
}

/// Commands that only order Doxygen's own pages.
fn is_structural(line: &str) -> bool {
    const COMMANDS: [&str; 10] =
        ["addtogroup", "defgroup", "ingroup", "name", "file", "struct", "{", "}", "endxmlonly", "xmlonly"];
    match line.strip_prefix(['@', '\\']) {
        Some(rest) => COMMANDS.iter().any(|command| {
            rest.strip_prefix(command).is_some_and(|tail| !tail.starts_with(|c: char| c.is_alphanumeric()))
        }),
        None => !line.is_empty() && line.chars().all(|c| matches!(c, '*' | '-' | '=' | '/')),
    }
}

/// Handles a command that opens a paragraph, then the commands inside it.
fn paragraph_start(line: &str) -> String {
    let Some(rest) = line.strip_prefix(['@', '\\']) else { return inline(line) };
    let (command, tail) = match rest.find(|c: char| !c.is_alphanumeric()) {
        Some(end) => rest.split_at(end),
        None => (rest, ""),
    };
    match command {
        "brief" | "details" | "par" | "section" | "text" => inline(tail.trim_start()),
        "param" => {
            let (direction, tail) = match tail.strip_prefix('[').and_then(|t| t.split_once(']')) {
                Some((direction, tail)) => (format!(" ({direction})"), tail),
                None => (String::new(), tail),
            };
            let tail = tail.trim_start();
            let tail = tail
                .strip_prefix(['['])
                .and_then(|t| t.split_once(']'))
                .map_or(tail, |(_, t)| t)
                .trim_start();
            let (name, text) = tail.split_once(char::is_whitespace).unwrap_or((tail, ""));
            format!("* `{}`{direction}: {}", name.trim_end_matches('.'), inline(text.trim_start()))
        }
        "return" | "returns" => format!("\nReturns: {}", inline(tail.trim_start_matches(':').trim_start())),
        "retval" => {
            let tail = tail.trim_start();
            let (name, text) = tail.split_once(char::is_whitespace).unwrap_or((tail, ""));
            format!("* returns `{}`: {}", name.trim_start_matches([':', '#']), inline(text.trim_start()))
        }
        "note" | "warning" | "remark" | "remarks" | "deprecated" | "bug" => {
            let mut label = command.to_owned();
            label[..1].make_ascii_uppercase();
            format!("\n{label}: {}", inline(tail.trim_start_matches(':').trim_start()))
        }
        "see" | "sa" | "ref" => format!("\nSee also: {}", inline(tail.trim_start_matches(':').trim_start())),
        _ => inline(line),
    }
}

/// Handles `@p name`, `::NAME`, `#NAME` and everything that would be Markdown markup.
fn inline(text: &str) -> String {
    let mut out = String::new();
    let mut quote_next = false;
    for (index, word) in text.split(' ').enumerate() {
        if index > 0 && !quote_next {
            out.push(' ');
        }
        if matches!(word, "@p" | "\\p" | "@c" | "\\c" | "@a" | "\\a" | "@e" | "@ref" | "\\ref") {
            quote_next = true;
            continue;
        }
        let name = word.trim_start_matches(['(', '"']);
        let reference = name.strip_prefix("::").or_else(|| name.strip_prefix('#'));
        let is_reference = reference.is_some_and(|r| r.starts_with(|c: char| c.is_alphabetic()));
        if quote_next || is_reference {
            let opening = &word[..word.len() - name.len()];
            let body = if is_reference { reference.unwrap_or(name) } else { name };
            let end = body.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(body.len());
            let (identifier, rest) = body.split_at(end);
            if identifier.is_empty() {
                out.push_str(&escape(word));
            } else {
                out.push_str(opening);
                out.push_str(&format!("`{identifier}`"));
                out.push_str(&escape(rest));
            }
            quote_next = false;
        } else {
            out.push_str(&escape(word));
        }
    }
    out.trim_end().to_owned()
}

fn escape(word: &str) -> String {
    if word.contains('`') {
        return word.replace("```", "'''");
    }
    if word.contains("://") {
        return format!("<{}>", word.trim_matches(['<', '>', '(', ')', '.', ',']));
    }
    let mut out = String::with_capacity(word.len());
    for c in word.chars() {
        if matches!(c, '[' | ']' | '<' | '>') || (c == '*' && word.len() > 1) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::to_markdown;

    #[test]
    fn parameters_and_references_become_markdown() {
        let text = to_markdown(
            " @brief Sets it.\n\n @param[in] flag a flag for @p other, see ::hsa_init.\n @retval ::OK done",
        );
        assert_eq!(
            text,
            "Sets it.\n\n* `flag` (in): a flag for `other`, see `hsa_init`.\n* returns `OK`: done"
        );
    }

    #[test]
    fn indented_text_is_no_doctest() {
        assert_eq!(to_markdown("Text\n      int x = a[1];"), "Text\nint x = a\\[1\\];");
    }

    #[test]
    fn an_open_code_block_is_closed() {
        assert_eq!(to_markdown("@code\n x[1]\n"), "```text\nx[1]\n```");
    }
}
