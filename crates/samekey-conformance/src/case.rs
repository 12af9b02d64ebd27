//! A promise by name, and how all of them are run.

use std::pin::Pin;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

/// Not `Send`: a transaction type with a lifetime would then not compile (rust-lang/rust#100013), and one thread drives it.
type Run<B> = fn(B) -> Pin<Box<dyn Future<Output = ()>>>;

/// A promise, by name, about what it works on.
pub(crate) struct Case<B> {
    name: &'static str,
    run: Run<B>,
}

impl<B> Case<B> {
    pub(crate) const fn new(name: &'static str, run: Run<B>) -> Self {
        Self { name, run }
    }
}

/// A list of cases from async functions over a [`Bench`](crate::harness::Bench), for stores under the harness that is named.
macro_rules! cases {
    (over $harness:ident: $($name:ident)*) => {
        $crate::case::cases! { $harness, Bench: $($name)* }
    };
    ($harness:ident, $bench:ident: $($name:ident)*) => {
        pub(crate) fn cases<H: $crate::harness::$harness>() -> Vec<$crate::case::Case<$crate::harness::$bench<H>>> {
            vec![$($crate::case::Case::new(
                concat!(module_path!(), "::", stringify!($name)),
                |bench| Box::pin($name(bench)),
            ),)*]
        }
    };
}
pub(crate) use cases;

/// Runs every case on a bench of its own.
pub(crate) fn run<B: 'static, F: Future<Output = B> + 'static>(
    cases: impl IntoIterator<Item = Case<B>>,
    bench: fn(String) -> F,
) -> ExitCode {
    let trials = cases.into_iter().map(|case| trial(&case, bench)).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn trial<B: 'static, F: Future<Output = B> + 'static>(case: &Case<B>, bench: fn(String) -> F) -> Trial {
    let run = case.run;
    let name = case.name.trim_start_matches("samekey_conformance::");
    Trial::test(name, move || {
        runtime().block_on(async { run(bench(name.replace("::", "_")).await).await });
        Ok(())
    })
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}
