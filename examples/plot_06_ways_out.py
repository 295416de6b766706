"""
All the ways out
================

Sample every valid answer, each by its effort. Which feature must change, which is one choice among others, and which
ways are separate?
"""

import matplotlib.pyplot as plt
from sklearn.ensemble import HistGradientBoostingClassifier

import counterpoise as cp
from counterpoise import telemetry

train, label, _ = telemetry.simulate(seed=0)
detector = HistGradientBoostingClassifier(random_state=0).fit(train, label)

explainer = cp.Explainer(detector, reference=train)
ensemble = cp.ensemble(explainer, telemetry.PAPER_ALERT, target="benign", samples=300)
print(ensemble.text())

# %%
# In what share of all ways each feature changes:

cp.figures.importance(ensemble)
plt.show()

# %%
# Separate ways as valleys: a line ends at the lowest point of each, and two lines meet at the pass between them.

cp.figures.disconnectivity(ensemble)
plt.show()

# %%
# Which features change together (red), and which instead of each other (blue):

cp.figures.together(ensemble)
plt.show()

# %%
# What happens as more effort is allowed:

cp.figures.thermodynamics(ensemble)
plt.show()
