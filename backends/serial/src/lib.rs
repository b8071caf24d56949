//! rustarr-serial
