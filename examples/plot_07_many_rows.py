"""
What turns many alerts
======================

One row is an anecdote. Over all alerts of a week: which features change, and how often?
"""

import matplotlib.pyplot as plt
from sklearn.ensemble import HistGradientBoostingClassifier

import counterpoise as cp
from counterpoise import telemetry

train, label, _ = telemetry.simulate(seed=0)
detector = HistGradientBoostingClassifier(random_state=0).fit(train, label)

alerts = train[detector.predict(train) == "alert"].head(30)
explanation = cp.explain(detector, alerts, reference=train, target="benign")
print(explanation)
cp.figures.frequency(explanation)
plt.show()
