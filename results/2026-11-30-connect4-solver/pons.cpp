#include "Solver.hpp"
#include <iostream>
#include <ctime>
static double now() { timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
using namespace GameSolver::Connect4;
int main() {
  static Solver solver; std::string line;
  while (std::getline(std::cin, line)) {
    Position P; if (P.play(line) != line.size()) { std::cout << "bad" << std::endl; continue; }
    solver.reset();
    double t = now();
    int s = solver.solve(P, false);
    double us = (now() - t) * 1e6;
    std::cout << s << " " << us << " " << solver.getNodeCount() << std::endl;
  }
}
