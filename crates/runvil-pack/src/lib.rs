//! What a Pack author writes against: Packs, Plugins, tools and host services.
