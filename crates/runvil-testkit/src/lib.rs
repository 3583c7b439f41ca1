//! Conformance cases and the scripted Host that runs them in virtual time.
