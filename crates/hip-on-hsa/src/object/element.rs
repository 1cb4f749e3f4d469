//! The formats of elements of arrays, textures and surfaces: one, two or four channels of the same type.

use hip_sys::{
    hipArray_Format, hipChannelFormatDesc, hipChannelFormatKind, hipError_t, hipResourceViewFormat,
    hipTextureReadMode,
};
use hsa_sys::{hsa_ext_image_channel_order_t, hsa_ext_image_channel_type_t, hsa_ext_image_format_t};

use crate::error::Result;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

type Kind = hipChannelFormatKind;
type Type = hsa_ext_image_channel_type_t;
type Order = hsa_ext_image_channel_order_t;
type Format = hipArray_Format;
type View = hipResourceViewFormat;

/// A type of channels, by the names that it has in different places.
struct Channel {
    kind: Kind,
    bits: i32,
    array: Format,
    /// In views with one, two and four channels.
    views: [View; 3],
    plain: Type,
    /// Read as numbers between 0 and 1, or -1 and 1. As with AMD's runtime, 32-bit integers never are.
    normalized: Type,
}

const CHANNELS: [Channel; 8] = [
    Channel {
        kind: Kind::hipChannelFormatKindUnsigned,
        bits: 8,
        array: Format::HIP_AD_FORMAT_UNSIGNED_INT8,
        views: [
            View::hipResViewFormatUnsignedChar1,
            View::hipResViewFormatUnsignedChar2,
            View::hipResViewFormatUnsignedChar4,
        ],
        plain: Type::HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT8,
        normalized: Type::HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8,
    },
    Channel {
        kind: Kind::hipChannelFormatKindUnsigned,
        bits: 16,
        array: Format::HIP_AD_FORMAT_UNSIGNED_INT16,
        views: [
            View::hipResViewFormatUnsignedShort1,
            View::hipResViewFormatUnsignedShort2,
            View::hipResViewFormatUnsignedShort4,
        ],
        plain: Type::HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT16,
        normalized: Type::HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT16,
    },
    Channel {
        kind: Kind::hipChannelFormatKindUnsigned,
        bits: 32,
        array: Format::HIP_AD_FORMAT_UNSIGNED_INT32,
        views: [
            View::hipResViewFormatUnsignedInt1,
            View::hipResViewFormatUnsignedInt2,
            View::hipResViewFormatUnsignedInt4,
        ],
        plain: Type::HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT32,
        normalized: Type::HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT32,
    },
    Channel {
        kind: Kind::hipChannelFormatKindSigned,
        bits: 8,
        array: Format::HIP_AD_FORMAT_SIGNED_INT8,
        views: [
            View::hipResViewFormatSignedChar1,
            View::hipResViewFormatSignedChar2,
            View::hipResViewFormatSignedChar4,
        ],
        plain: Type::HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT8,
        normalized: Type::HSA_EXT_IMAGE_CHANNEL_TYPE_SNORM_INT8,
    },
    Channel {
        kind: Kind::hipChannelFormatKindSigned,
        bits: 16,
        array: Format::HIP_AD_FORMAT_SIGNED_INT16,
        views: [
            View::hipResViewFormatSignedShort1,
            View::hipResViewFormatSignedShort2,
            View::hipResViewFormatSignedShort4,
        ],
        plain: Type::HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT16,
        normalized: Type::HSA_EXT_IMAGE_CHANNEL_TYPE_SNORM_INT16,
    },
    Channel {
        kind: Kind::hipChannelFormatKindSigned,
        bits: 32,
        array: Format::HIP_AD_FORMAT_SIGNED_INT32,
        views: [
            View::hipResViewFormatSignedInt1,
            View::hipResViewFormatSignedInt2,
            View::hipResViewFormatSignedInt4,
        ],
        plain: Type::HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT32,
        normalized: Type::HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT32,
    },
    Channel {
        kind: Kind::hipChannelFormatKindFloat,
        bits: 16,
        array: Format::HIP_AD_FORMAT_HALF,
        views: [View::hipResViewFormatHalf1, View::hipResViewFormatHalf2, View::hipResViewFormatHalf4],
        plain: Type::HSA_EXT_IMAGE_CHANNEL_TYPE_HALF_FLOAT,
        normalized: Type::HSA_EXT_IMAGE_CHANNEL_TYPE_HALF_FLOAT,
    },
    Channel {
        kind: Kind::hipChannelFormatKindFloat,
        bits: 32,
        array: Format::HIP_AD_FORMAT_FLOAT,
        views: [View::hipResViewFormatFloat1, View::hipResViewFormatFloat2, View::hipResViewFormatFloat4],
        plain: Type::HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT,
        normalized: Type::HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT,
    },
];

/// Counts of channels in a view's format, in the order of [`Channel::views`].
const VIEW_CHANNELS: [usize; 3] = [1, 2, 4];

/// The format of an element.
#[derive(Clone, Copy)]
pub(crate) struct Element {
    channels: usize,
    channel: &'static Channel,
}

impl Element {
    /// The element with this description of its channels. Three channels are a format of linear memory only.
    pub(crate) fn of(format: &hipChannelFormatDesc) -> Result<Self> {
        let bits = [format.x, format.y, format.z, format.w];
        let channels = bits.iter().filter(|&&bits| bits != 0).count();
        if channels == 0 || bits[..channels].iter().any(|&bits| bits != format.x) {
            return Err(INVALID_VALUE);
        }
        Self::found(channels, |channel| channel.kind == format.f && channel.bits == format.x)
    }

