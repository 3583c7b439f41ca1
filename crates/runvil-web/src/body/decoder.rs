//! Streaming decompression into a buffer that never grows past the cap.

use std::io::{self, Write};

use brotli_decompressor::DecompressorWriter;
use flate2::write::MultiGzDecoder;

/// The buffer that the Brotli decoder passes its output through, in bytes.
const BROTLI_BUFFER: usize = 16 * 1024;

/// The room that a body gets at first, in bytes.
const SMALL: usize = 64 * 1024;

/// Undoes a body's content encoding.
pub(super) enum Decoder {
    Identity(Capped),
    Gzip(Box<MultiGzDecoder<Capped>>),
    Brotli(Box<DecompressorWriter<Capped>>),
}

impl Decoder {
    /// A decoder for a content encoding, if it is one that a fetch accepts.
    pub(super) fn new(encoding: &str, cap: usize) -> Option<Self> {
        let sink = Capped {
            bytes: Vec::new(),
            cap,
            full: false,
        };
        match encoding {
            "" | "identity" => Some(Self::Identity(sink)),
            "gzip" | "x-gzip" => Some(Self::Gzip(Box::new(MultiGzDecoder::new(sink)))),
            "br" => Some(Self::Brotli(Box::new(DecompressorWriter::new(sink, BROTLI_BUFFER)))),
            _ => None,
        }
    }

    /// Takes bytes as sent. Once the cap is passed they are thrown away.
    ///
    /// # Errors
    /// The bytes are not in the encoding.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = match self {
            Self::Identity(sink) => sink.write_all(bytes),
            Self::Gzip(decoder) => decoder.write_all(bytes),
            Self::Brotli(decoder) => decoder.write_all(bytes),
        };
        // A full buffer stops the decoder with an error of its own, which is no fault of the body.
        if self.is_full() { Ok(()) } else { written }
    }

    /// Whether the cap was passed.
    pub(super) fn is_full(&self) -> bool {
        self.sink().full
    }

    /// Ends the stream, which may let more bytes out. False when the encoding says that more should have come.
    pub(super) fn finish(&mut self) -> bool {
        match self {
            Self::Identity(_) => true,
            Self::Gzip(decoder) => decoder.try_finish().is_ok(),
            Self::Brotli(decoder) => decoder.close().is_ok(),
        }
    }

    /// What was decoded.
    pub(super) fn into_bytes(mut self) -> Vec<u8> {
        std::mem::take(&mut self.sink_mut().bytes)
    }

    fn sink(&self) -> &Capped {
        match self {
            Self::Identity(sink) => sink,
            Self::Gzip(decoder) => decoder.get_ref(),
            Self::Brotli(decoder) => decoder.get_ref(),
        }
    }

    fn sink_mut(&mut self) -> &mut Capped {
        match self {
            Self::Identity(sink) => sink,
            Self::Gzip(decoder) => decoder.get_mut(),
            Self::Brotli(decoder) => decoder.get_mut(),
        }
    }
}

/// A buffer that takes at most `cap` bytes and then fails, so that a decoder stops inflating.
pub(super) struct Capped {
    bytes: Vec<u8>,
    cap: usize,
    full: bool,
}

impl Write for Capped {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.cap - self.bytes.len();
        let taken = bytes.len().min(room);
        let needed = self.bytes.len() + taken;
        if needed > self.bytes.capacity() {
            // A buffer that grows is held twice while it moves, so a large body gets all of its room at once.
            let size = if needed <= SMALL { SMALL.min(self.cap) } else { self.cap };
            self.bytes.reserve_exact(size - self.bytes.len());
        }
        self.bytes.extend_from_slice(&bytes[..taken]);
        if bytes.len() > room {
            self.full = true;
            return Err(io::Error::other("the byte cap is passed"));
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
