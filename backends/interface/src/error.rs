//! The one error type: what went wrong, in which operation, and the way out.

use std::borrow::Cow;
use std::fmt;

/// `Result` with the project's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The category of an [`Error`]; the Python face maps each to one exception type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ErrorKind {
    /// A dtype the operation does not take, or a combination without promotion.
    DType,
    /// Shapes that do not fit the operation or each other.
    Shape,
    /// An axis out of range or given twice.
    Axis,
    /// An index out of bounds or a key that selects nothing valid.
    Index,
    /// Any other argument value the operation refuses.
    Value,
    /// A Python integer outside the range of the dtype.
    Overflow,
    /// Arrays or contexts of different memory spaces, or a device that cannot be had.
    Device,
    /// The device stopped answering or was taken away; its arrays are gone.
    DeviceLost,
    /// The backend has neither the operation nor leave to fall back to the host.
    Unsupported,
    /// No memory, or the context's limit would be passed.
    Memory,
    /// A singular matrix or an iteration that does not converge.
    Linalg,
    /// The memory is exported or foreign and cannot be handed over as asked.
    Buffer,
    /// Stopped by the user; nothing visible was changed.
    Interrupted,
    /// A fault of a backend or of rustarr itself.
    Backend,
}

/// Why an operation was refused or failed.
///
/// `op` is the name the user called; `detail` gives operands' shapes and dtypes and the way out.
#[derive(Clone, PartialEq, Debug)]
pub struct Error(Box<Inner>);

#[derive(Clone, PartialEq, Debug)]
struct Inner {
    kind: ErrorKind,
    op: Cow<'static, str>,
    detail: String,
}

impl Error {
    /// An error of `kind` in the operation `op`.
    #[cold]
    pub fn new(
        kind: ErrorKind,
        op: impl Into<Cow<'static, str>>,
        detail: impl Into<String>,
    ) -> Self {
        Error(Box::new(Inner {
            kind,
            op: op.into(),
            detail: detail.into(),
        }))
    }

    /// The category.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The name of the operation that was called.
    pub fn op(&self) -> &str {
        &self.0.op
    }

    /// What is wrong and what to do, without the operation's name.
    pub fn detail(&self) -> &str {
        &self.0.detail
    }

    /// The same error reported under the name that the user called.
    #[must_use]
    pub fn in_op(mut self, op: impl Into<Cow<'static, str>>) -> Self {
        self.0.op = op.into();
        self
    }
}

macro_rules! constructors {
    ($($name:ident => $kind:ident),* $(,)?) => {
        impl Error {
            $(
                #[doc = concat!("An [`ErrorKind::", stringify!($kind), "`] error in `op`.")]
                #[cold]
                pub fn $name(op: impl Into<Cow<'static, str>>, detail: impl Into<String>) -> Self {
                    Error::new(ErrorKind::$kind, op, detail)
                }
            )*
        }
    };
}
constructors!(dtype => DType, shape => Shape, axis => Axis, index => Index, value => Value,
    overflow => Overflow, device => Device, device_lost => DeviceLost, unsupported => Unsupported,
    memory => Memory, linalg => Linalg, buffer => Buffer, interrupted => Interrupted,
    backend => Backend);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.op.is_empty() {
            f.write_str(&self.0.detail)
        } else {
            write!(f, "{}: {}", self.0.op, self.0.detail)
        }
    }
}

impl std::error::Error for Error {}
