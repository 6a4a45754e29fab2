"""Environment steps a second, collection and learning together: Stable-Baselines3's MaskablePPO and tengen, in turns.

    python compare.py TENGEN ROUNDS THREADS > rounds.jsonl      both, in turns
    python compare.py maskable ENVIRONMENT STEPS THREADS        MaskablePPO once; ENVIRONMENT is dummy or vector

Needs sb3-contrib. Both play Gomoku 15x15 (freestyle) against themselves, one step being one move by the side to move, with
the article's networks (225-256-128-225 and 225-256-128-1, ReLU), 10 games at once, minibatches of 64, 4 epochs and Adam at
0.001. MaskablePPO learns after each 128 steps of its 10 environments, tengen after each 10 games, which are about as many.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIDE = 15
CELLS = SIDE * SIDE
GAMES_AT_ONCE = 10
STEPS = 128
DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))


def dummy_environment():
    """One environment in plain Python beside the other, as most users of Stable-Baselines3 write it."""
    import gymnasium
    import numpy
    from stable_baselines3.common.vec_env import DummyVecEnv

    class Gomoku(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(-1.0, 1.0, (CELLS,), numpy.float32)
        action_space = gymnasium.spaces.Discrete(CELLS)

        def reset(self, seed=None, options=None):
            self.board = numpy.zeros(CELLS, numpy.float32)
            self.stones = 0
            return self.board.copy(), {}

        def action_masks(self):
            return self.board == 0

        def step(self, action):
            self.board[action] = 1
            self.stones += 1
            won = self.wins(int(action))
            # The next to move sees the stones the other way round.
            self.board = -self.board
            return self.board.copy(), float(won), won or self.stones == CELLS, False, {}

        def wins(self, action):
            row, column = divmod(action, SIDE)
            for down, right in DIRECTIONS:
                count = 1
                for sign in (1, -1):
                    r, c = row + sign * down, column + sign * right
                    while 0 <= r < SIDE and 0 <= c < SIDE and self.board[r * SIDE + c] == 1:
                        count += 1
                        r, c = r + sign * down, c + sign * right
                if count >= 5:
                    return True
            return False

    return DummyVecEnv([Gomoku] * GAMES_AT_ONCE)


def vector_environment():
    """All environments in one array: a step of all is a handful of numpy calls."""
    import gymnasium
    import numpy
    from stable_baselines3.common.vec_env import VecEnv

    class Gomoku(VecEnv):
        def __init__(self):
            space = gymnasium.spaces.Box(-1.0, 1.0, (CELLS,), numpy.float32)
            self.render_mode = None
            super().__init__(GAMES_AT_ONCE, space, gymnasium.spaces.Discrete(CELLS))
            # Four cells more on each side, so that a line never leaves the array.
            self.wide = numpy.zeros((GAMES_AT_ONCE, SIDE + 8, SIDE + 8), numpy.float32)
            self.boards = self.wide[:, 4:-4, 4:-4]
            self.stones = numpy.zeros(GAMES_AT_ONCE, int)
            self.all = numpy.arange(GAMES_AT_ONCE)
            offsets = numpy.arange(-4, 5)
            self.down = 4 + numpy.array([d for d, _ in DIRECTIONS])[:, None] * offsets
            self.right = 4 + numpy.array([r for _, r in DIRECTIONS])[:, None] * offsets

        def seen(self):
            return self.boards.reshape(GAMES_AT_ONCE, CELLS)

        def reset(self):
            self.wide[:] = 0
            self.stones[:] = 0
            return self.seen().copy()

        def step_async(self, actions):
            self.actions = actions

        def step_wait(self):
            rows, columns = numpy.divmod(self.actions, SIDE)
            self.boards[self.all, rows, columns] = 1
            self.stones += 1
            lines = self.wide[self.all[:, None, None], rows[:, None, None] + self.down, columns[:, None, None] + self.right]
            own = lines == 1
            won = (own[..., :5] & own[..., 1:6] & own[..., 2:7] & own[..., 3:8] & own[..., 4:]).any((1, 2))
            done = won | (self.stones == CELLS)
            numpy.negative(self.wide, out=self.wide)
            infos = [{} for _ in self.all]
            for i in numpy.flatnonzero(done):
                infos[i] = {"terminal_observation": self.seen()[i].copy(), "TimeLimit.truncated": False}
                self.wide[i] = 0
                self.stones[i] = 0
            return self.seen().copy(), won.astype(numpy.float32), done, infos

        def env_method(self, name, *args, indices=None, **kwargs):
            assert name == "action_masks"
            return list(self.seen() == 0)

        def has_attr(self, name):
            return name == "action_masks"

        def get_attr(self, name, indices=None):
            if name not in ("action_masks", "render_mode"):
                raise AttributeError(name)
            return [None] * GAMES_AT_ONCE

        def set_attr(self, name, value, indices=None):
            raise NotImplementedError

        def env_is_wrapped(self, wrapper, indices=None):
            return [False] * GAMES_AT_ONCE

        def close(self):
            pass

    return Gomoku()


def maskable(environment, steps, threads):
    """Trains once and prints its speed; the first learning, with what torch does only once, is not counted."""
    import torch
    from sb3_contrib import MaskablePPO

    torch.set_num_threads(threads)
    env = dummy_environment() if environment == "dummy" else vector_environment()
    nets = {"pi": [256, 128], "vf": [256, 128]}
    model = MaskablePPO(
        "MlpPolicy",
        env,
        learning_rate=0.001,
        n_steps=STEPS,
        batch_size=64,
        n_epochs=4,
        gamma=0.99,
        gae_lambda=0.95,
        clip_range=0.2,
        ent_coef=0.01,
        vf_coef=0.5,
        policy_kwargs={"net_arch": nets, "activation_fn": torch.nn.ReLU},
        device="cpu",
        seed=1,
    )
    model.learn(STEPS * GAMES_AT_ONCE)
    begun, begun_cpu = time.monotonic(), time.process_time()
    model.learn(steps, reset_num_timesteps=False)
    done = model.num_timesteps - STEPS * GAMES_AT_ONCE
    report(f"maskable {environment}", threads, done, time.monotonic() - begun, time.process_time() - begun_cpu)


def ours(tengen, games, threads):
    """Trains once, the whole process counted, and prints its speed."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        command = f"train gomoku --method ppo --preset article --games {games} --seed 1 --set evaluate=0"
        begun, begun_cpu = time.monotonic(), children_cpu()
        subprocess.run(
            [tengen, *command.split(), "--threads", str(threads), "--checkpoint-every", "1000", "--out", run],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wall, cpu = time.monotonic() - begun, children_cpu() - begun_cpu
        rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    report("tengen", threads, sum(row["moves"] for row in rows), wall, cpu)


def children_cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def report(who, threads, steps, wall, cpu):
    numbers = {"steps": steps, "seconds": round(wall, 3), "cpu_seconds": round(cpu, 3)}
    rates = {"steps_per_second": round(steps / wall, 1), "steps_per_cpu_second": round(steps / cpu, 1)}
    print(json.dumps({"who": who, "threads": threads, **numbers, **rates}), flush=True)


def main():
    if sys.argv[1] == "maskable":
        return maskable(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    tengen, rounds, threads = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    for _ in range(rounds):
        for environment in ("dummy", "vector"):
            words = [sys.executable, __file__, "maskable", environment, "6400", threads]
            subprocess.run(words, check=True)
        ours(tengen, 400, int(threads))


if __name__ == "__main__":
    main()
