//! How much memory this process holds.

/// The resident memory, in MiB; `None` where the system does not tell it as Linux does.
pub(crate) fn resident() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kib: f64 =
        status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?.split_whitespace().next()?.parse().ok()?;
    Some(kib / 1024.0)
}
