"""
Methods side by side
====================

The same rows, the same rules, the same measure for every method: how far, how many features, how often valid.
"""

import matplotlib.pyplot as plt
from sklearn.ensemble import HistGradientBoostingClassifier

import counterpoise as cp
from counterpoise import telemetry

train, label, _ = telemetry.simulate(seed=0)
detector = HistGradientBoostingClassifier(random_state=0).fit(train, label)

alerts = train[detector.predict(train) == "alert"].head(10)
methods = {
    "search": cp.Search(),
    "nearest row": cp.NearestNeighbour(),
    "growing spheres": cp.GrowingSpheres(),
    "random": cp.RandomSearch(),
}
table = cp.compare(methods, detector, alerts, reference=train, target="benign")
print(table[["validity", "l2", "l0", "robustness"]].round(2))

# %%
# Distance and number of changes of each method:

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3), sharey=True, layout="constrained")
left.barh(table.index, table["l2"])
left.set_xlabel("distance, in standard deviations")
right.barh(table.index, table["l0"])
right.set_xlabel("changed features")
plt.show()
