//! Image instructions: elements by integer coordinates, and reads through samplers.
//!
//! An image is in linear order and has one level; what a descriptor says beyond that is a fault. Samplers
//! weight elements with fractions of eight bits, as the hardware does.

use gpu_report::{AccessKind, FaultKind, Space};
use half::f16;
use vgpu_isa::{
    Clamp, Generation, ImageCoordinates, ImageError, ImageKind, ImageOp, ImageResource, ImageSampler,
    NumberFormat, scalar,
};

use super::accesses::{LaneAccess, Moved};
use super::lanes::Bits;
use super::single;
use super::spaces::fail;
use super::typed::Shape;
use crate::level::{Body, scalar_handler};
use crate::{Code, Flow, Handler, Wave};

/// The most elements that a read weights.
const TAPS: usize = 8;
/// The fraction's bits of a weight.
const FRACTION: u32 = 8;

/// The handler of all of them.
pub(super) fn handler(lanes: usize) -> Handler {
    scalar_handler::<Image>(lanes)
}

/// An element that a lane accesses.
#[derive(Clone, Copy)]
struct Tap {
    /// `None` is outside the image.
    place: Option<[u32; 3]>,
    weight: f64,
}

/// The elements that a lane accesses.
struct Taps {
    all: [Tap; TAPS],
    count: usize,
}

impl Taps {
    fn one(place: Option<[u32; 3]>) -> Taps {
        Taps { all: [Tap { place, weight: 1.0 }; TAPS], count: 1 }
    }

    fn iter(&self) -> impl Iterator<Item = &Tap> {
        self.all[..self.count].iter()
    }
}

/// What the lanes of an instruction share.
struct View {
    op: ImageOp,
    /// `None` for a descriptor of zeros: loads give zeros, stores do nothing.
    resource: Option<ImageResource>,
    sampler: Option<ImageSampler>,
    coordinates: ImageCoordinates,
    lanes: usize,
    /// Stores repeat the first channel in those that the instruction lacks; otherwise these are zero.
    repeats: bool,
}

/// Words of a descriptor.
fn words<const N: usize>(wave: &Wave, slot: u8) -> [u32; N] {
    // NULL is a descriptor of zeros.
    let word = |i: usize| wave.sgpr.get(usize::from(slot) + i).copied().unwrap_or(0);
    crate::rows::from_fn(|i| if slot == scalar::NULL { 0 } else { word(i) })
}

