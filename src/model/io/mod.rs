//! Model and policy files.
