//! Code objects describe the arguments of kernels; the description changes no instruction.

use std::path::Path;

use code_object::{Access, Arg, CodeObject};
use kernel_build::toolchain::Toolchain;
use kernel_build::{Build, Builder};

use crate::support::{Folder, toolchain};

use Access::{Read, ReadWrite, Write};

const TARGETS: [&str; 2] = ["gfx1100", "gfx90a"];

/// A folder with one source that includes HIP's headers.
fn folder(toolchain: Toolchain, text: &str) -> (Folder, Builder) {
    let folder = Folder::new(toolchain.clone());
    folder.write("k.cu", text);
    let builder = Builder::new(folder.kernels()).toolchain(toolchain).cache(folder.cache()).targets(TARGETS);
    (folder, builder)
}

/// Name, type, `const` and access of each argument that a caller passes.
fn facts<'b>(build: &'b Build, target: &str, kernel: &str) -> Vec<(&'b str, &'b str, bool, Option<Access>)> {
    let object = build.modules[0].objects.iter().find(|object| object.target.to_string() == target).unwrap();
    let kernel = object.code_object.kernel(kernel).unwrap_or_else(|| panic!("{kernel}"));
    let fact = |arg: &'b Arg| {
        (arg.name.as_deref().unwrap_or(""), arg.type_name.as_deref().unwrap_or(""), arg.is_const, arg.access)
    };
    kernel.explicit_args().map(fact).collect()
}

