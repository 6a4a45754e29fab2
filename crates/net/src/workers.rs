//! The threads that a network may use, handed in by whoever knows how many there are.

use rayon::ThreadPool;
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

/// Threads for the passes of a network. Results have the same bits with any number of them: what each computes is
/// cut by the batch, never by the threads.
#[derive(Debug, Default)]
pub struct Workers {
    pool: Option<ThreadPool>,
}

impl Workers {
    /// The calling thread alone.
    pub fn one() -> Workers {
        Workers { pool: None }
    }

    /// This many threads; 0 and 1 are the calling thread alone.
    ///
    /// # Errors
    /// If the system refuses to start them.
    pub fn new(threads: usize) -> Result<Workers, std::io::Error> {
        if threads <= 1 {
            return Ok(Workers::one());
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(std::io::Error::other)?;
        Ok(Workers { pool: Some(pool) })
    }

    /// How many threads there are.
    pub fn threads(&self) -> usize {
        self.pool.as_ref().map_or(1, ThreadPool::current_num_threads)
    }

    /// Does a job that calls [`Workers::each`] many times, as one of the threads: to begin and to end each of those calls is
    /// then cheap, as a thread seldom falls asleep in between. (Waking it takes longer than a small layer's pass.)
    pub fn together<R: Send>(&self, job: impl FnOnce() -> R + Send) -> R {
        match &self.pool {
            Some(pool) => pool.install(job),
            None => job(),
        }
    }

    /// Does two jobs at the same time, if there are threads for it, and waits for both.
    pub fn both<A: Send, B: Send>(&self, one: impl FnOnce() -> A + Send, other: impl FnOnce() -> B + Send) -> (A, B) {
        match &self.pool {
            Some(pool) => pool.install(|| rayon::join(one, other)),
            None => (one(), other()),
        }
    }

    /// Does `job` once for each item, in any order and at the same time, and waits for all.
    pub fn each<T: Send>(&self, items: Vec<T>, job: impl Fn(T) + Sync) {
        let job = |item| {
            let _flush = FlushDenormals::new();
            job(item);
        };
        match &self.pool {
            Some(pool) => pool.install(|| items.into_par_iter().with_max_len(1).for_each(job)),
            None => items.into_iter().for_each(job),
        }
    }
}

/// While it lives, this thread's results too small for a normal float become 0: arithmetic on such numbers is up to a
/// hundred times slower, and gradients reach them, and an optimiser's means of gradients that have come to an end.
///
/// In portable mode nothing is flushed, so that the bits are the same on machines that cannot.
pub(crate) struct FlushDenormals {
    #[cfg(target_arch = "x86_64")]
    before: Option<u32>,
}

#[cfg(target_arch = "x86_64")]
impl FlushDenormals {
    pub(crate) fn new() -> FlushDenormals {
        if crate::math::Level::best() == crate::math::Level::PORTABLE {
            return FlushDenormals { before: None };
        }
        let before = control();
        // Bit 15: results; bit 6: operands.
        set_control(before | 0x8040);
        FlushDenormals { before: Some(before) }
    }
}

#[cfg(target_arch = "x86_64")]
impl Drop for FlushDenormals {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            set_control(before);
        }
    }
}

/// The register that says how SSE and AVX arithmetic rounds and traps.
#[cfg(target_arch = "x86_64")]
fn control() -> u32 {
    let mut control = 0u32;
    // SAFETY: stores the register into a number of its size.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut control, options(nostack, preserves_flags)) };
    control
}

#[cfg(target_arch = "x86_64")]
fn set_control(control: u32) {
    // SAFETY: `control` is what the register held, with at most the two flush bits added, so nothing traps and
    // rounding stays as it was.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const control, options(nostack, preserves_flags)) };
}

#[cfg(not(target_arch = "x86_64"))]
impl FlushDenormals {
    pub(crate) fn new() -> FlushDenormals {
        FlushDenormals {}
    }
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;
    use std::sync::Mutex;

    use super::*;
    use crate::math::Level;

    #[test]
    fn every_item_is_done_once_with_any_number_of_threads() {
        for threads in [0, 1, 2, 5] {
            let workers = Workers::new(threads).unwrap();
            assert_eq!(workers.threads(), threads.max(1));
            let done = Mutex::new(Vec::new());
            workers.each((0..100).collect(), |i: i32| done.lock().unwrap().push(i));
            let mut done = done.into_inner().unwrap();
            done.sort_unstable();
            assert_eq!(done, (0..100).collect::<Vec<_>>());
        }
    }

    #[test]
    fn both_jobs_are_done_with_any_number_of_threads() {
        for threads in [0, 1, 2] {
            let mut numbers = [1, 2];
            let [one, other] = &mut numbers;
            let add = |to: &mut i32| {
                *to += 10;
                *to
            };
            assert_eq!(Workers::new(threads).unwrap().both(|| add(one), || add(other)), (11, 12));
            assert_eq!(numbers, [11, 12]);
        }
    }

    #[test]
    fn denormals_become_zero_inside_and_only_there() {
        let tiny = || black_box(f32::MIN_POSITIVE) * black_box(0.5);
        let inside = Mutex::new(0.0);
        Workers::one().each(vec![()], |()| *inside.lock().unwrap() = tiny());
        let flushed = cfg!(target_arch = "x86_64") && Level::best() != Level::PORTABLE;
        assert_eq!(inside.into_inner().unwrap() == 0.0, flushed);
        assert!(tiny() > 0.0);
    }
}
