#include "BitBully.h"
#include <iostream>
#include <ctime>
static double now() { timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
int main() {
  BitBully::BitBully bb; std::string line;
  while (std::getline(std::cin, line)) {
    BitBully::Board b; std::vector<int> moves; for (char c : line) moves.push_back(c - '1');
    if (!b.setBoard(moves)) { std::cout << "bad" << std::endl; continue; }
    bb.resetTranspositionTable(); bb.resetNodeCounter();
    double t = now();
    int s = bb.mtdf(b, 0);
    double us = (now() - t) * 1e6;
    std::cout << s << " " << us << " " << bb.getNodeCounter() << std::endl;
  }
}