impl View {
    fn new(wave: &Wave, op: ImageOp, generation: Generation) -> Result<View, &'static str> {
        let resource = match ImageResource::read(generation, &words(wave, op.resource)) {
            Ok(resource) => Some(resource),
            Err(ImageError::Null) => None,
            Err(ImageError::Unsupported(what)) => return Err(what),
        };
        let sampler = match op.sampler.map(|slot| ImageSampler::read(&words(wave, slot))) {
            Some(Err(ImageError::Unsupported(what))) => return Err(what),
            Some(Ok(sampler)) => Some(sampler),
            _ => None,
        };
        let coordinates = op.coordinates.unwrap_or_else(|| {
            resource.map_or(ImageCoordinates { places: 1, layer: false }, |resource| ImageCoordinates {
                places: resource.shape.places(),
                layer: resource.shape.has_layers() && op.array,
            })
        });
        let repeats = generation >= Generation::Gfx12;
        Ok(View { op, resource, sampler, coordinates, lanes: wave.lanes.into(), repeats })
    }

    /// A register of a lane's address.
    ///
    /// # Safety
    /// The wave must be that of the view, and the lane one of its lanes.
    unsafe fn part(&self, wave: &Wave, index: usize, lane: usize) -> u32 {
        let register = usize::from(self.op.address(index));
        // SAFETY: the file has 256 registers and more of so many lanes.
        unsafe { wave.vgpr.add(register * self.lanes + lane).read() }
    }

    /// A coordinate, a layer or a level, as it is in its register.
    ///
    /// # Safety
    /// As for [`View::part`].
    unsafe fn component(&self, wave: &Wave, index: usize, lane: usize) -> u32 {
        let before = self.op.before(self.coordinates);
        // SAFETY: the caller's promise.
        unsafe {
            match self.op.a16 {
                true => self.part(wave, before + index / 2, lane) >> (index % 2 * 16) & 0xffff,
                false => self.part(wave, before + index, lane),
            }
        }
    }

    /// A coordinate or a layer of a read through a sampler.
    ///
    /// # Safety
    /// As for [`View::part`].
    unsafe fn float(&self, wave: &Wave, index: usize, lane: usize) -> f32 {
        // SAFETY: the caller's promise.
        let bits = unsafe { self.component(wave, index, lane) };
        let value = if self.op.a16 { f16::from_bits(bits as u16).to_f32() } else { f32::from_bits(bits) };
        if value.is_nan() { 0.0 } else { value }
    }

    /// The offset in elements along a dimension: six bits with a sign.
    ///
    /// # Safety
    /// As for [`View::part`].
    unsafe fn offset(&self, wave: &Wave, dimension: usize, lane: usize) -> i64 {
        if !self.op.offset {
            return 0;
        }
        // SAFETY: the caller's promise.
        let word = unsafe { self.part(wave, 0, lane) };
        i64::from((word >> (8 * dimension) << 26) as i32 >> 26)
    }

    /// The element at a lane's integer coordinates.
    ///
    /// # Safety
    /// As for [`View::part`].
    unsafe fn element(&self, wave: &Wave, resource: &ImageResource, lane: usize) -> Option<[u32; 3]> {
        let ImageCoordinates { places, layer } = self.coordinates;
        let mut at = [0; 3];
        // SAFETY: the caller's promise.
        unsafe {
            for (index, at) in at.iter_mut().enumerate().take(places.into()) {
                *at = self.component(wave, index, lane);
            }
            if layer {
                at[2] = self.component(wave, places.into(), lane);
            }
            let level = usize::from(places) + usize::from(layer);
            if self.op.level && self.component(wave, level, lane) != 0 {
                return None;
            }
        }
        at.iter().zip(resource.size).all(|(at, size)| *at < size).then_some(at)
    }

    /// The elements that a lane reads, in the order of a gather's results, and their weights.
    ///
    /// # Safety
    /// As for [`View::part`].
    unsafe fn sampled(&self, wave: &Wave, resource: &ImageResource, lane: usize) -> Taps {
        let ImageCoordinates { places, layer } = self.coordinates;
        let Some(sampler) = self.sampler else { return Taps::one(None) };
        let gathers = self.op.kind == ImageKind::Gather;
        let linear = gathers || sampler.linear && !is_integer(resource);
        let unnormalized = sampler.unnormalized || self.op.unnormalized;
        // The lower element of each dimension, and the part of the upper one, if it takes part.
        let mut lower = [0i64; 3];
        let mut part = [None; 3];
        for dimension in 0..usize::from(places) {
            // SAFETY: the caller's promise.
            let (given, offset) =
                unsafe { (self.float(wave, dimension, lane), self.offset(wave, dimension, lane)) };
            let place = if unnormalized { given } else { given * resource.size[dimension] as f32 };
            // Places have a fraction of eight bits, also those that are only looked up: device libraries
            // divide the number of an element by the size of the image, and the product may be less than that
            // number.
            let one = 1 << FRACTION;
            let centre = if linear { 0.5 } else { 0.0 };
            let fixed = ((f64::from(place) - centre) * f64::from(one)).round() as i64;
            lower[dimension] = (fixed >> FRACTION).saturating_add(offset);
            if linear {
                part[dimension] = Some((fixed & i64::from(one - 1)) as f64 / f64::from(one));
            }
        }
        let layer = match layer {
            true => {
                // SAFETY: the caller's promise.
                let layer = unsafe { self.float(wave, places.into(), lane) }.round_ties_even();
                layer.clamp(0.0, (resource.size[2] - 1) as f32) as u32
            }
            false => 0,
        };
        let mut taps = Taps { all: [Tap { place: None, weight: 0.0 }; TAPS], count: 0 };
        let ends = part.map(|part| if part.is_some() { 2 } else { 1 });
        for z in 0..ends[2] {
            for y in 0..ends[1] {
                for x in 0..ends[0] {
                    let mut at = Some([0, 0, layer]);
                    let mut weight = 1.0;
                    for (dimension, upper) in [x, y, z].into_iter().enumerate().take(places.into()) {
                        weight *= match (part[dimension], upper) {
                            (None, _) => 1.0,
                            (Some(part), 0) => 1.0 - part,
                            (Some(part), _) => part,
                        };
                        let index = lower[dimension].saturating_add(upper);
                        let inside = clamped(index, resource.size[dimension], sampler.clamp[dimension]);
                        at = match (at, inside) {
                            (Some(mut at), Some(inside)) => {
                                at[dimension] = inside;
                                Some(at)
                            }
                            _ => None,
                        };
                    }
                    taps.all[taps.count] = Tap { place: at, weight };
                    taps.count += 1;
                }
            }
        }
        if gathers {
            // From the lower left, against the sense of y.
            let [a, b, c, d, ..] = taps.all;
            taps.all[..4].copy_from_slice(&[c, d, b, a]);
            taps.count = 4;
        }
        taps
    }

    /// The elements that a lane accesses.
    ///
    /// # Safety
    /// As for [`View::part`].
    unsafe fn taps(&self, wave: &Wave, resource: &ImageResource, lane: usize) -> Taps {
        // SAFETY: the caller's promise.
        unsafe {
            match self.op.kind {
                ImageKind::Size => Taps { count: 0, ..Taps::one(None) },
                ImageKind::Load | ImageKind::Store => Taps::one(self.element(wave, resource, lane)),
                ImageKind::Sample | ImageKind::Gather => self.sampled(wave, resource, lane),
            }
        }
    }

    /// How an element becomes registers. Filters work on floats of 32 bits.
    fn shape(&self, resource: &ImageResource, d16: bool) -> Shape {
        Shape::of(resource.format, resource.selection, 4, d16)
    }
}

