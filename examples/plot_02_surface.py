"""
The landscape around an answer
==============================

The energy of every row in a plane: how far it is from the alert, and what its decision costs. The answer is the lowest
point beyond the line where the decision turns. The dots are where a search has been.
"""

import matplotlib.pyplot as plt
from sklearn.ensemble import HistGradientBoostingClassifier

import counterpoise as cp
from counterpoise import telemetry

train, label, _ = telemetry.simulate(seed=0)
detector = HistGradientBoostingClassifier(random_state=0).fit(train, label)

explainer = cp.Explainer(detector, reference=train)
explanation = explainer(telemetry.PAPER_ALERT, target="benign")
walk = cp.trajectory(explainer, telemetry.PAPER_ALERT, target="benign")

# %%
# In the plane of the two numbers that the answer changes most:

cp.figures.landscape(cp.landscape(explanation, detector))
plt.show()

# %%
# The search itself: energy, accepted moves and temperature, step by step.

cp.figures.trajectory(walk)
plt.show()
