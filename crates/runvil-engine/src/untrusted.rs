//! The untrusted envelope (book: Handing store text to a model with `untrusted`).

use sha2::{Digest, Sha256};

use crate::hex::Hex;

/// The nonce of one run's envelopes, derived from its seed.
pub(crate) fn nonce(seed: &[u8; 32]) -> String {
    let mut hash = Sha256::new();
    hash.update(b"runvil untrusted nonce\0");
    hash.update(seed);
    Hex(&hash.finalize()[..16]).to_string()
}
