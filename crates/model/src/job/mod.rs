//! A job: what was asked, what it is doing now, and the rules between the two.
