//! Writes a value as folded JSON, in one pass and without a tree between.

use serde::{Serialize, Serializer, ser};
use serde_json::Error;

use crate::{
    change::ListKey,
    deep,
    fold::{Folder, LIST, LONG_LIST, LONG_TEXT, TEXT},
};

/// Writes values behind one another.
pub(crate) struct JsonWriter<'f> {
    folder: &'f mut Folder,
    out: Vec<u8>,
}

impl<'f> JsonWriter<'f> {
    /// Writes into the room of `out`.
    pub(crate) fn new(folder: &'f mut Folder, mut out: Vec<u8>) -> Self {
        out.clear();
        Self { folder, out }
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.out
    }

    /// Writes something that is never folded.
    fn plain(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        serde_json::to_writer(&mut self.out, value)
    }

    fn reference(&mut self, kind: &str, key: i64) -> Result<(), Error> {
        self.out.extend_from_slice(b"{\"");
        self.out.extend_from_slice(kind.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.plain(&key)?;
        self.out.push(b'}');
        Ok(())
    }

    fn items<'w>(&'w mut self) -> Items<'w, 'f> {
        let start = self.out.len();
        self.out.push(b'[');
        Items {
            writer: self,
            start,
            few: [(0, 0); LONG_LIST - 1],
            count: 0,
            list: 0,
            closes_object: false,
        }
    }

    fn members<'w>(&'w mut self) -> Members<'w, 'f> {
        self.out.push(b'{');
        Members {
            writer: self,
            count: 0,
            first: None,
            closes_object: false,
        }
    }

    /// Begins the object that an enum's variant with data is.
    fn variant(&mut self, variant: &'static str) -> Result<(), Error> {
        self.out.push(b'{');
        self.plain(variant)?;
        self.out.push(b':');
        Ok(())
    }
}

macro_rules! plain {
    ($($method:ident: $type:ty),* $(,)?) => {
        $(fn $method(self, value: $type) -> Result<(), Error> {
            self.plain(&value)
        })*
    };
}

