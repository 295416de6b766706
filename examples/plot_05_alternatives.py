"""
Three ways instead of one
=========================

One answer reads like the reason. Three show that there is a choice: each changes other features.
"""

import matplotlib.pyplot as plt
from sklearn.ensemble import HistGradientBoostingClassifier

import counterpoise as cp
from counterpoise import telemetry

train, label, _ = telemetry.simulate(seed=0)
detector = HistGradientBoostingClassifier(random_state=0).fit(train, label)

explanation = cp.explain(detector, telemetry.PAPER_ALERT, reference=train, target="benign", alternatives=3)
print(explanation.answer_table[["alternative", "changed", "effort", "kept"]].round(2).to_string(index=False))

# %%
# Each line is an answer, across the features that any of them changes.

cp.figures.parallel(explanation[0])
plt.show()