#[test]
fn arguments_of_every_kind_have_name_type_and_access() {
    let Some(toolchain) = toolchain() else { return };
    let source = r#"
#include <hip/hip_bf16.h>
#include <hip/hip_bfloat16.h>
#include <hip/hip_fp16.h>
#include <cstddef>
#include <cstdint>
namespace ns {
struct Pair { float a; int b; };
enum class Color : unsigned char { Red };
template <typename T, int N> struct Array { T v[N]; };
}
namespace { struct Hidden { int a, b; }; }
struct Empty {};
struct Pointer { float *p; };
struct Number { float f; };
typedef struct { int a, b, c; } Unnamed;
typedef float vec4 __attribute__((ext_vector_type(4)));
using real = float;
using Changing = const volatile int;

extern "C" __global__ void numbers(bool a, char b, signed char c, unsigned char d, int16_t e, uint16_t f, int g,
                                   unsigned h, size_t i, long long j, uint64_t k, float l, double m, _Float16 n,
                                   __int128 o, const int p, double *out) { out[0] = a + b + c + d + e + f + g + h + i + j + k + l + m + (float)n + (double)o + p; }

extern "C" __global__ void floats(float4 a, const float4 *b, vec4 c, vec4 *d, __half e, __half2 *f,
                                  const __hip_bfloat16 *g, hip_bfloat16 *h, __bf16 *i, ulonglong2 *j) {
    d[0] = c;
    d[1].x = a.x + b[0].y + (float)e + (float)g[0];
    f[0] = __half2{e, e};
    h[0] = hip_bfloat16(1.0f);
    i[0] = (__bf16)1.0f;
    j->x += 1;
}

extern "C" __global__ void structures(Empty a, ns::Pair b, ns::Pair *c, ns::Color d, ns::Color *e,
                                      ns::Array<float, 3> f, ns::Array<int, 2> *g, Hidden h, Unnamed *i, Pointer j,
                                      Number k) {
    c->a = b.a;
    *e = d;
    g->v[0] = f.v[0];
    i->a = h.a;
    j.p[0] = k.f;
}

template <typename T, typename U>
__global__ void pointers(T *__restrict__ out, const U &in, volatile int *a, Changing *b, float (*c)[4], std::byte *d,
                         const real *const *e, void *f, const void *, void (*g)(int), std::nullptr_t h) {
    out[0].x = in + *a + *b + c[1][2] + e[0][0];
    *d = std::byte{1};
    *(int *)f = 1;
}
struct X { int x; };
template __global__ void pointers<X, float>(X *, const float &, volatile int *, Changing *, float (*)[4], std::byte *,
                                            const real *const *, void *, const void *, void (*)(int), std::nullptr_t);

__device__ __noinline__ void store(float *p) { asm volatile("" : : "v"(p) : "memory"); }
extern "C" __global__ void uses(const float *read, float *reads_too, float *write, float *both, unsigned *atomic,
                                const float *unused, const float *cast, const float *out_of_sight, float *given_away) {
    write[0] = read[0] + reads_too[0];
    both[0] += 1;
    atomicAdd(atomic, 1u);
    const_cast<float *>(cast)[0] = 1;
    store(const_cast<float *>(out_of_sight));
    store(given_away);
}
"#;
    let (_folder, builder) = folder(toolchain, source);
    let build = builder.flag("-std=c++17").build().unwrap();
    for target in TARGETS {
        let value = |name, ty| (name, ty, false, None);
        let facts = |kernel| facts(&build, target, kernel);
        let expected = [
            "bool",
            "char",
            "signed char",
            "unsigned char",
            "short",
            "unsigned short",
            "int",
            "unsigned int",
            "unsigned long",
            "long long",
            "unsigned long",
            "float",
            "double",
            "_Float16",
            "__int128",
            "int",
        ];
        let numbers = facts("numbers");
        assert_eq!(numbers.iter().map(|fact| fact.1).collect::<Vec<_>>()[..16], expected);
        assert_eq!(numbers.iter().map(|fact| fact.0).collect::<String>(), "abcdefghijklmnopout");
        assert_eq!(numbers[16], ("out", "double*", false, Some(Write)));
        assert!(numbers[..16].iter().all(|fact| (fact.2, fact.3) == (false, None)));

        let vector = "float __attribute__((ext_vector_type(4)))";
        assert_eq!(
            facts("floats"),
            [
                value("a", "float4"),
                ("b", "float4*", true, Some(Read)),
                value("c", vector),
                ("d", &format!("{vector}*"), false, Some(Write)),
                value("e", "__half"),
                ("f", "__half2*", false, Some(Write)),
                ("g", "__hip_bfloat16*", true, Some(Read)),
                ("h", "hip_bfloat16*", false, Some(Write)),
                ("i", "__bf16*", false, Some(Write)),
                ("j", "ulonglong2*", false, Some(ReadWrite)),
            ]
        );
        assert_eq!(
            facts("structures"),
            [
                value("a", "Empty"),
                value("b", "ns::Pair"),
                ("c", "ns::Pair*", false, Some(Write)),
                value("d", "ns::Color"),
                ("e", "ns::Color*", false, Some(Write)),
                value("f", "ns::Array<float, 3>"),
                ("g", "ns::Array<int, 2>*", false, Some(Write)),
                value("h", "(anonymous namespace)::Hidden"),
                ("i", "Unnamed*", false, Some(Write)),
                // The compiler passes the pointer in it.
                ("j", "Pointer", false, Some(Write)),
                value("k", "Number"),
            ]
        );
        assert_eq!(
            facts("_Z8pointersI1XfEvPT_RKT0_PViPVKiPA4_fPSt4bytePKPKfPvPKvPFviEDn"),
            [
                ("out", "X*", false, Some(Write)),
                ("in", "float&", true, Some(Read)),
                // To the optimiser, reading volatile memory may change it.
                ("a", "int*", false, Some(ReadWrite)),
                ("b", "int*", true, None),
                ("c", "float (*)[4]", false, Some(Read)),
                ("d", "std::byte*", false, Some(Write)),
                ("e", "float**", true, Some(Read)),
                ("f", "void*", false, Some(Write)),
                ("", "void*", true, Some(Read)),
                ("g", "", false, Some(Read)),
                ("h", "", false, Some(Read)),
            ]
        );
        assert_eq!(
            facts("uses"),
            [
                ("read", "float*", true, Some(Read)),
                ("reads_too", "float*", false, Some(Read)),
                ("write", "float*", false, Some(Write)),
                ("both", "float*", false, Some(ReadWrite)),
                ("atomic", "unsigned int*", false, Some(ReadWrite)),
                ("unused", "float*", true, Some(Read)),
                // The declaration does not hide what the kernel does.
                ("cast", "float*", true, Some(Write)),
                ("out_of_sight", "float*", true, None),
                ("given_away", "float*", false, Some(ReadWrite)),
            ]
        );
    }
}

#[test]
fn access_is_that_of_the_target() {
    let Some(toolchain) = toolchain() else { return };
    let source = r#"extern "C" __global__ void k(int *x, int *y) {
#ifdef __gfx90a__
    x[0] = y[0];
#else
    y[0] = x[0];
#endif
}"#;
    let (_folder, builder) = folder(toolchain, source);
    let build = builder.build().unwrap();
    let access = |target| facts(&build, target, "k").iter().map(|fact| fact.3).collect::<Vec<_>>();
    assert_eq!(access("gfx90a"), [Some(Write), Some(Read)]);
    assert_eq!(access("gfx1100"), [Some(Read), Some(Write)]);
}

#[test]
fn without_optimisation_nothing_is_claimed_that_was_not_proved() {
    let Some(toolchain) = toolchain() else { return };
    let source = r#"extern "C" __global__ void k(const int *x, int *y, int *z) { y[0] = x[0] + z[0]; }"#;
    let (_folder, builder) = folder(toolchain, source);
    let build = builder.flag("-O0").build().unwrap();
    let expected = [
        ("x", "int*", true, None),
        ("y", "int*", false, Some(ReadWrite)),
        ("z", "int*", false, Some(ReadWrite)),
    ];
    assert_eq!(facts(&build, "gfx1100", "k"), expected);
}

