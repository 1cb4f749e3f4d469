//! Parts of a buffer: ranges, chunks and rectangles, filled, copied, or split to write both halves at once.

use hip::{Device, DeviceBuffer, RectLayout, Region};

fn main() -> hip::Result<()> {
    let device = Device::open_default()?;
    let stream = device.stream()?;

    let mut buffer = DeviceBuffer::<u32>::zeroed(&stream, 8)?;
    buffer.slice_mut(2..6)?.fill(&stream, 7)?;
    buffer.slice_mut(3..=4)?.copy_from_host(&stream, &[1, 2])?;
    assert_eq!(buffer.to_vec(&stream)?, [0, 0, 7, 1, 2, 7, 0, 0]);

    // Two exclusive views of one buffer.
    let (mut low, mut high) = buffer.split_at_mut(4)?;
    high.copy_from(&stream, &low)?;
    low.fill(&stream, 9)?;
    assert_eq!(buffer.to_vec(&stream)?, [9, 9, 9, 9, 0, 0, 7, 1]);

    // The same elements as 4 columns and 2 rows; the middle is filled.
    let mut table = buffer.as_mut_rect(RectLayout::dense([4, 2, 1]))?;
    table.part_mut(Region::rectangle([1, 0], [2, 2]))?.fill(&stream, 3)?;
    assert_eq!(buffer.to_vec(&stream)?, [9, 3, 3, 9, 0, 3, 3, 1]);

    // Chunks, a cast to another type, and a clone.
    for (number, mut piece) in buffer.chunks_mut(3)?.enumerate() {
        piece.fill(&stream, number as u32)?;
    }
    assert_eq!(buffer.cast::<[u32; 2]>()?.to_vec(&stream)?, [[0, 0], [0, 1], [1, 1], [2, 2]]);
    let copy = buffer.try_clone(&stream)?;
    buffer.fill(&stream, 5)?;
    assert_eq!(copy.to_vec(&stream)?, [0, 0, 0, 1, 1, 1, 2, 2]);

    // An out-of-range error names the range and the buffer's length.
    let error = buffer.slice(5..9).unwrap_err();
    println!("{error}");
    assert!(buffer.try_slice(5..9).is_none());
    Ok(())
}