fn is_integer(resource: &ImageResource) -> bool {
    matches!(resource.format.number, NumberFormat::Uint | NumberFormat::Sint)
}

/// The index of the element that counts for an index that may be outside; `None` for the border.
fn clamped(index: i64, size: u32, clamp: Clamp) -> Option<u32> {
    let size = i64::from(size);
    let index = match clamp {
        Clamp::Wrap => index.rem_euclid(size),
        Clamp::Mirror => {
            let twice = index.rem_euclid(2 * size);
            twice.min(2 * size - 1 - twice)
        }
        Clamp::Edge => index.clamp(0, size - 1),
        Clamp::MirrorOnce => if index < 0 { -1 - index } else { index }.min(size - 1),
        Clamp::Border if (0..size).contains(&index) => index,
        Clamp::Border => return None,
    };
    u32::try_from(index).ok()
}

struct Image;

impl Body for Image {
    #[inline(always)]
    unsafe fn run<const L: usize>(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: the caller's promise.
        unsafe { run(wave, code) }
    }
}

#[inline(never)]
unsafe fn run(wave: &mut Wave, code: &Code) -> Flow {
    let Some(op) = wave.inst(code).and_then(|inst| inst.image()) else { return Flow::Next };
    let view = match View::new(wave, op, code.generation) {
        Ok(view) => view,
        Err(what) => {
            return wave.fail(FaultKind::Unsupported { what: format!("image instructions on {what}") });
        }
    };
    for lane in Bits(wave.active()) {
        // SAFETY: the caller's promise; the lane is one of the wave's.
        let flow = unsafe {
            match op.kind {
                ImageKind::Store => store(wave, &view, lane),
                _ => load(wave, &view, lane),
            }
        };
        if let Err(flow) = flow {
            return flow;
        }
    }
    Flow::Next
}

