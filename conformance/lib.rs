//! What every backend and the front end must do, said twice and compared.
//!
//! [`suite`] holds the references of single operations and the inputs and contexts to try them on;
//! [`oracle`] runs random programs, views, writes and exports included, on a naive evaluator and on the
//! front end side by side. The tests themselves are in `tests/`.

pub mod oracle;
pub mod suite;
