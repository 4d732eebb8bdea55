//! The smallest binary that can be a leash: what `tillerman` does first thing in `main`. Used to measure its cost.

fn main() {
    std::process::exit(process::leash::run());
}
