//! Which code for NVIDIA GPUs fits a GPU, by the names of architectures (`sm_90a`).

/// How well code fits a GPU; the greatest fits best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fit {
    is_cubin: bool,
    number: u32,
    is_alone: bool,
}

/// Where code runs, by the number of its architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// On the same number.
    Same,
    /// On the same and on greater ones of the same major number.
    Major,
    /// On the same and on all greater ones.
    Later,
}

/// Suffixes of architectures, with what PTX and cubins for them run on.
const REACH: [(&str, Reach, Reach); 3] =
    [("", Reach::Later, Reach::Major), ("a", Reach::Same, Reach::Same), ("f", Reach::Major, Reach::Major)];

fn reach(suffix: &str, is_cubin: bool) -> Option<Reach> {
    let (_, ptx, cubin) = REACH.into_iter().find(|(known, ..)| *known == suffix)?;
    Some(if is_cubin { cubin } else { ptx })
}

/// How code for an architecture (`sm_90a`) fits an NVIDIA GPU (`sm_90`); none if it does not run there.
pub(crate) fn fit(arch: &str, is_cubin: bool, device: &str) -> Option<Fit> {
    let (device, _) = parse(device)?;
    let (number, suffix) = parse(arch)?;
    let fits = match reach(suffix, is_cubin)? {
        Reach::Same => number == device,
        Reach::Major => number / 10 == device / 10 && number <= device,
        Reach::Later => number <= device,
    };
    fits.then_some(Fit { is_cubin, number, is_alone: suffix == "a" })
}

/// Whether PTX for an architecture (`sm_80`) runs on GPUs that its cubin does not run on: the later ones, for
/// which the driver compiles it. PTX for one architecture alone (`sm_90a`) or for a family (`sm_100f`) does
/// not; beside its cubin it serves nothing.
#[must_use]
pub fn ptx_reaches_further(arch: &str) -> bool {
    parse(arch).is_some_and(|(_, suffix)| reach(suffix, false) != reach(suffix, true))
}

/// Whether a cubin for an architecture (`sm_80`) runs on an NVIDIA GPU (`sm_86`).
#[must_use]
pub fn cubin_runs_on(arch: &str, device: &str) -> bool {
    fit(arch, true, device).is_some()
}

/// Whether a name is that of an architecture (`sm_90a`).
pub(crate) fn is_one(name: &str) -> bool {
    parse(name).is_some_and(|(_, suffix)| reach(suffix, true).is_some())
}

/// Number and suffix of an architecture: 90 and `a` of `sm_90a`.
fn parse(name: &str) -> Option<(u32, &str)> {
    let name = name.strip_prefix("sm_")?;
    let (digits, suffix) = name.split_at(name.trim_end_matches(|c: char| !c.is_ascii_digit()).len());
    let number = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok());
    Some((number??, suffix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cubins_run_within_a_major_number() {
        for (arch, device) in [("sm_80", "sm_86"), ("sm_90a", "sm_90"), ("sm_100f", "sm_103")] {
            assert!(cubin_runs_on(arch, device), "{arch} {device}");
        }
        for (arch, device) in
            [("sm_80", "sm_90"), ("sm_86", "sm_80"), ("sm_100a", "sm_103"), ("gfx90a", "sm_90")]
        {
            assert!(!cubin_runs_on(arch, device), "{arch} {device}");
        }
    }

    #[test]
    fn ptx_of_one_architecture_or_family_reaches_no_further_than_its_cubin() {
        for arch in ["sm_80", "sm_90", "sm_100", "sm_120"] {
            assert!(ptx_reaches_further(arch), "{arch}");
        }
        for arch in ["sm_90a", "sm_100f", "sm_103a", "sm_90x", "gfx90a", ""] {
            assert!(!ptx_reaches_further(arch), "{arch}");
        }
        // What the table says of them is what they are chosen for.
        for arch in ["sm_80", "sm_90a", "sm_100f"] {
            let served = |is_cubin| {
                (70..=130).filter(move |device| fit(arch, is_cubin, &format!("sm_{device}")).is_some())
            };
            assert_eq!(ptx_reaches_further(arch), served(false).count() > served(true).count(), "{arch}");
        }
    }
}
