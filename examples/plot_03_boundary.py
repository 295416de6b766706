"""
How close is the decision to turning?
=====================================

On the straight way from the alert to the answer, where does the decision turn, and how much of the change is slack?
"""

import matplotlib.pyplot as plt
from sklearn.ensemble import HistGradientBoostingClassifier

import counterpoise as cp
from counterpoise import telemetry

train, label, _ = telemetry.simulate(seed=0)
detector = HistGradientBoostingClassifier(random_state=0).fit(train, label)

explanation = cp.explain(detector, telemetry.PAPER_ALERT, reference=train, target="benign", threshold=0.8)
cp.figures.boundary(cp.profile(explanation, detector))
plt.show()
