//! llm.c: `step 1/10 | loss 11.032358 (+nanz)| norm 22.1414 (+nanz)| lr 8.57e-07 | 2575.63 ms | 39.0% bf16
//! MFU | 203557 tok/s`, and its Python counterpart: `step 1/10 | train loss 4.3677 | norm 13.0082 | lr
//! 3.00e-04 | (349.48 ms | 11720 tok/s)`.

use memchr::memmem;

use super::super::text::{Commas, whole};
use super::{Field, Found, number_before};

pub(super) fn parse(line: &[u8], found: &mut Found<'_, '_>) {
    let Some(at) = memmem::rfind(line, b"step ") else { return };
    let text = &line[at + 5..];
    let Some((step, rest)) = whole(text) else { return };
    let Some(text_of_total) = rest.strip_prefix(b"/") else { return };
    let Some((total, rest)) = whole(text_of_total) else { return };
    let (Some(milliseconds), Some(tokens)) = (memmem::find(rest, b" ms"), memmem::find(rest, b" tok/s"))
    else {
        return;
    };
    found.step(step, text);
    found.last_step(total, 0, text_of_total);
    for (key, field) in
        [(&b"loss "[..], Field::Loss), (b"norm ", Field::GradNorm), (b"lr ", Field::LearningRate)]
    {
        if let Some(value) = super::after(rest, key) {
            found.take(field, key, value, Commas::Decimal, 1.0);
        }
    }
    for (end, name, field, per) in
        [(milliseconds, &b"ms"[..], Field::Seconds, 1e3), (tokens, b"tok/s", Field::Tokens, 1.0)]
    {
        match number_before(rest, end) {
            Some((_, value)) => {
                found.take(field, name, value, Commas::Decimal, per);
            }
            None => found.notes.ignore(name, "no number", &rest[..end]),
        }
    }
    found.row.last = None;
}
