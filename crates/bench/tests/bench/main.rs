//! Records and extraction on files, as users have them.

mod damage;
mod formats;
mod real;
mod seed;
mod speed;
