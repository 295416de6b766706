"""
The alert of the paper
======================

A device raises an alert. What is the least that would have to change for it to be benign, and where do the old and the
new values lie among benign and alerting devices?
"""

import matplotlib.pyplot as plt
from sklearn.ensemble import HistGradientBoostingClassifier

import counterpoise as cp
from counterpoise import telemetry

train, label, _ = telemetry.simulate(seed=0)
detector = HistGradientBoostingClassifier(random_state=0).fit(train, label)
schema = telemetry.describe(cp.Schema.infer(train))
explanation = cp.explain(detector, telemetry.PAPER_ALERT, reference=train, schema=schema, target="benign")
print(explanation[0].text())

# %%
# Each changed feature, before and after, over the range of both populations:

cp.figures.changes(explanation[0])
plt.show()
