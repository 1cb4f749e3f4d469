//! Names of types without `typename`: `convert<Traits::Layout>(…)` in a template with the parameter `Traits`.
//!
//! C++ wants `convert<typename Traits::Layout>(…)`. nvcc decides when it instantiates the template, and then
//! knows that it is a type. clang knows it then, too, and refuses it, in messages that name each place. The
//! word is put in these places.

use std::path::PathBuf;

use crate::retries::{Edit, Failure, Texts};

/// How clang's message begins.
const MESSAGE: &str = "missing 'typename' prior to dependent type name";
/// What such a name gets.
const KEYWORD: &str = "typename ";

/// Puts the word in, unless the place has it.
pub(crate) fn mend(failure: &Failure, texts: &mut Texts<'_>) -> Option<(PathBuf, Edit)> {
    let place = failure.error.place.as_ref().filter(|_| failure.error.message.starts_with(MESSAGE))?;
    let (name, text, at) = texts.at(place)?;
    let is_free = !text[..at].ends_with(KEYWORD);
    is_free.then(|| (name, Edit { range: at..at, text: KEYWORD.to_owned() }))
}