/// The executable bytes, and the descriptor of each kernel without the distance to its code.
fn code(bytes: &[u8]) -> (Vec<u8>, Vec<String>) {
    let object = CodeObject::parse(bytes).unwrap();
    let text = object.segments().iter().find(|segment| segment.executable).unwrap();
    let range = object.file_range(text.vaddr, text.mem_size).unwrap();
    let descriptors = object.kernels().iter().map(|kernel| {
        let mut kernel = kernel.clone();
        let place = kernel.entry_vaddr - text.vaddr;
        kernel.descriptor.kernel_code_entry_byte_offset = 0;
        format!("{} {place} {:?} {} {}", kernel.name, kernel.descriptor, kernel.vgpr_count, kernel.sgpr_count)
    });
    (bytes[range].to_vec(), descriptors.collect())
}

#[test]
fn the_machine_code_is_that_of_one_compilation() {
    let Some(toolchain) = toolchain() else { return };
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels").canonicalize().unwrap();
    let folder = Folder::new(toolchain.clone());
    let source = folder.write("k.cu", &std::fs::read_to_string(kernels.join("kv_cache.cu")).unwrap());
    // The folder where `kernel-build` finds CUDA's headers.
    let headers = folder.path().join("cuda");
    for (name, text) in device_compiler::cuda::HEADERS {
        let path = headers.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let compare = |targets: &[&str], flags: &[&str]| {
        let builder = Builder::new(folder.kernels())
            .toolchain(toolchain.clone())
            .cache(folder.cache())
            .targets(targets)
            .include(&kernels);
        let build = flags.iter().fold(builder, |builder, flag| builder.flag(*flag)).build().unwrap();
        for object in &build.modules[0].objects {
            let output = folder.path().join("whole.hsaco");
            let mut whole = toolchain.command();
            whole.args(["--offload-device-only", "--no-gpu-bundle-output", "-fuse-cuid=none", "-O3"]);
            whole.args(["-mcode-object-version=5", device_compiler::cuda::DIALECT_OPTION]).args(flags);
            whole.arg(format!("--offload-arch={}", object.target));
            whole.arg("-I").arg(&kernels).arg("-isystem").arg(&headers);
            whole.arg("-include").arg(headers.join(device_compiler::cuda::RUNTIME_HEADER));
            assert!(whole.arg("-o").arg(&output).arg(&source).status().unwrap().success());
            let (ours, theirs) = (code(&object.bytes), code(&std::fs::read(&output).unwrap()));
            assert_eq!(ours.1, theirs.1, "{} {flags:?}", object.target);
            assert!(ours.0 == theirs.0, "{} {flags:?}", object.target);
        }
    };
    // One target of each kind of instruction set, each with another optimisation level. Not -O0, whose code
    // depends on distances to constants, which change with the length of the metadata.
    compare(&["gfx1201"], &["-O1"]);
    compare(&["gfx942"], &["-Ofast", "-munsafe-fp-atomics", "-fgpu-flush-denormals-to-zero"]);
    compare(&["gfx1100"], &["-mwavefrontsize64", "-mcumode", "-mllvm", "-amdgpu-early-inline-all=true"]);
    compare(&["gfx90a:xnack+"], &["-g"]);
}

#[test]
fn source_lines_are_there_unless_they_are_not_wanted() {
    let Some(toolchain) = toolchain() else { return };
    let source = r#"__device__ float twice(float x) { return x * 2; }
extern "C" __global__ void k(const float *x, float *y) { y[0] = twice(x[0]); }"#;
    let (_folder, builder) = folder(toolchain.clone(), source);
    let with = builder.build().unwrap();
    let (_folder, builder) = folder(toolchain.clone(), source);
    let without = builder.source_lines(false).build().unwrap();
    let (_folder, builder) = folder(toolchain, source);
    let full = builder.flag("-g").build().unwrap();
    let sizes = [&without, &with, &full].map(|build| build.modules[0].objects[0].bytes.len());
    assert!(sizes[0] < sizes[1] && sizes[1] < sizes[2], "{sizes:?}");
    let has = |build: &Build, section: &str| {
        let bytes = &build.modules[0].objects[0].bytes;
        bytes.windows(section.len()).any(|window| window == section.as_bytes())
    };
    for section in [".debug_line\0", ".debug_info\0"] {
        assert_eq!(
            [&without, &with, &full].map(|build| has(build, section)),
            [false, true, true],
            "{section}"
        );
    }
    // A few kilobytes, mostly about locations.
    assert!(sizes[1] - sizes[0] < 4096, "{sizes:?}");
    // The kernels' arguments are described in any case.
    for build in [&with, &without, &full] {
        assert_eq!(
            facts(build, "gfx90a", "k"),
            [("x", "float*", true, Some(Read)), ("y", "float*", false, Some(Write))]
        );
    }
}
