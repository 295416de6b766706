"""
What the price of a change does
===============================

``lam`` is what each changed feature costs. At 0 the bare distance counts, and many features move a little; as it grows,
few features move farther.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import counterpoise as cp

wines = load_wine(as_frame=True)
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(wines.data, wines.target_names[wines.target])
explainer = cp.Explainer(model, reference=wines.data)
found = cp.sensitivity(explainer, wines.data[:1], lam=(0.0, 0.03, 0.1, 0.3, 1.0), target="class_1")
cp.figures.sensitivity(found)
plt.show()
