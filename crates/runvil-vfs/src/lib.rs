//! The store's core: paths, globs, mounts, claims, policies and the memory backend.
