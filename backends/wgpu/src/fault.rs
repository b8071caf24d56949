//! What can go wrong on a device, before the verb that met it adds its name.

use std::fmt;

/// A failure below the verbs. The verb layer turns it into the interface's
/// typed error, adding the operation and its operands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No adapter could be opened; the text lists what was found and why each
    /// was refused.
    NoAdapter(String),
    /// The device is gone (lost, hung, destroyed, or owned by the process that
    /// forked this one). Every later use of it fails in the same way.
    Lost(String),
    /// More memory than the device, its limits or the user's cap allow.
    Memory(String),
    /// A shader or a pipeline was refused, or its compiler panicked.
    Shader(String),
    /// The device reported an error for work that was already submitted.
    Device(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::NoAdapter(why) | Fault::Memory(why) => f.write_str(why),
            Fault::Lost(why) => write!(f, "the device was lost: {why}"),
            Fault::Shader(why) => write!(f, "the shader compiler failed: {why}"),
            Fault::Device(why) => write!(f, "the device reported: {why}"),
        }
    }
}

impl std::error::Error for Fault {}
