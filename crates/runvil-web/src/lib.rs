//! The runvil/web Pack: fetch and search.