    /// The element with so many channels of a format of arrays.
    pub(crate) fn of_array(format: hipArray_Format, channels: u32) -> Result<Self> {
        if !(1..=4).contains(&channels) {
            return Err(INVALID_VALUE);
        }
        Self::found(channels as usize, |channel| channel.array == format)
    }

    /// The element of a view.
    pub(crate) fn of_view(format: hipResourceViewFormat) -> Result<Self> {
        let place = |channel: &Channel| channel.views.iter().position(|view| *view == format);
        let mut rows = CHANNELS.iter();
        let found = rows.find_map(|channel| Some(Self { channels: VIEW_CHANNELS[place(channel)?], channel }));
        found.ok_or(INVALID_VALUE)
    }

    fn found(channels: usize, is_it: impl Fn(&Channel) -> bool) -> Result<Self> {
        let channel = CHANNELS.iter().find(|channel| is_it(channel)).ok_or(INVALID_VALUE)?;
        Ok(Self { channels, channel })
    }

    pub(crate) fn bytes(self) -> usize {
        self.channels * self.channel.bits as usize / 8
    }

    pub(crate) fn channels(self) -> u32 {
        self.channels as u32
    }

    pub(crate) fn array_format(self) -> hipArray_Format {
        self.channel.array
    }

    pub(crate) fn description(self) -> hipChannelFormatDesc {
        let bits = |channel: usize| if channel < self.channels { self.channel.bits } else { 0 };
        hipChannelFormatDesc { x: bits(0), y: bits(1), z: bits(2), w: bits(3), f: self.channel.kind }
    }

    /// HSA's format of an image with such elements. There is none for three channels, and colours in the
    /// form of sRGB have four channels of eight bits, which are read as numbers between 0 and 1.
    pub(crate) fn image_format(self, mode: hipTextureReadMode, srgb: bool) -> Result<hsa_ext_image_format_t> {
        let kind = match mode == hipTextureReadMode::hipReadModeNormalizedFloat {
            true => self.channel.normalized,
            false => self.channel.plain,
        };
        let order = match self.channels {
            1 => Order::HSA_EXT_IMAGE_CHANNEL_ORDER_R,
            2 => Order::HSA_EXT_IMAGE_CHANNEL_ORDER_RG,
            4 if srgb && kind != Type::HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8 => return Err(INVALID_VALUE),
            4 if srgb => Order::HSA_EXT_IMAGE_CHANNEL_ORDER_SRGBA,
            4 => Order::HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA,
            _ => return Err(INVALID_VALUE),
        };
        Ok(hsa_ext_image_format_t { channel_type: kind.0, channel_order: order.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_a_format_leads_to_the_same_element() {
        let mut views = Vec::new();
        for channel in &CHANNELS {
            for (count, view) in VIEW_CHANNELS.into_iter().zip(channel.views) {
                let element = Element::of_array(channel.array, count as u32).unwrap();
                let described = Element::of(&element.description()).unwrap();
                let viewed = Element::of_view(view).unwrap();
                for same in [described, viewed] {
                    assert_eq!(same.channels, count);
                    assert!(std::ptr::eq(same.channel, element.channel));
                    assert_eq!(same.bytes(), element.bytes());
                }
                views.push(view);
            }
        }
        views.dedup();
        assert_eq!(views.len(), 24);
        assert!((1..=24).all(|view| views.contains(&hipResourceViewFormat(view))));
    }

    #[test]
    fn formats_that_do_not_exist_are_refused() {
        let describe = |x, y, z, w, f| hipChannelFormatDesc { x, y, z, w, f };
        let unsigned = Kind::hipChannelFormatKindUnsigned;
        for wrong in [
            describe(0, 0, 0, 0, unsigned),
            describe(0, 8, 0, 0, unsigned),
            describe(8, 16, 0, 0, unsigned),
            describe(8, 0, 8, 0, unsigned),
            describe(12, 0, 0, 0, unsigned),
            describe(64, 0, 0, 0, unsigned),
            describe(8, 0, 0, 0, Kind::hipChannelFormatKindFloat),
            describe(32, 0, 0, 0, Kind::hipChannelFormatKindNone),
            describe(-8, 0, 0, 0, unsigned),
        ] {
            assert!(Element::of(&wrong).is_err(), "{wrong:?}");
        }
        assert!(Element::of_array(hipArray_Format(4), 1).is_err());
        for channels in [0, 5] {
            assert!(Element::of_array(Format::HIP_AD_FORMAT_FLOAT, channels).is_err());
        }
        for view in [View::hipResViewFormatNone, View::hipResViewFormatUnsignedBlockCompressed1] {
            assert!(Element::of_view(view).is_err());
        }
        let three = Element::of_array(Format::HIP_AD_FORMAT_FLOAT, 3).unwrap();
        assert_eq!(three.bytes(), 12);
        let (plain, normal) =
            (hipTextureReadMode::hipReadModeElementType, hipTextureReadMode::hipReadModeNormalizedFloat);
        assert!(three.image_format(plain, false).is_err());
        let colour = Element::of_array(Format::HIP_AD_FORMAT_UNSIGNED_INT8, 4).unwrap();
        assert!(colour.image_format(plain, true).is_err());
        let srgb = colour.image_format(normal, true).unwrap();
        assert_eq!(srgb.channel_order, Order::HSA_EXT_IMAGE_CHANNEL_ORDER_SRGBA.0);
    }
}
