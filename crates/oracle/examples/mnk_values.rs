//! Values of the empty boards named on the command line, as `columns,rows,length`.

use oracle::mnk::Mnk;
use rules::Game;
use rules::grid::Grid;

fn main() {
    for name in std::env::args().skip(1) {
        let game: Grid = format!("mnk:{name}").parse().unwrap();
        let start = std::time::Instant::now();
        let mut mnk = Mnk::new(&game, 22).unwrap();
        let value = mnk.solve(&game.start(), 200_000_000, &std::sync::atomic::AtomicBool::new(false));
        println!("{name} {value:?} {} positions {:.2} s", mnk.nodes(), start.elapsed().as_secs_f64());
    }
}
