//! The code of a source in one file: an offload bundle, compressed or not.

use code_object::bundle::{self, Entry as Part};
use device_compiler::cache::{Cache, Entry};

use crate::discover::Source;
use crate::{BuiltBundle, BuiltImage, BuiltObject, Error};

/// The name of the empty host entry, which HIP requires.
const HOST: &str = "host-x86_64-unknown-linux--";
/// Changes when the same code objects would give a different file.
const SCHEMA: &str = "ferrocm compressed bundle 2";

/// The name of a code object's entry.
fn id(object: &BuiltObject) -> String {
    format!("hipv4-amdgcn-amd-amdhsa--{}", object.target)
}

/// A bundle that is not compressed, of the code for AMD's and for NVIDIA's GPUs.
pub(crate) fn plain(objects: &[BuiltObject], images: &[BuiltImage]) -> Vec<u8> {
    let ids: Vec<String> = objects.iter().map(id).collect();
    let cuda_ids: Vec<String> = images.iter().map(cuda_id).collect();
    let mut parts = vec![Part { id: HOST, bytes: b"" }];
    parts.extend(ids.iter().zip(objects).map(|(id, object)| Part { id, bytes: &object.bytes }));
    parts.extend(cuda_ids.iter().zip(images).map(|(id, image)| Part { id, bytes: &image.bytes }));
    bundle::bundle(&parts)
}

fn cuda_id(image: &BuiltImage) -> String {
    bundle::cuda_id(&image.arch.to_string(), image.kind)
}

/// A compressed bundle of a source's code, from the cache if possible, because compressing takes longer.
pub(crate) fn compressed(
    cache: &Cache,
    source: &Source,
    objects: &[BuiltObject],
    images: &[BuiltImage],
) -> Result<BuiltBundle, Error> {
    let mut key = blake3::Hasher::new();
    key.update(SCHEMA.as_bytes());
    let objects_of = objects.iter().map(|object| (id(object), &object.hash));
    for (id, hash) in objects_of.chain(images.iter().map(|image| (cuda_id(image), &image.hash))) {
        key.update(format!("\0{id} {hash}").as_bytes());
    }
    let key = key.finalize().to_hex();
    let _turn = match cache.lookup_or_turn(&key, |_| None) {
        Ok((entry, bytes)) => return Ok(BuiltBundle { bytes, hash: entry.object }),
        Err(turn) => turn,
    };
    let bytes = bundle::compressed(&plain(objects, images))
        .map_err(|error| Error::Bundle { source_file: source.path.clone(), error })?;
    let hash = blake3::hash(&bytes).to_hex().to_string();
    cache.store(&key, Entry { object: hash.clone(), ..Entry::default() }, &bytes)?;
    Ok(BuiltBundle { bytes, hash })
}
