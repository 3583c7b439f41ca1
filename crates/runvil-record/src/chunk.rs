//! How the course of a run stands in the database: the frames that landed together, packed into one value.
//!
//! One value costs one row, however much happened; as rows of their own, a thousand effects would be seven thousand.

use serde::{Deserialize, Serialize};

use crate::change::{Change, Frame};

/// What a chunk begins with: the version of its form.
const FORM: u8 = 1;

/// The form and the checksum of what follows, the lowest byte first.
const HEADER: usize = 5;

/// No byte of a packed value stands for more bytes than this.
const MOST_PACKED: usize = 256;

/// What one call of the recorder came to, without what stands in columns and tables of its own.
#[derive(Debug, PartialEq, Deserialize)]
pub(crate) struct Entry {
    /// When it was told, in UTC microseconds since the Unix epoch.
    pub(crate) at: i64,
    /// What happened, in order.
    pub(crate) changes: Vec<Change>,
}

/// An entry as it is packed.
#[derive(Serialize)]
struct Packed<'f> {
    at: i64,
    changes: Vec<&'f Change>,
}

/// The chunk of these frames; `None` where nothing of them belongs into one.
pub(crate) fn pack(frames: &[Frame]) -> Option<Vec<u8>> {
    let entries: Vec<Packed<'_>> = frames
        .iter()
        .map(|frame| Packed {
            at: frame.at,
            changes: frame.changes.iter().filter(|change| change.is_course()).collect(),
        })
        .filter(|entry| !entry.changes.is_empty())
        .collect();
    if entries.is_empty() {
        return None;
    }
    let plain = postcard::to_stdvec(&entries).expect("entries can be written into memory");
    let packed = lz4_flex::compress_prepend_size(&plain);
    let mut chunk = Vec::with_capacity(HEADER + packed.len());
    chunk.push(FORM);
    chunk.extend_from_slice(&crc32fast::hash(&packed).to_le_bytes());
    chunk.extend_from_slice(&packed);
    Some(chunk)
}

/// What a chunk holds, or what is wrong with it.
pub(crate) fn unpack(chunk: &[u8]) -> Result<Vec<Entry>, &'static str> {
    const DAMAGED: &str = "a chunk is not what was written";
    let Some((&[form, ref checksum @ ..], packed)) = chunk.split_first_chunk::<HEADER>() else {
        return Err(DAMAGED);
    };
    if form != FORM || crc32fast::hash(packed).to_le_bytes() != *checksum {
        return Err(DAMAGED);
    }
    let (length, packed) = lz4_flex::block::uncompressed_size(packed).map_err(|_| DAMAGED)?;
    if length > packed.len().saturating_mul(MOST_PACKED) {
        return Err(DAMAGED);
    }
    let plain = lz4_flex::decompress(packed, length).map_err(|_| DAMAGED)?;
    postcard::from_bytes(&plain).map_err(|_| DAMAGED)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames() -> Vec<Frame> {
        let event = |event: i64| Change::Event {
            event,
            step: 0,
            body: "{}".repeat(20),
        };
        let frame = |sequence, changes| Frame {
            sequence,
            at: 7,
            changes,
        };
        vec![
            frame(1, vec![Change::Parse { name: None }]),
            frame(2, vec![event(0), Change::Resume, event(1)]),
        ]
    }

    #[test]
    fn what_happened_is_packed_and_nothing_else() {
        let entries = unpack(&pack(&frames()).expect("a chunk")).expect("unpacked");
        let [Entry { at: 7, changes }] = &entries[..] else {
            panic!("{entries:?}")
        };
        let numbers = changes.iter().map(|change| match change {
            Change::Event { event, .. } => *event,
            other => panic!("{other:?}"),
        });
        assert_eq!(numbers.collect::<Vec<_>>(), [0, 1]);
        assert_eq!(pack(&frames()[..1]), None);
    }

    #[test]
    fn a_length_that_cannot_be_is_told_and_takes_no_memory() {
        let mut chunk = pack(&frames()).expect("a chunk");
        chunk[HEADER..HEADER + 4].copy_from_slice(&u32::MAX.to_le_bytes());
        let checksum = crc32fast::hash(&chunk[HEADER..]);
        chunk[1..HEADER].copy_from_slice(&checksum.to_le_bytes());
        assert!(unpack(&chunk).is_err());
    }

    #[test]
    fn what_repeats_itself_reads_back() {
        let frame = Frame {
            sequence: 1,
            at: 0,
            changes: vec![Change::Event {
                event: 0,
                step: 0,
                body: "x".repeat(1 << 20),
            }],
        };
        let entries = unpack(&pack(&[frame]).expect("a chunk")).expect("unpacked");
        assert!(matches!(&entries[0].changes[..], [Change::Event { body, .. }] if body.len() == 1 << 20));
    }

    #[test]
    fn a_changed_byte_is_told() {
        let chunk = pack(&frames()).expect("a chunk");
        for at in 0..chunk.len() {
            let mut changed = chunk.clone();
            changed[at] ^= 0x10;
            assert!(unpack(&changed).is_err(), "{at}");
            assert!(unpack(&chunk[..at]).is_err(), "{at}");
        }
    }
}
