"""
An answer that holds
====================

The least change ends at the edge, and a little noise undoes it. What does a firmer answer cost?
"""

import matplotlib.pyplot as plt
from sklearn.ensemble import HistGradientBoostingClassifier

import counterpoise as cp
from counterpoise import telemetry

train, label, _ = telemetry.simulate(seed=0)
detector = HistGradientBoostingClassifier(random_state=0).fit(train, label)

explainer = cp.Explainer(detector, reference=train)
alert = telemetry.PAPER_ALERT
least, firm = explainer(alert, target="benign"), explainer(alert, target="benign", keep=0.9)
for found in (least, firm):
    print(f"effort {found.effort[0]:.2f}, kept by {found.kept[0]:.0%} of noisy copies")

# %%
# The share of copies that keep the target as the noise grows:

cp.figures.robustness(cp.robustness(least, detector, reference=train))
plt.show()

# %%
# The price list: distance against the share kept.

cp.figures.frontier(cp.frontier(explainer, alert, target="benign"))
plt.show()
