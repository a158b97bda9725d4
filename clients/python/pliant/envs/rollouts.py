"""Rollouts on Ray: one worker per server, which drives its worlds in lockstep. `pip install
'pliant[ray]'`.

    from pliant.envs.rollouts import collect

    servers = ["a:50051", "b:50051"]
    result = collect("pliant/SoftGrasp-v0", servers, envs_per_server=32, steps=1000, seed=1)
    print(len(result.rollouts), result.lost)
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, NamedTuple, Optional, Sequence

import numpy as np
import numpy.typing as npt

from pliant import errors

# Takes observations (worlds, numbers) and returns actions (worlds, numbers).
Policy = Callable[[npt.NDArray[np.float32]], npt.NDArray[np.float32]]


class Rollout(NamedTuple):
    """Episodes of the worlds of a server. Arrays have the shape (steps, worlds, …)."""

    server: str
    observations: npt.NDArray[np.float32]  # before each action
    actions: npt.NDArray[np.float32]
    rewards: npt.NDArray[np.float64]
    terminated: npt.NDArray[np.bool_]
    truncated: npt.NDArray[np.bool_]
    state_hashes: list[list[str]]  # after each action; empty where a world is lost


class Rollouts(NamedTuple):
    rollouts: list[Rollout]  # of the servers that were not lost
    lost: dict[
        str, str
    ]  # reasons, by server, or by server and world, why rollouts are missing or incomplete


def roll_out(
    task: str,
    server: str,
    count: int,
    steps: int,
    seed: int,
    policy: Optional[Policy],
    options: Optional[Mapping[str, Any]] = None,
) -> tuple[Rollout, dict[str, str]]:
    """Drives the worlds of one server. Returns their rollout, and the reasons why some were
    lost."""
    import pliant.envs

    env = pliant.envs.PliantVectorEnv(task, count, server, options=options)
    random = np.random.default_rng(seed)
    rows: list[tuple[Any, ...]] = []
    try:
        observations, _ = env.reset(seed=seed)
        names = [world.name for world in env.worlds]
        for _ in range(steps):
            actions = (
                policy(observations)
                if policy is not None
                else random.uniform(-1, 1, (count, len(pliant.envs.TASKS[task].actions))).astype(
                    np.float32
                )
            )
            try:
                after, rewards, terminated, truncated, info = env.step(actions)
            except errors.PliantError:
                if not env.lost:
                    raise
                break  # all are lost, with the server
            hashes = info.get("state_hash", np.array([None] * count))
            rows.append(
                (
                    observations,
                    actions,
                    rewards,
                    terminated,
                    truncated,
                    [one or "" for one in hashes],
                )
            )
            observations = after
        lost = {f"{server} {names[i]}": error.message for i, error in env.lost.items()}
    finally:
        env.close()
    columns = list(zip(*rows)) if rows else [()] * 6
    arrays: list[Any] = [np.array(column) for column in columns[:5]]
    observed, acted, rewarded, ended, cut = arrays
    return Rollout(
        server, observed, acted, rewarded, ended, cut, [list(one) for one in columns[5]]
    ), lost


def collect(
    task: str,
    servers: Sequence[str],
    *,
    envs_per_server: int,
    steps: int,
    seed: int = 0,
    policy: Optional[Policy] = None,
    options: Optional[Mapping[str, Any]] = None,
    worker_options: Optional[Mapping[str, Any]] = None,
) -> Rollouts:
    """Drives worlds on all servers in parallel, with one Ray worker per server.

    World i of server k is seeded with seed + k · envs_per_server + i. Without a policy, actions are
    random. A server that dies, or whose worker dies, is in `lost`; the others are not affected.
    Call ray.init first to use a cluster.
    """
    try:
        import ray
    except ImportError as error:
        raise ImportError("rollouts need Ray: pip install 'pliant[ray]'") from error
    if not ray.is_initialized():
        ray.init(include_dashboard=False, log_to_driver=False)
    worker = ray.remote(max_retries=0, **(worker_options or {"num_cpus": 1}))(roll_out)
    running = {
        server: worker.remote(
            task, server, envs_per_server, steps, seed + k * envs_per_server, policy, options
        )
        for k, server in enumerate(servers)
    }
    rollouts, lost = [], {}
    for server, future in running.items():
        try:
            rollout, missing = ray.get(future)
        except ray.exceptions.RayTaskError as error:
            lost[server] = str(
                error.cause if isinstance(error.cause, errors.PliantError) else error
            )
            continue
        except ray.exceptions.RayError as error:
            lost[server] = f"its worker died: {error}"
            continue
        lost.update(missing)
        if len(missing) < envs_per_server:
            rollouts.append(rollout)
        else:
            lost[server] = f"all of its worlds are lost: {next(iter(missing.values()))}"
    return Rollouts(rollouts, lost)
