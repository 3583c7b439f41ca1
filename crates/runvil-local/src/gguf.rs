//! The GGUF file: its header, and where its tensors are.
//!
//! The reader trusts no count of the file: memory grows with the bytes that are there, never with what they promise.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufReader, Read},
    path::Path,
};

mod tensor;
mod value;

pub(crate) use tensor::{Tensor, TensorKind};
pub(crate) use value::Value;

/// The first bytes of every GGUF file.
const MAGIC: [u8; 4] = *b"GGUF";

/// Where the tensors start, and each of them, unless the file says otherwise: a multiple of this many bytes.
const DEFAULT_ALIGNMENT: u64 = 32;

/// Why a file cannot be read as GGUF.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GgufError {
    /// The file does not start as a GGUF file does.
    #[error("this is not a GGUF file")]
    NotGguf,
    /// The format's version is not one that is read here.
    #[error("GGUF version {0} is not supported, only 2 and 3")]
    Version(u32),
    /// The file ends inside its header or its tensors.
    #[error("the file is cut off: it has {len} bytes and needs at least {needed}")]
    Truncated {
        /// The file's length in bytes.
        len: u64,
        /// The length that its header speaks of.
        needed: u64,
    },
    /// The header says something that makes no sense.
    #[error("the GGUF header is damaged at byte {at}: {what}")]
    Damaged {
        /// Where in the file.
        at: u64,
        /// What is wrong there.
        what: &'static str,
    },
    /// A tensor has a type that is not supported.
    #[error("tensor `{tensor}` has the type {code}, which is not supported")]
    TensorType {
        /// The tensor.
        tensor: String,
        /// The type's number in the format.
        code: u32,
    },
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The header of a GGUF file.
#[derive(Debug)]
pub(crate) struct Gguf {
    pub(crate) metadata: BTreeMap<String, Value>,
    pub(crate) tensors: BTreeMap<String, Tensor>,
}

impl Gguf {
    /// Reads the header of the file and checks that the file holds every tensor that it speaks of.
    pub(crate) fn open(path: &Path) -> Result<(Self, File), GgufError> {
        let file = File::open(path)?;
        let len = file.metadata()?.len();
        let mut source = Source {
            reader: BufReader::new(file),
            at: 0,
            len,
            values: 0,
        };
        let gguf = source.header()?;
        Ok((gguf, source.reader.into_inner()))
    }

    /// The metadata under a key, if it is a text.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.metadata.get(key)?.as_text()
    }

    /// The metadata under a key, if it is a whole number that is not negative.
    pub(crate) fn count(&self, key: &str) -> Option<u64> {
        self.metadata.get(key)?.as_count()
    }

    /// The metadata under a key, if it is a number.
    pub(crate) fn number(&self, key: &str) -> Option<f64> {
        self.metadata.get(key)?.as_number()
    }

    /// The metadata under a key, if it is a list of texts.
    pub(crate) fn texts(&self, key: &str) -> Option<Vec<&str>> {
        self.metadata.get(key)?.as_list()?.iter().map(Value::as_text).collect()
    }

    /// The bytes of a tensor of this file.
    #[cfg(feature = "inference")]
    pub(crate) fn bytes(file: &mut File, tensor: &Tensor) -> io::Result<Vec<u8>> {
        use std::io::{Seek as _, SeekFrom};

        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(tensor.start))?;
        file.take(tensor.bytes).read_to_end(&mut bytes)?;
        if (bytes.len() as u64) < tensor.bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(bytes)
    }
}

/// A file that is being read, and how far.
struct Source {
    reader: BufReader<File>,
    at: u64,
    len: u64,
    /// How many metadata values were read.
    values: u64,
}

impl Source {
    fn header(&mut self) -> Result<Gguf, GgufError> {
        if self.len < 4 || self.array::<4>()? != MAGIC {
            return Err(GgufError::NotGguf);
        }
        match self.u32()? {
            2 | 3 => {}
            version => return Err(GgufError::Version(version)),
        }
        let (tensors, entries) = (self.u64()?, self.u64()?);
        let mut metadata = BTreeMap::new();
        for _ in 0..entries {
            let key = self.text()?;
            let value = Value::read(self)?;
            metadata.insert(key, value);
        }
        let mut placed = BTreeMap::new();
        for _ in 0..tensors {
            let name = self.text()?;
            let tensor = Tensor::read(self, &name)?;
            if placed.insert(name, tensor).is_some() {
                return Err(self.damaged("two tensors have one name"));
            }
        }
        let mut gguf = Gguf {
            metadata,
            tensors: placed,
        };
        self.place(&mut gguf)?;
        Ok(gguf)
    }

    /// Turns the offsets of the tensors into places in the file.
    fn place(&self, gguf: &mut Gguf) -> Result<(), GgufError> {
        let alignment = gguf.count("general.alignment").unwrap_or(DEFAULT_ALIGNMENT);
        if !alignment.is_power_of_two() || alignment > 1 << 20 {
            return Err(self.damaged("the alignment is no power of two"));
        }
        let data = self.at.next_multiple_of(alignment);
        for tensor in gguf.tensors.values_mut() {
            let place = data.checked_add(tensor.start);
            let end = place.and_then(|place| place.checked_add(tensor.bytes));
            let (Some(place), Some(end)) = (place, end) else {
                return Err(self.damaged("a tensor lies past the end of all files"));
            };
            if end > self.len {
                return Err(GgufError::Truncated {
                    len: self.len,
                    needed: end,
                });
            }
            tensor.start = place;
        }
        Ok(())
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], GgufError> {
        self.claim(N as u64)?;
        let mut bytes = [0; N];
        self.reader.read_exact(&mut bytes)?;
        self.at += N as u64;
        Ok(bytes)
    }

    fn u32(&mut self) -> Result<u32, GgufError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn u64(&mut self) -> Result<u64, GgufError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn text(&mut self) -> Result<String, GgufError> {
        let len = self.u64()?;
        self.claim(len)?;
        let mut bytes = Vec::new();
        (&mut self.reader).take(len).read_to_end(&mut bytes)?;
        self.at += len;
        String::from_utf8(bytes).map_err(|_| self.damaged("a text is not UTF-8"))
    }

    /// Checks that the file holds this many bytes more.
    fn claim(&self, bytes: u64) -> Result<(), GgufError> {
        match self.at.checked_add(bytes) {
            Some(needed) if needed <= self.len => Ok(()),
            Some(needed) => Err(GgufError::Truncated { len: self.len, needed }),
            None => Err(self.damaged("a length is past the end of all files")),
        }
    }

    fn damaged(&self, what: &'static str) -> GgufError {
        GgufError::Damaged { at: self.at, what }
    }
}

#[cfg(test)]
mod tests;
