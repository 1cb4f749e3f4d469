//! The packages that the toolchain was last tested with. Others work as long as the probe compiles, but
//! differences are noted in case something misbehaves later.

use crate::debian::tested::Tested;

/// Name, version and SHA-256 of each package file, sorted by name.
pub(crate) const TESTED: &[Tested] = &[
    ("clang-22", "1:22.1.8-1~deb12u1", "b6ffc4ffae2bf3d0757bab0623701060b30f5bb59e7ba4123d66b56fbb91362a"),
    ("hipify-perl", "7.2.4+dfsg-1~exp1", "58bebb2776fb4b83953209226225be1af33f6e554ac9ae4ce8b4f836273beb08"),
    ("libamdhip64-dev", "7.2.4-1~exp2", "28ae316c5be2d33b53fae8f2151e76a758f84aa3493abafeaef935e49cc5ba07"),
    ("libbsd0", "0.11.7-2", "bb31cc8b40f962a85b2cec970f7f79cc704a1ae4bad24257a822055404b2c60b"),
    ("libc6-dev", "2.36-9+deb12u14", "0218fc2befcd784c1b0c6292c0a137ce89fad054efaa579ad083bee0f2c01aae"),
    (
        "libclang-common-22-dev",
        "1:22.1.8-1~deb12u1",
        "833d7559bfbe169d7927dfe151cae48bf352da5202e36034a206688ae33f9031",
    ),
    (
        "libclang-cpp22",
        "1:22.1.8-1~deb12u1",
        "662a8497190dd6cebaee2ac9421ed9d91cb1199eeabd154eafc4b5c1ac01d4b3",
    ),
    (
        "libclang1-22",
        "1:22.1.8-1~deb12u1",
        "8141fd0209fac0b928bdbcc46ce5ccc48ff0bd6fa318631605331fede5ba83f5",
    ),
    ("libcrypt-dev", "1:4.4.33-2", "81ccd29130f75a9e3adabc80e61921abff42f76761e1f792fa2d1bb69af7f52f"),
    ("libedit2", "3.1-20221030-2", "1cf14abf2716d3279db12d0657a5737cf70074a1e71d3bdf73206625e3c89ce6"),
    ("libffi8", "3.4.4-1", "6d9f6c25c30efccce6d4bceaa48ea86c329a3432abb360a141f76ac223a4c34a"),
    (
        "libgcc-12-dev",
        "12.2.0-14+deb12u1",
        "d720259380a84f2ffc6fe516eff5cbe9c8a005138e8d6a5748747ba4b3404a82",
    ),
    ("libhipcub-dev", "7.2.4-1~exp1", "a32723c857d3e7d1ac7efcb20cd9405f3f6bb52ed9e63b2515eb3a17d868c341"),
    ("libicu72", "72.1-3+deb12u1", "f7f6f99c6d7b025914df2447fc93e11d22c44c0c8bdd8b6f36691c9e7ddcef88"),
    ("libllvm22", "1:22.1.8-1~deb12u1", "729ec3e943d320515c2bbdc96acfffd7ce34861e62bd5c42726bf586d644dfe2"),
    ("liblzma5", "5.4.1-1+deb12u2", "3d8c29c8c21ec6007635e1b2591edf98b771c9572a085968f47452b33040f384"),
    ("libmd0", "1.0.4-2", "03539fd30c509e27101d13a56e52eda9062bdf1aefe337c07ab56def25a13eab"),
    ("librocprim-dev", "7.2.4-1~exp1", "648c0803bf8c9813a9d8cb35313b05aa0b4395e447ddffcc1d75c4abb76dcdf3"),
    ("librocthrust-dev", "7.2.4-1~exp1", "400afb0f869891dd527e5b16f59fc6aeb68182a3aa3da603f4f78f0e7c9d8c70"),
    (
        "libstdc++-12-dev",
        "12.2.0-14+deb12u1",
        "d28def6c23630432b57cb38a4c2fd67a79d4e0484027386ca6e8d6005c3d7a73",
    ),
    ("libtinfo6", "6.4-4", "072d908f38f51090ca28ca5afa3b46b2957dc61fe35094c0b851426859a49a51"),
    (
        "libxml2",
        "2.9.14+dfsg-1.3~deb12u6",
        "4460e39dda10a815881374217cde08474747cfa018358cd8612c14b390eff53b",
    ),
    ("libz3-4", "4.8.12-3.1", "6221ca25ad5abcfbe1965801029d85a88b4775320384b4b716de8fab7a4d2f7a"),
    ("libzstd1", "1.5.4+dfsg2-5", "6315b5ac38b724a710fb96bf1042019398cb656718b1522279a5185ed39318fa"),
    ("linux-libc-dev", "6.1.192-2", "e0632f8e55ec0d2d1c56f9c65a8bcb64ad5d79add297266bc89c616dfef9a7fe"),
    ("lld-22", "1:22.1.8-1~deb12u1", "13103b3fb3195bfeade9835d3906a4cc91002010f9013d98aa1fc55b841d07b4"),
    (
        "llvm-22-linker-tools",
        "1:22.1.8-1~deb12u1",
        "dc11dfd532a9394847a6aecbb8f4087adb73ac31663b00758c1aa110769e0d67",
    ),
    (
        "rocm-device-libs-22",
        "7.2.4+dfsg-1~exp1",
        "24b439be7c151ff67bc1f4f4f42a7c4047b3e6fd7905b9e6df89c0fa5dea8031",
    ),
    ("zlib1g", "1:1.2.13.dfsg-1", "d7dd1d1411fedf27f5e27650a6eff20ef294077b568f4c8c5e51466dc7c08ce4"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_its_hashes_are_whole() {
        assert!(TESTED.is_sorted_by(|a, b| a.0 < b.0));
        assert!(TESTED.iter().all(|(_, _, hash)| hash.len() == 64));
    }
}
