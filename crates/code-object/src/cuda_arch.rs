//! Which code for NVIDIA GPUs fits a GPU, by the names of architectures.

/// How well code fits a GPU; the greatest fits best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fit {
    is_cubin: bool,
    number: u32,
    is_alone: bool,
}

/// How code for an architecture (`sm_90a`) fits an NVIDIA GPU (`sm_90`); none if it does not run there.
///
/// A cubin runs on its architecture and later ones of the same major number, PTX on all later ones. Code for
/// one architecture alone (`sm_90a`) fits that one, code for a family (`sm_100f`) the later ones of its major
/// number.
pub(crate) fn fit(arch: &str, is_cubin: bool, device: &str) -> Option<Fit> {
    let (device, _) = parse(device)?;
    let (number, suffix) = parse(arch)?;
    let same_major = number / 10 == device / 10;
    let fits = match (suffix, is_cubin) {
        ("a", _) => number == device,
        ("f", _) | (_, true) => same_major && number <= device,
        (_, false) => number <= device,
    };
    fits.then_some(Fit { is_cubin, number, is_alone: suffix == "a" })
}

/// Number and suffix of an architecture: 90 and `a` of `sm_90a`.
fn parse(name: &str) -> Option<(u32, &str)> {
    let name = name.strip_prefix("sm_")?;
    let (digits, suffix) = name.split_at(name.trim_end_matches(|c: char| !c.is_ascii_digit()).len());
    Some((digits.parse().ok()?, suffix))
}