impl<'w, 'f> Serializer for &'w mut JsonWriter<'f> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Items<'w, 'f>;
    type SerializeTuple = Items<'w, 'f>;
    type SerializeTupleStruct = Items<'w, 'f>;
    type SerializeTupleVariant = Items<'w, 'f>;
    type SerializeMap = Members<'w, 'f>;
    type SerializeStruct = Members<'w, 'f>;
    type SerializeStructVariant = Members<'w, 'f>;

    plain! {
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_u8: u8,
        serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_f32: f32, serialize_f64: f64, serialize_char: char,
    }

    fn serialize_str(self, text: &str) -> Result<(), Error> {
        if text.len() < LONG_TEXT {
            return self.plain(text);
        }
        let number = self.folder.text(text.as_bytes());
        self.reference(TEXT, number)
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), Error> {
        self.collect_seq(bytes)
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.plain(&())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.plain(&())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.plain(&())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Error> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        self.variant(variant)?;
        deep::down(|| value.serialize(&mut *self))?;
        self.out.push(b'}');
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Items<'w, 'f>, Error> {
        Ok(self.items())
    }

    fn serialize_tuple(self, _: usize) -> Result<Items<'w, 'f>, Error> {
        Ok(self.items())
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Items<'w, 'f>, Error> {
        Ok(self.items())
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Items<'w, 'f>, Error> {
        self.variant(variant)?;
        Ok(Items {
            closes_object: true,
            ..self.items()
        })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Members<'w, 'f>, Error> {
        Ok(self.members())
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Members<'w, 'f>, Error> {
        Ok(self.members())
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Members<'w, 'f>, Error> {
        self.variant(variant)?;
        Ok(Members {
            closes_object: true,
            ..self.members()
        })
    }
}

/// A list that is being written. Once it is long, its items go to the folder one by one.
pub(crate) struct Items<'w, 'f> {
    writer: &'w mut JsonWriter<'f>,
    /// Where its bracket stands.
    start: usize,
    /// Where its first items begin and end, as long as they are few.
    few: [(usize, usize); LONG_LIST - 1],
    count: usize,
    /// The list so far, once it is long.
    list: ListKey,
    closes_object: bool,
}

impl Items<'_, '_> {
    fn item<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), Error> {
        if (1..LONG_LIST).contains(&self.count) {
            self.writer.out.push(b',');
        }
        let begin = self.writer.out.len();
        deep::down(|| item.serialize(&mut *self.writer))?;
        let JsonWriter { folder, out } = &mut *self.writer;
        if let Some(few) = self.few.get_mut(self.count) {
            *few = (begin, out.len());
        } else {
            if self.count == self.few.len() {
                for (begin, end) in self.few {
                    self.list = folder.append(self.list, &out[begin..end]);
                }
            }
            self.list = folder.append(self.list, &out[begin..]);
            out.truncate(begin);
        }
        self.count += 1;
        Ok(())
    }

    fn close(self) -> Result<(), Error> {
        if self.count < LONG_LIST {
            self.writer.out.push(b']');
        } else {
            self.writer.out.truncate(self.start);
            self.writer.reference(LIST, self.list)?;
        }
        if self.closes_object {
            self.writer.out.push(b'}');
        }
        Ok(())
    }
}

/// An object that is being written.
pub(crate) struct Members<'w, 'f> {
    writer: &'w mut JsonWriter<'f>,
    count: usize,
    /// Where the text of its first key begins, if that begins with `$`.
    first: Option<usize>,
    closes_object: bool,
}

impl Members<'_, '_> {
    fn begin_member(&mut self) {
        if self.count > 0 {
            self.writer.out.push(b',');
        }
        self.count += 1;
    }

    /// The key that was begun here is whole.
    fn end_key(&mut self, begin: usize) {
        let out = &mut self.writer.out;
        if self.count == 1 && out.get(begin + 1) == Some(&b'$') {
            self.first = Some(begin + 1);
        }
        out.push(b':');
    }

    fn key(&mut self, name: &'static str) -> Result<(), Error> {
        self.begin_member();
        let begin = self.writer.out.len();
        self.writer.plain(name)?;
        self.end_key(begin);
        Ok(())
    }

    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        deep::down(|| value.serialize(&mut *self.writer))
    }

    fn close(self) -> Result<(), Error> {
        let out = &mut self.writer.out;
        if let (1, Some(first)) = (self.count, self.first) {
            out.insert(first, b'$');
        }
        out.push(b'}');
        if self.closes_object {
            out.push(b'}');
        }
        Ok(())
    }
}

impl ser::SerializeSeq for Items<'_, '_> {
    type Ok = ();
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), Error> {
        self.item(item)
    }

    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

impl ser::SerializeTuple for Items<'_, '_> {
    type Ok = ();
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), Error> {
        self.item(item)
    }

    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

impl ser::SerializeTupleStruct for Items<'_, '_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), Error> {
        self.item(item)
    }

    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

impl ser::SerializeTupleVariant for Items<'_, '_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), Error> {
        self.item(item)
    }

    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

impl ser::SerializeMap for Members<'_, '_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.begin_member();
        let begin = self.writer.out.len();
        self.writer.plain(key)?;
        let out = &mut self.writer.out;
        if out.get(begin) != Some(&b'"') {
            // A number, for one, is a key as its text.
            out.insert(begin, b'"');
            out.push(b'"');
        }
        self.end_key(begin);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.value(value)
    }

    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

impl ser::SerializeStruct for Members<'_, '_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
        self.key(name)?;
        self.value(value)
    }

    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

impl ser::SerializeStructVariant for Members<'_, '_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
        self.key(name)?;
        self.value(value)
    }

    fn end(self) -> Result<(), Error> {
        self.close()
    }
}
