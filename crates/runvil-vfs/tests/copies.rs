//! How often a read copies a large file.

use allocation_counter::measure;
use runvil_vfs::{Identity, LineBounds, Store, StoreOp};

const SIZE: u64 = 10 << 20;

/// The store's share of a read is one copy; handing the text to Lua is the second.
#[test]
fn a_read_of_a_large_file_copies_it_once() {
    let store = Store::memory();
    store.put("large", "x".repeat(usize::try_from(SIZE).unwrap())).unwrap();
    let session = store.session();
    let who = Identity::root("0");
    let read = StoreOp::Read {
        path: "large".to_owned(),
        lines: LineBounds::WHOLE,
    };
    let spent = measure(|| drop(session.perform(&who, read)));
    assert!(spent.bytes_total < SIZE + 16384, "{} bytes", spent.bytes_total);
}

#[test]
fn a_large_write_is_not_copied() {
    let session = Store::memory().session();
    let who = Identity::root("0");
    let write = StoreOp::Write {
        path: "large".to_owned(),
        contents: "x".repeat(usize::try_from(SIZE).unwrap()),
    };
    let spent = measure(|| drop(session.perform(&who, write)));
    assert!(spent.bytes_total < 16384, "{} bytes", spent.bytes_total);
}
