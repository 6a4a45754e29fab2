//! Exact truth about games: solvers, and audits of players against them.
