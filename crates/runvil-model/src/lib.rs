//! Model backends: the trait, and the streamed chat-completions client.
