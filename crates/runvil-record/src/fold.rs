//! How a value stands in the database: its long texts and long lists are taken out, and kept once.
//!
//! What is left is JSON. `{"$text": 7}` stands for the run's text 7 and `{"$list": 9}` for the list that ends at its node 9.
//! An object of the value itself that has one key, and one that begins with `$`, gets a second `$` before it.

use std::collections::HashMap;

use serde::Serialize;
use serde_bytes::ByteBuf;
use sha2::{Digest, Sha256};

use crate::{
    change::{Change, ListKey, TextNumber},
    course::Course,
    fold_json::JsonWriter,
};

/// A text of fewer bytes stays where it is.
pub(crate) const LONG_TEXT: usize = 48;

/// A list of fewer items stays where it is.
pub(crate) const LONG_LIST: usize = 4;

/// How many bytes of room are kept for the next value.
const SCRATCH: usize = 64 * 1024;

pub(crate) const TEXT: &str = "$text";
pub(crate) const LIST: &str = "$list";

/// The hash that a text is known by.
pub(crate) fn hash(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Takes the values of one run apart. It knows which texts and lists the run has already, and collects what is new.
#[derive(Default)]
pub(crate) struct Folder {
    texts: HashMap<[u8; 32], TextNumber>,
    last_text: TextNumber,
    lists: HashMap<(ListKey, TextNumber), ListKey>,
    new: Vec<Change>,
    /// Where values are written; kept for its room.
    scratch: Vec<u8>,
}

impl Folder {
    /// The folder of a run that has come so far.
    pub(crate) fn of(course: &Course) -> Self {
        Self {
            texts: course
                .texts
                .iter()
                .map(|(&number, &(hash, _))| (hash, number))
                .collect(),
            last_text: course.texts.keys().copied().max().unwrap_or_default(),
            lists: course.lists.iter().map(|(&key, &node)| (node, key)).collect(),
            new: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// Adds a change behind what was folded until now.
    pub(crate) fn add(&mut self, change: Change) {
        self.new.push(change);
    }

    /// What has come up since this was last asked, in order.
    pub(crate) fn take(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.new)
    }

    /// The value as it stands in the database.
    pub(crate) fn fold(&mut self, value: &(impl Serialize + ?Sized)) -> String {
        let scratch = std::mem::take(&mut self.scratch);
        let mut writer = JsonWriter::new(self, scratch);
        value.serialize(&mut writer).expect("the data of a run is JSON");
        self.scratch = writer.into_bytes();
        let text = str::from_utf8(&self.scratch).expect("JSON is UTF-8").to_owned();
        self.scratch.clear();
        self.scratch.shrink_to(SCRATCH);
        text
    }

    /// The number of a text, which the run holds from here on.
    pub(crate) fn text(&mut self, bytes: &[u8]) -> TextNumber {
        let hash = hash(bytes);
        if let Some(&number) = self.texts.get(&hash) {
            return number;
        }
        self.last_text += 1;
        let number = self.last_text;
        self.texts.insert(hash, number);
        self.new.push(Change::Text {
            number,
            hash,
            body: ByteBuf::from(bytes),
        });
        number
    }

    /// The list that is the one at `before` and this item behind it. An item is folded JSON.
    pub(crate) fn append(&mut self, before: ListKey, item: &[u8]) -> ListKey {
        let item = self.text(item);
        if let Some(&key) = self.lists.get(&(before, item)) {
            return key;
        }
        let key = ListKey::try_from(self.lists.len()).expect("fewer nodes than an i64 counts") + 1;
        self.lists.insert((before, item), key);
        self.new.push(Change::Node { key, before, item });
        key
    }
}