/// The bytes of an element.
fn read(wave: &mut Wave, resource: &ImageResource, place: [u32; 3], lane: usize) -> Result<u128, Flow> {
    let (address, bytes) = (resource.address(place), resource.format.bytes());
    if !wave.access.permits(AccessKind::Read, address, bytes as u64) {
        let fault = wave.access.refused(AccessKind::Read, address, bytes as u64, Some(lane));
        return Err(fail(wave, fault));
    }
    let mut element = 0u128;
    // SAFETY: the bytes lie in a live allocation, and `element` has room for them.
    unsafe { single::copy_in::<false>(address as *const u8, (&raw mut element).cast(), bytes) };
    Ok(element)
}

/// # Safety
/// As for [`View::part`].
unsafe fn load(wave: &mut Wave, view: &View, lane: usize) -> Result<(), Flow> {
    // SAFETY: the caller's promise.
    let result = unsafe { result(wave, view, lane)? };
    let op = &view.op;
    let mut values = [0; 4];
    let mut count = 0;
    for (channel, value) in result.into_iter().enumerate() {
        if op.kind == ImageKind::Gather || op.mask >> channel & 1 != 0 {
            values[count] = value;
            count += 1;
        }
    }
    // SAFETY: the data's registers are in the file.
    let write = |register: usize, value: u32| unsafe {
        wave.vgpr.add((usize::from(op.data) + register) * view.lanes + lane).write(value);
    };
    let mut next = 0;
    if op.d16 {
        for pair in values[..count].chunks(2) {
            write(next, pair[0] & 0xffff | pair.get(1).map_or(0, |high| high << 16));
            next += 1;
        }
    } else {
        for value in &values[..count] {
            write(next, *value);
            next += 1;
        }
    }
    if op.status {
        // No page was missing.
        write(usize::from(op.data_count) - 1, 0);
    }
    Ok(())
}

/// The four channels of a lane's result.
///
/// # Safety
/// As for [`View::part`].
unsafe fn result(wave: &mut Wave, view: &View, lane: usize) -> Result<[u32; 4], Flow> {
    let op = &view.op;
    let Some(resource) = view.resource else { return Ok([0; 4]) };
    if op.kind == ImageKind::Size {
        let [width, height, depth] = resource.size;
        let layers = if resource.shape.places() == 1 && resource.shape.has_layers() { depth } else { height };
        return Ok([width, layers, depth, 1]);
    }
    // SAFETY: the caller's promise.
    let taps = unsafe { view.taps(wave, &resource, lane) };
    let shape = view.shape(&resource, op.d16);
    let border = view.sampler.map_or([0.0; 4], |sampler| {
        let [white, opaque] = sampler.border.map(|on| if on { 1.0 } else { 0.0 });
        [white, white, white, opaque]
    });
    let mut channels = |tap: &Tap, shape: &Shape| -> Result<[u32; 4], Flow> {
        Ok(match tap.place {
            Some(place) => shape.load(Some(read(wave, &resource, place, lane)?)),
            None if op.sampler.is_some() => shape.constant(border),
            None => shape.load(None),
        })
    };
    if op.kind == ImageKind::Gather {
        let channel = (op.mask.trailing_zeros() as usize).min(3);
        let mut gathered = [0; 4];
        for (gathered, tap) in gathered.iter_mut().zip(taps.iter()) {
            *gathered = channels(tap, &shape)?[channel];
        }
        return Ok(gathered);
    }
    if taps.count == 1 {
        return channels(&taps.all[0], &shape);
    }
    let whole = view.shape(&resource, false);
    let mut sums = [0.0f64; 4];
    for tap in taps.iter().filter(|tap| tap.weight != 0.0) {
        let values = channels(tap, &whole)?;
        for (sum, value) in sums.iter_mut().zip(values) {
            *sum += tap.weight * f64::from(f32::from_bits(value));
        }
    }
    Ok(sums.map(|sum| match op.d16 {
        true => u32::from(f16::from_f64(sum).to_bits()),
        false => (sum as f32).to_bits(),
    }))
}

