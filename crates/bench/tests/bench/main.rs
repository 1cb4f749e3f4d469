//! Records and extraction on files, as users have them.

mod seed;
