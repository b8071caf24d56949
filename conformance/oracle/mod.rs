//! The oracle: arrays as lists of cells, operations one element at a time, views as lists of indices; and
//! random programs that run on it and on the front end side by side.

pub mod array;
pub mod checked;
pub mod drive;
pub mod generate;
pub mod program;
pub mod promote;
pub mod random;
pub mod value;
