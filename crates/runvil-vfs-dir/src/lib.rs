//! The directory backend of the store.
