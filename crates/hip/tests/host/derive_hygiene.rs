//! The checks and the code of `#[derive(DeviceCopy)]` do not depend on the program's own definitions.

/// Definitions with every name that the derive might use.
#[allow(dead_code, unused_macros, non_camel_case_types, reason = "the names are there to be in the way")]
mod hostile {
    mod core {}
    mod std {}
    pub(super) mod hip {
        pub(crate) trait DeviceCopy {}
    }
    macro_rules! assert {
        ($($anything:tt)*) => {
            compile_error!("not this one")
        };
    }
    struct Option;
    struct Result;
    struct Some;
    struct usize;
    trait Copy {}
    trait Sized {}
    trait DeviceCopy {}
    const fn size_of() -> ::core::primitive::usize {
        0
    }
    const fn plain() -> ::core::primitive::usize {
        2
    }
    #[allow(non_upper_case_globals, reason = "as above")]
    const sum: ::core::primitive::usize = 3;

    #[repr(C)]
    #[derive(::core::clone::Clone, ::core::marker::Copy, ::hip::DeviceCopy)]
    pub(super) struct Fields {
        pub(super) a: [u16; plain()],
        pub(super) b: [f32; sum],
    }

    #[repr(transparent)]
    #[derive(::core::clone::Clone, ::core::marker::Copy, ::hip::DeviceCopy)]
    pub(super) struct Generic<T>(pub(super) T);
}

fn is_device_copy<T: hip::DeviceCopy>(_: T) -> usize {
    size_of::<T>()
}

#[test]
fn names_of_the_program_are_not_taken_for_those_that_are_meant() {
    assert_eq!(is_device_copy(hostile::Fields { a: [1, 2], b: [0.0; 3] }), 16);
    assert_eq!(is_device_copy(hostile::Generic(1.0_f64)), 8);
}
