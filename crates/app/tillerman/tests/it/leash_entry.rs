//! Lets this test binary be its own leash: the argument `__leash` is, for the test harness, a filter that selects
//! exactly the function below.

#[test]
fn __leash() {
    // In an ordinary test run this is one of many tests and has nothing to do.
    if std::env::args().nth(1).as_deref() == Some(process::leash::ARG) {
        std::process::exit(process::leash::run());
    }
}
