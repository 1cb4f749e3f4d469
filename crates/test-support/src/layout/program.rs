//! The C program and the parser of its output.

use super::Version;

/// The fact that one statement of the program prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    /// Size of the type with this index.
    Size(usize),
    /// Alignment of the type with this index.
    Align(usize),
    /// Offset of a field, by the indexes of type and field.
    Offset(usize, usize),
    /// Value of the constant with this index.
    Value(usize),
}

/// All questions about a version's table.
pub(crate) fn questions(version: &Version) -> Vec<Question> {
    let mut questions = Vec::new();
    for (index, layout) in version.layouts.iter().enumerate() {
        questions.extend([Question::Size(index), Question::Align(index)]);
        questions.extend((0..layout.fields.len()).map(|field| Question::Offset(index, field)));
    }
    questions.extend((0..version.constants.len()).map(Question::Value));
    questions
}

/// The file name of a question in the compiler's messages, for every compiler.
const FILE_PREFIX: &str = "question-";

/// Writes the program. Each question is a function in a separately named file, so that a compiler error names
/// the question. `asked` holds their indexes in `questions`.
pub(crate) fn text(headers: &str, version: &Version, questions: &[Question], asked: &[usize]) -> String {
    let mut text = format!("{headers}\n#include <stddef.h>\n#include <stdio.h>\n");
    for &index in asked {
        let expression = match questions[index] {
            Question::Size(layout) => format!("sizeof({})", version.layouts[layout].c_name),
            Question::Align(layout) => format!("_Alignof({})", version.layouts[layout].c_name),
            Question::Offset(layout, field) => {
                let layout = &version.layouts[layout];
                format!("offsetof({}, {})", layout.c_name, layout.fields[field].0)
            }
            Question::Value(constant) => version.constants[constant].0.to_owned(),
        };
        text.push_str(&format!(
            "#line 1 \"{FILE_PREFIX}{index}\"\n\
             static void answer_{index}(void) {{ printf(\"{index} %d %llu\\n\", ({expression}) < 0, \
             (unsigned long long)({expression})); }}\n"
        ));
    }
    text.push_str("int main(void) {\n");
    text.extend(asked.iter().map(|index| format!("answer_{index}();\n")));
    text.push_str("return 0; }\n");
    text
}

/// The questions in a compiler's messages, each with its first message.
pub(crate) fn refused(messages: &str) -> Vec<(usize, String)> {
    let mut refused: Vec<(usize, String)> = Vec::new();
    for line in messages.lines() {
        let Some((index, rest)) = line.strip_prefix(FILE_PREFIX).and_then(|rest| rest.split_once(':')) else {
            continue;
        };
        let (Ok(index), Some((_, message))) = (index.parse(), rest.split_once("error: ")) else { continue };
        if !refused.iter().any(|(seen, _)| *seen == index) {
            refused.push((index, message.to_owned()));
        }
    }
    refused
}

/// The program's answers, in the order of its questions; `None` if a line is not an answer.
pub(crate) fn answers(output: &str) -> Vec<Option<(usize, i128)>> {
    output.lines().map(answer).collect()
}

fn answer(line: &str) -> Option<(usize, i128)> {
    let mut words = line.split(' ');
    let index = words.next()?.parse().ok()?;
    let negative = words.next()? == "1";
    let bits: u64 = words.next()?.parse().ok()?;
    Some((index, if negative { i128::from(bits.cast_signed()) } else { i128::from(bits) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_keep_their_sign_and_width() {
        let text = "0 0 18446744073709551615\n1 1 18446744073709551615\nnoise\n2 0 7\n";
        assert_eq!(answers(text), [Some((0, i128::from(u64::MAX))), Some((1, -1)), None, Some((2, 7))]);
    }

    #[test]
    fn messages_of_both_compilers_name_the_question() {
        let gcc = "question-3: In function 'answer_3':\n\
                   question-3:1:50: error: 'x' has no member named 'a'\n\
                   question-3:1:70: error: another\n\
                   /usr/include/stddef.h:3:1: note: here\n";
        assert_eq!(refused(gcc), [(3, "'x' has no member named 'a'".to_owned())]);
        let clang = "question-12:1:9: error: use of undeclared identifier 'A'\n1 error generated.\n";
        assert_eq!(refused(clang), [(12, "use of undeclared identifier 'A'".to_owned())]);
        assert_eq!(refused("hip.h:3:4: error: broken\nquestion-1:1:2: warning: w\n"), []);
    }
}
