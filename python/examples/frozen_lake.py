"""Explore FrozenLake evenly: the best policy of the known model, then learning without it."""

import gymnasium

import ide3al

env = gymnasium.make("FrozenLake-v1", map_name="8x8")
mdp = ide3al.MDP.from_gymnasium(env, on_terminal="reset")
print(ide3al.solve(mdp, xi=0.05, zeta=1.0))
agent = ide3al.IDE3AL(xi=0.05, zeta=1.0).fit(env, total_timesteps=20_000)
print(f"tried {agent.coverage:.0%} of all state-action pairs in {agent.num_timesteps} steps")
print(ide3al.analyze(mdp, agent.policy))