/// # Safety
/// As for [`View::part`].
unsafe fn store(wave: &mut Wave, view: &View, lane: usize) -> Result<(), Flow> {
    let Some(resource) = view.resource else { return Ok(()) };
    let op = &view.op;
    // SAFETY: the caller's promise.
    let Some(place) = (unsafe { view.element(wave, &resource, lane) }) else { return Ok(()) };
    let mut channels = [0; 4];
    let mut next = 0;
    for (channel, value) in channels.iter_mut().enumerate() {
        if op.mask >> channel & 1 == 0 {
            continue;
        }
        let register = usize::from(op.data) + if op.d16 { next / 2 } else { next };
        // SAFETY: the data's registers are in the file.
        let bits = unsafe { wave.vgpr.add(register * view.lanes + lane).read() };
        *value = if op.d16 { bits >> (next % 2 * 16) & 0xffff } else { bits };
        next += 1;
    }
    if view.repeats && op.mask != 0 {
        let first = channels[op.mask.trailing_zeros() as usize & 3];
        for (channel, value) in channels.iter_mut().enumerate() {
            if op.mask >> channel & 1 == 0 {
                *value = first;
            }
        }
    }
    let element = view.shape(&resource, op.d16).store(&resource.format, &channels);
    let (address, bytes) = (resource.address(place), resource.format.bytes());
    if !wave.access.permits(AccessKind::Write, address, bytes as u64) {
        let fault = wave.access.refused(AccessKind::Write, address, bytes as u64, Some(lane));
        return Err(fail(wave, fault));
    }
    wave.stored = true;
    // SAFETY: the bytes lie in a live allocation, and `element` holds them.
    unsafe { single::copy_out::<false>((&raw const element).cast(), address as *mut u8, bytes) };
    Ok(())
}

/// The accesses of an image instruction: one for each element that a lane's result depends on.
///
/// # Safety
/// The wave must be set up for the program that the instruction belongs to.
pub(super) unsafe fn accesses(op: ImageOp, wave: &Wave, generation: Generation, found: &mut Vec<LaneAccess>) {
    let Ok(view) = View::new(wave, op, generation) else { return };
    let Some(resource) = view.resource else { return };
    let loads = op.loads();
    let mut places = [[None; 64]; TAPS];
    for lane in Bits(wave.active()) {
        // SAFETY: the caller's promise.
        let taps = unsafe { view.taps(wave, &resource, lane) };
        for (places, tap) in places.iter_mut().zip(taps.iter()) {
            places[lane] = tap.place.filter(|_| tap.weight != 0.0 || op.kind == ImageKind::Gather);
        }
    }
    for places in places {
        let with_place = (0..64).filter(|lane| places[*lane].is_some());
        let mask = with_place.fold(0u64, |mask, lane| mask | 1 << lane);
        if mask == 0 {
            continue;
        }
        found.push(LaneAccess {
            space: Space::Global,
            kind: if loads { AccessKind::Read } else { AccessKind::Write },
            scalar: false,
            bytes: resource.format.bytes() as u32,
            mask,
            address: crate::rows::from_fn(|lane| places[lane].map_or(0, |place| resource.address(place))),
            loaded: loads.then_some(op.data),
            stored: (!loads).then_some(op.data),
            moved: Moved::Converted,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_outside_are_those_of_the_addressing_mode() {
        let all = |clamp| (-5..8).map(|index| clamped(index, 3, clamp)).collect::<Vec<_>>();
        let some = |indices: [u32; 13]| indices.map(Some).to_vec();
        assert_eq!(all(Clamp::Wrap), some([1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1]));
        assert_eq!(all(Clamp::Mirror), some([1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0, 1]));
        assert_eq!(all(Clamp::Edge), some([0, 0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2, 2]));
        assert_eq!(all(Clamp::MirrorOnce), some([2, 2, 2, 1, 0, 0, 1, 2, 2, 2, 2, 2, 2]));
        assert_eq!(all(Clamp::Border)[4..9], [None, Some(0), Some(1), Some(2), None]);
    }
}
