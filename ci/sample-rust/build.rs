//! Links the library of the component `sample`, from the archive that the stage `dependencies` unpacked.

fn main() {
    for name in ["FLEET_DEPENDENCIES", "FLEET_BUILD_ROW", "FLEET_HIP"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    let variable = |name: &str| {
        std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: the stage `compile` sets it"))
    };
    let library = format!("{}/sample/{}/lib", variable("FLEET_DEPENDENCIES"), variable("FLEET_BUILD_ROW"));
    println!("cargo::rerun-if-changed={library}/libsample.a");
    println!("cargo::rustc-link-search=native={library}");
    println!("cargo::rustc-link-search=native={}", variable("FLEET_HIP"));
    // Constructors register the code objects with HIP; nothing refers to them.
    println!("cargo::rustc-link-lib=static:+whole-archive=sample");
    println!("cargo::rustc-link-lib=dylib=amdhip64");
    println!("cargo::rustc-link-lib=dylib=stdc++");
    println!("cargo::rustc-link-arg=-Wl,--unresolved-symbols=ignore-in-shared-libs");
}
